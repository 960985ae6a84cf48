"""What a command that scores is given: rankings of one file or more, labels, policies, the level, the measures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ragauge.cli.policy_options import policies_of
from ragauge.cli.relevant_options import planned_labels
from ragauge.cli.terminal import note

if TYPE_CHECKING:
    import pyarrow as pa

    from ragauge.io import Reading
    from ragauge.measures import Measure, Policies

__all__ = ["Given", "parse_all", "read_files", "read_given", "together"]

DEFAULT_MEASURES = ("T@{k}", "P@{k}", "n_p@{k}", "nDCG(ideal=retrieved)@{k}", "Judged@{k}")
"""What is printed without -m, at K = the longest ranking, at most 10."""

COUNTED_MEASURES = ("R@{k}", "F@{k}", "nDCG(gain=binary)@{k}")


@dataclass(frozen=True)
class Given:
    """What the files hold, and how the options say to take it."""

    table: "pa.Table"
    labels: "pa.Table | None"
    plan: "pa.Table | None"
    policies: "Policies"
    rel: float | None

    @property
    def threshold(self) -> float:
        """The label that counts as relevant."""
        return 1.0 if self.rel is None else self.rel

    def measures(self, names: Sequence[str], *, compat: str | None, counted: str | None = None) -> list["Measure"]:
        """The measures of these names, or those printed without -m; as trec_eval has them with --compat."""
        from ragauge.measures import as_trec_eval

        found = parse_all(names or default_measures(self.table, counted=counted), rel=self.rel)
        return [as_trec_eval(measure) for measure in found] if compat else found


def read_given(
    rankings: Sequence[Path],
    labels: Path | None,
    rel: float | None,
    input_format: str | None,
    chosen: Mapping[str, Any],
    *,
    quiet: bool,
) -> Given:
    """Reads the files and says what they were read as.

    Args:
        rankings: The files of the rankings.
        labels: That of the labels; None = they stand inside, or in the plan.
        rel: The label that counts as relevant, where it is given.
        input_format: Of the rankings, where it is given.
        chosen: What `policy_options` and `relevant_options` pass to the command.
        quiet: No notes.
    """
    from ragauge.io import read_labels
    from ragauge.quality.evaluate import labels_are_probabilities
    from ragauge.quality.relevant import labels_of_plan

    policies = policies_of(chosen)
    readings = read_files(rankings, input_format, chosen["ties"], policies.duplicates, quiet=quiet)
    table = together(readings)
    plan = planned_labels(chosen, labels) if "relevant_count" in chosen else None
    known = read_labels(labels) if labels else None if plan is None else labels_of_plan(plan)
    if rel is None and labels_are_probabilities(table if known is None else known):
        rel = 0.5
        note("Labels are probabilities: 0.5 and above counts as relevant (change with --rel).", quiet=quiet)
    return Given(table, known, plan, resolved(policies, readings, chosen["ties"]), rel)


def default_measures(rankings: "pa.Table", *, counted: str | None = None) -> list[str]:
    """The measures printed without -m; with an estimated number of relevant documents, also those that need it."""
    import pyarrow.compute as pc

    longest = pc.max(pc.list_value_length(rankings.column("doc_ids"))).as_py() or 10
    names = (*DEFAULT_MEASURES, *(COUNTED_MEASURES if counted else ()))
    return [name.format(k=max(1, min(10, longest))) for name in names]


def parse_all(names: Sequence[str], *, rel: float | None) -> list["Measure"]:
    """The measures, with `rel` as the threshold of those that have one and were written without it."""
    from ragauge.measures import parse_measure
    from ragauge.quality.evaluate import at_level

    measures = [parse_measure(name) for name in names]
    return list(dict.fromkeys(measures if rel is None else [at_level(measure, rel) for measure in measures]))


def read_files(
    paths: Sequence[Path], format: str | None, ties: str | None, duplicates: str, *, quiet: bool
) -> list["Reading"]:
    """The rankings of each file, a TREC run in the order of its lines where --ties input asks for it; each is noted."""
    from ragauge.io import scan_rankings

    keep: Literal["error", "keep"] = "error" if duplicates == "error" else "keep"
    order: Literal["input", "trec"] = "input" if ties == "input" else "trec"
    readings = [scan_rankings(path, format=format, duplicates=keep, order=order) for path in paths]
    for reading in readings:
        note(str(reading), quiet=quiet)
    return readings


def together(readings: Sequence["Reading"]) -> "pa.Table":
    """One table; runs that go by the same name in two files are told apart."""
    if len(readings) == 1:
        return readings[0].table
    from ragauge.quality.systems import named_apart

    return named_apart([(reading.source, reading.table) for reading in readings])


def resolved(policies: "Policies", readings: Sequence["Reading"], ties: str | None) -> "Policies":
    """Without --ties, TREC runs go by trec_eval's order and files of other kinds by their own."""
    from ragauge.io.ours import TREC_RUN

    all_trec = all(reading.title == TREC_RUN for reading in readings)
    return replace(policies, ties="trec") if ties is None and all_trec else policies
