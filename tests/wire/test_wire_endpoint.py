"""What an endpoint may be."""

import math

import pytest

from ragauge.errors import InputError
from ragauge.wire import Endpoint


def test_trailing_slash_makes_no_other_endpoint() -> None:
    assert Endpoint("http://host/v1/") == Endpoint("http://host/v1")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"base_url": "host/v1"}, "must look like https://host/v1, got 'host/v1'"),
        ({"base_url": "ftp://host"}, "must look like"),
        ({"base_url": "http://host/v1?key=1"}, "must look like"),
        ({"base_url": "http://host:99999/v1"}, "base_url cannot be read"),
        ({"timeout_s": 0}, "timeout_s must be a number of seconds above 0, got 0"),
        ({"timeout_s": math.nan}, "got nan"),
        ({"max_retries": -1}, "max_retries must be 0 or more, got -1"),
        ({"concurrency": 0}, "concurrency must be 1 or more, got 0"),
        ({"backoff_s": math.inf}, "backoff_s must be"),
    ],
)
def test_value_out_of_range_is_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Endpoint(**{"base_url": "http://host/v1", **arguments})


def test_all_problems_are_told_at_once() -> None:
    with pytest.raises(InputError) as caught:
        Endpoint("host", timeout_s=-1, concurrency=0)
    assert len(caught.value.problems) == 3


@pytest.mark.parametrize(
    "arguments",
    [{"base_url": "http://host/v1", "api_key_env": "sk-very-secret"}, {"base_url": "http://me:sk-very-secret@host"}],
)
def test_key_in_the_wrong_place_is_refused_and_not_shown(arguments: dict[str, str]) -> None:
    with pytest.raises(InputError) as caught:
        Endpoint(**arguments)
    assert "very-secret" not in str(caught.value)
