"""How charts look: one font stack, one palette, dark text, light grid; the same colour and shape for a cell in every figure."""

from __future__ import annotations

from typing import Any

FONT = "Helvetica Neue, Helvetica, Arial, Liberation Sans, DejaVu Sans, sans-serif"
"""Fonts that are there: a page that is read offline, years later, can load none."""
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#AA4499", "#56B4E9", "#E69F00", "#4D4D4D", "#882255")
"""Okabe and Ito's palette ("Color Universal Design", 2008), two of them darkened for lines on white: told apart by colour-blind readers."""
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "stroke", "wedge")
READ, WRITTEN, LOG = "#E69F00", "#0072B2", "#4D4D4D"
INK, FAINT, LINE, ALARM = "#1f2933", "#52606d", "#e4e7eb", "#b42318"
ARROW: dict[str, Any] = {"filled": True, "color": INK, "size": 60, "opacity": 1}
"""Where a whisker is cut off."""
DIRECT = 4
"""Up to so many lines are named where they end."""
WIDTH, HEIGHT = 440, 260
"""Of a plot in pixels: half a page, and still legible on a telephone."""


def colour(place: int) -> str:
    """The colour of a campaign's cell by its place; after the last the palette begins again, with another shape."""
    return COLOURS[place % len(COLOURS)]


def config() -> dict[str, Any]:
    """Vega-Lite's configuration for every chart."""
    axis = {"labelColor": INK, "titleColor": INK, "labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal", "titlePadding": 8}
    lines = {"gridColor": LINE, "domainColor": "#9aa5b1", "tickColor": "#9aa5b1", "tickSize": 4, "labelPadding": 4}
    return {
        "font": FONT,
        "background": "white",
        "padding": 4,
        "view": {"stroke": None},
        "axis": {**axis, **lines},
        "axisX": {"grid": False},
        "axisY": {"domain": False, "ticks": False},
        "header": {"labelColor": INK, "titleColor": INK, "labelFontSize": 13, "labelFontWeight": "bold"},
        "legend": {"labelColor": INK, "titleColor": INK, "labelFontSize": 12, "orient": "top", "title": None, "symbolStrokeWidth": 2.5, "labelLimit": 260},
        "title": {"color": INK, "fontSize": 13, "fontWeight": "bold", "anchor": "start", "offset": 8},
        "text": {"color": INK, "fontSize": 12},
    }


def legend(direct: bool) -> Any:
    """No legend where lines are named directly."""
    import altair

    return None if direct else altair.Legend(columns=2, symbolType="stroke", symbolStrokeWidth=3, symbolOpacity=1)


def chart(rows: list[dict[str, Any]]) -> Any:
    """An Altair chart of these rows, which then stand in the chart itself."""
    import altair

    data: Any = altair.Data
    return altair.Chart(data(values=rows))
