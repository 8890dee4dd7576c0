"""Level bars, one for each storage, with the interval as a whisker and the value beside it."""

from __future__ import annotations

from typing import Any, NamedTuple

from kneebench.brief import look
from kneebench.brief.reading import Reading


class Bar(NamedTuple):
    """`low` and `high` are None where no interval is known: no whisker is drawn. `label` stands beside the bar."""

    name: str
    value: float
    low: float | None
    high: float | None
    label: str


def bars(reading: Reading, rows: list[Bar], title: str) -> dict[str, Any]:
    """The chart. A whisker that would reach beyond twice its bar is cut off at the frame."""
    import altair as alt

    longest = max(len(row.label) for row in rows)
    top = max(min(row.high or row.value, 2 * row.value) for row in rows) * (1 + 0.025 * longest)
    x = alt.X("value:Q", title=title, scale=alt.Scale(domain=[0, top or 1], nice=False), axis=alt.Axis(grid=True, tickCount=7, format=",.6~r"))
    y = alt.Y("name:N", sort=[row.name for row in rows], title=None, axis=alt.Axis(labelLimit=190, labelFontSize=13, labelPadding=8))
    colours = alt.Scale(domain=reading.names, range=reading.colours)
    shared = look.chart([{**row._asdict(), "end": row.value if row.high is None else row.high} for row in rows]).encode(y=y)
    known = shared.transform_filter("isValid(datum.high)")
    drawn = alt.layer(
        shared.mark_bar(height=26, cornerRadiusEnd=2).encode(x=x, color=alt.Color("name:N", scale=colours, legend=None)),
        known.mark_rule(color=look.INK, strokeWidth=1.5, clip=True).encode(x="low:Q", x2="high:Q"),
        known.mark_tick(color=look.INK, height=9, clip=True).encode(x="low:Q"),
        known.mark_tick(color=look.INK, height=9, clip=True).encode(x="high:Q"),
        shared.mark_text(align="left", dx=8, fontSize=13).encode(x="end:Q", text="label:N"),
    )
    made: dict[str, Any] = drawn.properties(width=look.WIDTH - 60, height={"step": 54 if len(rows) < 5 else 38}).to_dict()
    return made
