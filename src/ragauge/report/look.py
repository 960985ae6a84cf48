"""How every chart looks: colours that colour-blind readers can tell apart, legends on top, quiet axes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ragauge._optional import optional_import
from ragauge.report.content import Record

__all__ = [
    "GRADE_RAMP",
    "INK",
    "PX_PER_CHARACTER",
    "REGIME_COLOURS",
    "SOFT",
    "Chart",
    "altair",
    "finish",
    "fit_width",
    "header",
    "in_order",
    "kind_colour",
    "kinds_in",
    "legend",
    "measure_colour",
    "measure_dash",
    "measure_shape",
    "name_colour",
    "name_shape",
    "rows_of",
]

BLUE, ORANGE, GREEN, PURPLE, SKY, AMBER, BROWN = (
    "#0067a5",
    "#d55e00",
    "#00805e",
    "#b0518d",
    "#3f9fd4",
    "#c98a00",
    "#7a4b1e",
)
HUES = (BLUE, ORANGE, GREEN, PURPLE, SKY, AMBER, BROWN)
GREYS = ("#4a4a4a", "#7a7a7a", "#a0a0a0")
SHAPES = ("circle", "square", "diamond", "triangle-up", "triangle-down", "cross", "triangle-right")
KIND_COLOURS = {"relevant": BLUE, "not relevant": "#cfd8e0", "unjudged": "#f0c9a4"}
GRADE_RAMP = ("#b35806", "#f1a340", "#d9d9d9", "#80b1d3", "#1f5f99")
REGIME_COLOURS = (ORANGE, BLUE)
UNDEFINED = "#d9dee3"
INK, SOFT, LINE = "#1f2933", "#52606d", "#d9dee3"
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Liberation Sans', Arial, sans-serif"
PX_PER_CHARACTER = 6.6
ROWS = "rows"
_TEXT = {"labelColor": INK, "labelFontSize": 12, "titleColor": SOFT, "titleFontSize": 12, "titleFontWeight": "normal"}
CONFIG = {
    "font": FONT,
    "view": {"stroke": None},
    "scale": {"invalid": {"color": {"value": UNDEFINED}}},
    "axis": _TEXT | {"gridColor": "#eef1f4", "domainColor": LINE, "tickColor": LINE, "titlePadding": 8},
    "legend": _TEXT | {"columns": 6},
    "header": {"labelColor": INK},
}


@dataclass(frozen=True)
class Chart:
    """A finished chart: its Vega-Lite specification, data inside."""

    spec: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """The specification as plain JSON values."""
        return dict(self.spec)


def altair() -> Any:
    """The module, imported when the first chart is drawn."""
    return optional_import("altair", purpose="draw charts")


def rows_of(alt: Any) -> Any:
    """The data of the chart, which `finish` puts in: Altair would check and copy every row at each step."""
    return alt.NamedData(ROWS)


def legend(alt: Any, *, orient: str = "top", **more: Any) -> Any:
    """A legend in rows, with every entry there is."""
    return alt.Legend(orient=orient, symbolLimit=0, symbolOpacity=1, labelLimit=260, **more)


def header(alt: Any) -> Any:
    """The name of a panel, above it and flush left."""
    return alt.Header(labelOrient="top", labelAnchor="start", labelFontWeight="bold", labelFontSize=12, labelLimit=400)


def name_colour(alt: Any, field: str, names: Sequence[str], hues: Sequence[str] = HUES) -> Any:
    """A colour a name; `name_shape` of the same names joins its legend."""
    colours = [hues[i % len(hues)] for i in range(len(names))]
    return alt.Color(f"{field}:N", title=None, scale=alt.Scale(domain=list(names), range=colours), legend=legend(alt))


def name_shape(alt: Any, field: str, names: Sequence[str]) -> Any:
    """A shape a name."""
    shapes = [SHAPES[i % len(SHAPES)] for i in range(len(names))]
    return alt.Shape(f"{field}:N", title=None, scale=alt.Scale(domain=list(names), range=shapes), legend=legend(alt))


def kinds_in(records: Sequence[Record]) -> list[str]:
    """The kinds of document that are there at all, relevant ones first."""
    return [kind for kind in KIND_COLOURS if any(r["kind"] == kind and r["count"] for r in records)]


def kind_colour(alt: Any, kinds: Sequence[str]) -> Any:
    """Blue for relevant, pale for not relevant and unjudged."""
    scale = alt.Scale(domain=list(kinds), range=[KIND_COLOURS[kind] for kind in kinds])
    return alt.Color("kind:N", title=None, scale=scale, legend=legend(alt))


def measure_colour(alt: Any, measures: Sequence[str]) -> Any:
    """The colour of each measure."""
    return alt.Color("shown:N", title=None, sort=None, scale=_measure_scale(alt, measures, 0), legend=legend(alt))


def measure_shape(alt: Any, measures: Sequence[str]) -> Any:
    """The shape of each measure."""
    return alt.Shape("shown:N", title=None, sort=None, scale=_measure_scale(alt, measures, 1), legend=legend(alt))


def measure_dash(alt: Any, measures: Sequence[str]) -> Any:
    """The dash of each measure."""
    return alt.StrokeDash("shown:N", title=None, sort=None, scale=_measure_scale(alt, measures, 2), legend=legend(alt))


def _looks(measures: Sequence[str]) -> Mapping[str, tuple[str, str, list[int]]]:
    """Colour, shape and dash of each measure: hues for those under test, dashed greys for the baselines."""
    looks: dict[str, tuple[str, str, list[int]]] = {}
    tested = [name for name in measures if not name.endswith("(baseline)")]
    for i, name in enumerate(tested):
        looks[name] = (HUES[i % len(HUES)], SHAPES[(i + i // len(HUES)) % len(SHAPES)], [1, 0])
    for i, name in enumerate(name for name in measures if name not in looks):
        looks[name] = (GREYS[i % len(GREYS)], SHAPES[i % len(SHAPES)], [5, 3])
    return looks


def _measure_scale(alt: Any, measures: Sequence[str], part: int) -> Any:
    looks = _looks(measures)
    return alt.Scale(domain=list(measures), range=[looks[name][part] for name in measures])


def finish(
    chart: Any,
    description: str,
    records: Sequence[Record],
    *,
    coefficient: str | None = None,
    usermeta: Mapping[str, Any] | None = None,
) -> Chart:
    """The same look for every chart, the sentence that a screen reader says, and the data.

    The data stand inside the specification, so there is no file beside it; all are aggregated before. What is put in
    here needs no check by Altair, which copies and checks a whole chart at every step.

    Args:
        chart: An Altair chart over `rows_of`.
        description: What the chart shows, in a sentence.
        records: Its data.
        coefficient: The coefficient that shows first, where the data hold several: the parameter "coefficient".
        usermeta: How the page may fit the chart to its width.
    """
    spec = chart.to_dict() | {"config": CONFIG, "background": "white", "description": description}
    if coefficient is not None:
        spec["params"] = [*spec.get("params", []), {"name": "coefficient", "value": coefficient}]
        spec["transform"] = [{"filter": "datum.coefficient === coefficient"}]
    return Chart(spec | {"datasets": {ROWS: list(records)}, "usermeta": dict(usermeta or {})})


def fit_width(alt: Any) -> Any:
    """Fill the width of the page, however many rows there are."""
    return alt.AutoSizeParams(type="fit-x", contains="padding")


def in_order(records: Sequence[Record], field: str) -> list[str]:
    """The values of a field as they first come, so that a chart keeps the order of the table."""
    return list(dict.fromkeys(record[field] for record in records))
