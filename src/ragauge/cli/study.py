"""`ragauge study`: the whole experiment from a plan to a report."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from ragauge.cli.correlation_table import echo_correlations
from ragauge.cli.terminal import bars, make_folder, note, quiet_option, write_text
from ragauge.errors import IncompleteError

if TYPE_CHECKING:
    from ragauge.report import Example
    from ragauge.study import Study, StudyPlan, TopK


@click.command("study")
@click.argument("plan", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder for tables, report and store.")
@click.option("--store", help="Where replies are kept: a file or a database URL. Default: store.db in --out.")
@click.option("--by", type=click.Choice(["ratio", "width"]), default="ratio", show_default=True, help="Segments.")
@click.option("--format", type=click.Choice(["table", "json"]), default="table", show_default=True)
@quiet_option
def study_command(
    plan: Path, out: Path, store: str | None, by: Literal["ratio", "width"], format: str, quiet: bool
) -> None:
    """Rank, answer, grade and correlate as PLAN (a TOML file) says, and write one HTML report.

    Stopped and started again it goes on where it was: the store keeps every reply.

    \b
    Example:
      ragauge sample kb
      ragauge study kb/study.toml --out runs/kb
    """
    from ragauge.store import Store
    from ragauge.study import read_plan, run_study

    wanted = read_plan(plan)
    make_folder(out)
    with Store.open(store or out / "store.db") as kept:
        study = run_study(wanted, store=kept, by=by, progress=bars(quiet=quiet))
    write_outputs(study, wanted, out)
    echo_correlations(study.correlations, coefficient="spearman", format=format, contest=study.contest)
    note(f"Report: {out / 'report.html'}", quiet=quiet)
    if missing := study.graded.column("grade").null_count:
        raise IncompleteError(f"{missing} of {study.graded.num_rows} answers have no grade; graded.parquet says why")


def write_outputs(study: "Study", plan: "StudyPlan", out: Path) -> None:
    """Graded answers (.parquet, .json), correlations, contest and usage (.csv), rankings, the plan and the report."""
    import pyarrow as pa

    from ragauge.io import write_graded_json, write_rankings, write_table
    from ragauge.report import study_report

    write_table(study.graded, out / "graded.parquet")
    write_graded_json(study.graded, out / "samples_graded.json")
    write_table(study.correlations, out / "correlations.csv")
    write_table(study.contest, out / "contest.csv")
    for name, rankings in study.rankings.items():
        write_rankings(rankings, out / f"rankings.{name.replace('/', '_').replace(':', '_')}.jsonl")
    write_table(pa.Table.from_pylist([vars(usage) for usage in study.usage]), out / "usage.csv")
    write_text(out / "plan.toml", plan.text)
    page = study_report(
        title=plan.title,
        correlations=study.correlations,
        graded=study.graded,
        contest=study.contest,
        notes=study_notes(study, plan),
        plan_text=plan.text,
        examples=[_example(top, row) for top, row in zip(study.tops, study.graded.to_pylist(), strict=True)],
    )
    write_text(out / "report.html", page)


def _example(top: "TopK", row: dict[str, Any]) -> "Example":
    from ragauge.report import Example

    return Example(
        query_id=top.query_id,
        query=top.query,
        dataset=top.dataset,
        embedder=top.embedder,
        cutoff=top.cutoff,
        grade=row["grade"],
        answer_ideal=row["answer_ideal"],
        answer_topk=row["answer_topk"],
        documents=tuple(zip(top.labels, top.documents, strict=True)),
    )


def study_notes(study: "Study", plan: "StudyPlan") -> list[str]:
    """What a reader of the report has to know about how it was made."""
    notes = [
        f"Answers by {plan.model.name or plan.model.base_url}, grades by {plan.grader.name or plan.grader.base_url}.",
        "Every grade is a model's verdict; it has not been compared with people's here.",
    ]
    return notes + [f"{usage}." for usage in study.usage]
