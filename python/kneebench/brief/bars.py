"""Level bars, one for each storage, with the interval as a whisker and the value beside it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

from kneebench.brief import chart_theme
from kneebench.brief.labels import CHARACTER, LINE, broken
from kneebench.brief.view_model import ViewModel

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


class Whisker(NamedTuple):
    """An interval as it is drawn: `end` of its line; `tip` where it ends within the frame, `beyond`
    where an arrow says that it goes on.
    """

    end: float
    tip: float | None
    beyond: float | None


BEYOND = " Arrow: the interval extends beyond the axis."
"""In the caption of a figure where a whisker is cut off."""


def frame(bars: Iterable[tuple[float, float | None]], most: float) -> float:
    """How far whiskers reach, of (value, high): as far as the highest, but none further than `most`
    times its own bar.

    >>> frame([(4.2, 34.0), (0.9, 4.5)], most=2)
    8.4
    """
    return max(min(high or value, most * value) for value, high in bars)


def whisker(value: float, high: float | None, frame: float) -> Whisker:
    """The interval's upper end within the frame.

    >>> whisker(4.2, 34.0, frame=8.4), whisker(0.9, 4.5, frame=8.4)
    (Whisker(end=8.4, tip=None, beyond=8.4), Whisker(end=4.5, tip=4.5, beyond=None))
    """
    if high is None:
        return Whisker(value, None, None)
    return Whisker(high, high, None) if high <= frame else Whisker(frame, None, frame)


def whisker_marks(
    rows: Any, channel: Literal["x", "y"], scale: Any, length: float
) -> tuple[Any, ...]:
    """The whiskers of rows that have `low`, `high` and a Whisker's fields: line, lower end, upper
    end or arrow.
    """
    import altair as alt

    start, end = (alt.X, alt.X2) if channel == "x" else (alt.Y, alt.Y2)

    def at(field: str) -> dict[str, Any]:
        return {channel: start(f"{field}:Q", scale=scale)}

    tick = {"color": chart_theme.INK, "height" if channel == "x" else "width": length}
    arrow = "triangle-right" if channel == "x" else "triangle-up"
    known = rows.transform_filter("isValid(datum.high)")
    return (
        known.mark_rule(color=chart_theme.INK, strokeWidth=1.5).encode(
            **at("low"), **{f"{channel}2": end("end:Q")}
        ),
        known.mark_tick(**tick).encode(**at("low")),
        rows.transform_filter("isValid(datum.tip)").mark_tick(**tick).encode(**at("tip")),
        rows.transform_filter("isValid(datum.beyond)")
        .mark_point(**chart_theme.ARROW, shape=arrow)
        .encode(**at("beyond")),
    )


def bars(view: ViewModel, rows: list[Bar], title: str) -> dict[str, Any]:
    """The chart.

    A whisker that would reach beyond twice the longest bar's own is cut off at the frame, with an
    arrow.
    """
    import altair as alt

    end, longest = alt.X("end:Q"), max(len(row.label) for row in rows)
    reach = _reach(rows)
    top = reach * (1 + 0.025 * longest)
    scale = alt.Scale(domain=[0, top or 1], nice=False)
    ticks = alt.Axis(grid=True, tickCount=7, format=",.6~r")
    x = alt.X("value:Q", title=title, scale=scale, axis=ticks)
    y, lines = names_beside([row.name for row in rows])
    shared = chart_theme.chart(
        [{**row._asdict(), **whisker(row.value, row.high, reach)._asdict()} for row in rows]
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


def cut_off(rows: list[Bar]) -> bool:
    """True where a whisker is cut off at the frame."""
    return any(row.high is not None and row.high > _reach(rows) for row in rows)


def _reach(rows: list[Bar]) -> float:
    return frame(((row.value, row.high) for row in rows), most=2.0)
