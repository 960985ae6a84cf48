"""Rules checked against files: what passed, what failed, what the data cannot decide, and why.

A gate must not open by accident. What cannot be scored fails: no ranking, nothing retrieved, not one judged document,
a measure that is undefined for every query. What the data cannot decide fails too, unless it is asked to pass. A query
without a ranking counts as an empty one for what is checked, and is left out for a baseline: a baseline that lost half
of its rankings must not be easy to beat.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import isnan, nan
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from ragauge.errors import InputError
from ragauge.io import is_per_query, read_labels, read_rankings, read_scores
from ragauge.measures import Policies
from ragauge.quality.compare import compare_scored
from ragauge.quality.evaluate import at_level, labels_are_probabilities
from ragauge.quality.rules import On, Outcome, Rule, decide, parse_rule
from ragauge.quality.systems import Scored, cluster_of, judge_systems, named_apart, one_run, pairs, score_systems
from ragauge.results import Comparison, Estimate
from ragauge.stats import mean_interval

__all__ = ["Source", "Verdict", "assert_quality", "check_rules", "read_source", "verdict_lines"]

Undecided = Literal["fail", "pass"]

DEFAULTS = Policies()


@dataclass(frozen=True)
class Source:
    """One run to be checked, or to be checked against.

    Attributes:
        name: The file.
        kind: What the table holds.
        table: `schema.RANKINGS`, or scores as `read_scores` gives them; of one run.
    """

    name: str
    kind: Literal["rankings", "scores"]
    table: pa.Table

    def __post_init__(self) -> None:
        runs = pc.unique(self.table.column("run")).to_pylist()
        if len(runs) != 1:
            raise InputError(f"{self.name} must hold one run, got {', '.join(runs) or 'none'}")

    @property
    def run(self) -> str:
        """Name of the run."""
        return str(self.table.column("run")[0].as_py())


@dataclass(frozen=True)
class Verdict:
    """What became of one rule.

    Attributes:
        rule: As it was written, in canonical form.
        outcome: "pass", "fail" or "undecided".
        passed: Whether the gate lets it through: undecided ones as asked.
        value: The mean, or the mean difference to the baseline; NaN = undefined.
        low: Lower bound of its interval; NaN when there is none.
        high: Upper bound.
        level: Confidence level of the interval.
        n: Queries (or pairs of them) it is over.
        n_undefined: Queries left out, as the measure is undefined for them, or the baseline has no ranking.
        n_missing: Queries without a ranking of what is checked; they count as empty, or as the policy `missing` says.
        judged: Share of judged documents among those the measure reads, the smaller one of new and baseline; NaN when
            not known, as there are only scores.
        reason: Why it is not a plain pass or fail, else "".
    """

    rule: str
    outcome: Outcome
    passed: bool
    value: float
    low: float
    high: float
    level: float
    n: int
    n_undefined: int
    n_missing: int
    judged: float
    reason: str = ""

    def __str__(self) -> str:
        found = "undefined" if isnan(self.value) else f"{self.value:.3f}"
        interval = "" if isnan(self.low) else f" [{self.low:.3f}, {self.high:.3f}]"
        why = f" ({self.reason})" if self.reason else ""
        return f"{self.outcome:<9}  {self.rule}: {found}{interval}, n = {self.n}{why}"


def read_source(
    path: str | Path, *, run: str | None = None, read: Callable[[str | Path], pa.Table] = read_rankings
) -> Source:
    """One run from a file of rankings, or of scores as `ragauge score --per-query` writes them.

    Args:
        path: The file.
        run: Which run, where the file holds several; a file with one run needs no name, and its name is not compared.
        read: How rankings are read.

    Raises:
        InputError: The file cannot be read, holds nothing, or holds several runs and none of that name.
    """
    per_query = is_per_query(path)
    table = read_scores(path) if per_query else read(path)
    several = pc.count_distinct(table.column("run")).as_py() > 1
    table = one_run(table, run if several else None, source=str(path))
    return Source(str(path), "scores" if per_query else "rankings", table)


def check_rules(
    rules: Sequence[Rule],
    source: Source,
    labels: pa.Table | None = None,
    *,
    baselines: Mapping[str, Source] | None = None,
    clusters: Mapping[str, str] | None = None,
    level: float = 0.95,
    on: On = "interval",
    undecided: Undecided = "fail",
    rel: float | None = None,
    policies: Policies = DEFAULTS,
) -> list[Verdict]:
    """Each rule checked.

    Args:
        rules: What must hold, at least one.
        source: What it must hold for.
        labels: `schema.LABELS`; None = the labels inside the rankings.
        baselines: File as the rules name it -> that run; those not given are read.
        clusters: Query id -> what it belongs to; None = each query is on its own.
        level: Confidence level of the two-sided intervals: a rule passes wrongly at most (1 - level) / 2 of the time.
        on: Decide on the whole interval, or on the estimate alone.
        undecided: What an undecided rule counts as.
        rel: A label this high is relevant, for measures that name no other; None = 1, or 0.5 if labels are
            probabilities.
        policies: What to do where the data leave a choice; not unjudged="bounds". Scores are as they were computed.

    Returns:
        One verdict a rule.

    Raises:
        InputError: No rule, a file that cannot be read, scores without the column of a rule, a bad option, or what a
            policy refuses.
        MeasureError: A measure needs the pool while no query has one.
    """
    if not rules:
        raise InputError("no rule given; give at least one, such as 'P@10 >= 0.4'")
    if on not in ("interval", "point"):
        raise InputError(f"on must be 'interval' or 'point', got {on!r}")
    if undecided not in ("fail", "pass"):
        raise InputError(f"undecided must be 'fail' or 'pass', got {undecided!r}")
    known, terms = dict(baselines or {}), _Terms(labels, rel, policies, clusters, level)
    verdicts = []
    for rule in rules:
        if rule.baseline is None:
            found = _mean(rule, source, terms)
        else:
            if rule.baseline not in known:
                known[rule.baseline] = read_source(rule.baseline, run=source.run, read=_reading(policies))
            found = _difference(rule, [known[rule.baseline], source], terms)
        verdicts.append(_decided(rule, found, on, undecided))
    return verdicts


def assert_quality(
    rankings: str | Path | pa.Table,
    labels: str | Path | pa.Table | None = None,
    *rules: str,
    clusters: Mapping[str, str] | None = None,
    level: float = 0.95,
    on: On = "interval",
    undecided: Undecided = "fail",
    rel: float | None = None,
    policies: Policies = DEFAULTS,
) -> None:
    """Nothing when all rules hold; else an AssertionError with all verdicts: for tests.

    Args:
        rankings: A file of rankings or of scores, or `schema.RANKINGS` of one run.
        labels: A file of labels or `schema.LABELS`; None = the labels inside the rankings.
        *rules: Such as "P@10 >= 0.4" or "delta P@10 > -0.02 vs baseline.parquet"; see `quality.rules`.
        clusters: Query id -> what it belongs to (a user, a conversation).
        level: Confidence level of the intervals.
        on: Decide on the whole "interval", or on the estimate alone, the "point".
        undecided: Whether a rule that the data cannot decide makes the assertion "fail" or "pass".
        rel: A label this high is relevant; as in `check_rules`.
        policies: What to do where the data leave a choice; as in `check_rules`.

    Raises:
        AssertionError: A rule failed; the message lists every rule with its value and interval.
        InputError: What `check_rules` refuses.
    """
    __tracebackhide__ = True  # pytest then shows the line of the test
    table = labels if labels is None or isinstance(labels, pa.Table) else read_labels(labels)
    source = (
        Source("the rankings", "rankings", rankings)
        if isinstance(rankings, pa.Table)
        else read_source(rankings, read=_reading(policies))
    )
    verdicts = check_rules(
        [parse_rule(rule) for rule in rules],
        source,
        table,
        clusters=clusters,
        level=level,
        on=on,
        undecided=undecided,
        rel=rel,
        policies=policies,
    )
    if not all(verdict.passed for verdict in verdicts):
        raise AssertionError("\n".join([f"retrieval quality of {source.name}:", *verdict_lines(verdicts)]))


def verdict_lines(verdicts: Sequence[Verdict]) -> list[str]:
    """One line a verdict, failed ones marked."""
    return [f"{'  ' if verdict.passed else '✗ '}{verdict}" for verdict in verdicts]


@dataclass(frozen=True)
class _Terms:
    """What every rule is checked with, as in `check_rules`."""

    labels: pa.Table | None
    rel: float | None
    policies: Policies
    clusters: Mapping[str, str] | None
    level: float


def _reading(policies: Policies) -> Callable[[str | Path], pa.Table]:
    """How rankings are read, so that `policies` decide about documents that repeat."""
    return partial(read_rankings, duplicates="error" if policies.duplicates == "error" else "keep")


def _mean(rule: Rule, source: Source, terms: _Terms) -> Verdict:
    """The mean of a measure with its interval, not decided yet."""
    rule, scored = _scored(rule, [source], terms)
    column = pairs(scored[0], scored[0], str(rule.measure))
    estimate = mean_interval(
        column.system,
        measure=str(rule.measure),
        bounds=rule.measure.bounds,
        clusters=None if terms.clusters is None else cluster_of(column.query_ids, terms.clusters),
        level=terms.level,
    )
    return _undecided(rule, estimate.mean, estimate, scored)


def _difference(rule: Rule, sources: Sequence[Source], terms: _Terms) -> Verdict:
    """The mean difference, second source - first, with its interval, not decided yet."""
    rule, (old, new) = _scored(rule, sources, terms)
    ranked = pc.is_in(old.scores.column("query_id"), value_set=pc.unique(sources[0].table.column("query_id")))
    old = replace(old, scores=old.scores.filter(ranked))
    found = compare_scored(old, new, str(rule.measure), clusters=terms.clusters, level=terms.level, resamples=1)
    return _undecided(rule, found.difference, found, [old, new])


def _undecided(rule: Rule, value: float, found: Estimate | Comparison, scored: Sequence[Scored]) -> Verdict:
    """What was found, before the rule is applied; undefined where there was nothing to judge by."""
    shares = [one.judged[str(rule.measure)] for one in scored if str(rule.measure) in one.judged]
    broken = _broken(scored, str(rule.measure))
    return Verdict(
        rule=str(rule),
        outcome="undecided",
        passed=False,
        value=nan if broken else value,
        low=nan if broken else found.low,
        high=nan if broken else found.high,
        level=found.level,
        n=found.n,
        n_undefined=found.n_undefined,
        n_missing=scored[-1].n_missing,
        judged=min(shares, default=nan),
        reason=broken or found.reason,
    )


def _broken(scored: Sequence[Scored], measure: str) -> str:
    """Why these scores must not pass anything, else "": no document retrieved, or none judged."""
    for one in scored:
        share = one.judged.get(measure, 1.0)
        if not share > 0:
            if isnan(share):
                return f"no document was retrieved in {one.name}"
            return f"no retrieved document is judged in {one.name}; give labels, or make some with ragauge label"
    return ""


def _decided(rule: Rule, found: Verdict, on: On, undecided: Undecided) -> Verdict:
    outcome = decide(rule, value=found.value, low=found.low, high=found.high, on=on)
    passed = outcome == "pass" or (outcome == "undecided" and undecided == "pass")
    return replace(found, outcome=outcome, passed=passed)


def _scored(rule: Rule, sources: Sequence[Source], terms: _Terms) -> tuple[Rule, list[Scored]]:
    """The rule at the level that its labels ask for, and the scores of each source over the same queries."""
    rel, labels = terms.rel, terms.labels
    ranked = [source for source in sources if source.kind == "rankings"]
    if ranked:
        also = [one for source in sources if source.kind == "scores" for one in source.table["query_id"].to_pylist()]
        apart = named_apart([(source.name, source.table) for source in ranked])
        if rel is None and labels_are_probabilities(apart if labels is None else labels):
            rel = 0.5
        systems = judge_systems(apart, labels, terms.policies, rel=1.0 if rel is None else rel, also=also)
    rule = rule if rel is None else replace(rule, measure=at_level(rule.measure, rel))
    scored = iter(score_systems(systems, [rule.measure]) if ranked else ())
    return rule, [
        replace(next(scored), name=source.name) if source.kind == "rankings" else Scored(source.name, source.table, {})
        for source in sources
    ]
