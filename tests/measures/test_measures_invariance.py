"""Every measure against its slow reference, and what must not change or must not fall, on random ragged rankings."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from measures_cases import CASES, Case, Labels, judged, same

from ragauge.measures import DEFINITIONS, score

ONE_LABEL = st.none() | st.sampled_from([-1.0, 0.0, 0.4, 0.5, 1.0, 1.5, 2.0, 3.0])
ROW = st.lists(ONE_LABEL, max_size=12)
ROWS = st.lists(st.tuples(ROW, st.lists(ONE_LABEL, max_size=5)), min_size=1, max_size=6)
CUTOFF = st.integers(1, 9)

quick = settings(max_examples=20, deadline=None)
every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.text)


def pool_of(row: Labels, others: Labels) -> list[float]:
    """All judged labels of a query: those retrieved and those that were not."""
    return [label for label in [*row, *others] if label is not None]


def values(case: Case, K: int, rows: list[Labels], pools: list[list[float]]) -> list[float | None]:
    return score(judged(rows, pools), [case.at(K)]).column(2).to_pylist()


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
        assert same(found, case.reference(row, pool, K)), (row, pool, found)
        assert found is not None
        assert not found < low  # NaN is neither
        assert not found > high


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
