"""The page of a trend: each figure by date, its change points, and every campaign."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from kneebench.analysis.drift import FLOOR
from kneebench.analysis.judged import COUNTS, shown_as
from kneebench.analysis.wording import as_sentence, capital, percent, plural
from kneebench.brief import chart_theme
from kneebench.brief.campaigns.campaigns_page import (
    CampaignsPage,
    compared_section,
    flat,
    present,
    said,
)
from kneebench.brief.section import Column, Figure, Row, Section, Table, Tone
from kneebench.results.nights import Nights
from kneebench.results.trend import (
    Trend,
    change_sentence,
    headline,
    hidden_latencies,
    outlier_sentence,
)
from kneebench.units import NOTHING

NONE_FOUND = "No change point was found."
MARKS = {
    "* ": "*: first campaign after a change point.",
    "! ": "!: outlying, alone beyond the level beside it.",
}


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
        return self.labelled(headline(self.trends))

    @property
    def tone(self) -> Tone:
        worse = {change.worse for one in self.trends for change in one.changes}
        return "alarm" if True in worse else "good" if worse else "plain"

    @property
    def subtitle(self) -> str:
        question = self.campaigns[-1].campaign.resolved.question
        return f"{plural(len(self.campaigns), 'campaign')}: {question}"

    @property
    def figures(self) -> list[dict[str, Any]]:
        """A row for each storage, figure and campaign, in SI units."""
        return trend_rows(self.trends)

    def document(self) -> dict[str, Any]:
        return {
            "derived": self.derived,
            "simulated": any(one.campaign.simulated for one in self.campaigns),
            "label": self.label,
            "headline": headline(self.trends),
            "campaigns": [
                one.campaign.model_dump(mode="json", include={"id", "started_at", "tags"})
                for one in self.campaigns
            ],
            "left_out": [one.model_dump() for one in self.nights.left_out],
            "trends": [one.model_dump(mode="json") for one in self.trends],
            "differing_at": {name: list(some) for name, some in self.differing.items()},
        }

    @cached_property
    def told(self) -> tuple[Section, ...]:
        return present(self._changes(), self._outliers(), *self._values(), self._left_out())

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """The same with charts, and what they were made of."""
        with chart_theme.without_validation():
            drawn = Section(
                name="trend", title="By date", figures=tuple(night_figures(self.trends))
            )
        changes, *rest = self.told
        return (changes, drawn, *rest, compared_section(self.campaigns))

    def _changes(self) -> Section:
        changes = [change_sentence(one, each) for one in self.trends for each in one.changes]
        differing = (each for sentences in self.differing.values() for each in sentences)
        floors = ", ".join(
            dict.fromkeys(f"{one.called}: {percent(one.floor)}" for one in self.trends)
        )
        least = f"{percent(FLOOR)} is assumed at least"
        sentences = (
            *(map(as_sentence, changes) if changes else [NONE_FOUND]),
            *differing,
            f"Noise floor ({floors}; {least}); a change point is beyond it.",
            *map(as_sentence, filter(None, [hidden_latencies(self.campaigns)])),
        )
        return Section(name="changes", title="Change points", sentences=sentences)

    def _outliers(self) -> Section | None:
        found = (outlier_sentence(one, each) for one in self.trends for each in one.outliers)
        return said("outliers", "Outlying campaigns", map(as_sentence, found))

    def _values(self) -> Iterator[Section]:
        """The campaigns of each storage."""
        by_storage: dict[str, list[Trend]] = {}
        for one in self.trends:
            by_storage.setdefault(one.storage, []).append(one)
        for number, (storage, some) in enumerate(by_storage.items(), start=1):
            title = f"{capital(storage)}: every campaign"
            yield Section(name=f"values-{number}", title=title, tables=(_table(some),))

    def _left_out(self) -> Section | None:
        found = (f"{one.campaign}: {one.reason}" for one in self.nights.left_out)
        return said("left-out", "Left out", found)


def _table(trends: Sequence[Trend]) -> Table:
    """A row for each campaign, with all figures of one storage."""
    marks = {one.campaign: "! " for trend in trends for one in trend.outliers}
    marks |= {one.campaign: "* " for trend in trends for one in trend.changes}
    points = {point.campaign: point.started_at for one in trends for point in one.points}
    rows = (
        Row(
            cells=(
                f"{marks.get(campaign, '')}{campaign}\n{started_at[:16].replace('T', ' ')}",
                *(_value(one, campaign) for one in trends),
            ),
            tone="strong" if campaign in marks else "plain",
        )
        for campaign, started_at in points.items()
    )
    legend = (words for mark, words in MARKS.items() if mark in marks.values())
    columns = (
        Column(title="Campaign, measured", number=False),
        *(Column(title=f"{one.called} (95% CI)") for one in trends),
    )
    return Table(caption=" ".join(legend), narrow=True, columns=columns, rows=tuple(rows))


def _value(trend: Trend, campaign: str) -> str:
    """The value, its interval, and what happened there."""
    value = next((p.value for p in trend.points if p.campaign == campaign), None)
    if not value:
        return NOTHING
    middle, low, high = (
        shown_as(trend.quantity, one) for one in (value.value, value.low, value.high)
    )
    sure = f"{low} to {high}, n={value.n}" if value.n > 1 else "n=1"
    return f"{middle}\n{sure}{_happened(trend, campaign)}"


def _happened(trend: Trend, campaign: str) -> str:
    outlying = {one.campaign: one.worse for one in trend.outliers}
    worse = outlying | {one.campaign: one.worse for one in trend.changes}
    if campaign not in worse:
        return ""
    said = "worse" if worse[campaign] else "better"
    return f", outlying, {said}" if campaign in outlying else f", {said}"


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
_MS = 1000.0
"""Latencies are drawn in milliseconds."""


def night_figures(trends: Sequence[Trend]) -> Iterator[Figure]:
    """One figure for each quantity, with all storages."""
    for number, quantity in enumerate(dict.fromkeys(one.quantity for one in trends), start=1):
        yield _figure([one for one in trends if one.quantity == quantity], f"Fig. {number}")


def _figure(trends: Sequence[Trend], number: str) -> Figure:
    first = trends[0]
    unit = "" if first.quantity in COUNTS else ", ms"
    changed = any(one.changes for one in trends)
    outlying = OUTLYING if any(one.outliers for one in trends) else ""
    named = f"{capital(first.called)}{unit}"
    return Figure(
        name=f"trend-{first.quantity.replace('.', '-')}",
        number=number,
        title=f"{capital(first.called)} by date",
        caption=f"Each campaign with its 95% CI. {MARKED if changed else NONE_FOUND}{outlying}",
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
    by = 1.0 if trend.quantity in COUNTS else _MS
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
