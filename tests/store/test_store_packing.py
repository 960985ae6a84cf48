"""Packed texts: all characters come back, and the format never changes."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragauge.errors import StoreError
from ragauge.store import packing
from ragauge.store.packing import pack, unpack

FIRST = "0103b69b80ccc32bd1721a8ec2ba36b61600"
"""What the first ragauge that packed wrote for the text below."""

DIGEST = "8105552d25a049ef1b41b275dfcba779fd13625da9efd957a4ae4cf401794650"


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_what_was_packed_comes_back(text: str) -> None:
    assert unpack(pack(text)) == text


def test_the_first_format_is_read_for_ever() -> None:
    assert unpack(bytes.fromhex(FIRST)) == '{"a":"é","choices":[{"finish_reason":"length"}]}'


def test_the_dictionary_is_part_of_the_format() -> None:
    digest = hashlib.sha256(packing._DICTIONARY).hexdigest()
    assert digest == DIGEST, "stored replies were packed with it: add a dictionary under another number instead"


PACKED = pack('{"choices":[]}')


@pytest.mark.parametrize("damaged", [PACKED[:-1], PACKED + b"x", b"", b"\x02" + PACKED[1:], PACKED[:1]])
def test_damaged_bytes_are_an_error(damaged: bytes) -> None:
    with pytest.raises(StoreError, match=r"cannot be unpacked|in a way this ragauge does not know"):
        unpack(damaged)


def test_a_label_takes_less_than_a_third_of_its_json() -> None:
    top = [{"token": f"t{n}", "logprob": -n - n / 7, "bytes": [116, 48 + n % 10]} for n in range(20)]
    content = [{"token": "yes", "logprob": -0.1, "bytes": [121, 101, 115], "top_logprobs": top}]
    text = str({"choices": [{"index": 0, "logprobs": {"content": content}}]}).replace("'", '"').replace(": ", ":")
    assert len(pack(text)) < len(text) / 3
