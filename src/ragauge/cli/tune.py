"""`ragauge tune`: how many documents to return."""

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ragauge.cli.given import read_given
from ragauge.cli.number_options import RANK, level_option, rel_option
from ragauge.cli.policy_options import cut_policy_options, policies_line
from ragauge.cli.reading import check_judged, input_format_option, labels_option
from ragauge.cli.terminal import OutFile, echo_json, echo_records, note, quiet_option, seed_option, write_text

if TYPE_CHECKING:
    from ragauge.measures import Policies
    from ragauge.quality.tune import Candidate, Tuned

N_SHOWN = 11
"""Candidates in the table, besides the best one, its neighbours and today's."""
ENOUGH_JUDGED = 0.9
"""With a smaller share of judged documents there is a warning: where labels end, candidates cannot be told apart."""


@click.command("tune")
@click.argument("rankings", type=click.Path(path_type=Path))
@labels_option
@click.option("-m", "--measure", "name", help="T or F; its K is the most that may be returned. Default: T@20.")
@click.option("--today", type=RANK, help="Documents returned now. Default: 10, or K if that is less.")
@click.option(
    "--by", type=click.Choice(["cutoff", "score"]), default="cutoff", show_default=True, help="What to choose."
)
@click.option("--run", help="Which run, where the file holds several.")
@rel_option
@click.option("--folds", type=click.IntRange(2), default=5, show_default=True, help="Parts the queries are split in.")
@level_option
@click.option(
    "--bootstrap", type=click.IntRange(2), default=2000, show_default=True, help="Replicates for the interval."
)
@seed_option("Of folds and samples.")
@click.option("--html", type=OutFile(), help="Write a report with a picture to this file.")
@cut_policy_options
@input_format_option
@click.option("--format", type=click.Choice(["table", "json", "csv"]), default="table", show_default=True)
@quiet_option
def tune_command(
    rankings: Path,
    labels: Path | None,
    name: str | None,
    today: int | None,
    by: Any,
    run: str | None,
    rel: float | None,
    folds: int,
    level: float,
    bootstrap: int,
    seed: int,
    html: Path | None,
    input_format: str | None,
    format: str,
    quiet: bool,
    **chosen: Any,
) -> None:
    """Choose how many documents of RANKINGS to return, or from which score on.

    What is best on these queries looks better than it is; the gain that is reported is cross-validated.

    \b
    Examples:
      ragauge tune deep.jsonl -m "T(alpha=0.3)@50" --today 10
      ragauge tune dense.run --labels qrels.txt -m "F@50" --by score
    """
    from ragauge.quality.systems import judge_systems, one_run
    from ragauge.quality.tune import tune_cutoff

    given = read_given([rankings], labels, rel, input_format, chosen, quiet=quiet)
    table = one_run(given.table, run, source=str(rankings))
    judged = judge_systems(table, given.labels, given.policies, rel=given.threshold).judged
    check_judged(judged, rankings, labels)
    (measure,) = given.measures([name or f"T@{max(20, today or 10)}"], compat=None)
    today = today or min(10, measure.cutoff or 10)
    found = tune_cutoff(judged, measure, today=today, by=by, folds=folds, level=level, resamples=bootstrap, seed=seed)
    if found.judged < ENOUGH_JUDGED:
        what = "count neither way" if measure.name == "T" else "count as not relevant"
        note(f"Warning: {found.judged:.0%} of the first {measure.cutoff} are judged; the others {what}.", quiet=quiet)
    if html:
        from ragauge.report import tuning_report

        write_text(html, tuning_report(title=f"How much of {rankings.name} to return", found=found))
        note(f"Report: {html}", quiet=quiet)
    _echo(found, format, given.policies, policies_line(chosen))


def _echo(found: "Tuned", format: str, policies: "Policies", told: str) -> None:
    if format == "json":
        echo_json(asdict(found) | {"policies": asdict(policies)})
    elif format == "csv":
        echo_records([asdict(one) for one in found.candidates], format="csv")
    else:
        echo_records([_row(one, found) for one in _shown(found)], format="table", title=found.measure)
        click.echo(_summary(found))
        if told:
            click.echo(click.wrap_text(told, 80, subsequent_indent="  "))


def _shown(found: "Tuned") -> list["Candidate"]:
    """Today's, the best and its neighbours, and others evenly spread."""
    last = len(found.candidates) - 1
    best = found.candidates.index(found.best)
    places = {round(last * i / (N_SHOWN - 1)) for i in range(N_SHOWN)} | {max(0, best - 1), best, min(last, best + 1)}
    places |= {at for at, one in enumerate(found.candidates) if one == found.today}
    shown = [found.candidates[at] for at in sorted(places)]
    return shown if found.today in shown else [found.today, *shown]


def _row(one: "Candidate", found: "Tuned") -> dict[str, Any]:
    marks = [word for word, marked in (("best here", found.best), ("today", found.today)) if one == marked]
    return {
        "return": f"top {one.value:g}" if one.by == "cutoff" else f"score >= {one.value:.6g}",
        "mean": one.mean,
        "documents": one.n_returned,
        "precision": one.precision,
        "": ", ".join(marks),
    }


def _summary(found: "Tuned") -> str:
    undefined = f", {found.n_undefined} more undefined" if found.n_undefined else ""
    times = Counter(found.chosen).most_common()
    chosen = ", ".join(f"{value:.6g}" + (f" (in {count})" if count > 1 else "") for value, count in times)
    return (
        f"Gain to expect over the top {found.today.value:g}: {found.gain:+.3f}, {100 * found.level:g} % interval "
        f"{found.low:+.3f} to {found.high:+.3f}\n"
        f"  cross-validated on {found.n} queries{undefined}; chosen in {len(found.chosen)} folds: {chosen}\n"
        f"In-sample gain of the best: {found.gain_in_sample:+.3f} (too high: it was chosen by these queries)"
    )
