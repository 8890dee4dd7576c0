"""Lines of drives over time or rounds: one colour per drive."""

from __future__ import annotations

from typing import Any, NamedTuple

from kneebench.brief import chart_theme
from kneebench.brief.section import Figure

HEIGHT = 180
Point = dict[str, Any]
"""`drive`, `x` and `y`."""


class Curves(NamedTuple):
    """One figure: a line per drive. `band`: the range of y that counts as steady, if any; `dots`:
    each point is marked.
    """

    name: str
    title: str
    caption: str
    across: str
    up: str
    points: list[Point]
    band: tuple[float, float] | None = None
    dots: bool = False

    def figure(self, number: str) -> Figure:
        """The figure under that number."""
        return Figure(
            name=self.name,
            number=number,
            title=self.title,
            caption=self.caption,
            alt=f"{self.up} vs. {self.across.lower()}. {self.title}.",
            spec=_spec(self),
        )


def _spec(curves: Curves) -> dict[str, Any]:
    import altair as alt

    drives = list(dict.fromkeys(one["drive"] for one in curves.points))
    top = 1.1 * max(one["y"] for one in curves.points)
    end = max(one["x"] for one in curves.points)
    axis = alt.Axis(tickCount=6, format=",.3~r")
    x = alt.X("x:Q", title=curves.across, scale=alt.Scale(domain=[0, end], nice=False), axis=axis)
    y = alt.Y("y:Q", title=curves.up, scale=alt.Scale(domain=[0, top], nice=False), axis=axis)
    colours = alt.Scale(domain=drives, range=[chart_theme.colour(n) for n in range(len(drives))])
    named = chart_theme.legend(drives) if len(drives) > 1 else None
    drawn = chart_theme.chart(curves.points).encode(
        x=x, y=y, color=alt.Color("drive:N", scale=colours, legend=named)
    )
    layers = [drawn.mark_line(strokeWidth=1.8)]
    if curves.dots:
        layers.append(drawn.mark_point(filled=True, size=42, opacity=1))
    if curves.band:
        band = chart_theme.shaded(*curves.band)
        layers.insert(0, band.encode(y=alt.Y("from:Q"), y2=alt.Y2("to:Q")))
    return chart_theme.specification(alt.layer(*layers, width=chart_theme.WIDTH, height=HEIGHT))
