"""Every measure against its slow reference, and what must not change or must not fall, on random ragged rankings."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from measures_cases import CASES, Case, Labels, judged, same

from ragauge.measures import DEFINITIONS, parse_measure, score

ONE_LABEL = st.none() | st.sampled_from([-1.0, 0.0, 0.4, 0.5, 1.0, 1.5, 2.0, 3.0])
ROW = st.lists(ONE_LABEL, max_size=12)
ROWS = st.lists(st.tuples(ROW, st.lists(ONE_LABEL, max_size=5)), min_size=1, max_size=6)
CUTOFF = st.integers(1, 9)

quick = settings(max_examples=12, deadline=None)
every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.text)


def pool_of(row: Labels, others: Labels) -> list[float]:
    """All judged labels of a query: those retrieved and those that were not."""
    return [label for label in [*row, *others] if label is not None]


def values(case: Case, K: int, rows: list[Labels], pools: list[list[float]]) -> list[float | None]:
    taken = judged([case.labels(row) for row in rows], [case.labels(pool) for pool in pools])
    return score(taken, [case.at(K)]).column(2).to_pylist()


def test_every_registered_measure_has_a_case() -> None:
    assert {case.at(1).name for case in CASES} == {definition.name for definition in DEFINITIONS}


@every_case
@quick
@given(rows=ROWS, K=CUTOFF)
def test_a_measure_equals_its_formula_and_stays_in_its_bounds(
    case: Case, rows: list[tuple[Labels, Labels]], K: int
) -> None:
    pools = [pool_of(row, others) for row, others in rows]
    actual = values(case, K, [row for row, _ in rows], pools)
    low, high = case.at(K).bounds
    for (row, _), pool, found in zip(rows, pools, actual, strict=True):
        assert same(found, case.expected(case.labels(row), case.labels(pool), K)), (row, pool, found)
        assert found is not None
        assert not found < low - 1e-12  # NaN is neither; a sum may be off by its last bit
        assert not found > high + 1e-12


@pytest.mark.parametrize("case", [case for case in CASES if case.unchanged_by_not_relevant], ids=lambda case: case.text)
@quick
@given(row=ROW, others=ROW, K=CUTOFF, n=st.integers(1, 4))
def test_appending_not_relevant_documents_changes_nothing(
    case: Case, row: Labels, others: Labels, K: int, n: int
) -> None:
    longer = [*row, *[0.0] * n]
    before, after = values(case, K, [row, longer], [pool_of(row, others), pool_of(longer, others)])
    assert same(before, after)


@pytest.mark.parametrize("case", [case for case in CASES if case.monotone], ids=lambda case: case.text)
@quick
@given(row=st.lists(ONE_LABEL, min_size=2, max_size=12), others=ROW, K=CUTOFF, data=st.data())
def test_a_relevant_document_that_moves_up_never_lowers_the_value(
    case: Case, row: list[float | None], others: Labels, K: int, data: st.DataObject
) -> None:
    at = data.draw(st.integers(1, len(row) - 1))
    moved = row.copy()
    moved[at - 1], moved[at] = 3.0, row[at - 1]
    row[at] = 3.0  # 3 is the top label: nothing that it passes is better
    pool = pool_of(row, others)
    before, after = values(case, K, [row, moved], [pool, pool])
    assert before is not None
    assert after is not None
    assert not after < before - 1e-12


def test_fe_falls_when_a_positive_comes_into_sight_below_the_cutoff() -> None:
    # K = 1, x = 2: one positive in the top 1; N_e is 1, then 2: 1/(.5 + .5 * 1) = 1, then 1/(.5 + .5 * 2) = 2/3
    fe = next(case for case in CASES if case.text == "Fe")
    assert values(fe, 1, [[1, 0, 1], [1, 1, 0]], [[1, 1], [1, 1]]) == [1.0, pytest.approx(2 / 3)]


def test_ndcg_with_retrieved_ideal_falls_when_a_second_positive_enters_late() -> None:
    # K = 3: 1/1 = 1 before; (1 + 1/2) / (1 + 1/log2(3)) = 1.5 / 1.6309298 = 0.9197208 after
    ndcg = next(case for case in CASES if case.text == "nDCG(ideal=retrieved)")
    assert values(ndcg, 3, [[1, 0, 0, 1], [1, 0, 1, 0]], [[1, 1], [1, 1]]) == [1.0, pytest.approx(0.9197208, abs=1e-7)]


def test_infap_falls_when_a_positive_passes_a_pooled_document_below_many_that_were_not_pooled() -> None:
    # rank 4 below two that were not pooled and a pooled one: (1 + 1 * 1/2) / 4 = .375; rank 3: (1 + 0) / 3 = .333
    infap = next(case for case in CASES if case.text == "infAP")
    found = values(infap, 1, [[None, None, -1, 1], [None, None, 1, -1]], [[-1, 1], [1, -1]])
    assert found == pytest.approx([0.375, 1 / 3])


@pytest.mark.parametrize("p", [0.0, 0.5, 0.8, 0.95])
@quick
@given(row=st.lists(st.none() | st.sampled_from([0.0, 1.0]), max_size=12))
def test_rbp_and_its_residual_bound_rbp_whatever_the_missing_labels_are(p: float, row: list[float | None]) -> None:
    rows = [row, [1.0 if label is None else label for label in row], [0.0 if label is None else label for label in row]]
    texts = [f"RBP(p={p})", f"RBPres(p={p})"]
    table = score(judged(rows), [parse_measure(text) for text in texts]).to_pylist()
    (rbp, residual), (highest, _), (lowest, _) = [list(found.values())[2:] for found in table]
    assert rbp == lowest
    # all missing ones positive, and all that stands below the ranking
    assert rbp + residual == pytest.approx(highest + p ** len(row))


@quick
@given(row=ROW, others=ROW)
def test_with_one_relevant_document_average_precision_is_reciprocal_rank(row: Labels, others: Labels) -> None:
    one = [None if label is None else min(label, 0.5) for label in row]
    at = len(one) // 2
    one.insert(at, 1.0)
    pool = pool_of(one, [None if label is None else min(label, 0.5) for label in others])
    found = score(judged([one], [pool]), [parse_measure("AP"), parse_measure("RR")]).to_pylist()[0]
    assert found["AP"] == found["RR"] == 1 / (at + 1)


@quick
@given(row=ROW, others=ROW, K=CUTOFF)
def test_a_negative_label_is_as_good_as_none_to_all_measures_but_infap(row: Labels, others: Labels, K: int) -> None:
    for case in CASES:
        if case.pooled:
            continue
        known = [None if label is not None and label < 0 else label for label in row]
        pools = [pool_of(row, others), pool_of(known, others)]
        first, second = values(case, K, [row, known], pools)
        assert same(first, second), case.text
