"""The page of a trend: each figure by date, its change points, and every campaign."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from kneebench.analysis.judged import shown_as
from kneebench.analysis.wording import as_sentence, plural
from kneebench.brief import chart_theme
from kneebench.brief.campaigns.campaigns_page import CampaignsPage, compared_section, flat
from kneebench.brief.campaigns.nights_figure import night_figures
from kneebench.brief.section import Column, Row, Section, Table
from kneebench.results.nights import Nights
from kneebench.results.trend import Trend
from kneebench.results.trend_words import change_sentence, headline, outlier_sentence

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
