"""Chart data in, Altair chart out. Small multiples say in `usermeta` how the page may widen their cells."""

from collections.abc import Sequence
from typing import Any

from ragauge.report.content import Record
from ragauge.report.look import (
    GRADE_RAMP,
    REGIME_COLOURS,
    Chart,
    altair,
    finish,
    fit_width,
    header,
    in_order,
    kind_colour,
    kinds_in,
    legend,
    name_colour,
    name_shape,
    rows_of,
)

__all__ = [
    "estimate_intervals",
    "grade_distribution",
    "label_histogram",
    "measures_against_grade",
    "relevance_by_rank",
]


def estimate_intervals(records: Sequence[Record], *, unit: str) -> Chart:
    """Dot and whisker a measure, one colour and shape a source.

    A tick stands at the largest mean the labels allow, where that is below the measure's own bound; a thin line spans
    what the missing labels leave open.

    Args:
        records: From `score_content.interval_records`.
        unit: "share" or "count": which of them; the two have different axes.
    """
    alt = altair()
    rows = [record for record in records if record["unit"] == unit]
    sources = list(dict.fromkeys(record["source"] for record in rows))
    names = {"share": "mean and interval", "count": "documents a query, mean and interval"}
    y = alt.Y("measure:N", sort=None, title=None, axis=alt.Axis(labelLimit=220))
    offset = alt.YOffset("source:N", sort=sources)
    tooltip = [
        alt.Tooltip("measure:N"),
        alt.Tooltip("source:N", title="labels"),
        *[alt.Tooltip(f"{name}:Q", format=".3f") for name in ("mean", "low", "high")],
        alt.Tooltip("largest:Q", title="at most", format=".3f"),
        alt.Tooltip("n:Q", title="queries"),
        alt.Tooltip("tied:Q", title="queries with ties"),
    ]
    base = alt.Chart(rows_of(alt)).encode(
        y=y, yOffset=offset, color=name_colour(alt, "source", sources), tooltip=tooltip
    )
    x = alt.X("low:Q", title=names[unit], axis=alt.Axis(tickCount=8))
    dot = base.mark_point(size=70, filled=True, opacity=1).encode(x="mean:Q", shape=name_shape(alt, "source", sources))
    height = alt.Step(max(16, 26 - 4 * len(sources)), **{"for": "offset"}) if len(sources) > 1 else alt.Step(30)
    layers = [*_reach(base, rows), base.mark_rule(strokeWidth=2).encode(x=x, x2="high:Q"), dot]
    chart = alt.layer(*layers).properties(width="container", height=height, autosize=fit_width(alt))
    return finish(chart, "Mean of each measure with its interval, one mark a source of labels.", rows)


def _reach(base: Any, rows: Sequence[Record]) -> list[Any]:
    """How far a mean could be: the span that missing labels leave open, and the largest that the labels allow."""
    known = {name for row in rows for name in ("worst", "largest") if row[name] is not None}
    span = base.mark_rule(strokeWidth=1, strokeDash=[2, 3]).encode(x="worst:Q", x2="best:Q")
    tick = base.mark_tick(thickness=2, size=14).encode(x="largest:Q")
    return [mark for mark, name in ((span, "worst"), (tick, "largest")) if name in known]


def label_histogram(records: Sequence[Record], *, rel: float) -> Chart:
    """How often each label was given; relevant ones in blue. Records from `score_content.label_records`."""
    alt = altair()
    binned = any(record["low"] != record["high"] for record in records)
    title = "label" if not binned else "label (bins)"
    x = (
        alt.X("low:Q", bin="binned", title=title, axis=alt.Axis(tickCount=10))
        if binned
        else alt.X("label:N", sort=None, title=title, axis=alt.Axis(labelAngle=0))
    )
    chart = (
        alt.Chart(rows_of(alt))
        .mark_bar(stroke="white", strokeWidth=1)
        .encode(
            x=x,
            y=alt.Y("share:Q", title="share of judged documents", axis=alt.Axis(format="%")),
            color=kind_colour(alt, kinds_in(records)),
            tooltip=[
                "label:N",
                alt.Tooltip("count:Q", title="documents"),
                alt.Tooltip("share:Q", format=".1%"),
                "kind:N",
            ],
        )
        .properties(width="container", height=220)
    )
    chart = chart.encode(x2="high:Q") if binned else chart
    return finish(chart, f"Distribution of labels; a document is relevant from label {rel:g} on.", records)


def relevance_by_rank(records: Sequence[Record]) -> Chart:
    """What stands at each rank: shares relevant, not relevant, unjudged. Records from `score_content.rank_records`."""
    alt = altair()
    kinds = kinds_in(records)
    rows = [record | {"order": kinds.index(record["kind"])} for record in records if record["kind"] in kinds]
    chart = (
        alt.Chart(rows_of(alt))
        .mark_bar(stroke="white", strokeWidth=1)
        .encode(
            x=alt.X("rank:O", title="rank", axis=alt.Axis(labelAngle=0, labelOverlap="greedy", labelSeparation=4)),
            y=alt.Y("share:Q", title="share of rankings", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1])),
            order="order:Q",
            color=kind_colour(alt, kinds),
            tooltip=[
                "rank:O",
                "kind:N",
                "count:Q",
                alt.Tooltip("of:Q", title="rankings"),
                alt.Tooltip("share:Q", format=".1%"),
            ],
        )
        .properties(width="container", height=220)
    )
    return finish(chart, "Share of rankings with a relevant document at each rank.", rows)


def grade_distribution(records: Sequence[Record]) -> Chart:
    """Share of each grade, one stacked bar a data set and retriever. Records from `study_charts.grade_counts`."""
    alt = altair()
    grades = sorted({record["grade"] for record in records})
    ramp = [GRADE_RAMP[min(4, max(0, round(grade) - 1))] for grade in grades]
    colour = alt.Color("grade:O", title="grade", scale=alt.Scale(domain=grades, range=ramp), legend=legend(alt))
    chart = (
        alt.Chart(rows_of(alt))
        .mark_bar(stroke="white", strokeWidth=1)
        .encode(
            y=alt.Y("group:N", sort=in_order(records, "group"), title=None, axis=alt.Axis(labelLimit=240)),
            x=alt.X(
                "share:Q", title="share of graded answers", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1])
            ),
            color=colour,
            order=alt.Order("grade:Q"),
            tooltip=[
                "group:N",
                "grade:O",
                alt.Tooltip("count:Q", title="answers"),
                alt.Tooltip("share:Q", format=".1%"),
            ],
        )
        .properties(width="container", height=alt.Step(30), autosize=fit_width(alt))
    )
    return finish(chart, "Distribution of grades, 1 worst to 5 best, by data set and retriever.", records)


def measures_against_grade(bubbles: Sequence[Record], means: Sequence[Record]) -> Chart:
    """Values of a measure at each grade: circles are counts of answers, lines join the means of narrow and wide K.

    Args:
        bubbles: measure, grade, value (binned), count.
        means: measure, regime, grade, mean, low, high (middle half of the values), count.
    """
    alt = altair()
    regimes = list(dict.fromkeys(record["regime"] for record in means))
    rows = [*bubbles, *means]
    x = alt.X("grade:O", title="grade", axis=alt.Axis(labelAngle=0))
    y_scale = alt.Scale(nice=False, zero=True, padding=14)  # room for the largest circle
    y = alt.Y("value:Q", title="value of the measure", axis=alt.Axis(tickCount=6), scale=y_scale)
    colour = name_colour(alt, "regime", regimes, REGIME_COLOURS)
    size = alt.Size("count:Q", title="answers", scale=alt.Scale(range=[6, 420]), legend=None)
    count = alt.Tooltip("count:Q", title="answers")
    circle = alt.Chart().transform_filter("!datum.regime").mark_circle(color="#9fb3c8", opacity=0.55)
    line = (
        alt.Chart()
        .transform_filter("datum.regime")
        .encode(x=x, color=colour, xOffset=alt.XOffset("regime:N", sort=regimes))
    )
    tooltip = ["regime:N", "grade:O", alt.Tooltip("value:Q", title="mean", format=".3f"), count]
    layers = alt.layer(
        circle.encode(
            x=x, y=y, size=size, tooltip=["grade:O", alt.Tooltip("value:Q", title="about", format=".2f"), count]
        ),
        line.mark_rule(strokeWidth=2.2).encode(y="low:Q", y2="high:Q"),
        line.mark_point(filled=True, size=75, opacity=1).encode(
            y=y, tooltip=tooltip, shape=name_shape(alt, "regime", regimes)
        ),
        data=rows_of(alt),
    ).properties(width=220, height=220)
    facet = alt.Facet("measure:N", sort=in_order(means, "measure"), title=None, header=header(alt))
    chart = layers.facet(facet=facet, columns=4, spacing=20).resolve_scale(y="independent")
    chart = chart.resolve_axis(x="independent")
    fit = {"fit": "wrap", "cell": 230, "gutter": 68}
    return finish(chart, "Value of each measure at each grade, for K below and from N_p on.", rows, usermeta=fit)
