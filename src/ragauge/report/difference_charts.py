"""Charts of comparisons and of tuning: differences with intervals, single queries, and where the best cut lies."""

from collections.abc import Sequence
from typing import Any

from ragauge.report.content import Record
from ragauge.report.look import INK, SOFT, Chart, altair, finish, header, name_colour, name_shape, rows_of

__all__ = ["candidate_curve", "difference_intervals", "query_differences"]

PX_PER_ROW = 26


def difference_intervals(records: Sequence[Record], *, unit: str) -> Chart:
    """Dot and whisker a comparison, against a line at no difference.

    Args:
        records: From `comparison_content.difference_records`.
        unit: "share" or "count": which of them; the two have different axes.
    """
    alt = altair()
    rows = [record for record in records if record["unit"] == unit]
    systems = list(dict.fromkeys(record["system"] for record in rows))
    title = {
        "share": "difference to the baseline, with interval",
        "count": "documents a query, difference to the baseline",
    }
    base = alt.Chart(rows_of(alt)).encode(
        y=alt.Y("measure:N", sort=None, title=None, axis=alt.Axis(labelLimit=220)),
        yOffset=alt.YOffset("system:N", sort=systems),
        color=name_colour(alt, "system", systems),
        tooltip=["measure:N", "system:N", *_figures(alt, "difference", "low", "high", "p")],
    )
    whisker = base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", title=title[unit]), x2="high:Q")
    dot = base.mark_point(size=70, filled=True, opacity=1).encode(
        x="difference:Q", shape=name_shape(alt, "system", systems)
    )
    height = alt.Step(max(16, 26 - 4 * len(systems)), **{"for": "offset"}) if len(systems) > 1 else alt.Step(30)
    chart = alt.layer(_zero(alt), whisker, dot).properties(
        width="container", height=height, autosize=alt.AutoSizeParams(type="fit-x", contains="padding")
    )
    return finish(chart, "Difference of each system to the baseline by each measure, with its interval.", rows)


def query_differences(records: Sequence[Record]) -> Chart:
    """One panel a measure, one row a system: circles are counts of queries at a difference.

    Args:
        records: From `comparison_content.query_records`.
    """
    alt = altair()
    measures = list(dict.fromkeys(record["measure"] for record in records))
    systems = list(dict.fromkeys(record["system"] for record in records))
    circle = (
        alt.Chart()
        .mark_circle(opacity=0.6, stroke="white", strokeWidth=0.5)
        .encode(
            x=alt.X("difference:Q", title="difference of a query", axis=alt.Axis(tickCount=6)),
            y=alt.Y("system:N", sort=systems, title=None, axis=alt.Axis(labelLimit=160)),
            size=alt.Size("queries:Q", scale=alt.Scale(range=[10, 500]), legend=None),
            color=name_colour(alt, "outcome", ["won", "tied", "lost"], ("#0067a5", "#a0a0a0", "#d55e00")),
            tooltip=["measure:N", "system:N", "outcome:N", *_figures(alt, "difference"), "queries:Q"],
        )
    )
    layers = alt.layer(_zero(alt), circle, data=rows_of(alt)).properties(width=300, height=alt.Step(PX_PER_ROW + 8))
    facet = alt.Facet("measure:N", sort=measures, title=None, header=header(alt))
    chart = layers.facet(facet=facet, columns=2, spacing=24).resolve_scale(x="independent")
    fit = {"fit": "wrap", "cell": 380, "gutter": 120}
    return finish(chart, "Differences of single queries: won, tied and lost.", records, usermeta=fit)


def candidate_curve(records: Sequence[Record], *, measure: str) -> Chart:
    """Mean of the objective against the documents returned, with today's cut and the best one.

    Args:
        records: From `comparison_content.candidate_records`.
        measure: Printed form of the objective.
    """
    alt = altair()
    x = alt.X("documents:Q", title="documents returned, mean over queries")
    y = alt.Y("mean:Q", title=measure, scale=alt.Scale(zero=False, padding=14))
    base = alt.Chart(rows_of(alt)).encode(x=x, y=y, tooltip=["cut:N", *_figures(alt, "mean", "documents", "precision")])
    line = base.transform_filter("datum.line").mark_line(color=SOFT, strokeWidth=1.6)
    dots = base.transform_filter("datum.line").mark_circle(size=18, color=SOFT, opacity=0.8)
    marked = base.transform_filter("datum.mark")
    names = [name for name in ("today", "best here") if any(record["mark"] == name for record in records)]
    big = marked.mark_point(size=110, filled=True, opacity=1).encode(
        color=name_colour(alt, "mark", names), shape=name_shape(alt, "mark", names)
    )
    texts = [
        base.transform_filter(f"datum.mark === '{name}'").mark_text(dy=shift, color=INK).encode(text="cut:N")
        for name, shift in (("best here", -14), ("today", 16))
    ]
    chart = alt.layer(line, dots, big, *texts).properties(width="container", height=300)
    return finish(chart, f"Mean {measure} against how many documents are returned.", records)


def _zero(alt: Any) -> Any:
    return alt.Chart(rows_of(alt)).mark_rule(color=SOFT, strokeWidth=1, strokeDash=[3, 3]).encode(x=alt.datum(0))


def _figures(alt: Any, *names: str) -> list[Any]:
    return [alt.Tooltip(f"{name}:Q", format=".3f") for name in names]
