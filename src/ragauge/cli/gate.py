"""`ragauge gate`: rules in, exit code out; for continuous integration."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import click

from ragauge.cli.given import read_files, resolved
from ragauge.cli.number_options import level_option, rel_option
from ragauge.cli.policy_options import policies_line, policies_of, policy_options
from ragauge.cli.reading import input_format_option, labels_option, refuse_designs
from ragauge.cli.terminal import EXIT_CODE, OutFile, echo_json, echo_records, note, quiet_option, write_text
from ragauge.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

    from ragauge.io import Reading
    from ragauge.measures import Policies
    from ragauge.quality.gate import Source, Verdict
    from ragauge.quality.rules import Rule

SUMMARY_VARIABLE = "GITHUB_STEP_SUMMARY"


@click.command("gate")
@click.argument("rules_and_rankings", nargs=-1, required=True, metavar="RULE ... RANKINGS")
@labels_option
@click.option("--run", help="Which run, where a file holds several.")
@rel_option
@click.option(
    "--on", type=click.Choice(["interval", "point"]), default="interval", show_default=True, help="Decide on it."
)
@click.option(
    "--undecided", type=click.Choice(["fail", "pass"]), default="fail", show_default=True, help="What it counts as."
)
@level_option
@click.option("--cluster", type=click.Path(path_type=Path), help="File: query_id, and what the query belongs to.")
@click.option("--cluster-by", help="Column of that file, such as session_id, if it has several.")
@click.option("--junit", type=OutFile(), help="Write the verdicts as JUnit XML to this file.")
@click.option(
    "--github-summary",
    is_flag=False,
    flag_value="",
    metavar="[FILE]",
    help=f"Append the verdicts as Markdown to this file. Default: ${SUMMARY_VARIABLE}.",
)
@policy_options
@input_format_option
@click.option("--format", type=click.Choice(["table", "json", "csv"]), default="table", show_default=True)
@quiet_option
@click.pass_context
def gate_command(
    ctx: click.Context,
    /,
    rules_and_rankings: tuple[str, ...],
    labels: Path | None,
    run: str | None,
    rel: float | None,
    on: Any,
    undecided: Any,
    level: float,
    cluster: Path | None,
    cluster_by: str | None,
    junit: Path | None,
    github_summary: str | None,
    input_format: str | None,
    format: str,
    quiet: bool,
    **chosen: Any,
) -> None:
    """Pass (exit 0) or fail (exit 1) RANKINGS by rules on their measures.

    A rule passes when the whole interval satisfies it, fails when none of it does, and is undecided between. What
    cannot be scored fails. Baselines and RANKINGS are rankings, or scores from "ragauge score --per-query".

    \b
    Examples:
      ragauge gate "T(alpha=0.3)@10 >= 0.25" "Judged@10 >= 0.9" new.jsonl
      ragauge gate "delta P@10 > -0.02 vs old.run" new.run --labels qrels.txt
    """
    from ragauge.io import read_clusters, read_labels
    from ragauge.measures import as_trec_eval
    from ragauge.quality.gate import check_rules
    from ragauge.quality.rules import parse_rule

    summary = _summary_file(github_summary)
    rules, rankings = _told_apart(rules_and_rankings)
    parsed = [parse_rule(rule) for rule in rules]
    if chosen["compat"]:
        parsed = [replace(rule, measure=as_trec_eval(rule.measure)) for rule in parsed]
    given = _read(rankings, parsed, labels, run, input_format, chosen, quiet=quiet)
    verdicts = check_rules(
        parsed,
        given.source,
        read_labels(labels) if labels else None,
        baselines=given.baselines,
        policies=given.policies,
        clusters=read_clusters(cluster, cluster_by) if cluster else None,
        level=level,
        on=on,
        undecided=undecided,
        rel=rel,
    )
    if junit:
        write_text(junit, junit_xml(verdicts, rankings))
        note(f"JUnit: {junit}", quiet=quiet)
    if summary:
        _append(summary, markdown(verdicts, rankings, policies_line(chosen)))
        note(f"Summary: {summary}", quiet=quiet)
    ctx.meta[EXIT_CODE] = 0 if all(verdict.passed for verdict in verdicts) else 1
    _echo(verdicts, rankings, format, given.applied, policies_line(chosen))
    ctx.exit(ctx.meta[EXIT_CODE])


@dataclass(frozen=True)
class _Given:
    """What is checked, what it is checked against, and how the options say to take it."""

    source: "Source"
    baselines: "Mapping[str, Source]"
    policies: "Policies"

    @property
    def applied(self) -> "Policies | None":
        """The policies; None where scores alone are given, as these were computed by others."""
        ranked = any(source.kind == "rankings" for source in (self.source, *self.baselines.values()))
        return self.policies if ranked else None


def _read(
    rankings: str,
    rules: Sequence["Rule"],
    labels: Path | None,
    run: str | None,
    input_format: str | None,
    chosen: Mapping[str, Any],
    *,
    quiet: bool,
) -> _Given:
    """Reads the files; policies are refused where none of them holds rankings."""
    from ragauge.quality.gate import read_source
    from ragauge.quality.systems import one_run

    policies = policies_of(chosen)
    readings: list[Reading] = []

    def read(path: str | Path) -> "pa.Table":
        readings.extend(read_files([Path(path)], input_format, chosen["ties"], policies.duplicates, quiet=quiet))
        return readings[-1].table

    source = read_source(rankings, run=run, read=read)
    if source.run:
        one_run(source.table, run, source=rankings)
    files = dict.fromkeys(rule.baseline for rule in rules if rule.baseline is not None)
    refuse_designs([Path(name) for name in (rankings, *files)], labels)
    baselines = {file: read_source(file, run=source.run, read=read) for file in files}
    if not readings and (told := policies_line(chosen)):
        raise InputError(f"{rankings} holds scores, which ragauge score computed by its own policies. {told}")
    return _Given(source, baselines, resolved(policies, readings, chosen["ties"]))


def junit_xml(verdicts: Sequence["Verdict"], name: str) -> str:
    """The verdicts as a test suite, one case a rule."""
    n_failed = sum(not verdict.passed for verdict in verdicts)
    suite = ElementTree.Element(
        "testsuite", name="ragauge gate", tests=str(len(verdicts)), failures=str(n_failed), errors="0", skipped="0"
    )
    for verdict in verdicts:
        case = ElementTree.SubElement(suite, "testcase", classname=name, name=verdict.rule)
        if verdict.passed:
            told = ElementTree.SubElement(case, "system-out")
        else:
            told = ElementTree.SubElement(case, "failure", message=_explained(verdict), type=verdict.outcome)
        told.text = str(verdict)
    ElementTree.indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suite, encoding="unicode") + "\n"


def markdown(verdicts: Sequence["Verdict"], name: str, told: str = "") -> str:
    """The verdicts as a section with a table, and what is told about them."""
    passed = sum(verdict.passed for verdict in verdicts)
    rows = [_row(verdict) for verdict in verdicts]
    lines = [
        f"### Retrieval quality of {_escaped(name)}: {passed} of {len(verdicts)} rules hold",
        "",
        "| " + " | ".join(rows[0]) + " |",
        "|" + "---|" * len(rows[0]),
        *("| " + " | ".join(_escaped(_shown(value)) for value in row.values()) + " |" for row in rows),
        "",
        *([told, ""] if told else ()),
    ]
    return "\n".join(lines)


def _told_apart(arguments: Sequence[str]) -> tuple[list[str], str]:
    """The rules, and the one file: a rule holds a comparison, and is no file that is there."""
    rules = [one for one in arguments if any(sign in one for sign in "<>=≤≥") and not Path(one).is_file()]
    files = [one for one in arguments if one not in rules]
    if len(files) != 1:
        found = ", ".join(map(repr, files)) or "none"
        raise InputError(f"give rules, such as 'P@10 >= 0.4', and one file of rankings; files found: {found}")
    return rules, files[0]


def _summary_file(given: str | None) -> Path | None:
    if given is None:
        return None
    if given and any(sign in given for sign in "<>"):
        raise InputError(f"--github-summary took {given!r} for its file; put the option last, or write =FILE")
    name = given or os.environ.get(SUMMARY_VARIABLE)
    if not name:
        raise InputError(f"--github-summary needs a file where ${SUMMARY_VARIABLE} is not set")
    return Path(name)


def _append(path: Path, text: str) -> None:
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}; choose another file") from error


def _echo(verdicts: Sequence["Verdict"], name: str, format: str, policies: "Policies | None", told: str) -> None:
    if format == "json":
        passed = all(verdict.passed for verdict in verdicts)
        head = {"rankings": name, "passed": passed, "policies": policies and asdict(policies)}
        echo_json(head | {"rules": [asdict(verdict) for verdict in verdicts]})
    elif format == "csv":
        echo_records([asdict(verdict) for verdict in verdicts], format="csv")
    else:
        echo_records([_row(verdict) for verdict in verdicts], format="table")
        for verdict in verdicts:
            if verdict.outcome != "pass":
                click.echo(f"\n{verdict.rule}\n    {_explained(verdict)}")
        if told:
            click.echo("\n" + click.wrap_text(told, 80, subsequent_indent="  "))


def _row(verdict: "Verdict") -> dict[str, Any]:
    return {
        "outcome": verdict.outcome,
        "rule": verdict.rule,
        "value": verdict.value,
        f"{100 * verdict.level:g} % interval": _interval(verdict),
        "n": verdict.n,
        "undef.": verdict.n_undefined,
        "empty": verdict.n_missing,
        "judged": "?" if isnan(verdict.judged) else f"{verdict.judged:.0%}",
    }


def _explained(verdict: "Verdict") -> str:
    """Why it did not pass."""
    if isnan(verdict.value):
        return f"fails, as it cannot be computed: {verdict.reason}"
    if isnan(verdict.low):
        return f"{verdict.outcome}, as there is no interval: {verdict.reason}"
    if verdict.outcome == "undecided":
        return f"undecided: {_interval(verdict)} lies on both sides; more queries narrow it"
    return f"fails: {verdict.value:.3f}, interval {_interval(verdict)}"


def _interval(verdict: "Verdict") -> str:
    return "" if isnan(verdict.low) else f"{verdict.low:.3f} to {verdict.high:.3f}"


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return "undefined" if isnan(value) else f"{value:.3f}"
    return str(value)


def _escaped(text: str) -> str:
    """Text that neither ends a cell nor becomes markup."""
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")
