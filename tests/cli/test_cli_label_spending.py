"""`ragauge label` under caps, at a pace, as a dry run, through batch files, and at an endpoint that fails."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from ragauge.store import Store
from ragauge.testing import FAULTS, Faulty, ScriptedBatches, ScriptedModel, ScriptedReply, scripted_reply

PRICES = ("--price-in", "1", "--price-out", "10")


def rankings(folder: Path, *, queries: int = 4, documents: int = 5) -> Path:
    lines = [
        {
            "query_id": f"q{q}",
            "query": f"what {q}?",
            "documents": [{"doc_id": f"d{d}", "text": f"text {d}"} for d in range(documents)],
        }
        for q in range(queries)
    ]
    path = folder / "retrieved.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def label(folder: Path, model: ScriptedModel, *more: object) -> tuple[object, ...]:
    place = ("--base-url", model.base_url, "--model", "m", "--store", folder / "s.db", "--canaries", 0)
    return ("label", rankings(folder), *place, *more)


def dry_run(ragauge, folder: Path, model: ScriptedModel, *more: object) -> dict[str, Any]:
    ran = ragauge(*label(folder, model, "--dry-run", "--format", "json", *more))
    assert ran.code == 0, ran.err
    return dict(json.loads(ran.out))


def test_dry_run_asks_nothing_and_counts_by_the_rule_where_nothing_is_known(ragauge, tmp_path: Path) -> None:
    with ScriptedModel() as model:
        plan = dry_run(ragauge, tmp_path, model, *PRICES, "--rpm", "60")
        assert not model.requests
    # the prompt's instruction, an empty line, tags, 7 bytes of query and 6 of text: the same in each of 20 pairs
    from ragauge.llm import LABEL

    size = sum(len(message["content"]) for message in LABEL.messages(query="what 0?", document="text 0"))
    assert (plan["pairs"], plan["known"], plan["calls"]) == (20, 0, 20)
    assert plan["prompt_tokens"] == round(20 * size / 4)
    assert plan["completion_tokens"] == 20  # one token is the label prompt's limit
    assert plan["counted_by"] == "4 bytes a token, and the limit of each reply"
    assert plan["cost_usd"] == pytest.approx((plan["prompt_tokens"] * 1 + 20 * 10) / 1e6)
    assert (plan["seconds"], plan["timed_by"]) == (20.0, "60 requests a minute")


def test_dry_run_counts_by_the_usage_of_what_is_known(ragauge, tmp_path: Path) -> None:
    with ScriptedModel() as model:
        ragauge(*label(tmp_path, model, "--top", 2, "--out", tmp_path / "o.jsonl"))
        n_words = sum(len(message["content"].split()) for message in model.requests[0].body["messages"])
        plan = dry_run(ragauge, tmp_path, model)
        assert len(model.requests) == 8
    assert (plan["pairs"], plan["known"], plan["calls"]) == (20, 8, 12)
    assert plan["prompt_tokens"] == 12 * n_words  # the scripted model counts words, and all prompts are alike
    assert plan["completion_tokens"] == 12
    assert plan["counted_by"].startswith("usage of 8 known replies")
    assert plan["seconds"] > 0
    assert "8 at once" in plan["timed_by"]
    assert plan["cost_usd"] is None


def test_dry_run_counts_by_earlier_replies_to_other_rankings(ragauge, tmp_path: Path) -> None:
    with ScriptedModel() as model:
        (tmp_path / "a").mkdir()
        other = rankings(tmp_path / "a", queries=1, documents=1)
        other.write_text(other.read_text().replace("what 0?", "why?"))
        ragauge("label", other, *label(tmp_path, model, "--out", tmp_path / "o.jsonl")[2:])
        plan = dry_run(ragauge, tmp_path, model)
    assert plan["calls"] == 20
    assert plan["counted_by"].startswith("usage of 1 earlier replies")


def test_dry_run_as_a_table_fits_in_eighty_columns(ragauge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with ScriptedModel() as model:
        ran = ragauge(*label(tmp_path, model, "--dry-run", *PRICES, "--rpm", "10"))
        as_csv = ragauge(*label(tmp_path, model, "--dry-run", "--format", "csv"))
    assert "0:02:00" in ran.out
    assert max(map(len, ran.out.splitlines())) <= 80
    rows = {row["what"]: row["amount"] for row in csv.DictReader(io.StringIO(as_csv.out))}
    assert (rows["calls"], rows["cost"], rows["time"]) == ("20", "unknown", "unknown")


def test_cap_ends_the_run_as_incomplete_and_the_next_run_does_the_rest(ragauge, tmp_path: Path) -> None:
    out = tmp_path / "o.jsonl"
    with ScriptedModel() as model:
        first = ragauge(*label(tmp_path, model, "--max-calls", 13, "--out", out))
        assert len(model.requests) == 13
        second = ragauge(*label(tmp_path, model, "--out", out))
        assert len(model.requests) == 20
    assert first.code == 1
    assert "13/20 labelled" in first.err
    assert "13 requests sent" in first.err
    assert "7 of 20 documents have no label (7 budget)" in first.err
    assert "a cap was reached" in first.err
    assert second.code == 0


def test_cost_is_capped_and_told(ragauge, tmp_path: Path) -> None:
    with ScriptedModel() as model:
        ran = ragauge(*label(tmp_path, model, *PRICES, "--max-cost", "0.001", "--out", tmp_path / "o.jsonl"))
    assert ran.code == 1
    told = float(ran.err.partition("$")[2].split()[0])
    assert 0 < told <= 0.001


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--max-cost", "1"), "needs --price-in and --price-out"),
        (("--price-in", "1"), "together"),
        (("--rpm", "0"), "rpm"),
        (("--dry-run", "--format", "xml"), "xml"),
    ],
)
def test_options_that_make_no_sense_are_refused(ragauge, given: tuple[str, ...], message: str, tmp_path: Path) -> None:
    with ScriptedModel() as model:
        ran = ragauge(*label(tmp_path, model, "--out", tmp_path / "o.jsonl", *given))
        assert not model.requests
    assert ran.code == 2
    assert message in ran.err


def test_out_is_needed_but_for_a_dry_run(ragauge, tmp_path: Path) -> None:
    with ScriptedModel() as model:
        ran = ragauge(*label(tmp_path, model))
    assert ran.code == 2
    assert "--out" in ran.err


def test_batch_is_sent_waited_for_and_collected_by_the_same_command(ragauge, tmp_path: Path) -> None:
    with ScriptedModel(batches=ScriptedBatches(polls=1)) as model:
        args = label(tmp_path, model, "--batch", tmp_path / "b", "--batch-wait", "0", "--out", tmp_path / "o.jsonl")
        first, second = ragauge(*args), ragauge(*args)
        assert len(model.batches.asked) == 20
        assert len(model.batches.batches) == 1
    assert first.code == 1
    assert "0/20 labelled" in first.err
    assert "the same command collects them" in first.err
    assert second.code == 0, second.err
    assert "batch batch_1: completed" in second.err


def test_an_endpoint_that_fails_three_calls_in_ten_ends_with_a_count_and_exit_1(ragauge, tmp_path: Path) -> None:
    faults = [fault for name, fault in FAULTS.items() if name != "slow bytes"]
    out = tmp_path / "o.jsonl"
    with ScriptedModel(Faulty(share=0.3, seed=5, faults=faults)) as model:
        ran = ragauge(*label(tmp_path, model, "--out", out))
    missing = (tmp_path / "o.jsonl.unlabelled.jsonl").read_text().splitlines()
    assert ran.code == 1
    assert 0 < len(missing) < 10
    assert f"{20 - len(missing)}/20 labelled" in ran.err
    assert all(json.loads(line)["reason"] for line in missing)
    scored = ragauge("score", out, "-m", "P@5", "--rel", "0.5", "--format", "json")
    assert json.loads(scored.out)["measures"][0]["judged"] == pytest.approx(1 - len(missing) / 20)


def test_only_what_was_sent_is_a_failure_in_the_store(ragauge, tmp_path: Path) -> None:
    with ScriptedModel(lambda request: ScriptedReply("bad key", status=401)) as model:
        ran = ragauge(*label(tmp_path, model, "--concurrency", 1, "--out", tmp_path / "o.jsonl"))
    with Store.open(tmp_path / "s.db") as store:
        assert len(store.failures()) == 5
    assert ran.code == 1
    assert "15 not_asked, 5 refused" in ran.err
    assert "the endpoint was given up" in ran.err


def test_an_endpoint_that_is_given_up_is_named_with_what_it_said(ragauge, tmp_path: Path) -> None:
    with ScriptedModel(lambda request: ScriptedReply("no such key", status=401)) as model:
        ran = ragauge(*label(tmp_path, model, "--out", tmp_path / "o.jsonl"))
    said = " ".join(ran.err.split())
    assert model.base_url in said
    assert said.count("no such key") == 1


def test_answers_that_are_no_verdicts_are_not_said_to_be_asked_for_again(ragauge, tmp_path: Path) -> None:
    with ScriptedModel(lambda request: "It depends") as model:
        ran = ragauge(*label(tmp_path, model, "--out", tmp_path / "o.jsonl"))
    assert "20 no_verdict" in ran.err
    assert "not asked for again" in ran.err


def test_timeout_is_taken_over(ragauge, tmp_path: Path) -> None:
    def reply(request: dict[str, Any]) -> ScriptedReply:
        slow = "text 1" in request["messages"][-1]["content"]
        return FAULTS["slow bytes"] if slow else scripted_reply(request)

    with ScriptedModel(reply) as model:
        ran = ragauge(*label(tmp_path, model, "--timeout", "0.3", "--out", tmp_path / "o.jsonl"))
    assert ran.code == 1
    assert "timeout" in ran.err
