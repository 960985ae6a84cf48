"""`ragauge label --cheap-base-url`: what each judge is asked, what it costs, and what the shortcut misses."""

import csv
import io
import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ragauge.io import read_labels
from ragauge.testing import ScriptedModel, ScriptedReply

N_QUERIES, N_DOCUMENTS = 10, 10
PRICES = ("--price-in", 1, "--price-out", 10, "--cheap-price-in", 0, "--cheap-price-out", 0)


def number(request: dict[str, Any]) -> int:
    return int(request["messages"][-1]["content"].split("text ")[1][0])


def cheap_reply(request: dict[str, Any]) -> ScriptedReply:
    """Document i has the label i / 10, so that --settle-below 0.4 settles 0 to 3."""
    p = max(number(request) / 10, 1e-6)
    return ScriptedReply("yes", {"yes": math.log(p), "no": math.log(1 - p)})


def dear_reply(request: dict[str, Any]) -> str:
    """Relevant from 4 on, and document 1, which the cheap judge settles wrongly."""
    return "yes" if number(request) >= 4 or number(request) == 1 else "no"


@pytest.fixture
def servers() -> Iterator[tuple[ScriptedModel, ScriptedModel]]:
    with ScriptedModel(cheap_reply) as cheap, ScriptedModel(dear_reply) as dear:
        yield cheap, dear


@pytest.fixture
def label(
    ragauge: Callable[..., Any], servers: tuple[ScriptedModel, ScriptedModel], tmp_path: Path
) -> Callable[..., Any]:
    rankings = tmp_path / "retrieved.jsonl"
    with rankings.open("w") as file:
        for query in range(N_QUERIES):
            documents = [{"doc_id": f"d{i}", "text": f"text {i}"} for i in range(N_DOCUMENTS)]
            file.write(json.dumps({"query_id": f"q{query}", "query": f"what {query}?", "documents": documents}) + "\n")

    def run(*more: object) -> Any:
        cheap, dear = servers
        models = ("--base-url", dear.base_url, "--model", "dear", "--cheap-base-url", cheap.base_url)
        models = (*models, "--cheap-model", "cheap", "--settle-below", 0.4, "--canaries", 0)
        place = ("--store", tmp_path / "s.db", "--out", tmp_path / "out.jsonl")
        return ragauge("label", rankings, *models, *place, *more)

    return run


def asked(servers: tuple[ScriptedModel, ScriptedModel]) -> list[int]:
    return [len(server.requests) for server in servers]


def found(label: Callable[..., Any], *more: object) -> dict[str, Any]:
    ran = label("--format", "json", "--quiet", *more)
    assert ran.code in (0, 1), ran.err
    return dict(json.loads(ran.out))


def test_the_dear_judge_gets_what_is_not_settled_and_the_audit(
    label: Callable[..., Any], servers: tuple[ScriptedModel, ScriptedModel]
) -> None:
    figures = found(label)
    assert asked(servers) == [100, 64]  # of forty documents below 0.4 a tenth is audited
    assert (figures["settled"], figures["audited"]) == (36, 4)
    assert [(one["judge"], one["labels"], one["calls"]) for one in figures["judges"]] == [
        ("cheap", 36, 100),
        ("dear", 64, 64),
    ]
    assert [one["name"] for one in figures["judges"]] == ["cheap label/1", "dear label/1"]


def test_the_audit_tells_what_is_missed_with_an_interval(label: Callable[..., Any]) -> None:
    figures = found(label, "--audit", 0.5, "--seed", 2)
    share, documents = figures["missed_share"], figures["missed_documents"]
    assert share["low"] <= 0.25 <= share["high"]  # document 1 of the four settled of each query
    assert [documents[key] for key in share] == pytest.approx([share[key] * 20 for key in share])


def test_what_the_dear_judge_must_say_of_a_relevant_document_can_be_given(label: Callable[..., Any]) -> None:
    assert "relevant (0.25 and up)" in " ".join(label("--audit", 0.9, "--cut", 0.25).out.split())
    assert found(label, "--audit", 1, "--cut", 0)["missed_share"]["value"] == 1  # every label is 0 or more


def test_the_output_names_the_judge_of_each_label(label: Callable[..., Any], tmp_path: Path) -> None:
    label("--audit", 0)
    labels = read_labels(tmp_path / "out.jsonl").to_pylist()
    assert len(labels) == 100
    for row in labels:
        settled = row["doc_id"] in ("d0", "d1", "d2", "d3")
        assert (row["label"], row["judge"]) == ((0.0, "cheap label/1") if settled else (1.0, "dear label/1"))


def test_a_second_run_asks_nothing_and_finds_the_same(
    label: Callable[..., Any], servers: tuple[ScriptedModel, ScriptedModel]
) -> None:
    first = found(label)
    n_asked = asked(servers)
    second = found(label)
    assert asked(servers) == n_asked
    assert [second[key] for key in ("settled", "audited", "missed_share")] == [
        first[key] for key in ("settled", "audited", "missed_share")
    ]
    assert [one["calls"] for one in second["judges"]] == [0, 0]


def test_both_judges_are_told_in_eighty_columns(label: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    ran, planned = label(*PRICES), label("--dry-run", *PRICES)
    assert (ran.code, planned.code) == (0, 0)
    assert max(len(line) for line in (ran.out + planned.out).splitlines()) <= 80
    assert "Settled: 36 documents below 0.4" in ran.out
    assert "164 requests sent" in ran.err
    assert "100/100 labelled" in ran.err


def test_csv_has_one_row_a_figure(label: Callable[..., Any]) -> None:
    rows = {row["figure"]: row["value"] for row in csv.DictReader(io.StringIO(label("--format", "csv").out))}
    assert (rows["settled"], rows["cheap_calls"], rows["dear_calls"]) == ("36", "100", "64")


def test_nothing_audited_is_not_known_rather_than_none_missed(label: Callable[..., Any]) -> None:
    ran = label("--audit", 0)
    assert "Missed: not known, as nothing was audited." in ran.out
    assert found(label, "--audit", 0)["missed_share"]["value"] is None


def test_an_audit_without_labels_is_not_called_nothing_audited(label: Callable[..., Any]) -> None:
    ran = label("--max-calls", 100)  # all for the cheap judge
    said = " ".join(ran.out.split())
    assert "4 of them have no label from it" in said
    assert "Missed: not known, as none of those audited has a label." in said


def test_top_holds_for_both(label: Callable[..., Any], servers: tuple[ScriptedModel, ScriptedModel]) -> None:
    label("--top", 5, "--audit", 0)
    assert asked(servers) == [50, 10]


def test_a_dry_run_asks_nothing_and_tells_the_worst_case(
    label: Callable[..., Any], servers: tuple[ScriptedModel, ScriptedModel]
) -> None:
    plan = found(label, "--dry-run", *PRICES)
    assert asked(servers) == [0, 0]
    assert (plan["pairs"], plan["cheap"]["calls"], plan["dear_at_most"]["calls"]) == (100, 100, 100)
    assert plan["dear_expected"] is None  # nothing tells yet how many would be settled
    assert plan["dear_at_most"]["cost_usd"] > plan["cheap"]["cost_usd"] == 0


def test_a_dry_run_expects_as_much_settled_as_of_what_is_known(
    label: Callable[..., Any], servers: tuple[ScriptedModel, ScriptedModel]
) -> None:
    label("--max-calls", 30)
    plan = found(label, "--dry-run")
    # Of 30 known documents 12 lie below, and 1 of these is to be audited. Of the 70 others as many are settled.
    assert (plan["n_labelled"], plan["settled"]) == (30, pytest.approx(0.4))
    assert (plan["cheap"]["calls"], plan["dear_at_most"]["calls"]) == (70, 100 - 11)
    assert plan["dear_expected"]["calls"] == round(89 - 70 * 0.4 * 0.9)
    assert asked(servers) == [30, 0]


def test_a_dry_run_after_all_is_labelled_expects_nothing(label: Callable[..., Any]) -> None:
    label()
    plan = found(label, "--dry-run")
    assert [plan[name]["calls"] for name in ("cheap", "dear_expected", "dear_at_most")] == [0, 0, 0]


def test_the_dear_judge_is_not_asked_what_a_cap_kept_from_the_cheap_one(
    label: Callable[..., Any], servers: tuple[ScriptedModel, ScriptedModel]
) -> None:
    ran = label("--max-calls", 90)
    assert ran.code == 1
    assert asked(servers) == [90, 0]
    # The ten of the last query, and all that the cheap judge did not settle of the others, the audit included.
    assert "90 requests sent" in ran.err
    assert "budget" in ran.err
    assert "a cap was reached" in ran.err


def test_a_sum_counts_each_judge_at_its_own_prices(
    label: Callable[..., Any], servers: tuple[ScriptedModel, ScriptedModel]
) -> None:
    figures = found(label, *PRICES, "--max-cost", 0.002)
    cheap, dear = figures["judges"]
    assert cheap["calls"] == 100  # free
    assert 0 < dear["calls"] < 64
    assert cheap["cost_usd"] == 0
    assert dear["cost_usd"] == pytest.approx((dear["tokens_read"] * 1 + dear["tokens_written"] * 10) / 1e6)
    assert dear["cost_usd"] <= 0.002


def test_a_cheap_endpoint_that_is_down_sends_nothing_more_to_the_dear_one(
    ragauge: Callable[..., Any], label: Callable[..., Any], servers: tuple[ScriptedModel, ScriptedModel]
) -> None:
    with ScriptedModel() as gone:
        base_url = gone.base_url
    ran = label("--cheap-base-url", base_url, "--concurrency", 1)
    assert ran.code == 1
    assert asked(servers) == [0, 1]  # the one call that was tried
    assert "99 not_asked" in ran.err


def test_the_scales_may_differ(label: Callable[..., Any], servers: tuple[ScriptedModel, ScriptedModel]) -> None:
    label("--scale", "graded", "--audit", 0)
    prompts = [server.requests[0].body["messages"][0]["content"] for server in servers]
    assert "yes or no" in prompts[0]
    assert "one digit" in prompts[1]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--settle-below", 1.5), "--settle-below must be at most 1, the top of the cheap judge's binary scale"),
        (("--design", "one-per-query"), "leave out --cheap-base-url"),
        (("--batch", "folder"), "leave it out"),
        (("--out", "out.parquet"), "in JSON lines"),
        (("--price-in", 1, "--price-out", 1), "the prices of both judges"),
        (("--cheap-price-in", 1), "--cheap-price-in and --cheap-price-out together"),
        (("--cheap-base-url", "ftp://x"), "base_url must be an http(s) URL"),
        (("--base-url", "local:1.5b", "--cheap-base-url", "local:1.5b"), "a cascade needs two"),
    ],
)
def test_what_does_not_go_together_is_refused(
    label: Callable[..., Any],
    servers: tuple[ScriptedModel, ScriptedModel],
    given: tuple[object, ...],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = label(*given)
    assert ran.code == 2
    assert message in " ".join(ran.err.split())
    assert asked(servers) == [0, 0]


def test_settle_below_is_needed_and_the_message_says_where_to_find_it(
    ragauge: Callable[..., Any], label: Callable[..., Any], tmp_path: Path
) -> None:
    models = ("--base-url", "http://127.0.0.1:9/v1", "--model", "m", "--cheap-base-url", "local:0.5b")
    ran = ragauge("label", tmp_path / "retrieved.jsonl", *models, "--out", tmp_path / "o.jsonl")
    assert ran.code == 2
    assert "needs --settle-below" in ran.err
    assert "ragauge judge-card" in ran.err


def test_options_of_a_cheap_judge_need_one(
    ragauge: Callable[..., Any], label: Callable[..., Any], tmp_path: Path
) -> None:
    models = ("--base-url", "http://127.0.0.1:9/v1", "--model", "m")
    ran = ragauge("label", tmp_path / "retrieved.jsonl", *models, "--audit", 0.2, "--out", tmp_path / "o.jsonl")
    assert ran.code == 2
    assert "--audit goes with --cheap-base-url" in ran.err
