"""`ragauge grade`: users' own answers, graded against ideal ones by a model, by people on a sheet, or two by two."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ragauge.cli.grade_table import echo_grades, echo_rubric, echo_wins
from ragauge.cli.label import store_option
from ragauge.cli.number_options import NumberIn
from ragauge.cli.spending import budget_of, echo_plan, model_plan, paced, prices_of, spending_options, spent
from ragauge.cli.terminal import TABLE_FILE, bars, counted, note, quiet_option, seed_option
from ragauge.errors import IncompleteError, InputError

if TYPE_CHECKING:
    import pyarrow as pa

    from ragauge.llm import Ask, Model
    from ragauge.store import Store

_HINTS = {
    "budget": "a cap was reached: raise it, or start again for as much",
    "not_asked": "the endpoint was given up: mend it and start again",
    "no_text": "an empty answer or ideal answer cannot be graded",
}
"""Reason -> what to do; else the same command asks again for what failed on the way."""


@click.command("grade")
@click.argument("answers", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--out", type=TABLE_FILE, help="Grades of each answer. Needed where a model is asked.")
@click.option("--repeats", type=click.IntRange(1), default=1, show_default=True, help="Times each answer is graded.")
@click.option("--pairwise", is_flag=True, help="Compare systems two by two instead, in both orders.")
@click.option("--sheet", type=TABLE_FILE, help="Ask no model: write a sheet for people, and print the rubric.")
@click.option("--base-url", help="An OpenAI-compatible URL, or local:1.5b for ragauge's own.")
@click.option("--model", help="The model's name there; not needed with local.")
@click.option("--api-key-env", default="OPENAI_API_KEY", show_default=True, help="Variable that holds the key.")
@click.option("--concurrency", type=click.IntRange(1), default=8, show_default=True, help="Requests in flight.")
@click.option("--temperature", type=NumberIn(0), help="Of the replies. Default: 0, the likeliest word.")
@store_option
@seed_option("Of the sheet's order.")
@spending_options
@click.option("--level", type=NumberIn(0, 1, True, True), default=0.95, show_default=True, help="Confidence.")
@click.option("--dry-run", is_flag=True, help="Ask nothing; print calls, tokens, cost and time.")
@click.option("--format", type=click.Choice(["table", "json", "csv"]), default="table", show_default=True)
@quiet_option
def grade_command(
    answers: tuple[Path, ...],
    out: Path | None,
    sheet: Path | None,
    level: float,
    format: str,
    seed: int,
    quiet: bool,
    **given: Any,
) -> None:
    """Grade ANSWERS against ideal answers, 1 to 5, in completeness and agreement.

    ANSWERS are records with query, ideal and answer, or the names that ragas, deepeval and MLflow give them; an answer
    without a system is of the one its file is named after. Replies are kept: started again, the command asks only what
    the store does not hold yet. An answer that could not be graded has no grade, and the reason beside it.

    \b
    Examples:
      ragauge grade answers.jsonl --base-url local:1.5b --out graded.csv
      ragauge grade bm25.jsonl dense.jsonl --base-url local:1.5b \\
        --pairwise --out preferences.csv
      ragauge grade answers.jsonl --sheet sheet.csv
      ragauge agree anna.csv ben.csv carla.csv graded.csv
    """
    from ragauge.io import read_answers

    _check(given, out, sheet)
    _spare(answers, out or sheet)
    table = read_answers(answers)
    note(_what_was_read(table), quiet=quiet)
    if sheet:
        _write_sheet(table, sheet, seed, quiet=quiet)
    else:
        _ask(table, given, out, level=level, format=format, quiet=quiet)


def _check(given: Mapping[str, Any], out: Path | None, sheet: Path | None) -> None:
    if not given["base_url"] and not sheet:
        raise click.UsageError("Missing option '--base-url', the model to ask; only --sheet goes without.")
    if given["base_url"] and sheet:
        raise InputError("--sheet is for people and asks no model; leave out --base-url, or --sheet")
    if sheet and (extra := [name for name in ("pairwise", "dry_run") if given[name]] + ["out"] * (out is not None)):
        raise InputError(f"--sheet asks no model: leave out --{extra[0].replace('_', '-')}")
    if given["base_url"] and not out and not given["dry_run"]:
        raise click.UsageError("Missing option '--out'; only --sheet and --dry-run go without.")
    if given["pairwise"] and given["repeats"] > 1:
        raise InputError("--repeats grades answers again, --pairwise grades none; use one of them")


def _spare(answers: tuple[Path, ...], target: Path | None) -> None:
    """Neither the answers nor what people filled in are overwritten."""
    from ragauge.io import is_grades, read_grades

    if target is None or not target.is_file():
        return
    if any(path.exists() and path.samefile(target) for path in answers):
        raise InputError(f"{target} holds the answers and would be overwritten; choose another name")
    if target.stat().st_size and is_grades(target):
        given = [row for row in read_grades(target).to_pylist() if row["label"] is not None and row["judge"] is None]
        if given:
            raise InputError(f"{target} holds {counted(len(given), 'grade')} by people; choose another name")


def _what_was_read(answers: "pa.Table") -> str:
    systems = list(dict.fromkeys(answers.column("system").to_pylist()))
    n_queries = len(answers.column("query_id").unique())
    queries = f"{n_queries:,} {'query' if n_queries == 1 else 'queries'}"
    return f"{counted(answers.num_rows, 'answer')} to {queries} by {counted(len(systems), 'system')}"


def _write_sheet(answers: "pa.Table", sheet: Path, seed: int, *, quiet: bool) -> None:
    """The sheet, what to do with it, and the rubric on stdout."""
    from ragauge.io import write_answer_sheet

    n = write_answer_sheet(answers, sheet, seed=seed)
    note(f"{counted(n, 'answer')}: {sheet}", quiet=quiet)
    systems = set(answers.column("system").to_pylist())
    if any(system in answer_id for answer_id in answers.column("answer_id").to_pylist() for system in systems):
        note("Ids of answers hold names of systems: whoever grades can see them.", quiet=quiet)
    echo_rubric()


def _ask(
    answers: "pa.Table", given: Mapping[str, Any], out: Path | None, *, level: float, format: str, quiet: bool
) -> None:
    """Asks the model, or counts what would be asked."""
    from ragauge.llm import Survey, ask_all
    from ragauge.store import Store
    from ragauge.study import named_model, open_model

    budget = budget_of(given)
    n_calls = _n_calls(answers, given)
    plan = model_plan(given)
    progress = bars(quiet=quiet)
    if out is None or given["dry_run"]:
        survey, model = Survey(), _warmed(paced(named_model(plan), given), given["temperature"])
        with Store.open(given["store"]) as store:
            found = _asked(answers, given, model, store, survey, lambda done: None)
            echo_plan(found, survey.plan(model, store, prices=prices_of(given)), format=format)
        return
    with Store.open(given["store"]) as store, open_model(plan, progress) as opened:
        model = _warmed(paced(opened, given), given["temperature"])
        with progress("compare answers" if given["pairwise"] else "grade answers", n_calls) as advance:
            found = _asked(answers, given, model, store, partial(ask_all, budget=budget), advance)
    note(spent(budget), quiet=quiet)
    _write(found, out)
    echo = echo_wins if given["pairwise"] else echo_grades
    echo(found, level=level, format=format)
    _report(found, out, quiet=quiet)


def _n_calls(answers: "pa.Table", given: Mapping[str, Any]) -> int:
    from ragauge.llm import answer_pairs

    n: int = answers.num_rows
    return 2 * len(answer_pairs(answers)) if given["pairwise"] else n * int(given["repeats"])


def _warmed(model: "Model", temperature: float | None) -> "Model":
    """The model at the temperature given; 0 is what the prompts ask for."""
    return replace(model, parameters={**model.parameters, "temperature": temperature}) if temperature else model


def _asked(
    answers: "pa.Table", given: Mapping[str, Any], model: "Model", store: "Store", ask: "Ask", advance: Any
) -> "pa.Table":
    """ANSWER_GRADES or PREFERENCES."""
    from ragauge.llm import compare_answers, grade_answers

    how: dict[str, Any] = {"model": model, "store": store, "ask": ask, "on_progress": advance}
    if given["pairwise"]:
        return compare_answers(answers, **how)
    return grade_answers(answers, repeats=given["repeats"], **how)


def _write(found: "pa.Table", out: Path) -> None:
    """The table; in CSV and TSV, which hold no lists, the grades of all repeats stand in one cell: "4 5 4"."""
    import pyarrow as pa

    from ragauge.io import write_table

    if "grades" in found.column_names and out.name.lower().removesuffix(".gz").endswith((".csv", ".tsv")):
        lists = found.column("grades").to_pylist()
        cells = [" ".join("-" if grade is None else f"{grade:g}" for grade in grades) for grades in lists]
        found = found.set_column(found.column_names.index("grades"), "grades", pa.array(cells, pa.string()))
    write_table(found, out)


def _report(found: "pa.Table", out: Path, *, quiet: bool) -> None:
    """Say how many there are, and end as incomplete where one is missing."""
    reasons = Counter(reason for reason in found.column("reason").to_pylist() if reason is not None)
    missing = sum(reasons.values())
    note(f"{found.num_rows - missing}/{found.num_rows} complete: {out}", quiet=quiet)
    if missing:
        listed = ", ".join(f"{n} {reason}" for reason, n in reasons.most_common())
        hints = [hint for reason, hint in _HINTS.items() if reason in reasons]
        advice = "; ".join(hints) or "the same command asks again for those that failed on the way"
        raise IncompleteError(f"{missing} of {found.num_rows} {_lack(found)} ({listed}); {out} says which; {advice}")


def _lack(found: "pa.Table") -> str:
    if "verdict" in found.column_names:
        return "pairs have no preference"
    return "answers lack a grade" + (" of some repeat" if found.column("repeat_sd").null_count < found.num_rows else "")
