"""Chart theme: one font stack, one palette, dark text, light grid; a configuration has the same
colour and shape in every figure.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

FONT = "Helvetica Neue, Helvetica, Arial, Liberation Sans, DejaVu Sans, sans-serif"
"""Fonts of the reader's system: a page that is read offline, years later, can load none."""
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#AA4499", "#56B4E9", "#E69F00", "#4D4D4D", "#882255")
"""Okabe and Ito's palette ("Color Universal Design", 2008), two of them darkened for lines on
white: told apart by colour-blind readers."""
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "stroke", "wedge")
READ, WRITTEN, LOG = "#E69F00", "#0072B2", "#4D4D4D"
INK, FAINT, LINE, SHADE, ALARM = "#1f2933", "#52606d", "#e4e7eb", "#f1f5f9", "#b42318"
DIRECT = 4
"""Up to so many lines are named where they end,"""
SHORT, LONG = 16, 22
"""and only where no name has more than so many characters; with more than so many, names in a
legend stand below each other."""
WIDTH, HEIGHT = 440, 260
"""Size of a plot in pixels: half a page, and still legible on a phone."""
PADDING = {"left": 14, "right": 24, "top": 4, "bottom": 4}
"""Room for a reader's font that is wider than the one that a chart was measured with (DejaVu Sans
takes 15% more than Arial)."""


def colour(place: int) -> str:
    """The colour of a campaign's configuration by its place; after the last the palette begins
    again, with another shape.
    """
    return COLOURS[place % len(COLOURS)]


def config() -> dict[str, Any]:
    """Vega-Lite's configuration for every chart."""
    ink = {"labelColor": INK, "titleColor": INK}
    text = {
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "titlePadding": 8,
    }
    lines = {"gridColor": LINE, "domainColor": "#9aa5b1", "tickColor": "#9aa5b1"}
    ticks = {"tickSize": 4, "labelPadding": 4}
    return {
        "font": FONT,
        "background": "white",
        "padding": PADDING,
        "view": {"stroke": None},
        "axis": {**ink, **text, **lines, **ticks},
        "axisX": {"grid": False},
        "axisY": {"domain": False, "ticks": False},
        "header": {**ink, "labelFontSize": 13, "labelFontWeight": "bold"},
        "legend": {
            **ink,
            "labelFontSize": 12,
            "orient": "top",
            "title": None,
            "symbolStrokeWidth": 2.5,
            "labelLimit": 260,
        },
        "title": {
            "color": INK,
            "fontSize": 13,
            "fontWeight": "bold",
            "anchor": "start",
            "offset": 8,
        },
        "text": {"color": INK, "fontSize": 12},
    }


def legend(names: Sequence[str], symbol: str = "stroke") -> Any:
    """Legend for names that are not beside their lines; long names are one per row."""
    import altair

    columns = 2 if max(map(len, names)) <= LONG else 1
    return altair.Legend(
        columns=columns,
        columnPadding=30,
        labelLimit=WIDTH,
        symbolType=symbol,
        symbolStrokeWidth=3,
        symbolOpacity=1,
    )


def colour_by_name(names: Sequence[str], colours: Sequence[str], legend: Any = None) -> Any:
    """Colour of a row by its `name`: the same in every figure."""
    import altair

    return altair.Color(
        "name:N", scale=altair.Scale(domain=list(names), range=list(colours)), legend=legend
    )


@contextlib.contextmanager
def without_validation() -> Iterator[None]:
    """Charts made within are not validated against Vega-Lite's schema at every step, which took
    half of a brief's time.

    The tests validate every finished specification.
    """
    from altair.utils import schemapi

    with schemapi.debug_mode(False):
        yield


def specification(drawn: Any) -> dict[str, Any]:
    """An Altair chart as a Vega-Lite specification."""
    made: dict[str, Any] = drawn.to_dict(validate=False)
    return made


def shaded(low: float, high: float) -> Any:
    """A light band from one value to another, to be encoded as `from` and `to`."""
    return chart([{"from": low, "to": high}]).mark_rect(color=SHADE)


def chart(rows: list[dict[str, Any]]) -> Any:
    """An Altair chart of these rows, which then stand in the chart itself."""
    from kneebench.brief import charts

    return charts.of_rows(rows)
