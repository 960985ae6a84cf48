"""Charts of a judge: calibration, where the judge errs, and what leads it."""

from collections.abc import Sequence
from typing import Any

from ragauge.report.content import Record
from ragauge.report.look import SOFT, Chart, altair, finish, header, name_colour, name_shape, rows_of

__all__ = ["calibration_curve", "error_rates", "led_shares"]


def calibration_curve(records: Sequence[Record], *, top: float) -> Chart:
    """Share of pairs that people found relevant against the mean label, with intervals.

    Args:
        records: From `judge.bin_records`.
        top: The largest label of the scale; up to 1, a line shows where label and share are equal.
    """
    alt = altair()
    x = alt.X("mean:Q", title="the model's label, mean of a group", scale=alt.Scale(domain=[0, top]))
    y = alt.Y("relevant:Q", title="relevant to people", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1]))
    tooltip = ["label:N", *[alt.Tooltip(f"{name}:Q", format=".3f") for name in ("mean", "relevant", "low", "high")]]
    groups = alt.Chart(rows_of(alt)).transform_filter("datum.pairs")
    base = groups.encode(x=x, tooltip=[*tooltip, alt.Tooltip("pairs:Q")])
    layers = [
        base.mark_rule(strokeWidth=2, color="#0067a5").encode(y=alt.Y("low:Q"), y2="high:Q"),
        base.mark_line(color="#0067a5", point=alt.OverlayMarkDef(size=70, filled=True, opacity=1)).encode(y=y),
    ]
    if top <= 1:
        ends = alt.Chart(rows_of(alt)).transform_filter("!datum.pairs")
        layers.insert(0, ends.mark_line(color=SOFT, strokeDash=[3, 3], strokeWidth=1).encode(x=x, y=y))
        records = [*records, *({"mean": end, "relevant": end, "pairs": 0} for end in (0, 1))]
    chart = alt.layer(*layers).properties(width="container", height=320)
    return finish(chart, "Share of pairs relevant to people against the model's label, with intervals.", records)


def error_rates(records: Sequence[Record]) -> Chart:
    """Sensitivity and specificity of groups of pairs, dot and whisker.

    Args:
        records: From `judge.group_records`.
    """
    alt = altair()
    groups = list(dict.fromkeys(record["group"] for record in records))
    rates = ["sensitivity", "specificity"]
    base = alt.Chart().encode(
        y=alt.Y("group:N", sort=groups, title=None, axis=alt.Axis(labelLimit=200)),
        yOffset=alt.YOffset("rate:N", sort=rates),
        color=name_colour(alt, "rate", rates),
        tooltip=["group:N", "rate:N", *_figures(alt, "value", "low", "high"), "pairs:Q"],
    )
    scale = alt.Scale(domain=[0, 1])
    whisker = base.mark_rule(strokeWidth=2).encode(
        x=alt.X("low:Q", title="share judged as people did", axis=alt.Axis(format="%"), scale=scale), x2="high:Q"
    )
    dot = base.mark_point(size=70, filled=True, opacity=1).encode(x="value:Q", shape=name_shape(alt, "rate", rates))
    layers = alt.layer(whisker, dot, data=rows_of(alt)).properties(width=300, height=alt.Step(20, **{"for": "offset"}))
    facet = alt.Facet("by:N", sort=["rank", "length"], title=None, header=header(alt))
    chart = layers.facet(facet=facet, columns=2, spacing=24).resolve_scale(y="independent")
    fit = {"fit": "wrap", "cell": 380, "gutter": 140}
    return finish(chart, "Sensitivity and specificity by rank and by length of the document.", records, usermeta=fit)


def led_shares(records: Sequence[Record]) -> Chart:
    """Share of canaries of each kind that led the judge to the wrong verdict, dot and whisker.

    Args:
        records: From `judge_canaries.canary_records`.
    """
    alt = altair()
    kinds = [record["kind"] for record in records]
    base = alt.Chart(rows_of(alt)).encode(
        y=alt.Y("kind:N", sort=kinds, title=None),
        tooltip=["kind:N", "what:N", *_figures(alt, "led", "low", "high", "label", "control"), "of:Q"],
        color=alt.value("#d55e00"),
    )
    scale = alt.Scale(domain=[0, 1])
    whisker = base.mark_rule(strokeWidth=2).encode(
        x=alt.X("low:Q", title="led to the wrong verdict", axis=alt.Axis(format="%"), scale=scale), x2="high:Q"
    )
    dot = base.mark_point(size=80, filled=True, opacity=1).encode(x="led:Q")
    chart = alt.layer(whisker, dot).properties(
        width="container", height=alt.Step(28), autosize=alt.AutoSizeParams(type="fit-x", contains="padding")
    )
    return finish(chart, "Share of canaries of each kind that led the judge to the wrong verdict.", records)


def _figures(alt: Any, *names: str) -> list[Any]:
    return [alt.Tooltip(f"{name}:Q", format=".3f") for name in names]
