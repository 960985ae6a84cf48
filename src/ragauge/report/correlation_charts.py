"""Charts of correlations: measures by segment, against K / N_p, and pooled over segments."""

import json
from collections.abc import Mapping, Sequence
from math import ceil, log2
from typing import Any

from ragauge.report.content import Record, number
from ragauge.report.correlation_rows import coefficient_name, readable
from ragauge.report.look import (
    INK,
    PX_PER_CHARACTER,
    SOFT,
    Chart,
    altair,
    finish,
    header,
    in_order,
    legend,
    measure_colour,
    measure_dash,
    measure_shape,
    name_colour,
    name_shape,
    rows_of,
)

__all__ = ["correlation_heatmap", "pooled_intervals", "ratio_lines"]

STANDING_COLOURS = {"in the set": "#0067a5", "alone in the set": "#00805e", "struck out": "#a0a0a0"}
"""Of the pooled measures; a leader that is not alone looks like the others of its set."""


def correlation_heatmap(cells: Sequence[Record], *, coefficient: str) -> Chart:
    """Measures across, segments down, the coefficient as colour and figure; grey with a dash where undefined.

    Segments of too few queries are left out, unless all are such.

    Args:
        cells: From `correlation_rows.cell_records`.
        coefficient: Which one shows first; the parameter "coefficient" of the chart chooses among those in `cells`.
    """
    alt = altair()
    cells = readable(cells)
    limit = _limit(cell["value"] for cell in cells)
    measures = list(dict.fromkeys(cell["shown"] for cell in cells))
    base = alt.Chart().encode(
        x=alt.X(
            "shown:N", sort=measures, title=None, axis=_matrix_axis(alt, orient="top", labelAngle=-30, labelPadding=24)
        ),
        y=alt.Y(
            "segment:N", sort=in_order(sorted(cells, key=_by_ratio), "segment"), title=None, axis=_matrix_axis(alt)
        ),
        tooltip=_cell_tooltip(alt),
    )
    strong = f"isValid(datum.value) && abs(datum.value) > {0.72 * limit:.4f}"
    ink = alt.condition(strong, alt.value("white"), alt.value(INK))
    layers = alt.layer(
        base.mark_rect(stroke="white", strokeWidth=2, invalid="show").encode(color=_diverging(alt, limit)),
        base.mark_text(fontSize=11).encode(text="text:N", color=ink),
        data=rows_of(alt),
    ).properties(height=alt.Step(26), width=560)
    row = alt.Row("group:N", sort=in_order(cells, "group"), title=None, header=header(alt))
    gutter = 40 + int(PX_PER_CHARACTER * min(27, max((len(cell["segment"]) for cell in cells), default=0)))
    chart = layers.facet(row=row, spacing=14).resolve_scale(y="independent")
    fit = {"fit": "rows", "gutter": gutter, "minimum": 34 * len(measures)}
    about = f"{coefficient_name(coefficient)} correlation of each measure with the grade, by segment."
    return finish(chart, about, [_slim(cell) for cell in cells], coefficient=coefficient, usermeta=fit)


def ratio_lines(cells: Sequence[Record], *, coefficient: str) -> Chart:
    """Correlation against K/N_p, one line a measure, one panel a data set and retriever; whiskers are the intervals.

    Segments of too few queries are left out, unless all are such.

    Measures stand a little beside each other so that lines that coincide can be told apart. Without ratios the
    segments stand on the axis instead.
    """
    alt = altair()
    cells = readable(cells)
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
    facet = alt.Facet("group:N", sort=in_order(cells, "group"), title=None, header=header(alt))
    chart = layers.facet(facet=facet, columns=2, spacing=24).add_params(picked)
    chart = chart.resolve_axis(x="independent", y="independent")
    entry = 40 + int(PX_PER_CHARACTER * max((len(name) for name in measures), default=0))
    fit = {"fit": "wrap", "cell": 420, "gutter": 70, "entry": entry}
    about = f"{coefficient_name(coefficient)} correlation with the grade against K / N_p, one line a measure."
    return finish(chart, about, rows, coefficient=coefficient, usermeta=fit)


def pooled_intervals(records: Sequence[Record], *, coefficient: str) -> Chart:
    """Dot and whisker a measure, one panel a pool of segments; the colour says which may be the best.

    Args:
        records: From `verdict_content.pooled_records`.
        coefficient: What was pooled, as a page names it.
    """
    alt = altair()
    rows = [record | {"standing": record["standing"].removesuffix(", leads")} for record in records]
    standings = [name for name in STANDING_COLOURS if any(row["standing"] == name for row in rows)]
    base = alt.Chart().encode(
        y=alt.Y("measure:N", sort=in_order(rows, "measure"), title=None, axis=alt.Axis(labelLimit=180)),
        color=name_colour(alt, "standing", standings, [STANDING_COLOURS[name] for name in standings]),
        tooltip=[
            *[alt.Tooltip(f"{name}:N") for name in ("pool", "measure", "standing")],
            *[alt.Tooltip(f"{name}:Q", format=".3f") for name in ("value", "low", "high")],
            alt.Tooltip("n:Q", title="queries"),
        ],
    )
    zero = alt.Chart().mark_rule(color=SOFT, strokeWidth=0.6).encode(x=alt.datum(0))
    whisker = base.mark_rule(strokeWidth=2).encode(
        x=alt.X("low:Q", title="correlation with the grade", axis=alt.Axis(tickCount=4)), x2="high:Q"
    )
    dot = base.mark_point(size=60, filled=True, opacity=1).encode(
        x="value:Q", shape=name_shape(alt, "standing", standings)
    )
    layers = alt.layer(zero, whisker, dot, data=rows_of(alt)).properties(width=260, height=alt.Step(20))
    pools = in_order(rows, "pool")
    facet = alt.Facet("pool:N", sort=pools, title=None, header=header(alt))
    chart = layers.facet(facet=facet, columns=min(2, len(pools)), spacing=24)
    chart = chart.resolve_axis(x="independent", y="independent")
    gutter = 50 + int(PX_PER_CHARACTER * min(27, max((len(row["measure"]) for row in rows), default=0)))
    fit = {"fit": "wrap", "cell": 440, "gutter": gutter}
    about = f"{coefficient} correlation of each measure with the grade, pooled over segments, with its interval."
    return finish(chart, about, rows, usermeta=fit)


def _cell_tooltip(alt: Any) -> list[Any]:
    figures = {
        "value": "correlation",
        "low": "low",
        "high": "high",
        "best": "in-sample maximum over alpha",
        "corrected": "corrected",
        "within": "for the same question",
    }
    return [
        *[alt.Tooltip(f"{name}:N") for name in ("group", "segment", "measure", "coefficient")],
        *[alt.Tooltip(f"{name}:Q", title=title, format=".3f") for name, title in figures.items()],
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
        "corrected": cell["corrected_value"] if tuned else None,
        "within": cell["within"],
        "alpha": cell["best_alpha"] if tuned else "cannot matter here" if cell["has_alpha"] else "none",
        "answers": cell["n_rows"],
        "queries": cell["n_queries"],
        "undefined because": (cell["reason"] or "unknown") if cell["value"] is None else "",
    }


def _limit(values: Any) -> float:
    """A round bound of the colour scale, the same for both signs."""
    return max(0.1, ceil(10 * max((abs(value) for value in values if value is not None), default=1.0)) / 10)


def _by_ratio(cell: Record) -> float:
    return cell["ratio"] or 0.0


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
