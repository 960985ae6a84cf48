"""The measures that meet in one segment: the correlation of each, over all queries, without each, and redrawn.

One idea: to be comparable they must be computed on the same answers. A measure that is undefined in some answer of the
segment, or constant there, does not take part, and says why.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ragauge.stats import ContingencyTable, table_association, table_coefficients, tabulate
from ragauge.stats.association import sign_sums
from ragauge.stats.jackknife import leave_one_out

__all__ = ["Entrant", "Heat", "Place", "draw_queries", "run_heat"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_REASONS = {"x is constant": "the measure is constant", "y is constant": "the grade is constant"}
_CHUNK = 2_000_000  # cells a batch of tables may have


@dataclass(frozen=True)
class Place:
    """A segment, or what is pooled.

    Attributes:
        dataset: Queries of one name in two data sets are two queries; "*" = pooled over data sets.
        embedder: Retriever; "*" = pooled.
        segment: What else tells answers apart, such as "K/N_p=0.5"; segments of one name are pooled.
        ratio: K / N_p, where the segment is one of it.
    """

    dataset: str
    embedder: str
    segment: str
    ratio: float | None = None


@dataclass(frozen=True)
class Entrant:
    """One measure in one segment.

    Attributes:
        measure: Its name.
        whole: Its correlation with the grade.
        without: The same without each query of the segment, shape (Q,).
        drawn: The same in each bootstrap draw, shape (B,); NaN where undefined.
    """

    measure: str
    whole: float
    without: Floats
    drawn: Floats


@dataclass(frozen=True)
class Heat:
    """All measures in one segment.

    Attributes:
        entrants: Those that take part.
        absent: Why each other measure does not.
        queries: The queries of the segment, as numbers that mean the same in all segments, ascending, shape (Q,).
        n_rows: Answers.
    """

    entrants: tuple[Entrant, ...]
    absent: dict[str, str]
    queries: Ints
    n_rows: int


def draw_queries(stratum: Ints, n_draws: int, rng: np.random.Generator) -> Floats:
    """How often each query comes in each bootstrap draw, shape (B, Q): drawn with replacement within its stratum.

    Args:
        stratum: The data set of each query, shape (Q,): the queries of one are a sample, the data sets are not.
        n_draws: B.
        rng: Where chance comes from.
    """
    counts = np.zeros((n_draws, len(stratum)))
    for value in np.unique(stratum):
        members = np.flatnonzero(stratum == value)
        counts[:, members] = rng.multinomial(len(members), np.full(len(members), 1 / len(members)), n_draws)
    return counts


def run_heat(values: Mapping[str, Floats], grade: Floats, query: Ints, *, coefficient: str, counts: Floats) -> Heat:
    """The measures of one segment.

    Args:
        values: Each measure in each answer, shape (n,); NaN = undefined.
        grade: Shape (n,), finite.
        query: The number of each answer's query, shape (n,).
        coefficient: A name of `stats.COEFFICIENTS`.
        counts: How often each query comes in each draw, shape (B, all queries), as `draw_queries` gives it.
    """
    queries, code = np.unique(query, return_inverse=True)
    weights = counts[:, queries]
    entrants, absent = [], {}
    for measure, column in values.items():
        n_undefined = int(np.isnan(column).sum())
        if n_undefined:
            absent[measure] = f"undefined in {n_undefined} of {len(column)} answers"
            continue
        table = tabulate(column, grade)
        whole = table_association(table)
        if whole.reason:
            absent[measure] = _REASONS.get(whole.reason, whole.reason)
            continue
        without = getattr(leave_one_out(table, code), coefficient)
        if not np.isfinite(without).all():
            absent[measure] = "the coefficient hangs on a single query"
            continue
        drawn = _drawn(table, code, weights, coefficient)
        entrants.append(Entrant(measure, float(getattr(whole, coefficient)), without, drawn))
    return Heat(tuple(entrants), absent, queries, len(grade))


def _drawn(table: ContingencyTable, code: Ints, weights: Floats, coefficient: str) -> Floats:
    """The coefficient in each draw: the draws' tables are the counts times the queries' own tables."""
    from scipy.sparse import csr_array  # here, because `import ragauge` must stay quick

    n_cells = table.cells.size
    place = (table.row * table.cells.shape[1] + table.column, code)
    own = csr_array((np.ones(len(code)), place), shape=(n_cells, weights.shape[1]))
    step = max(1, _CHUNK // n_cells)
    parts = []
    for start in range(0, len(weights), step):
        cells = np.ascontiguousarray((own @ weights[start : start + step].T).T).reshape(-1, *table.cells.shape)
        parts.append(_coefficient(table, cells, coefficient))
    return np.concatenate(parts)


def _coefficient(table: ContingencyTable, cells: Floats, name: str) -> Floats:
    """One coefficient of each table of a batch; Spearman alone is had at a third of the price of all."""
    if name != "spearman":
        return np.asarray(getattr(table_coefficients(table.x_values, table.y_values, cells), name))
    rows, columns = cells.sum(-1), cells.sum(-2)
    a, b = -sign_sums(rows) / 2, -sign_sums(columns) / 2  # centred mid-ranks
    spread = (rows * a**2).sum(-1) * (columns * b**2).sum(-1)
    covariance = ((cells @ b[..., None])[..., 0] * a).sum(-1)
    return np.asarray(np.divide(covariance, np.sqrt(spread), out=np.full(len(cells), np.nan), where=spread > 0))
