"""Keys: what makes two requests the same."""

import math
from types import MappingProxyType

import pytest

from ragauge.errors import InputError
from ragauge.store import canonical_json, request_key, text_hash

REQUEST = {
    "endpoint": "http://127.0.0.1/v1",
    "model": "m",
    "parameters": {"temperature": 0, "max_tokens": 1},
    "messages": [{"role": "user", "content": "Où ?"}],
    "prompt_id": "label/1",
}


def test_canonical_json_sorts_names_and_keeps_characters() -> None:
    assert canonical_json({"b": [1, None, True], "a": "é"}) == '{"a":"é","b":[1,null,true]}'


def test_key_is_tagged_sha256_of_canonical_json() -> None:
    # printf '{}' | sha256sum
    assert request_key({}) == "r1:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"


def test_order_of_names_does_not_change_the_key() -> None:
    assert request_key(dict(reversed(REQUEST.items()))) == request_key(REQUEST)


def test_read_only_mapping_has_the_key_of_what_it_shows() -> None:
    frozen = {**REQUEST, "parameters": MappingProxyType({"temperature": 0, "max_tokens": 1})}
    assert request_key(frozen) == request_key(REQUEST)


@pytest.mark.parametrize(
    "change",
    [
        {"endpoint": "http://127.0.0.2/v1"},
        {"model": "n"},
        {"parameters": {"temperature": 0, "max_tokens": 2}},
        {"messages": [{"role": "user", "content": "Où  ?"}]},
        {"prompt_id": "label/2"},
        {"draw": 1},
    ],
)
def test_any_change_changes_the_key(change: dict[str, object]) -> None:
    assert request_key({**REQUEST, **change}) != request_key(REQUEST)


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, {1, 2}, b"bytes", "\ud800"], ids=["nan", "inf", "set", "bytes", "surrogate"]
)
def test_what_json_cannot_hold_is_refused(value: object) -> None:
    with pytest.raises(InputError, match="JSON values only"):
        request_key({"parameters": {"x": value}})


@pytest.mark.parametrize(
    "request_", [{"api_key": "k"}, {"parameters": {"API_KEY": "k"}}, {"headers": {"Authorization": "k"}}]
)
def test_request_with_an_api_key_is_refused(request_: dict[str, object]) -> None:
    with pytest.raises(InputError, match="must not hold"):
        request_key(request_)


def test_text_with_half_a_character_has_no_hash() -> None:
    with pytest.raises(InputError, match="valid Unicode"):
        text_hash("\ud800")
