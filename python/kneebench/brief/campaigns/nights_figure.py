"""Figures over many campaigns of one plan: the values by date, with change points and outliers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from kneebench.analysis.wording import capital
from kneebench.brief import chart_theme
from kneebench.brief.section import Figure
from kneebench.results.trend import Trend

MARKED = "Dashed: a change point, at the first campaign after it."
OUTLYING = " Ring: an outlying campaign, alone beyond the level beside it."
UNCHANGED = "No change point was found."
_MS = 1000.0
"""Latencies are drawn in milliseconds."""


def night_figures(trends: Sequence[Trend]) -> Iterator[Figure]:
    """One figure for each quantity, with all storages."""
    for number, quantity in enumerate(dict.fromkeys(one.quantity for one in trends), start=1):
        yield _figure([one for one in trends if one.quantity == quantity], f"Fig. {number}")


def _figure(trends: Sequence[Trend], number: str) -> Figure:
    first = trends[0]
    unit = "" if first.quantity == "nopm" else ", ms"
    changed = any(one.changes for one in trends)
    outlying = OUTLYING if any(one.outliers for one in trends) else ""
    named = f"{capital(first.called)}{unit}"
    return Figure(
        name=f"trend-{first.quantity.replace('.', '-')}",
        number=number,
        title=f"{capital(first.called)} by date",
        caption=f"Each campaign with its 95% CI. {MARKED if changed else UNCHANGED}{outlying}",
        alt=f"{capital(first.called)} of each storage by the date of its campaign.",
        spec=chart_theme.specification(_layers(trends, named)),
    )


def _date_format(trends: Sequence[Trend]) -> str:
    """How a date is written: with the time where all campaigns are of one day or two."""
    days = {point.started_at[:10] for one in trends for point in one.points}
    return "%b %d" if len(days) > 2 else "%b %d %H:%M"


def _layers(trends: Sequence[Trend], title: str) -> Any:
    import altair as alt

    names = [one.storage for one in trends]
    colours = [chart_theme.colour(place) for place in range(len(names))]
    colour = chart_theme.colour_by_name(names, colours, chart_theme.legend(names))
    axis = alt.Axis(labelOverlap=True, format=_date_format(trends))
    x = alt.X("at:T", title=None, axis=axis)
    y = alt.Y("value:Q", title=title, scale=alt.Scale(zero=False))
    rows = [row for one in trends for row in _points(one)]
    drawn = chart_theme.chart(rows).encode(x=x, color=colour)
    layers = [
        drawn.mark_line(point={"size": 30}, strokeWidth=1).encode(y=y),
        drawn.mark_rule(strokeWidth=2, opacity=0.4).encode(
            y=alt.Y("low:Q", scale=alt.Scale(zero=False)), y2="high:Q"
        ),
    ]
    alone = {(one.storage, each.started_at) for one in trends for each in one.outliers}
    if outlying := [row for row in rows if (row["name"], row["at"]) in alone]:
        ringed = chart_theme.chart(outlying).encode(x=x, y=y, color=colour)
        layers.append(ringed.mark_point(size=180, strokeWidth=2, filled=False))
    if changes := [row for one in trends for row in _changes(one)]:
        marked = chart_theme.chart(changes).encode(x=x, color=colour)
        layers.append(marked.mark_rule(strokeDash=[4, 3], strokeWidth=2))
    return alt.layer(*layers, width=chart_theme.WIDTH, height=chart_theme.HEIGHT)


def _points(trend: Trend) -> Iterable[dict[str, Any]]:
    by = 1.0 if trend.quantity == "nopm" else _MS
    for point in trend.points:
        if (value := point.value) is not None:
            known = (
                value
                if value.n > 1
                else value.model_copy(update={"low": value.value, "high": value.value})
            )
            yield {
                "name": trend.storage,
                "at": point.started_at,
                "value": by * known.value,
                "low": by * known.low,
                "high": by * known.high,
            }


def _changes(trend: Trend) -> Iterable[dict[str, Any]]:
    return [{"name": trend.storage, "at": one.started_at} for one in trend.changes]
