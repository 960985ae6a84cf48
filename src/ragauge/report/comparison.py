"""The reports of comparisons and of tuning, as one HTML file each."""

from ragauge.quality.compare import Compared
from ragauge.quality.tune import Tuned
from ragauge.report import difference_charts as draw
from ragauge.report.comparison_content import (
    candidate_records,
    comparison_content,
    difference_records,
    query_records,
    tuning_content,
)
from ragauge.report.look import Chart
from ragauge.report.render import page

__all__ = ["comparison_charts", "comparison_report", "tuning_report"]


def comparison_report(*, title: str, found: Compared) -> str:
    """One HTML page that shows which system does better than the baseline, by how much, and on which share of queries.

    Args:
        title: Heading of the page.
        found: From `ragauge.compare_systems`.

    Returns:
        The page, to be written as UTF-8.

    Raises:
        MissingExtraError: altair, vl-convert or jinja2 is not installed.
    """
    return page("comparison.html.j2", comparison_content(title=title, found=found), comparison_charts(found))


def comparison_charts(found: Compared) -> dict[str, Chart]:
    """The charts of the report by name; those without data are left out."""
    differences, queries = difference_records(found.comparisons), query_records(found)
    charts: dict[str, Chart] = {}
    for unit in ("share", "count"):
        if any(record["unit"] == unit and record["difference"] is not None for record in differences):
            charts[f"differences_{unit}"] = draw.difference_intervals(differences, unit=unit)
    if queries:
        charts["queries"] = draw.query_differences(queries)
    return charts


def tuning_report(*, title: str, found: Tuned) -> str:
    """One HTML page that shows what each cut of the rankings is worth, and what choosing the best one gains.

    Args:
        title: Heading of the page.
        found: From `ragauge.tune_cutoff`.

    Returns:
        The page, to be written as UTF-8.

    Raises:
        MissingExtraError: altair, vl-convert or jinja2 is not installed.
    """
    curve = draw.candidate_curve(candidate_records(found), measure=found.measure)
    return page("tuning.html.j2", tuning_content(title=title, found=found), {"curve": curve})
