"""Several runs, brought to the same queries, judged and scored: what comparisons and rules look at.

A query that one run returned nothing for counts as an empty ranking: leaving it out would reward the run that gives up
on hard queries.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ragauge.errors import InputError
from ragauge.io.text import stem
from ragauge.measures import Measure, Policies, Prepared, cover, judged_share, policy_scores, prepare
from ragauge.schema import LABELS, RANKINGS, conform

__all__ = [
    "Pairs",
    "Scored",
    "Systems",
    "cluster_of",
    "judge_systems",
    "named_apart",
    "one_run",
    "pairs",
    "score_systems",
]

DEFAULTS = Policies()


@dataclass(frozen=True)
class Systems:
    """Judged rankings of one run or more over the same queries.

    Attributes:
        prepared: The rankings that count, with an empty one where a run had none, and the policies.
        n_missing: Run -> queries it had no ranking for; runs in the order given.
    """

    prepared: Prepared
    n_missing: Mapping[str, int]

    @property
    def judged(self) -> pa.Table:
        """`schema.JUDGED`."""
        return self.prepared.judged


@dataclass(frozen=True)
class Scored:
    """Scores of one system.

    Attributes:
        name: Of the system.
        scores: A row a query: query_id, and a float64 column a measure.
        judged: Measure -> share of judged documents among those it reads; a measure that is not there: not known.
        n_missing: Queries it had no ranking for.
    """

    name: str
    scores: pa.Table
    judged: Mapping[str, float]
    n_missing: int = 0


@dataclass(frozen=True)
class Pairs:
    """Values of one measure for two systems, query by query; NaN = undefined or not known."""

    query_ids: tuple[str, ...]
    baseline: npt.NDArray[np.float64]
    system: npt.NDArray[np.float64]


def named_apart(rankings: Sequence[tuple[str, pa.Table]]) -> pa.Table:
    """Rankings of several files as one table, in which no run of one file goes by the name of a run of another.

    A run keeps its name where no other file has it; else it goes by its file's name, or name and path.

    Args:
        rankings: Pairs of (file, `schema.RANKINGS`).
    """
    tables = [(file, conform(table, RANKINGS, what=file)) for file, table in rankings]
    spellings = []
    for at, (file, table) in enumerate(tables, start=1):
        runs = pc.unique(table.column("run")).to_pylist()
        short = [stem(file)] if len(runs) == 1 else [f"{run} ({stem(file)})" for run in runs]
        spellings += [
            [run, name, f"{run} ({PurePath(file).name})", f"{run} ({file})", f"{run} (file {at})"]
            for run, name in zip(runs, short, strict=True)
        ]
    names = _distinct(spellings)
    found = []
    for _, table in tables:
        own = pc.unique(table.column("run"))
        new, names = pa.array(names[: len(own)], pa.string()), names[len(own) :]
        renamed = new.take(pc.index_in(table.column("run"), value_set=own))
        found.append(table.set_column(RANKINGS.get_field_index("run"), RANKINGS.field("run"), renamed))
    return pa.concat_tables(found)


def one_run(table: pa.Table, run: str | None, *, source: str) -> pa.Table:
    """The rows of one run.

    Args:
        table: Rankings or scores, with a column run.
        run: Its name; None = the only one.
        source: The file, for the message.

    Raises:
        InputError: There is no run of that name, or None is asked for and there are several.
    """
    names = pc.unique(table.column("run")).to_pylist()
    if run is None and len(names) <= 1:
        return table
    if run not in names:
        asked = "name one with --run" if run is None else f"there is no {run!r}"
        n_runs = f"{len(names)} run{'' if len(names) == 1 else 's'}"
        raise InputError(f"{source} holds {n_runs} ({', '.join(names)}); {asked}")
    return table.filter(pc.equal(table.column("run"), run))


def judge_systems(
    rankings: pa.Table,
    labels: pa.Table | None,
    policies: Policies = DEFAULTS,
    *,
    rel: float = 1.0,
    also: Sequence[str] = (),
) -> Systems:
    """Rankings of several runs with their labels, over the same queries.

    Args:
        rankings: `schema.RANKINGS`.
        labels: `schema.LABELS`; the queries are those with a label. None = the labels inside the rankings; the queries
            are those that any run has a ranking for.
        policies: What to do where the data leave a choice; unjudged="bounds" is not among what can be compared.
        rel: A label of at least this is relevant; for the policy no_relevant.
        also: Without `labels`: queries that count although no run may have a ranking for them.

    Raises:
        InputError: What a policy refuses, or what `judge` refuses.
    """
    if policies.unjudged == "bounds":
        raise InputError("this needs one value a query, and unjudged=bounds gives two; choose negative or skip")
    table = conform(rankings, RANKINGS, what="rankings")
    if labels is not None:
        prepared = prepare(table, labels, policies, rel=rel)
        return Systems(prepared, {run.run: run.n_missing for run in prepared.runs})
    covered = cover(table, _each_query(table, also), missing=policies.missing)
    prepared = replace(prepare(covered.rankings, None, policies, rel=rel), missing=covered.missing)
    return Systems(prepared, {run.run: run.n_missing for run in covered.runs})


def score_systems(systems: Systems, measures: Sequence[Measure]) -> list[Scored]:
    """The scores of each run.

    Raises:
        MeasureError: No measure, or one that needs the pool while no query has one.
    """
    scores = policy_scores(systems.prepared, measures)
    found = []
    for name, n_missing in systems.n_missing.items():
        mask = pc.equal(systems.judged.column("run"), name)
        judged = systems.judged.filter(mask)
        shares = {str(measure): judged_share(judged, measure) for measure in measures}
        found.append(Scored(name, scores.filter(mask).drop_columns("run"), shares, n_missing))
    return found


def pairs(baseline: Scored, system: Scored, measure: str) -> Pairs:
    """The values of both, one a query that either has a row for, sorted by query id.

    Raises:
        InputError: One of them has no such column.
    """
    for one in (baseline, system):
        if measure not in one.scores.column_names:
            found = ", ".join(name for name in one.scores.column_names if name not in ("query_id", "run"))
            raise InputError(f"{one.name} has no scores for {measure}; found: {found or 'none'}")
    ids = [one.scores.column("query_id") for one in (baseline, system)]
    query_ids = pc.unique(pa.chunked_array([chunk for column in ids for chunk in column.chunks], pa.string()))
    query_ids = query_ids.take(pc.sort_indices(query_ids))
    return Pairs(
        tuple(query_ids.to_pylist()), _values(baseline, measure, query_ids), _values(system, measure, query_ids)
    )


def _values(one: Scored, measure: str, query_ids: pa.Array) -> npt.NDArray[np.float64]:
    """The scores in the order of `query_ids`; NaN for a query without."""
    rows = pc.index_in(query_ids, value_set=one.scores.column("query_id"))
    values: npt.NDArray[np.float64] = one.scores.column(measure).take(rows).to_numpy()
    return values


def cluster_of(query_ids: Sequence[str], clusters: Mapping[str, str]) -> list[str]:
    """What each query belongs to.

    Raises:
        InputError: Some belong to nothing.
    """
    lost = [query_id for query_id in query_ids if query_id not in clusters]
    if lost:
        shown = ", ".join(map(repr, lost[:3]))
        raise InputError(f"{len(lost)} of {len(query_ids)} queries have no cluster, such as {shown}; give each one")
    return [clusters[query_id] for query_id in query_ids]


def _each_query(rankings: pa.Table, also: Sequence[str]) -> pa.Table:
    """As if each query that any run has a ranking for were labelled, and those of `also`."""
    query_ids = list(dict.fromkeys([*rankings.column("query_id").to_pylist(), *also]))
    blank = {"doc_id": pa.array([""] * len(query_ids)), "label": pa.array([0.0] * len(query_ids))}
    return conform(pa.table({"query_id": query_ids} | blank), LABELS, what="queries")


def _distinct(spellings: Sequence[Sequence[str]]) -> list[str]:
    """For each run the first of its spellings that no other run has, or else the last."""
    count = Counter(name for options in spellings for name in set(options))
    return [next((name for name in options if count[name] == 1), options[-1]) for options in spellings]
