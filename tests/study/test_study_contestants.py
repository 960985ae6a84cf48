"""The measures of a study, computed on counts, are those of `ragauge.measures`, computed on rankings."""

import numpy as np
import pyarrow as pa
import pytest

from ragauge.measures import f_alpha, fe_alpha, t_alpha
from ragauge.measures.measure import Measure
from ragauge.ragged import Ragged
from ragauge.schema import GRADED
from ragauge.study.cells import graded_cells
from ragauge.study.contestants import MEASURES, row_values
from ragauge.study.segments import segments_of

ALPHAS = np.linspace(0, 1, 21)


@pytest.fixture(scope="module")
def rows():
    """200 rankings with hits, misses and unjudged documents, some shorter than K."""
    rng, found = np.random.default_rng(0), []
    for number in range(200):
        n_relevant, cutoff = int(rng.integers(1, 9)), int(rng.integers(1, 15))
        ranking = rng.permutation([1.0] * n_relevant + [0.0] * 20)[: int(rng.integers(0, cutoff + 1))]
        hidden = rng.random(len(ranking)) < 0.1
        labels = [None if gone else float(label) for label, gone in zip(ranking, hidden, strict=True)]
        n_p = labels.count(1.0)
        found.append(
            {
                "query_id": f"q{number}",
                "dataset": "nq",
                "embedder": "e5",
                "n_candidates": 28,
                "n_relevant": n_relevant,
                "cutoff": cutoff,
                "grade": float(rng.integers(1, 6)),
                "labels": labels,
                "n_positive_2k": int(rng.integers(n_p, n_relevant + 1)) if number % 3 else None,
            }
        )
    return found


@pytest.fixture(scope="module")
def segment(rows):
    (one,) = segments_of(graded_cells(pa.Table.from_pylist(rows, schema=GRADED)), "all")
    return one.load()


def by_name(name):
    return next(measure for measure in MEASURES if measure.name == name)


@pytest.mark.parametrize("name", ["n_p", "P", "R", "nDCG(ideal=retrieved)", "nDCG(ideal=qrels)"])
def test_values_are_those_of_the_measure_at_each_cutoff(name, rows, segment):
    expected = []
    for row in rows:
        values = {"ideal": name.partition("=")[2].rstrip(")")} if "ideal" in name else {}
        measure = Measure.of(name.partition("(")[0], row["cutoff"], **values)
        labels = Ragged.from_lists([row["labels"]])
        pool = Ragged.from_lists([[1.0] * row["n_relevant"]])
        expected.append(measure.values(labels, pool)[0])
    assert row_values(by_name(name), segment) == pytest.approx(np.array(expected), abs=1e-9)


def test_families_are_f_fe_and_t_at_every_alpha(rows, segment):
    cells = segment.cells
    t = by_name("T(form=count)").family(cells).at(ALPHAS)
    assert t == pytest.approx(t_alpha(cells.n_p, cells.n_n, cells.K, ALPHAS[:, None], form="count"), abs=1e-12)
    f = by_name("F").family(cells).at(ALPHAS)
    assert f == pytest.approx(f_alpha(cells.n_p, cells.K, cells.N_p, ALPHAS[:, None]), abs=1e-12)
    known = by_name("Fe(x=2)").defined(cells)
    part = cells.at(known)
    fe = by_name("Fe(x=2)").family(part)
    assert fe.open_at_zero
    assert fe.at(ALPHAS[1:]) == pytest.approx(fe_alpha(part.n_p, part.K, part.n_2k, ALPHAS[1:, None]), abs=1e-12)


def test_rows_without_a_deeper_count_have_no_fe(rows, segment):
    missing = np.isnan(row_values(by_name("Fe(x=2)"), segment))
    assert missing.tolist() == [row["n_positive_2k"] is None for row in rows]
