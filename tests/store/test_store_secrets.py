"""API keys and passwords appear nowhere: not in the store, its exports, its messages or their tracebacks."""

import json
import traceback
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from postgres_server import PostgresServer

from ragauge.errors import InputError, StoreError
from ragauge.store import FinishedCall, Store, request_key

SECRET = "sk-very-secret-0123456789"


@pytest.mark.parametrize(
    "request_",
    [
        {"api_key": SECRET},
        {"parameters": {"extra": {"Authorization": f"Bearer {SECRET}"}}},
        {"parameters": {"headers": [{"x-api-key": SECRET}]}},
        {"endpoint": f"https://user:{SECRET}@host/v1"},
    ],
)
def test_a_request_that_holds_a_key_is_refused_without_showing_it(request_: dict[str, object]) -> None:
    with pytest.raises(InputError, match="is written to the store") as caught:
        request_key(request_)
    assert SECRET not in "".join(traceback.format_exception(caught.value))


def test_a_schema_that_describes_a_field_named_like_a_key_is_no_key() -> None:
    schema = {"properties": {"authorization": {"type": "string"}}}
    assert request_key({"parameters": {"response_format": schema}})


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_an_export_holds_no_key_that_a_server_sent_back(store: Store, tmp_path: Path, suffix: str) -> None:
    request = {"model": "m"}
    reply = {"echo": {"headers": [{"Authorization": f"Bearer {SECRET}"}]}, "text": "yes"}
    store.put_replies([FinishedCall(request_key(request), request=request, reply=reply, latency_s=0.1)])
    path = tmp_path / f"replies{suffix}"
    assert store.export_replies(path) == 1
    if suffix == ".jsonl":
        record = json.loads(path.read_text(encoding="utf-8"))
        found = record["reply"]
    else:
        record = pq.read_table(path).to_pylist()[0]
        found = json.loads(record["reply"])
    assert found == {"echo": {"headers": [{"Authorization": "[removed]"}]}, "text": "yes"}
    assert (record["key"], record["used"]) == (request_key(request), True)
    assert [left.name for left in tmp_path.glob("replies*")] == [path.name]


def test_a_password_of_a_url_is_shown_nowhere(postgres: PostgresServer) -> None:
    url = f"postgresql://nobody_here:{SECRET}@/nowhere?host={postgres.folder}"
    with pytest.raises(StoreError, match="nowhere") as caught:
        Store.open(url)
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    with Store.open(postgres.new_database().replace("ragauge@", f"ragauge:{SECRET}@")) as store:
        assert SECRET not in repr(store)


def test_an_export_to_another_kind_of_file_is_refused(store: Store, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"can be written as \.jsonl or \.parquet, got .*replies\.txt"):
        store.export_replies(tmp_path / "replies.txt")


def test_an_export_to_a_folder_that_is_not_there_is_an_error(store: Store, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot write .*; choose another place"):
        store.export_replies(tmp_path / "none" / "replies.jsonl")
