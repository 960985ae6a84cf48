"""Broken files: whatever is done to a file, readers answer with a table or with an error of ours."""

import json
import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from io_samples import SAMPLES, lines, parquet

from ragauge.errors import RagaugeError
from ragauge.io import (
    FORMATS,
    read_clusters,
    read_corpus,
    read_graded,
    read_labels,
    read_pools,
    read_queries,
    read_rankings,
    read_ratings,
    read_scores,
    scan_labels,
    scan_rankings,
)

READERS: tuple[Callable[[Path], object], ...] = (
    read_rankings,
    lambda path: scan_rankings(path, duplicates="keep"),
    read_labels,
    read_corpus,
    read_queries,
    read_pools,
    read_graded,
    read_scores,
    read_clusters,
    partial(read_ratings, units=["query_id", "doc_id"], raters=["label", "score"]),
)
FORCED: tuple[Callable[[Path], object], ...] = tuple(
    partial(scan, format=name) for name in FORMATS for scan in (scan_rankings, scan_labels)
)
GRADED = {"id": "nq-1", "E": "e", "Nc": 10, "Np": 3, "K": 2, "grade": 4, "inK": [1, 0], "answer_ideal": "a"}
POOL = {
    "query_id": "q1",
    "dataset": "d",
    "query": "?",
    "positives": [{"doc_id": "d1", "text": "apple", "title": "t"}],
    "negatives": [{"text": "pear"}],
}
SEEDS: tuple[tuple[str, bytes], ...] = (
    *((sample.name, sample.content) for sample in SAMPLES.values()),
    ("graded.json", json.dumps([GRADED]).encode()),
    ("pools.jsonl", lines(POOL, {**POOL, "query_id": "q2"})),
    ("scores.csv", b"query_id,run,P@5,topic\nq1,r,0.5,a\nq2,r,NaN,b\n"),
    ("scores.jsonl", lines({"query_id": "q1", "run": "r", "P@5": 0.5}, {"query_id": "q2", "P@5": None})),
    ("ratings.csv", b"query_id,doc_id,label,score\nq1,d1,1,2\nq1,d2,NA,\n"),
    ("corpus.jsonl", lines({"_id": "d1", "title": "t", "text": "apple"})),
    ("queries.jsonl", lines({"query_id": "q1", "query": "?", "answer": "a"})),
)


def deep(n: int) -> Any:
    value: Any = "x"
    for place in range(n):
        value = [value] if place % 2 else {"documents": value}
    return value


HOSTILE: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1.5, 1e308, 10**400, -(10**20), float("nan"), float("inf"), float("-inf")),
    *("", " ", "\x00", "\ud800", "x" * 5000, "1e999", "1_0", "-", "[", "{", '"', "[1, 2", "{'a': 1}", '{"a": 1}'),
    *("(" * 200, "[" * 3000, "-" * 3000 + "1", "page_content='a", "page_content='a' metadata={}", "\u2028", "9" * 5000),
    *([], {}, [[]], [None], [{}], [1], ["a", "a"], {"": ""}, {"a": {"a": {}}}, [["a", 1.0], ["b", None]], deep(30)),
    *([{"document": {"document": {"document": {}}}}], {"stringValue": 1}, {"arrayValue": {"values": 3}}, {"lc": 1}),
    *(
        {"kwargs": [], "lc": 1},
        [{"key": "a", "value": None}],
        [{"page_content": 3}],
        [{"node": {"node": {}}}],
        deep(400),
    ),
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths to the nodes of a JSON value, to a depth of 30."""
    yield path
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in pairs if len(path) < 30 else ():
        yield from places(one, (*path, key))


def swapped(value: Any, rng: random.Random) -> Any:
    """`value` with one node replaced, removed or renamed."""
    path = rng.choice(list(places(value)))
    if not path:
        return rng.choice(HOSTILE)
    copy = json.loads(json.dumps(value))
    holder = copy
    for key in path[:-1]:
        holder = holder[key]
    act = rng.random()
    if act < 0.7:
        holder[path[-1]] = rng.choice(HOSTILE)
    elif act < 0.85 or isinstance(holder, list):
        del holder[path[-1]]
    else:
        holder[rng.choice(["documents", "id", "text", "score", "label", "attributes", "spans"])] = holder.pop(path[-1])
    return copy


def mutated_json(content: bytes, rng: random.Random) -> bytes:
    """A JSON value or a line of values, with a node swapped."""
    try:
        return json.dumps(swapped(json.loads(content), rng)).encode()
    except json.JSONDecodeError:
        records = content.decode().splitlines()
        place = rng.randrange(len(records))
        records[place] = json.dumps(swapped(json.loads(records[place]), rng))
        return "\n".join(records).encode()


def mutated_parquet(content: bytes, rng: random.Random) -> bytes:
    """The rows of a table with a value swapped; as it is, where Arrow has no such column."""
    rows = pa.parquet.read_table(pa.BufferReader(content)).to_pylist()
    try:
        changed = swapped(rows, rng)
        return parquet(*changed) if isinstance(changed, list) and changed else b"PAR1"
    except (pa.ArrowException, AttributeError, TypeError, ValueError, OverflowError, RecursionError):
        return content


def mutated_bytes(content: bytes, rng: random.Random) -> bytes:
    """Flipped, cut, repeated, or with bytes that no text has."""
    data = bytearray(content)
    for _ in range(rng.choice([1, 1, 1, 4, 30])):
        at = rng.randrange(len(data) + 1)
        act = rng.randrange(7)
        if act == 0 and data:
            data[at % len(data)] ^= 1 << rng.randrange(8)
        elif act == 1:
            data[at:at] = rng.choice(
                [b"\x00", b"\xff\xfe", b"\xed\xa0\x80", b"\xc3", b"\r", b"\n", b'"', b",", b"\t", b"[" * 99]
            )
        elif act == 2:
            del data[at : at + rng.choice([1, 2, 40])]
        elif act == 3:
            del data[at:]
        elif act == 4:
            data += data[at : at + 200]
        elif act == 5:
            data[at : at + 4] = rng.choice([b"1e999", b"-1", b"null", b"NaN", b"{}", b"[]", b'""', b"9" * 400])
        elif data:
            data[at % len(data)] = rng.randrange(256)
    return bytes(data)


def mutated(content: bytes, rng: random.Random) -> bytes:
    if rng.random() < 0.5:
        return mutated_bytes(content, rng)
    if content.startswith(b"PAR1"):
        return mutated_parquet(content, rng)
    if content[:1] in (b"{", b"["):
        return mutated_json(content, rng)
    return mutated_bytes(content, rng)


def survive(n: int, seed: int, folder: Path) -> list[str]:
    """Reads `n` broken files; returns the messages of those that were refused."""
    rng = random.Random(seed)
    refused = []
    for number in range(n):
        name, content = rng.choice(SEEDS)
        path = folder / (name if rng.random() < 0.8 else "file")
        path.write_bytes(mutated(content, rng))
        reader = rng.choice(READERS[:3] if rng.random() < 0.6 else (*READERS, *FORCED))
        try:
            reader(path)
        except RagaugeError as error:
            refused.append(str(error))
        except Exception as error:
            error.add_note(f"mutation {number} of seed {seed}: {path.read_bytes()[:2000]!r}")
            raise
    return refused


@pytest.mark.parametrize("name", ["x", "x.jsonl", "x.json", "x.csv", "x.parquet", "x.run"])
@pytest.mark.parametrize("reader", READERS)
def test_files_of_almost_nothing_are_refused_or_read(
    reader: Callable[[Path], object], name: str, tmp_path: Path
) -> None:
    contents = [
        "",
        "\0",
        "\n",
        "{",
        "[",
        "[]",
        "{}",
        "[null]",
        "null",
        "1",
        '""',
        "PAR1",
        "PAR1PAR1",
        ",",
        "\t",
        "a,b",
        '"',
        "\ufeff{}",
    ]
    refused = []
    for content in (*contents, "[" * 100_000, '{"a":' * 100_000, "9" * 5000, "[" + "9" * 5000 + "]"):
        (tmp_path / name).write_bytes(content.encode())
        try:
            reader(tmp_path / name)
        except RagaugeError as error:
            refused.append(str(error))
    assert all(str(tmp_path / name) in message for message in refused)


def test_1500_broken_files_raise_only_our_own_errors(tmp_path: Path) -> None:
    refused = survive(1500, 20251130, tmp_path)
    assert 500 < len(refused) < 1500
    assert all(refused)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_50000_broken_files_raise_only_our_own_errors(seed: int, tmp_path: Path) -> None:
    survive(5000, seed, tmp_path)
