"""`ragauge store`: what each command prints, writes and refuses."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ragauge.store import FinishedCall, Store, request_key


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with three replies of two prompts, a failure, and one label of a model."""
    path = tmp_path / "labels.db"
    with Store.open(path) as store:
        for n, prompt_id in enumerate(("label/1", "label/1", "answer/1")):
            request = {"model": "gpt-4o-mini", "endpoint": "http://host/v1", "prompt_id": prompt_id, "n": n}
            store.put_replies(
                [
                    FinishedCall(
                        request_key(request),
                        request=request,
                        reply={"n": n},
                        latency_s=0.5,
                        prompt_tokens=100,
                        cost_usd=0.25,
                    )
                ]
            )
        store.put_failure("r1:x", "timeout", "")
    (tmp_path / "people.qrels").write_text("q1 0 d1 2\nq1 0 d2 0\n")
    return path


def spoil(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE replies SET reply = x'01' WHERE id = 2")


def test_verify_of_a_sound_store_says_how_much_was_checked(ragauge, path: Path) -> None:
    ran = ragauge("store", "verify", path, "--quiet")
    assert (ran.code, ran.out, ran.err) == (0, "4 rows, all as they were written\n", "")


def test_verify_of_a_damaged_store_says_what_and_what_to_do(ragauge, path: Path) -> None:
    spoil(path)
    ran = ragauge("store", "verify", path)
    assert ran.code == 1
    assert "replies r1:" in ran.out and "cannot be unpacked" in ran.out
    assert "ragauge store merge NEW.db labels.db" in ran.err


@pytest.mark.parametrize("command", ["verify", "stats", "export"])
def test_a_store_that_is_not_there_is_not_made(ragauge, tmp_path: Path, command: str) -> None:
    ran = ragauge("store", command, tmp_path / "none.db", *(["--labels", "l.csv"] if command == "export" else []))
    assert ran.code == 2
    assert "there is no store" in ran.err
    assert not (tmp_path / "none.db").exists()


def test_stats_fit_the_terminal(ragauge, path: Path) -> None:
    ragauge("store", "import", path, path.parent / "people.qrels", "--judge", "anna", "--rubric", "guide/1")
    ran = ragauge("store", "stats", path)
    assert ran.code == 0
    assert "gpt-4o-mini  label/1       2" in ran.out
    assert "anna   human  guide/1  label  2" in ran.out
    assert "1 calls that failed: timeout" in ran.out
    assert max(len(line.rstrip()) for line in ran.out.splitlines()) <= 80


def test_stats_as_json_have_every_count(ragauge, path: Path) -> None:
    found = json.loads(ragauge("store", "stats", path, "--format", "json").out)
    by_prompt = {usage["prompt_id"]: usage for usage in found["usage"]}
    assert (by_prompt["label/1"]["calls"], by_prompt["label/1"]["prompt_tokens"]) == (2, 200)
    assert (by_prompt["label/1"]["cost_usd"], by_prompt["label/1"]["completion_tokens"]) == (0.5, None)
    assert found["failures"] == [["timeout", 1]]
    assert found["size_bytes"] > 0


def test_labels_of_people_go_in_and_come_out(ragauge, path: Path) -> None:
    people = path.parent / "people.qrels"
    first = ragauge("store", "import", path, people, "--judge", "anna")
    again = ragauge("store", "import", path, people, "--judge", "anna")
    assert ("2 of 2 labels are new" in first.err, "0 of 2 labels are new" in again.err) == (True, True)
    people.write_text("q1 0 d1 1\n")
    ragauge("store", "import", path, people, "--judge", "anna")
    out, history = path.parent / "out.csv", path.parent / "history.jsonl"
    ran = ragauge("store", "export", path, "--labels", out, "--history", history, "--kind", "human")
    assert ran.code == 0
    assert out.read_text() == "query_id,doc_id,label,reason,judge\nq1,d1,1.0,,anna\nq1,d2,0.0,,anna\n"
    rows = [json.loads(line) for line in history.read_text().splitlines()]
    assert [(row["doc_id"], row["label"], row["superseded_by"]) for row in rows] == [
        ("d1", 2.0, 3),
        ("d1", 1.0, None),
        ("d2", 0.0, None),
    ]


def test_without_a_judge_the_file_is_the_judge(ragauge, path: Path) -> None:
    ragauge("store", "import", path, path.parent / "people.qrels")
    with Store.open(path) as store:
        assert set(store.labels().column("judge").to_pylist()) == {"people.qrels"}


def test_replies_are_exported_with_their_requests(ragauge, path: Path) -> None:
    out = path.parent / "replies.jsonl"
    ran = ragauge("store", "export", path, "--replies", out)
    assert "3 replies" in ran.err
    records = [json.loads(line) for line in out.read_text().splitlines()]
    assert [record["reply"] for record in records] == [{"n": 0}, {"n": 1}, {"n": 2}]
    assert [record["request"]["n"] for record in records] == [0, 1, 2]


def test_export_of_nothing_is_refused(ragauge, path: Path) -> None:
    ran = ragauge("store", "export", path)
    assert ran.code == 2
    assert "say what to write: --replies FILE" in ran.err


def test_merge_says_what_it_brought_and_brings_it_once(ragauge, path: Path) -> None:
    team = path.parent / "team.db"
    first = json.loads(ragauge("store", "merge", team, path, "--format", "json").out)
    again = json.loads(ragauge("store", "merge", team, path, "--format", "json").out)
    assert [(one["from"], one["replies"], one["failures"], one["damaged"]) for one in first + again] == [
        ("labels.db", 3, 1, 0),
        ("labels.db", 0, 0, 0),
    ]


def test_merge_of_a_damaged_store_saves_what_is_sound_and_exits_1(ragauge, path: Path) -> None:
    spoil(path)
    ran = ragauge("store", "merge", path.parent / "new.db", path)
    assert ran.code == 1
    assert "1 rows are damaged and were left out" in ran.err
    assert ragauge("store", "verify", path.parent / "new.db").code == 0


def test_merge_of_a_store_into_itself_adds_nothing(ragauge, path: Path) -> None:
    (one,) = json.loads(ragauge("store", "merge", path, path, "--format", "json").out)
    assert sum(one[name] for name in ("replies", "later_replies", "failures", "judgements", "vectors")) == 0
