"""Level bars, one for each storage, with the interval as a whisker and the value beside it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

from kneebench.analysis.wording import known
from kneebench.brief import chart_theme
from kneebench.brief.labels import CHARACTER, LINE, broken
from kneebench.brief.view_model import ViewModel
from kneebench.records import Estimate

NAMES = 170
"""Width of the names beside the bars; longer ones are broken."""


class Bar(NamedTuple):
    """`low` and `high` are None where no interval is known: no whisker is drawn.

    `label` stands beside the bar.
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

    end, longest = alt.X("end:Q"), max(len(row.label) for row in rows)
    top = reach((row.value, row.high) for row in rows) * (1 + 0.025 * longest)
    scale = alt.Scale(domain=[0, top or 1], nice=False)
    ticks = alt.Axis(grid=True, tickCount=7, format=",.6~r")
    x = alt.X("value:Q", title=title, scale=scale, axis=ticks)
    y, lines = names_beside([row.name for row in rows])
    shared = chart_theme.chart(
        [{**row._asdict(), "end": max(row.value, row.high or 0.0)} for row in rows]
    ).encode(y=y)
    step = max(54 if len(rows) < 5 else 38, LINE * lines)
    drawn = alt.layer(
        shared.mark_bar(height=26, cornerRadiusEnd=2).encode(
            x=x, color=chart_theme.colour_by_name(view.names, view.colours)
        ),
        *whisker_marks(shared, "x", scale, length=9),
        shared.mark_text(align="left", dx=9, fontSize=13).encode(x=end, text=alt.Text("label:N")),
        width=chart_theme.WIDTH - 60,
        height={"step": step},
    )
    return chart_theme.specification(drawn)


def names_beside(names: Sequence[str]) -> tuple[Any, int]:
    """The axis of rows that have a `name`, in this order, and the most lines that a name takes."""
    import altair as alt

    lines = {name: broken(name, NAMES) for name in names}
    room = CHARACTER * max(len(line) for some in lines.values() for line in some)
    axis = alt.Axis(
        labelExpr=f"{json.dumps(lines)}[datum.label]",
        labelLimit=0,
        labelFontSize=13,
        labelPadding=8,
        minExtent=room,
    )
    return alt.Y("name:N", sort=[*names], title=None, axis=axis), max(map(len, lines.values()))
