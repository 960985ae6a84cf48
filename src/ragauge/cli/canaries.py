"""Canaries in a labelling run: a few documents made to lead the judge, asked about once the labels are written."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click

from ragauge.cli.recorded import recorded_table
from ragauge.cli.terminal import Progress, note
from ragauge.errors import InputError, RagaugeError

if TYPE_CHECKING:
    import pyarrow as pa

    from ragauge.llm import CanaryResult, Judge
    from ragauge.llm.canary import Probe

__all__ = ["Canaries", "ask_about_canaries", "canaries_beside", "canaries_of", "canaries_option", "count_canaries"]

Command = TypeVar("Command", bound=Callable[..., Any])

CALLS_A_QUERY = 100
"""Calls of a run for each query with canaries; these are at most ten calls, so they are about a tenth of all."""

FEWEST, MOST = 2, 10
"""Queries to make canaries for, where --canaries does not say."""

_UNSENT = {
    "budget": "left out, as the labels reached a cap; the same command asks when they are complete",
    "not_asked": "left out, as the endpoint was given up; the same command asks when labels are complete",
}
"""Reason of an unlabelled document -> what is said of the canaries."""

_BATCH = "left out with --batch; the same command without it asks, and the labels are in the store by then"


def canaries_option(command: Command) -> Command:
    """Adds --canaries, for `canaries_of`."""
    return click.option(
        "--canaries",
        type=click.IntRange(0),
        help="Queries to make canaries for, which show whether the judge can be led; 0 = none. About ten calls each. "
        f"Default: one for {CALLS_A_QUERY} calls of the run, at least {FEWEST}, at most {MOST}.",
    )(command)


@dataclass(frozen=True)
class Canaries:
    """Which canaries a run asks about.

    Attributes:
        n_queries: Queries to make them for; 0 = none.
        cut: The judge's label of a relevant document.
        seed: Of the choice.
        kinds: "short" leaves out the long document, which takes longer to read than all the others.
    """

    n_queries: int
    cut: float
    seed: int = 0
    kinds: Literal["all", "short"] = "all"

    def probes(self, rankings: "pa.Table", labels: "pa.Table") -> "list[Probe]":
        """The canaries and their controls.

        Raises:
            InputError: There are not two queries with texts.
        """
        from ragauge.llm import canary_probes, highest_labelled

        relevant = highest_labelled(labels, at_least=self.cut) if self.kinds == "all" else {}
        return canary_probes(rankings, relevant, n_queries=self.n_queries, seed=self.seed)


def canaries_of(given: Mapping[str, Any], labels: "pa.Table", judge: "Judge", *, seed: int) -> Canaries:
    """As --canaries says, or by the calls that the labels take."""
    n_queries = given["canaries"]
    if n_queries is None:
        calls = labels.num_rows * judge.permutations // judge.batch_size
        n_queries = min(MOST, max(FEWEST, calls // CALLS_A_QUERY))
    return Canaries(n_queries, judge.middle, seed)


def count_canaries(canaries: Canaries, rankings: "pa.Table", labels: "pa.Table", **asking: Any) -> int:
    """How many a run would ask about, at most: what has no label yet may turn out relevant.

    Args:
        canaries: Which ones.
        rankings: All of them, with texts.
        labels: Those of a survey.
        asking: model, store, judge and the survey as ask.
    """
    import pyarrow.compute as pc

    from ragauge.llm import ask_canaries

    if not canaries.n_queries:
        return 0
    known = pc.fill_null(labels.column("label"), canaries.cut)
    try:
        probes = canaries.probes(rankings, labels.set_column(labels.column_names.index("label"), "label", known))
    except InputError:
        return 0
    reasons: list[str | None] = ask_canaries(probes, **asking).column("reason").to_pylist()
    return reasons.count("not_asked")


def ask_about_canaries(
    canaries: Canaries,
    rankings: "pa.Table",
    labels: "pa.Table",
    out: Path,
    *,
    progress: Progress,
    quiet: bool,
    batch: Path | None = None,
    **asking: Any,
) -> None:
    """Asks, writes what came of it beside `out`, and says how often the judge was led, or why nothing was asked.

    Args:
        canaries: Which ones.
        rankings: All of them, with texts.
        labels: What the judge said of them.
        out: Where the labels stand.
        progress: Shows how far it is.
        quiet: Nothing is said.
        batch: The folder of batch files, by which canaries are not asked about.
        asking: model, store, judge and ask, as for `ragauge.llm.ask_canaries`.
    """
    path = _beside(out)
    path.unlink(missing_ok=True)
    if not canaries.n_queries:
        return
    told = [why] if (why := _why_none(labels, batch)) else []
    if not told:
        try:
            told = _asked(canaries.probes(rankings, labels), canaries.cut, path, progress, asking)
        except RagaugeError as error:  # the labels are there, whatever becomes of the canaries
            told = [f"left out: {error}"]
    for line in (f"canaries: {told[0]}", *(f"  {line}" for line in told[1:])):
        note(click.wrap_text(line, 80, subsequent_indent="  "), quiet=quiet)


def _why_none(labels: "pa.Table", batch: Path | None) -> str:
    reasons = labels.column("reason").to_pylist()
    if batch is not None:
        return _BATCH
    if unsent := [told for reason, told in _UNSENT.items() if reason in reasons]:
        return unsent[0]
    return "left out, as no document was labelled" if labels.column("label").null_count == labels.num_rows else ""


def _asked(
    probes: "Sequence[Probe]", cut: float, path: Path, progress: Progress, asking: Mapping[str, Any]
) -> list[str]:
    """What came of it, in words."""
    from ragauge.io import write_table
    from ragauge.llm import ask_canaries, canary_results

    if not probes:
        return ["left out, as no query has a passage that another one does not"]
    with progress("ask about canaries", len(probes)) as advance:
        table = ask_canaries(probes, **asking, on_progress=advance)
    write_table(table, path)
    return _told(canary_results(table, cut=cut), Counter(table.column("reason").drop_null().to_pylist()))


def _told(results: "Sequence[CanaryResult]", reasons: Mapping[str, int]) -> list[str]:
    from ragauge.llm.led import meanings

    n, n_led = sum(one.n for one in results), sum(one.n_led for one in results)
    by_kind = ", ".join(f"{one.kind} {one.n_led}/{one.n}" for one in results if one.n_led)
    lines = [f"{n_led} of {n} led the judge{f' ({by_kind})' if by_kind else ''}; see docs/judge.md"]
    if n_wrong := sum(one.n_control_wrong for one in results):
        lines.append(f"{n_wrong} more do not count: without the bait the judge was not right either.")
    if reasons:
        lines.append("Without a label: " + ", ".join(f"{n} {reason}" for reason, n in sorted(reasons.items())) + ".")
    if any(one.kind == "buried" for one in results):
        lines.append('"buried" hides what this judge itself labelled highest.')
    return lines + list(meanings(results))


def canaries_beside(files: Sequence[Path], *, cut: float, quiet: bool = True) -> "dict[str, tuple[CanaryResult, ...]]":
    """File -> what became of the canaries of the run that labelled it, where it left some beside it.

    Args:
        files: Rankings with labels.
        cut: The label of a relevant document.
        quiet: No note of what is used.

    Raises:
        InputError: A file that bears the name of canaries is something else.
    """
    from ragauge.llm import canary_results
    from ragauge.llm.examine import CANARIES

    found = {file: _beside(file) for file in files if _beside(file).is_file()}
    for path in found.values():
        note(f"Canaries: {path}", quiet=quiet)
    return {str(file): canary_results(recorded_table(path, CANARIES), cut=cut) for file, path in found.items()}


def _beside(out: Path) -> Path:
    return out.with_name(out.name + ".canaries.csv")
