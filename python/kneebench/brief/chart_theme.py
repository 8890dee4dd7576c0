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
SHORT = 16
"""and only where no name has more than so many characters."""
LETTERS, COLUMN = 12, 400
"""Size of every letter, and the most that a chart is wide, in pixels. A PDF shows all charts in one
scale: so wide a chart fits its column of 85 mm with letters of 7.2 pt (`page.typ`)."""
WIDTH, HEIGHT = 318, 200
"""Size of a plot: what an axis with its title leaves of a column."""
SYMBOL, CHARACTER, COLUMN_PADDING = 22, 6.6, 14
"""Pixels of a legend: of a symbol with its distance, of a character, and between columns."""
PADDING = {"left": 6, "right": 14, "top": 4, "bottom": 4}
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
        "labelFontSize": LETTERS,
        "titleFontSize": LETTERS,
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
        "header": {**ink, "labelFontSize": LETTERS, "labelFontWeight": "bold"},
        "legend": {
            **ink,
            "labelFontSize": LETTERS,
            "orient": "top",
            "offset": 10,
            "title": None,
            "symbolStrokeWidth": 2.5,
            "labelLimit": 260,
        },
        "title": {
            "color": INK,
            "fontSize": LETTERS,
            "fontWeight": "bold",
            "anchor": "start",
            "offset": 8,
        },
        "text": {"color": INK, "fontSize": LETTERS},
    }


def legend(names: Sequence[str], symbol: str = "stroke") -> Any:
    """Legend for names that are not beside their lines, in as many columns as have room."""
    import altair

    return altair.Legend(
        columns=_columns(names),
        columnPadding=COLUMN_PADDING,
        labelLimit=WIDTH,
        symbolType=symbol,
        symbolStrokeWidth=3,
        symbolOpacity=1,
        symbolSize=100,
    )


def _columns(names: Sequence[str]) -> int:
    """The most columns of a legend of these names that are no wider than a plot.

    >>> _columns(["4 drives", "8 drives", "2 drives, with the log"]), _columns(["disk", "memory"])
    (2, 4)
    """

    def width(columns: int) -> float:
        each = (max(map(len, names[n::columns]), default=0) for n in range(columns))
        return sum(SYMBOL + CHARACTER * one for one in each) + COLUMN_PADDING * (columns - 1)

    return next((n for n in (4, 3, 2) if width(n) <= WIDTH + PADDING["right"]), 1)


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
