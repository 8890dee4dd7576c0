"""Level bars, one for each storage, with the interval as a whisker and the value beside it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

from kneebench.analysis.wording import known
from kneebench.brief import chart_theme
from kneebench.brief.labels import LINE, PLAIN, broken
from kneebench.brief.view_model import ViewModel
from kneebench.records import Estimate

NAMES, GAP, HALF = 112, 8, 8
"""Width of the names beside the bars; longer ones are broken. From a name or a label to its bar.
Half of an axis's last number, beyond its end."""


class Bar(NamedTuple):
    """`low` and `high` are None where no interval is known: no whisker is drawn.

    `label` stands beside the bar, in lines.
    """

    name: str
    value: float
    low: float | None
    high: float | None
    label: str


def interval_ends(of: Estimate, scale: float = 1.0) -> tuple[float | None, float | None]:
    """The ends of a whisker; None where tables print no interval either: one run, or two that
    scatter.
    """
    if of.n < 2 or not known(of):
        return None, None
    return of.low * scale, of.high * scale


def reach(bars: Iterable[tuple[float, float | None]]) -> float:
    """How far bars and their whiskers go, of (value, high): an axis contains every interval.

    >>> reach([(4.2, 34.0), (0.9, None)])
    34.0
    """
    return max(max(value, high or 0.0) for value, high in bars)


def whisker_marks(
    rows: Any, channel: Literal["x", "y"], scale: Any, length: float
) -> tuple[Any, ...]:
    """The whiskers of rows that have `low` and `high`: a line and its two ends."""
    import altair as alt

    start, end = (alt.X, alt.X2) if channel == "x" else (alt.Y, alt.Y2)

    def at(field: str) -> dict[str, Any]:
        return {channel: start(f"{field}:Q", scale=scale)}

    tick = {"color": chart_theme.INK, "height" if channel == "x" else "width": length}
    known = rows.transform_filter("isValid(datum.high)")
    return (
        known.mark_rule(color=chart_theme.INK, strokeWidth=1.5).encode(
            **at("low"), **{f"{channel}2": end("high:Q")}
        ),
        known.mark_tick(**tick).encode(**at("low")),
        known.mark_tick(**tick).encode(**at("high")),
    )


def bars(view: ViewModel, rows: list[Bar], title: str) -> dict[str, Any]:
    """The chart, with every whisker whole."""
    import altair as alt

    ends = [{**row._asdict(), "end": max(row.value, row.high or 0.0)} for row in rows]
    y, lines, width = names_beside([row.name for row in rows])
    scale = alt.Scale(domain=[0, axis_end(ends, width)], nice=False)
    ticks = alt.Axis(grid=True, tickCount=5, format=",.6~r")
    x = alt.X("value:Q", title=title, scale=scale, axis=ticks)
    shared = chart_theme.chart(ends).encode(y=y)
    step = max(40 if len(rows) < 5 else 32, LINE * lines)
    drawn = alt.layer(
        shared.mark_bar(height=22, cornerRadiusEnd=2).encode(
            x=x, color=chart_theme.colour_by_name(view.names, view.colours)
        ),
        *whisker_marks(shared, "x", scale, length=9),
        labels_beside(shared),
        width=width,
        height={"step": step},
    )
    return chart_theme.specification(drawn)


def names_beside(names: Sequence[str], most: float = NAMES) -> tuple[Any, int, float]:
    """The axis of rows that have a `name`, in this order, the most lines that a name takes, and the
    width that they leave for the bars.
    """
    import altair as alt

    lines = {name: broken(name, most, PLAIN) for name in names}
    room = GAP + PLAIN * max(len(line) for some in lines.values() for line in some)
    axis = alt.Axis(
        labelExpr=f"{json.dumps(lines)}[datum.label]",
        labelLimit=0,
        labelOffset={"expr": _higher(f"{json.dumps(lines)}[datum.label]")},
        labelPadding=GAP,
        minExtent=room,
    )
    y = alt.Y("name:N", sort=[*names], title=None, axis=axis)
    around = room + chart_theme.PADDING["left"] + chart_theme.PADDING["right"] + HALF
    return y, max(map(len, lines.values())), chart_theme.COLUMN - around


def axis_end(rows: Iterable[dict[str, Any]], width: float) -> float:
    """How far an axis of so many pixels goes, so that it has room for the `label` beside the `end`
    of each row.

    >>> axis_end([{"end": 4.0, "label": "4 ms"}, {"end": 1.0, "label": "1 ms (n too small)"}], 200)
    4.901960784313725
    """
    return max(row["end"] / (1 - _length(row["label"]) / width) for row in rows) or 1.0


def _length(label: str) -> float:
    return GAP + PLAIN * max(map(len, label.split("\n")))


def _higher(lines: str) -> str:
    """Vega's expression for how far a text of these lines is moved, so that its middle is at its
    bar: otherwise its first line is.
    """
    return f"(1 - length({lines})) * {chart_theme.LETTERS / 2 + 1}"


def labels_beside(rows: Any) -> Any:
    """The `label` of each row beside its `end`."""
    import altair as alt

    up = {"expr": _higher("split(datum.label, '\\n')")}
    text = rows.mark_text(align="left", dx=GAP, dy=up, lineBreak="\n")
    return text.encode(x=alt.X("end:Q"), text=alt.Text("label:N"))
