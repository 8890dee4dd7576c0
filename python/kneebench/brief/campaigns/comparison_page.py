"""The page of a comparison: every configuration of several campaigns, their trend, and what
differs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from kneebench.analysis.wording import (
    as_sentence,
    capital,
    ends,
    percentile,
    plural,
)
from kneebench.brief import chart_theme
from kneebench.brief.campaigns.campaigns_page import CampaignsPage, compared_section, flat
from kneebench.brief.campaigns.trend_figure import trend_section, with_claim
from kneebench.brief.section import Column, Row, Section, Table
from kneebench.records import Remark, Results
from kneebench.results import CampaignRow
from kneebench.results.cross_campaign import DRIFT, fixed_rate, notes
from kneebench.results.trend import Trend
from kneebench.units import NOTHING, count, significant, time


class ComparisonPage(CampaignsPage):
    """Campaigns side by side as a page."""

    what = "comparison"

    def __init__(
        self,
        campaigns: Sequence[Results],
        rows: Sequence[CampaignRow],
        trend: Sequence[Trend],
        differing: Sequence[str] = (),
        disturbed: Mapping[str, Sequence[Remark]] = {},
    ) -> None:
        self.campaigns, self.rows, self.trend = campaigns, rows, trend
        self.differing, self.disturbed = differing, disturbed

    @property
    def title(self) -> str:
        """How many campaigns, and their question."""
        question = self.campaigns[0].campaign.resolved.question
        return f"{plural(len(self.campaigns), 'campaign')} compared: {question}"

    @property
    def subtitle(self) -> str:
        """What stands against what."""
        return f"Every storage vs. the baseline of {self.campaigns[0].campaign.id}"

    @property
    def figures(self) -> list[dict[str, Any]]:
        """A row for each configuration of each campaign."""
        return compared_rows(self.rows, self.disturbed)

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """The knees first, then the trend, the campaigns, and what else differs."""
        with chart_theme.without_validation():
            trend = trend_section(self.trend, "Trend: each storage against itself")
        made = (self._caveats(), self._knees(), trend, compared_section(self.campaigns))
        return (*(one for one in made if one), *self._differences())

    def _caveats(self) -> Section | None:
        said = tuple(
            as_sentence(f"{campaign}: {one.words}")
            for campaign, some in self.disturbed.items()
            for one in some
        )
        return (
            Section(name="caveats", title="Caveats", sentences=said, tone="note") if said else None
        )

    def _knees(self) -> Section:
        point = self.rows[0].point
        at = f"at {fixed_rate(self.rows) or f'the {point}'}"
        drift = () if all(row.interleaved for row in self.rows) else (f"{capital(DRIFT)}.",)
        columns = (
            Column(title="Campaign", number=False),
            Column(title="Storage", number=False),
            Column(title=f"{capital(point)}, users"),
            Column(title="NOPM (95% CI)"),
            Column(title=f"Mean latency {at}"),
            Column(title=f"P99.9 {at}"),
            Column(title=f"Log write at the {point}"),
            Column(title="Over the first baseline", number=False),
        )
        return Section(
            name="knees",
            title=f"NOPM at each {point}",
            sentences=(*notes(self.rows, self.trend), *drift),
            tables=(Table(columns=columns, rows=tuple(map(_row, self.rows))),),
        )

    def _differences(self) -> Iterator[Section]:
        if self.differing:
            title = "What else differs from the first campaign"
            yield Section(name="differences", title=title, sentences=tuple(self.differing))


def _row(row: CampaignRow) -> Row:
    users, nopm = NOTHING, NOTHING
    if row.knee:
        users, found = count(row.knee.users.value), row.knee.nopm
        nopm = f"{significant(found.value)} ({ends(found, significant)}, n={found.n})"
    against = with_claim(row.against) if row.against else row.sentence
    mean, log_write = (time(one.value if one else None) for one in (row.mean_s, row.log_write_s))
    p999 = percentile(row.p999_s.value, row.p999_certain) if row.p999_s else NOTHING
    cells = (row.campaign, row.name, users, nopm, mean, p999, log_write, against)
    return Row(cells=cells, tone="plain" if row.against else "light")


def compared_rows(
    rows: Sequence[CampaignRow], disturbed: Mapping[str, Sequence[Remark]] = {}
) -> list[dict[str, Any]]:
    """A flat row for each configuration, in SI units: the knee, the latency at the fixed rate where
    all have the same, NOPM over the first baseline's, and the caveats of its campaign.
    """
    return [
        {**_flat(row), "caveats": "; ".join(one.words for one in disturbed.get(row.campaign, ()))}
        for row in rows
    ]


def _flat(row: CampaignRow) -> dict[str, Any]:
    found, ratio = row.knee, row.against.ratio if row.against else None
    fixed = row if row.rate_per_s else None
    return {
        "campaign": row.campaign,
        "simulated": row.simulated,
        "label": row.label,
        "storage": row.storage,
        "constraint": row.constraint,
        "database": row.database,
        "users": found.users.value if found else None,
        **flat("nopm", found.nopm if found else None),
        **flat("mean_s", found.latency_s if found else None),
        **flat("p999_s", found.p999_s if found else None),
        **flat("log_write_s", row.log_write_s),
        "fixed_rate_per_s": row.rate_per_s,
        **flat("fixed_rate_mean_s", fixed.mean_s if fixed else None),
        **flat("fixed_rate_p999_s", fixed.p999_s if fixed else None),
        "fixed_rate_p999_certain": fixed.p999_certain if fixed else None,
        **flat("nopm_ratio", ratio),
    }
