"""Label designs: what is drawn, what is labelled, and the estimate that goes with each."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from ragauge.errors import FormatError, InputError, MeasureError
from ragauge.io import design_of_file, read_drawn, read_rankings, write_drawn_rankings, write_rankings
from ragauge.measures import Measure, judge
from ragauge.quality.designed import estimate_by_design
from ragauge.quality.designs import draw_design, drawn_rankings, label_until
from ragauge.results import Estimate
from ragauge.schema import LABELS
from ragauge.testing import assert_tables_equal

P10, T10 = Measure.of("P", 10), Measure.of("T", 10)


def retrieved(n_queries: int, *, k: int = 10, run: str = "bm25") -> pa.Table:
    """Rankings whose documents say in their ids where they stand."""
    return read_rankings(
        {f"q{query:04}": {f"{query}-{rank}": float(-rank) for rank in range(k)} for query in range(n_queries)}
    ).set_column(2, "run", pa.array([run] * n_queries))


def labeller(truth: Callable[[int, int], int | None], asked: list[str] | None = None) -> Callable[[pa.Table], pa.Table]:
    """A judge that knows (query, rank) -> label; None = it cannot tell."""

    def label(rankings: pa.Table) -> pa.Table:
        pairs = dict.fromkeys((row["query_id"], doc_id) for row in rankings.to_pylist() for doc_id in row["doc_ids"])
        rows = []
        for query_id, doc_id in pairs:
            value = truth(*map(int, doc_id.split("-")))
            reason = "no_verdict" if value is None else None
            rows.append({"query_id": query_id, "doc_id": doc_id, "label": value, "reason": reason, "judge": "t"})
            if asked is not None:
                asked.append(doc_id)
        return pa.Table.from_pylist(rows, schema=LABELS)

    return label


def estimate(
    rankings: pa.Table, drawn: pa.Table, label: Callable[[pa.Table], pa.Table], measure: Measure = P10
) -> Estimate:
    judged = judge(rankings, label(drawn_rankings(rankings, drawn)), complete="unknown")
    (found,) = estimate_by_design(judged, drawn, [measure]).values()
    return found[0]


def top_half(query: int, rank: int) -> int:
    return int(rank < 5)


@pytest.mark.parametrize(("design", "per_query"), [("one-per-query", 1), ("two-per-query", 2)])
def test_so_many_of_the_top_are_drawn_of_each_query(design: str, per_query: int) -> None:
    drawn = draw_design(retrieved(50, k=12), design=design, cutoff=10, seed=1)
    marks = drawn.column("drawn").to_pylist()
    assert {len(row) for row in marks} == {10}
    assert {sum(row) for row in marks} == {per_query}
    assert {at for row in marks for at, mark in enumerate(row) if mark} == set(range(10))  # every rank is drawn from
    assert draw_design(retrieved(50, k=12), design=design, cutoff=10, seed=1).equals(drawn)


def test_a_stratified_draw_takes_its_share_of_each_stratum() -> None:
    drawn = draw_design(retrieved(40), design="stratified", n=100, seed=3)
    strata, marks = (pc.list_flatten(drawn.column(name)).to_pylist() for name in ("strata", "drawn"))
    count = {name: sum(mark for mark, other in zip(marks, strata, strict=True) if other == name) for name in strata}
    assert count == {f"score {h} of 5": 20 for h in (1, 2, 3, 4, 5)}


def test_a_stratified_draw_goes_by_rank_where_there_are_no_scores() -> None:
    rankings = retrieved(6)
    bare = rankings.set_column(5, "scores", pa.array([[None] * 10] * 6, pa.list_(pa.float64())))
    drawn = draw_design(bare, design="stratified")
    assert drawn.column("strata").to_pylist()[0] == [f"score {h} of 5" for h in (5, 5, 4, 4, 3, 3, 2, 2, 1, 1)]


def test_only_the_drawn_documents_are_given_to_be_labelled() -> None:
    asked: list[str] = []
    rankings = retrieved(20)
    drawn = draw_design(rankings, seed=2)
    labeller(top_half, asked)(drawn_rankings(rankings, drawn))
    marks = drawn.column("drawn").to_pylist()
    assert asked == [f"{query}-{row.index(True)}" for query, row in enumerate(marks)]


def test_one_document_a_query_estimates_the_mean_of_all() -> None:
    found = estimate(retrieved(2000), draw_design(retrieved(2000), seed=5), labeller(top_half))
    assert found.mean == pytest.approx(0.5, abs=0.04)
    assert found.low < 0.5 < found.high
    assert found.judged == pytest.approx(0.1)
    assert (found.n, found.method) == (2000, "one-per-query")


def test_t_is_p_less_alpha_when_all_slots_are_filled() -> None:
    rankings = retrieved(100)
    drawn = draw_design(rankings, design="two-per-query", seed=5)
    p, t = (estimate(rankings, drawn, labeller(top_half), measure) for measure in (P10, T10))
    assert t.mean == pytest.approx(p.mean - 0.5)
    assert t.high == pytest.approx(p.high - 0.5)


def test_empty_slots_count_as_nothing() -> None:
    rankings = retrieved(30, k=4)  # all relevant, six slots empty
    drawn = draw_design(rankings, seed=5)
    assert estimate(rankings, drawn, labeller(lambda query, rank: 1)).mean == pytest.approx(0.4)


def test_a_document_without_a_label_leaves_its_query_undefined() -> None:
    rankings = retrieved(30)
    found = estimate(rankings, draw_design(rankings), labeller(lambda query, rank: None if query < 10 else 1))
    assert (found.n, found.n_undefined, found.mean) == (20, 10, 1.0)


def test_a_stratified_estimate_agrees_with_the_truth() -> None:
    rankings = retrieved(400)
    found = estimate(rankings, draw_design(rankings, design="stratified", seed=1), labeller(top_half))
    assert found.mean == pytest.approx(0.5, abs=0.05)  # strata of two ranks: only the middle one varies
    assert found.method == "stratified"


def test_each_run_is_drawn_and_estimated_by_itself() -> None:
    rankings = pa.concat_tables([retrieved(40, run="a"), retrieved(40, run="b")])
    drawn = draw_design(rankings, design="stratified")
    judged = judge(rankings, labeller(top_half)(drawn_rankings(rankings, drawn)), complete="unknown")
    found = estimate_by_design(judged, drawn, [P10, T10])
    assert list(found) == ["a", "b"]
    assert [one.judged for (one, _) in found.values()] == [0.1, 0.1]  # what the other run had labelled does not count


def test_until_stops_where_the_pilot_says_and_is_narrow_enough() -> None:
    asked: list[str] = []
    rankings = retrieved(3000)
    label = labeller(top_half, asked)
    found = label_until(rankings, label, half_width=0.05, measure=P10, pilot=100, seed=4)
    assert found.enough
    assert found.half_width <= 0.05 + 1e-9
    assert 350 < len(asked) < 450  # (1.984 * .5 / .05)^2 = 394
    assert len(asked) == found.labels.num_rows
    turns = [turn for turn in found.drawn.column("turn").to_pylist() if turn is not None]
    assert sorted(turns) == list(range(1, len(asked) + 1))
    judged = judge(rankings, found.labels, complete="unknown")
    (mean,) = estimate_by_design(judged, found.drawn, [P10])["bm25"]
    assert (mean.high - mean.low) / 2 == pytest.approx(found.half_width)
    assert (mean.n, mean.method) == (len(asked), "until")
    assert mean.low < 0.5 < mean.high


def test_until_goes_on_for_documents_that_got_no_label() -> None:
    rankings = retrieved(3000)
    label = labeller(lambda query, rank: None if query % 2 else top_half(query, rank))
    found = label_until(rankings, label, half_width=0.05, measure=P10, pilot=100, seed=4)
    assert found.enough
    assert found.labels.num_rows > 700


def test_until_anytime_takes_more_and_is_narrow_enough() -> None:
    rankings = retrieved(3000)
    found = label_until(rankings, labeller(top_half), half_width=0.08, measure=P10, method="until-anytime", seed=4)
    assert found.enough
    assert 154 < found.labels.num_rows < 1500  # (1.984 * .5 / .08)^2 = 154 would do for a planned number
    judged = judge(rankings, found.labels, complete="unknown")
    (mean,) = estimate_by_design(judged, found.drawn, [P10])["bm25"]
    assert (mean.high - mean.low) / 2 == pytest.approx(found.half_width)
    assert mean.method == "until-anytime"


@pytest.mark.parametrize("method", ["until", "until-anytime"])
def test_queries_that_run_out_leave_a_wider_interval(method: str) -> None:
    found = label_until(retrieved(60), labeller(top_half), half_width=0.01, measure=P10, method=method, pilot=20)
    assert not found.enough
    assert found.half_width > 0.01
    assert found.labels.num_rows == 60


def test_until_with_whole_queries_labels_all_of_the_top() -> None:
    found = label_until(retrieved(50, k=12), labeller(top_half), half_width=0.2, measure=P10, per_query=10, pilot=10)
    assert found.labels.num_rows % 10 == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"method": "peek"}, "method must be 'until' or 'until-anytime'"),
        ({"half_width": 0.0}, "half_width must be above 0"),
        ({"pilot": 5}, "a pilot needs at least 10 queries"),
        ({"measure": Measure.of("nDCG", 10)}, r"nDCG@10 cannot be estimated"),
    ],
)
def test_until_refuses_what_it_cannot_do(change: dict[str, object], message: str) -> None:
    options = {"half_width": 0.1, "measure": P10} | change
    with pytest.raises(InputError, match=message):
        label_until(retrieved(20), labeller(top_half), **options)  # type: ignore[arg-type]


def test_until_takes_one_run() -> None:
    two = pa.concat_tables([retrieved(5, run="a"), retrieved(5, run="b")])
    with pytest.raises(InputError, match="rankings of one run, got 2"):
        label_until(two, labeller(top_half), half_width=0.1, measure=P10)


@pytest.mark.parametrize("measure", ["nDCG@10", "RR@10", "R@10", "F@10", "P@5"])
def test_a_measure_that_a_design_cannot_give_is_refused(measure: str) -> None:
    rankings = retrieved(5)
    name, _, cutoff = measure.partition("@")
    with pytest.raises(MeasureError, match=r"one random document of the top 10 .* ask for one of P@10, T@10"):
        estimate(rankings, draw_design(rankings), labeller(top_half), Measure.of(name, int(cutoff)))


def test_a_design_of_other_rankings_is_refused() -> None:
    drawn = draw_design(retrieved(5))
    with pytest.raises(InputError, match="not that of these rankings"):
        estimate_by_design(retrieved(6), drawn, [P10])
    with pytest.raises(InputError, match="longer or shorter"):
        estimate_by_design(retrieved(5, k=8), drawn, [P10])


@pytest.mark.parametrize("options", [{"design": "some"}, {"n": 5}, {"cutoff": 0}, {"design": "stratified", "n": 3}])
def test_a_draw_that_cannot_be_is_refused(options: dict[str, object]) -> None:
    with pytest.raises(InputError):
        draw_design(retrieved(5), **options)  # type: ignore[arg-type]


def test_a_file_keeps_its_design(tmp_path: Path) -> None:
    rankings = retrieved(40)
    for name, drawn in (
        ("few", draw_design(rankings, seed=3)),
        ("strata", draw_design(rankings, design="stratified", seed=3)),
        ("until", label_until(rankings, labeller(top_half), half_width=0.2, measure=P10, pilot=20).drawn),
    ):
        path = tmp_path / f"{name}.jsonl"
        write_drawn_rankings(rankings, drawn, path)
        assert design_of_file(path) == drawn.column("design")[0].as_py()
        assert_tables_equal(read_drawn(path), drawn)
        assert_tables_equal(read_rankings(path), rankings)


def test_a_plain_file_has_no_design(tmp_path: Path) -> None:
    plain, run = tmp_path / "plain.jsonl", tmp_path / "a.run"
    write_rankings(retrieved(2), plain)
    write_rankings(retrieved(2), run)
    assert design_of_file(plain) == design_of_file(run) == ""
    with pytest.raises(FormatError, match="no 'design' with a 'name'"):
        read_drawn(plain)


def test_simulated_designs_cover_the_mean_of_the_queries() -> None:
    rng = np.random.default_rng(11)
    rankings, inside, n_runs = retrieved(150), {"one-per-query": 0, "stratified": 0}, 60
    for run in range(n_runs):
        easy = rng.beta(1, 1, size=150)
        y = rng.random((150, 10)) < easy[:, None]
        label = labeller(lambda query, rank, y=y: int(y[query, rank]))  # type: ignore[misc]
        for design in inside:
            found = estimate(rankings, draw_design(rankings, design=design, seed=run), label)
            inside[design] += found.low <= 0.5 <= found.high
    assert min(inside.values()) / n_runs >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / n_runs)
