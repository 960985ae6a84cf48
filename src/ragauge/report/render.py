"""Content becomes one HTML file that needs nothing else: no network, no second file, no template of the reader's.

Texts come from documents and models, so nobody vouches for them: templates escape everything, chart data is JSON with
`<`, `>` and `&` written as escapes, and a content security policy names the hashes of the only two scripts that may
run and allows no request to anywhere.
"""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from ragauge._optional import optional_import
from ragauge.errors import InputError, RunError
from ragauge.llm.led import CanaryResult
from ragauge.report import charts as draw
from ragauge.report.content import Example
from ragauge.report.correlation_charts import correlation_heatmap, pooled_intervals, ratio_lines
from ragauge.report.correlation_rows import cell_records, coefficient_name, coefficients_of
from ragauge.report.grades import against_grade, grade_counts
from ragauge.report.judge_canaries import canary_charts
from ragauge.report.look import Chart
from ragauge.report.score_content import interval_records, label_records, rank_records, score_content
from ragauge.report.study_content import study_content
from ragauge.report.verdict_content import pooled_records
from ragauge.results import Estimate

__all__ = ["export_charts", "page", "score_charts", "score_report", "study_charts", "study_report"]

TEMPLATES = Path(__file__).parent / "templates"
EXPORT_WIDTH = 720
"""Width in pixels of an exported chart that would fill its page otherwise."""


def score_report(
    *,
    title: str,
    estimates: Mapping[str, Sequence[Estimate]],
    judged: pa.Table,
    scores: pa.Table,
    rel: float = 1.0,
    notes: Sequence[str] = (),
    worst_by: str | None = None,
    n_worst: int = 10,
    canaries: Mapping[str, Sequence[CanaryResult]] | None = None,
) -> str:
    """One HTML page that shows how good the retrieval was, and which queries it failed.

    Args:
        title: Heading of the page.
        estimates: Source of labels ("local LLM", "hand labels") -> its estimates.
        judged: `schema.JUDGED`; the labels shown are those of this table.
        scores: One row a ranking, as `measures.score` makes it.
        rel: A document is relevant from this label on.
        notes: What the reader should know: where the labels come from, which model, which prompt. One paragraph each.
        worst_by: The measure that the worst queries are chosen by; default: the first column of `scores`.
        n_worst: How many of them.
        canaries: Source of labels -> whether its judge could be led; None = the report does not say.

    Returns:
        The page, to be written as UTF-8.

    Raises:
        InputError: `worst_by` is not a column of `scores`.
        MissingExtraError: altair, vl-convert or jinja2 is not installed.
        SchemaError: `judged` is not a `schema.JUDGED` table.
    """
    content = score_content(
        title=title,
        estimates=estimates,
        judged=judged,
        scores=scores,
        rel=rel,
        notes=notes,
        worst_by=worst_by,
        n_worst=n_worst,
        canaries=canaries,
    )
    charts = score_charts(estimates, judged, rel=rel) | canary_charts(canaries or {})
    return page("score.html.j2", content, charts)


def study_report(
    *,
    title: str,
    correlations: pa.Table,
    graded: pa.Table,
    contest: pa.Table | None = None,
    level: float = 0.95,
    notes: Sequence[str] = (),
    plan_text: str | None = None,
    examples: Sequence[Example] = (),
) -> str:
    """One HTML page that shows which measure follows the grades of the answers, and where the answers went wrong.

    Args:
        title: Heading of the page.
        correlations: `schema.CORRELATIONS`.
        graded: `schema.GRADED`, what the correlations were computed from.
        contest: `schema.CONTEST` of the same answers: which measure may be the best. None = the report does not say.
        level: Confidence level of the intervals in both.
        notes: What the reader should know, one paragraph each.
        plan_text: The plan of the study, shown word for word.
        examples: Answers to choose the worst from, with their texts; default: those of `graded`, without documents.

    Returns:
        The page, to be written as UTF-8.

    Raises:
        MissingExtraError: altair, vl-convert or jinja2 is not installed.
        SchemaError: A table is not what its name promises.
    """
    content = study_content(
        title=title,
        correlations=correlations,
        graded=graded,
        contest=contest,
        level=level,
        notes=notes,
        plan_text=plan_text,
        examples=examples,
    )
    return page("study.html.j2", content, _page_charts(correlations, graded, contest))


def score_charts(
    estimates: Mapping[str, Sequence[Estimate]], judged: pa.Table, *, rel: float = 1.0
) -> dict[str, Chart]:
    """The charts of a score report by name; those without data are left out."""
    intervals, labels, ranks = interval_records(estimates), label_records(judged, rel), rank_records(judged, rel)
    charts: dict[str, Chart] = {}
    for unit in ("share", "count"):
        if any(record["unit"] == unit and record["mean"] is not None for record in intervals):
            charts[f"estimates_{unit}"] = draw.estimate_intervals(intervals, unit=unit)
    if labels:
        charts["labels"] = draw.label_histogram(labels, rel=rel)
    if ranks:
        charts["ranks"] = draw.relevance_by_rank(ranks)
    return charts


def study_charts(correlations: pa.Table, graded: pa.Table, contest: pa.Table | None = None) -> dict[str, Chart]:
    """The charts of a study by name, those of correlations once a coefficient; those without data are left out.

    Args:
        correlations: `schema.CORRELATIONS`.
        graded: `schema.GRADED`, what they were computed from.
        contest: `schema.CONTEST` of the same answers; None = no chart of pooled measures.
    """
    cells = cell_records(correlations)
    charts = _pooled_chart(contest)
    for name in coefficients_of(cells):
        own = [cell for cell in cells if cell["coefficient"] == name]
        charts[f"heatmap_{name}"] = correlation_heatmap(own, coefficient=name)
        charts[f"ratio_{name}"] = ratio_lines(own, coefficient=name)
    return charts | _grade_charts(graded)


def export_charts(charts: Mapping[str, Chart], folder: Path, format: Literal["png", "svg"] = "png") -> list[Path]:
    """Write each chart to `folder` as <name>.png (twice the resolution of a screen) or <name>.svg.

    Returns:
        The files, in the order of the charts.

    Raises:
        InputError: The format is neither.
        MissingExtraError: vl-convert is not installed.
        RunError: The folder cannot be written to.
    """
    if format not in ("png", "svg"):
        raise InputError(f"charts are exported as 'png' or 'svg', got {format!r}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return [_export(chart, folder / f"{name}.{format}") for name, chart in charts.items()]
    except OSError as error:
        raise RunError(f"charts cannot be written to {folder}: {error.strerror or error}") from error


def _export(chart: Chart, path: Path) -> Path:
    vl_convert = optional_import("vl_convert", purpose="export charts")
    spec = chart.to_dict()
    if spec.get("width") == "container":
        spec["width"] = EXPORT_WIDTH
    if path.suffix == ".svg":
        path.write_text(vl_convert.vegalite_to_svg(spec), encoding="utf-8")
    else:
        path.write_bytes(vl_convert.vegalite_to_png(spec, scale=2))
    return path


def _page_charts(correlations: pa.Table, graded: pa.Table, contest: pa.Table | None) -> dict[str, Chart]:
    """As `study_charts`, but with all coefficients in one chart, to be chosen on the page."""
    cells = cell_records(correlations)
    coefficients = coefficients_of(cells)
    charts = _pooled_chart(contest)
    if coefficients:
        charts["heatmap"] = correlation_heatmap(cells, coefficient=coefficients[0])
        charts["ratio"] = ratio_lines(cells, coefficient=coefficients[0])
    return charts | _grade_charts(graded)


def _pooled_chart(contest: pa.Table | None) -> dict[str, Chart]:
    records = [] if contest is None else pooled_records(contest)
    if contest is None or not records:
        return {}
    name = coefficient_name(contest.column("coefficient")[0].as_py())
    return {"pooled": pooled_intervals(records, coefficient=name)}


def _grade_charts(graded: pa.Table) -> dict[str, Chart]:
    counts, against = grade_counts(graded), against_grade(graded)
    charts: dict[str, Chart] = {}
    if counts:
        charts["grades"] = draw.grade_distribution(counts)
    if against.means:
        charts["against_grade"] = draw.measures_against_grade(against.bubbles, against.means)
    return charts


def page(template: str, content: object, charts: Mapping[str, Chart]) -> str:
    """The page of a template: `content` and the charts it places by name, with all that they need inside.

    Raises:
        MissingExtraError: vl-convert or jinja2 is not installed.
    """
    jinja2 = optional_import("jinja2", purpose="write a report")
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    specs = {name: chart.to_dict() for name, chart in charts.items()}
    scripts = [_vega() if specs else "", _asset("page.js")]
    html: str = environment.get_template(template).render(
        content=content,
        charts={name: spec["description"] for name, spec in specs.items()},
        specs={name: _json_in_script(spec) for name, spec in specs.items()},
        scripts=[_inline(script) for script in scripts if script],
        policy=_policy([script for script in scripts if script]),
        style=_inline(_asset("style.css")),
    )
    return html


def _json_in_script(spec: dict[str, Any]) -> Any:
    """JSON that cannot end the script element it stands in: ASCII only, with no `<`, `>` or `&`."""
    kept = {key: value for key, value in spec.items() if key != "$schema"}
    text = json.dumps(kept, allow_nan=False, separators=(",", ":"))
    return _inline(text.replace("&", r"\u0026").replace("<", r"\u003c").replace(">", r"\u003e"))


def _inline(text: str) -> Any:
    """Text of our own, or escaped already: the template writes it as it is."""
    return optional_import("jinja2", purpose="write a report").utils.markupsafe.Markup(text)


def _policy(scripts: Sequence[str]) -> str:
    """Only these scripts may run, and nothing may be requested from anywhere."""
    hashes = " ".join(f"'sha256-{_sha256(script)}'" for script in scripts)
    rest = "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
    return f"default-src 'none'; script-src {hashes}; {rest}"


def _sha256(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")


@cache
def _vega() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script (about 900 kB), from inside vl-convert."""
    bundle: str = optional_import("vl_convert", purpose="draw charts").javascript_bundle()
    return bundle.replace("</script", r"<\/script").replace("\r", "")


@cache
def _asset(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8").replace("\r", "")
