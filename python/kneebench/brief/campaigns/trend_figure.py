"""A figure over several campaigns: each storage against itself in the first one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kneebench.analysis.judged import shown_as
from kneebench.analysis.undecided import unclaimed
from kneebench.analysis.wording import times_with_interval
from kneebench.brief import chart_theme
from kneebench.brief.section import Column, Figure, Row, Section, Table
from kneebench.records import Comparison
from kneebench.results.trend import Trend, TrendPoint
from kneebench.units import NOTHING

COLUMNS = (
    Column(title="Storage", number=False),
    Column(title="Figure", number=False),
    Column(title="Campaign", number=False),
    Column(title="Value"),
    Column(title="Over the first", number=False),
)


def trend_section(found: Sequence[Trend], title: str, *, drawn: bool = True) -> Section | None:
    """The figures, with a chart for each quantity; None without a storage that two campaigns
    have.
    """
    if not found:
        return None
    quantities = dict.fromkeys(one.quantity for one in found if drawn)
    figures = tuple(
        _figure([one for one in found if one.quantity == quantity], f"Fig. {number}")
        for number, quantity in enumerate(quantities, start=1)
    )
    rows = tuple(_row(one, point) for one in found for point in one.points)
    table = Table(columns=COLUMNS, rows=rows)
    return Section(name="trend", title=title, figures=figures, tables=(table,))


def _row(trend: Trend, point: TrendPoint) -> Row:
    value = shown_as(trend.quantity, point.value.value) if point.value else NOTHING
    against = with_claim(point.against) if point.against else NOTHING
    cells = (trend.storage, trend.called, point.campaign, value, against)
    return Row(cells=cells)


def with_claim(found: Comparison) -> str:
    """A ratio with its interval, and that it is no difference where it is none."""
    said = unclaimed(found)
    return f"{times_with_interval(found.ratio)}{said and f' ({said})'}"


def _figure(trends: Sequence[Trend], number: str) -> Figure:
    """The ratio to the first campaign, by campaign in the order given."""
    import altair as alt

    first = trends[0]
    order = list(dict.fromkeys(point.campaign for one in trends for point in one.points))
    rows = [row for one in trends for row in _rows(one, order)]
    names = list(dict.fromkeys(one.storage for one in trends))
    colours = [chart_theme.colour(n) for n in range(len(names))]
    x = alt.X("number:O", title="Campaign", axis=alt.Axis(labelAngle=0))
    up = alt.Scale(zero=False)
    colour = chart_theme.colour_by_name(names, colours, chart_theme.legend(names))
    beside = alt.XOffset("name:N", sort=names, scale=alt.Scale(paddingInner=0, paddingOuter=4))
    drawn = chart_theme.chart(rows).encode(x=x, xOffset=beside, color=colour)
    lines = drawn.mark_line(point={"size": 50}).encode(
        y=alt.Y("ratio:Q", title=f"{first.called}, first = 1", scale=up)
    )
    whiskers = drawn.mark_rule(strokeWidth=2, opacity=0.6).encode(
        y=alt.Y("low:Q", scale=up), y2="high:Q"
    )
    campaigns = ", ".join(f"{n}: {name}" for n, name in enumerate(order, start=1))
    return Figure(
        name=f"trend-{first.quantity.replace('.', '-')}",
        number=number,
        title=f"{first.called[:1].upper()}{first.called[1:]} over the campaigns",
        caption=f"Each storage over itself in the first campaign, with 95% CIs. {campaigns}.",
        alt=f"Lines of {first.called} by campaign, the first as 1.",
        spec=chart_theme.specification(
            alt.layer(lines, whiskers, width=chart_theme.WIDTH, height=chart_theme.HEIGHT)
        ),
    )


def _rows(trend: Trend, order: Sequence[str]) -> list[dict[str, Any]]:
    """Its points by the campaign's number; none for a campaign that cannot be compared."""
    found = []
    for point in trend.points:
        row = {"name": trend.storage, "number": order.index(point.campaign) + 1}
        if point.against:
            ratio = point.against.ratio
            found.append({**row, "ratio": ratio.value, "low": ratio.low, "high": ratio.high})
        elif point is trend.points[0]:
            found.append({**row, "ratio": 1.0, "low": 1.0, "high": 1.0})
    return found
