"""Chart data in, Altair chart out. Small multiples say in `usermeta` how the page may widen their cells."""

import json
from collections.abc import Mapping, Sequence
from math import ceil, log2
from typing import Any

from ragauge.report.content import Record, number
from ragauge.report.look import (
    GRADE_RAMP,
    INK,
    PX_PER_CHARACTER,
    REGIME_COLOURS,
    SOFT,
    Chart,
    altair,
    finish,
    header,
    kind_colour,
    kinds_in,
    legend,
    measure_colour,
    measure_dash,
    measure_shape,
    name_colour,
    name_shape,
    rows_of,
)
from ragauge.report.study_content import coefficient_name

__all__ = [
    "correlation_heatmap",
    "estimate_intervals",
    "grade_distribution",
    "label_histogram",
    "measures_against_grade",
    "ratio_lines",
    "relevance_by_rank",
]


def estimate_intervals(records: Sequence[Record], *, unit: str) -> Chart:
    """Dot and whisker a measure, one colour and shape a source.

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
        alt.Tooltip("n:Q", title="queries"),
    ]
    base = alt.Chart(rows_of(alt)).encode(
        y=y, yOffset=offset, color=name_colour(alt, "source", sources), tooltip=tooltip
    )
    whisker = base.mark_rule(strokeWidth=2).encode(
        x=alt.X("low:Q", title=names[unit], axis=alt.Axis(tickCount=8)), x2="high:Q"
    )
    dot = base.mark_point(size=70, filled=True, opacity=1).encode(x="mean:Q", shape=name_shape(alt, "source", sources))
    height = alt.Step(max(16, 26 - 4 * len(sources)), **{"for": "offset"}) if len(sources) > 1 else alt.Step(30)
    chart = alt.layer(whisker, dot).properties(width="container", height=height, autosize=_fit_width(alt))
    return finish(chart, "Mean of each measure with its interval, one mark a source of labels.", rows)


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
            x=alt.X("rank:O", title="rank", axis=alt.Axis(labelAngle=0, labelOverlap=True)),
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


def correlation_heatmap(cells: Sequence[Record], *, coefficient: str) -> Chart:
    """Measures across, segments down, the coefficient as colour and figure; grey with a dash where undefined.

    Args:
        cells: From `study_content.cell_records`.
        coefficient: Which one shows first; the parameter "coefficient" of the chart chooses among those in `cells`.
    """
    alt = altair()
    limit = _limit(cell["value"] for cell in cells)
    measures = list(dict.fromkeys(cell["shown"] for cell in cells))
    base = alt.Chart().encode(
        x=alt.X(
            "shown:N", sort=measures, title=None, axis=_matrix_axis(alt, orient="top", labelAngle=-30, labelPadding=24)
        ),
        y=alt.Y("segment:N", sort=_in_order(cells, "segment"), title=None, axis=_matrix_axis(alt)),
        tooltip=_cell_tooltip(alt),
    )
    strong = f"isValid(datum.value) && abs(datum.value) > {0.72 * limit:.4f}"
    ink = alt.condition(strong, alt.value("white"), alt.value(INK))
    layers = alt.layer(
        base.mark_rect(stroke="white", strokeWidth=2, invalid="show").encode(color=_diverging(alt, limit)),
        base.mark_text(fontSize=11).encode(text="text:N", color=ink),
        data=rows_of(alt),
    ).properties(height=alt.Step(26), width=560)
    row = alt.Row("group:N", sort=_in_order(cells, "group"), title=None, header=header(alt))
    gutter = 40 + int(PX_PER_CHARACTER * min(27, max((len(cell["segment"]) for cell in cells), default=0)))
    chart = layers.facet(row=row, spacing=14).resolve_scale(y="independent")
    fit = {"fit": "rows", "gutter": gutter, "minimum": 34 * len(measures)}
    about = f"{coefficient_name(coefficient)} correlation of each measure with the grade, by segment."
    return finish(chart, about, [_slim(cell) for cell in cells], coefficient=coefficient, usermeta=fit)


def ratio_lines(cells: Sequence[Record], *, coefficient: str) -> Chart:
    """Correlation against K/N_p, one line a measure, one panel a data set and retriever; whiskers are the intervals.

    Measures stand a little beside each other so that lines that coincide can be told apart. Without ratios the
    segments stand on the axis instead.
    """
    alt = altair()
    rows, positions, title = _placed(cells)
    measures = list(dict.fromkeys(cell["shown"] for cell in cells))
    x = alt.X(
        "x:Q",
        title=title,
        scale=alt.Scale(nice=False, zero=False, padding=18),
        axis=alt.Axis(
            values=list(positions.values()), labelExpr=_label_expression(positions), grid=False, labelAngle=0
        ),
    )
    picked = alt.selection_point(name="measure_picked", fields=["shown"], bind="legend")
    bright = alt.condition(picked, alt.value(1.0), alt.value(0.08))
    faint = alt.condition(picked, alt.value(0.4), alt.value(0.04))
    base = alt.Chart().encode(x=x, color=measure_colour(alt, measures), tooltip=_cell_tooltip(alt))
    y = alt.Y("value:Q", title="correlation with the grade", axis=alt.Axis(tickCount=6, format=".1f", grid=True))
    layers = alt.layer(
        alt.Chart().mark_rule(color=SOFT, strokeWidth=0.6).encode(y=alt.datum(0)),
        base.mark_rule(strokeWidth=1).encode(y=alt.Y("low:Q"), y2="high:Q", opacity=faint),
        base.mark_line(strokeWidth=1.8).encode(y=y, strokeDash=measure_dash(alt, measures), opacity=bright),
        base.mark_point(size=38, filled=True).encode(y=y, shape=measure_shape(alt, measures), opacity=bright),
        data=rows_of(alt),
    ).properties(width=300, height=240)
    facet = alt.Facet("group:N", sort=_in_order(cells, "group"), title=None, header=header(alt))
    chart = layers.facet(facet=facet, columns=2, spacing=24).add_params(picked)
    chart = chart.resolve_axis(x="independent", y="independent")
    entry = 40 + int(PX_PER_CHARACTER * max((len(name) for name in measures), default=0))
    fit = {"fit": "wrap", "cell": 420, "gutter": 70, "entry": entry}
    about = f"{coefficient_name(coefficient)} correlation with the grade against K / N_p, one line a measure."
    return finish(chart, about, rows, coefficient=coefficient, usermeta=fit)


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
            y=alt.Y("group:N", sort=_in_order(records, "group"), title=None, axis=alt.Axis(labelLimit=240)),
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
        .properties(width="container", height=alt.Step(30), autosize=_fit_width(alt))
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
    facet = alt.Facet("measure:N", sort=_in_order(means, "measure"), title=None, header=header(alt))
    chart = layers.facet(facet=facet, columns=4, spacing=20).resolve_scale(y="independent")
    chart = chart.resolve_axis(x="independent")
    fit = {"fit": "wrap", "cell": 230, "gutter": 62}
    return finish(chart, "Value of each measure at each grade, for K below and from N_p on.", rows, usermeta=fit)


def _cell_tooltip(alt: Any) -> list[Any]:
    three = [("value", "correlation"), ("low", "low"), ("high", "high"), ("best", "in-sample maximum over alpha")]
    return [
        *[alt.Tooltip(f"{name}:N") for name in ("group", "segment", "measure", "coefficient")],
        *[alt.Tooltip(f"{name}:Q", title=title, format=".3f") for name, title in three],
        alt.Tooltip("alpha:N", title="at alpha"),
        alt.Tooltip("answers:Q"),
        alt.Tooltip("queries:Q"),
        alt.Tooltip("undefined because:N"),
    ]


def _slim(cell: Record) -> Record:
    """What the charts of correlations need of a cell."""
    tuned = cell["has_alpha"] and cell["alpha_matters"]
    return {
        **{
            name: cell[name] for name in ("group", "segment", "shown", "measure", "coefficient", "value", "low", "high")
        },
        "text": number(cell["value"], digits=2, missing="╱ ╱"),
        "best": cell["best_value"] if tuned else None,
        "alpha": cell["best_alpha"] if tuned else "cannot matter here" if cell["has_alpha"] else "none",
        "answers": cell["n_rows"],
        "queries": cell["n_queries"],
        "undefined because": (cell["reason"] or "unknown") if cell["value"] is None else "",
    }


def _limit(values: Any) -> float:
    """A round bound of the colour scale, the same for both signs."""
    return max(0.1, ceil(10 * max((abs(value) for value in values if value is not None), default=1.0)) / 10)


def _placed(cells: Sequence[Record]) -> tuple[list[Record], dict[str, float], str]:
    """(records with their place on the axis, label -> place of each tick, title of the axis)."""
    with_ratio = [cell for cell in cells if cell["ratio"] is not None and cell["ratio"] > 0]
    if with_ratio:
        shown, title = with_ratio, "K / N_p (log scale)"
        places = {f"{ratio:g}": log2(ratio) for ratio in sorted({cell["ratio"] for cell in with_ratio})}
        keys = [f"{cell['ratio']:g}" for cell in shown]
    else:
        shown, title = list(cells), "segment"
        keys = [cell["segment"] for cell in shown]
        places = {name: float(i) for i, name in enumerate(dict.fromkeys(keys))}
    measures = list(dict.fromkeys(cell["shown"] for cell in cells))
    step = _dodge(list(places.values()), len(measures))
    middle = (len(measures) - 1) / 2
    rows = [
        _slim(cell) | {"x": round(places[key] + step * (measures.index(cell["shown"]) - middle), 4)}
        for cell, key in zip(shown, keys, strict=True)
    ]
    return rows, {label: round(place, 3) for label, place in places.items()}, title


def _dodge(places: Sequence[float], n: int) -> float:
    """How far two measures stand apart, so that all together fill a fifth of the usual gap between ticks."""
    span = places[-1] - places[0] if len(places) > 1 else 1.0
    return 0.2 * span / max(1, len(places) - 1) / max(1, n)


def _label_expression(places: Mapping[str, float]) -> str:
    """A Vega expression from a tick's place to its label; JSON strings are valid Vega strings."""
    table = {str(round(place * 1000)): label for label, place in places.items()}
    return f"({json.dumps(table)})[toString(round(datum.value * 1000))]"


def _fit_width(alt: Any) -> Any:
    """Fill the width of the page, however many rows there are."""
    return alt.AutoSizeParams(type="fit-x", contains="padding")


def _in_order(records: Sequence[Record], field: str) -> list[str]:
    """The values of a field as they first come, so that a chart keeps the order of the table."""
    return list(dict.fromkeys(record[field] for record in records))


def _matrix_axis(alt: Any, **more: Any) -> Any:
    return alt.Axis(labelLimit=180, domain=False, ticks=False, **more)


def _diverging(alt: Any, limit: float) -> Any:
    """Orange below zero, blue above; `finish` makes undefined cells grey."""
    return alt.Color(
        "value:Q",
        title="correlation with the grade",
        scale=alt.Scale(domain=[-limit, 0, limit], range=["#b35806", "#f7f7f7", "#1f5f99"], interpolate="lab"),
        legend=legend(alt, orient="bottom", gradientLength=220, format=".1f"),
    )
