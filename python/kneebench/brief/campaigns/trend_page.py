"""The page of a trend: each figure by date, its change points, and every campaign."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from kneebench.analysis.judged import shown_as
from kneebench.analysis.wording import as_sentence, capital, plural
from kneebench.brief import chart_theme
from kneebench.brief.campaigns.campaigns_page import CampaignsPage, compared_section, flat
from kneebench.brief.section import Column, Figure, Row, Section, Table
from kneebench.results.nights import Nights
from kneebench.results.trend import Trend, change_sentence, headline, outlier_sentence

COLUMNS = (
    Column(title="Storage", number=False),
    Column(title="Figure", number=False),
    Column(title="Campaign", number=False),
    Column(title="Measured", number=False),
    Column(title="Value"),
    Column(title="95% CI"),
)


class TrendPage(CampaignsPage):
    """Many campaigns of one plan as a page. `differing`: what else changed at each change point."""

    what = "trend"

    def __init__(
        self, nights: Nights, trends: Sequence[Trend], differing: Mapping[str, Sequence[str]]
    ) -> None:
        self.nights, self.trends, self.differing = nights, trends, differing
        self.campaigns = nights.campaigns

    @property
    def title(self) -> str:
        """Whether something changed."""
        return self.labelled(headline(self.trends))

    @property
    def subtitle(self) -> str:
        """How many campaigns, and their question."""
        question = self.campaigns[-1].campaign.resolved.question
        return f"{plural(len(self.campaigns), 'campaign')}: {question}"

    @property
    def figures(self) -> list[dict[str, Any]]:
        """A row for each storage, figure and campaign, in SI units."""
        return trend_rows(self.trends)

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """The changes, the figures, and what they were made of."""
        with chart_theme.without_validation():
            figures = tuple(night_figures(self.trends))
        drawn = Section(name="trend", title="By date", figures=figures)
        made = (self._changes(), self._outliers(), drawn, self._values(), self._left_out())
        return (*(one for one in made if one), compared_section(self.campaigns))

    def _changes(self) -> Section:
        changes = (change_sentence(one, each) for one in self.trends for each in one.changes)
        differing = (each for sentences in self.differing.values() for each in sentences)
        said = tuple(map(as_sentence, (*changes, *differing)))
        return Section(
            name="changes", title="Change points", sentences=said or ("No change point was found.",)
        )

    def _outliers(self) -> Section | None:
        found = (outlier_sentence(one, each) for one in self.trends for each in one.outliers)
        if not (said := tuple(map(as_sentence, found))):
            return None
        return Section(name="outliers", title="Outlying campaigns", sentences=said)

    def _values(self) -> Section:
        rows = tuple(
            Row(
                cells=(
                    one.storage,
                    one.called,
                    point.campaign,
                    point.started_at[:16].replace("T", " "),
                    shown_as(one.quantity, point.value.value),
                    " to ".join(
                        shown_as(one.quantity, end) for end in (point.value.low, point.value.high)
                    ),
                )
            )
            for one in self.trends
            for point in one.points
            if point.value
        )
        return Section(
            name="values", title="Every campaign", tables=(Table(columns=COLUMNS, rows=rows),)
        )

    def _left_out(self) -> Section | None:
        if not self.nights.left_out:
            return None
        said = tuple(f"{one.campaign}: {one.reason}" for one in self.nights.left_out)
        return Section(name="left-out", title="Left out", sentences=said)


def trend_rows(trends: Sequence[Trend]) -> list[dict[str, Any]]:
    """Trends as flat rows in SI units; `change` is the level after a change point over the level
    before, in the row of the first campaign after it; `outlying` an outlying campaign's figure over
    the level beside it.
    """
    return [row for one in trends for row in _rows_of(one)]


def _rows_of(trend: Trend) -> Iterator[dict[str, Any]]:
    changes = {change.campaign: change.ratio for change in trend.changes}
    outliers = {outlier.campaign: outlier.ratio for outlier in trend.outliers}
    for point in trend.points:
        yield {
            "storage": trend.storage,
            "quantity": trend.quantity,
            "campaign": point.campaign,
            "started_at": point.started_at,
            **flat("value", point.value),
            "runs": point.value.n if point.value else None,
            **flat("change", changes.get(point.campaign)),
            "outlying": outliers.get(point.campaign),
        }


# Figures over many campaigns of one plan: the values by date, with change points and outliers.

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
