"""The page of a comparison: every configuration of several campaigns, their trend, and what
differs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from kneebench.analysis.configuration_summary import shown_count, shown_time, shown_users
from kneebench.analysis.query_times import of_queries, query_name
from kneebench.analysis.wording import capital, plural, times_with_interval
from kneebench.brief import chart_theme
from kneebench.brief.campaigns.campaigns_page import (
    CampaignsPage,
    compared_section,
    ended,
    flat,
    present,
    said,
)
from kneebench.brief.campaigns.trend_figure import trend_section, with_claim
from kneebench.brief.section import Column, Row, Section, Table
from kneebench.records import Remark, Results
from kneebench.results import CampaignRow
from kneebench.results.cross_campaign import DRIFT, QueryRow, fixed_rate, notes
from kneebench.results.trend import Trend
from kneebench.units import NOTHING, count

ITSELF = "Trend: each storage against itself in the first campaign"


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
        question = self.campaigns[0].campaign.resolved.question
        return self.labelled(f"{plural(len(self.campaigns), 'campaign')} compared: {question}")

    @property
    def subtitle(self) -> str:
        return f"Every storage vs. the baseline of {self.campaigns[0].campaign.id}"

    @property
    def figures(self) -> list[dict[str, Any]]:
        return compared_rows(self.rows, self.disturbed)

    def document(self) -> dict[str, Any]:
        """All of it for programs; each row says of its own campaign what it was measured on."""
        interleaved = all(row.interleaved for row in self.rows)
        return {
            "derived": self.derived,
            "simulated": any(row.simulated for row in self.rows),
            "label": self.label,
            "drift": "" if interleaved else DRIFT,
            "disturbances": as_documents(self.disturbed),
            "storages": [row.model_dump(mode="json") for row in self.rows],
            "trend": [one.model_dump(mode="json") for one in self.trend],
            "differences": list(self.differing),
        }

    @cached_property
    def told(self) -> tuple[Section, ...]:
        trend = trend_section(self.trend, ITSELF, drawn=False)
        banner = said("banner", "", filter(None, [self.banner]))
        return present(banner, *self._first(), trend, self._differences())

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """The same with charts, and what was compared."""
        with chart_theme.without_validation():
            trend = trend_section(self.trend, ITSELF)
        compared = compared_section(self.campaigns)
        return present(*self._first(), trend, compared, self._differences())

    def _first(self) -> tuple[Section | None, ...]:
        passes = [row for row in self.rows if row.point == "pass"]
        knees = [row for row in self.rows if row.point != "pass"]
        return (
            caveats_section(self.disturbed),
            self._passes(passes) if passes else None,
            faster_section(passes),
            self._knees(knees) if knees else None,
        )

    def _passes(self, rows: Sequence[CampaignRow]) -> Section:
        """Queries of TPROC-H."""
        columns = (
            Column(title="Campaign", number=False),
            Column(title="Storage", number=False),
            Column(title="Queries", number=False),
            Column(title="Queries/h (95% CI)"),
            Column(title="Vs. the first baseline", number=False),
            Column(title="Streams at the knee"),
            Column(title="Queries/h at the knee"),
        )
        shown = tuple(map(_pass_row, rows))
        return Section(
            name="passes",
            title="Queries per hour in a pass, by the geometric mean of their times",
            sentences=(*notes(self.rows, self.trend), *self._drift),
            tables=(Table(columns=columns, rows=shown),),
        )

    @property
    def _drift(self) -> tuple[str, ...]:
        return () if all(row.interleaved for row in self.rows) else (f"{capital(DRIFT)}.",)

    def _knees(self, rows: Sequence[CampaignRow]) -> Section:
        point, rate = rows[0].point, fixed_rate(rows)
        at = f"at {rate or f'the {point}'}"
        columns = (
            Column(title="Campaign", number=False),
            Column(title="Storage", number=False),
            Column(title=f"{capital(point)}, users"),
            Column(title="NOPM (95% CI)"),
            Column(title="Vs. the first baseline", number=False),
            Column(title=f"Mean latency {at}"),
            Column(title=f"P99.9 {at}"),
            Column(title=f"Log write at the {point}"),
        )
        shown = tuple(_row(row, at) for row in rows)
        return Section(
            name="knees",
            title=f"NOPM at each {point}",
            sentences=(*notes(self.rows, self.trend), *self._drift),
            tables=(Table(columns=columns, rows=shown),),
        )

    def _differences(self) -> Section | None:
        return said("differences", "What else differs from the first campaign", self.differing)


def caveats_section(disturbed: Mapping[str, Sequence[Remark]]) -> Section | None:
    """A sentence for each remark, with its campaign."""
    found = (f"{campaign}: {one.words}" for campaign, some in disturbed.items() for one in some)
    return said("caveats", "Caveats", map(ended, found), caveats=True)


def as_documents(disturbed: Mapping[str, Sequence[Remark]]) -> dict[str, list[dict[str, Any]]]:
    """The same for programs."""
    return {campaign: [one.model_dump() for one in some] for campaign, some in disturbed.items()}


def faster_section(rows: Sequence[CampaignRow]) -> Section | None:
    """Each query over the same one in the first campaign; None where no other campaign has a
    configuration of the first.
    """
    others = [row for row in rows if row.queries and row.queries.faster]
    numbers = sorted({number for row in others if row.queries for number in row.queries.faster})
    if not numbers:
        return None
    columns = (
        Column(title="Query", number=False),
        *(Column(title=f"{row.name}, {row.campaign}") for row in others),
    )
    table = Table(
        columns=columns,
        rows=tuple(
            Row(cells=(query_name(number), *(_faster(row, number) for row in others)))
            for number in numbers
        ),
    )
    title = "Each query's speed over the first campaign's"
    return Section(name="faster", title=title, tables=(table,))


def _faster(row: CampaignRow, number: int) -> str:
    ratio = row.queries.faster.get(number) if row.queries else None
    return times_with_interval(ratio) if ratio else NOTHING


def _pass_row(row: CampaignRow) -> Row:
    found = row.queries
    cells = (
        row.campaign,
        row.name,
        capital(of_queries(found.queries)) if found else NOTHING,
        shown_count(found.per_hour if found else None),
        with_claim(row.against) if row.against else row.sentence,
        count(found.streams if found else None),
        shown_count(found.streams_per_hour if found else None),
    )
    return Row(cells=cells, tone="plain" if found else "light")


def _row(row: CampaignRow, at: str) -> Row:
    found = row.knee
    cells = (
        row.campaign,
        row.name,
        shown_users(found.users if found else None),
        shown_count(found.nopm if found else None),
        _against(row, at),
        shown_time(row.mean_s),
        shown_time(row.p999_s, row.p999_certain),
        shown_time(row.log_write_s),
    )
    return Row(cells=cells, tone="plain" if row.knee else "light")


def _against(row: CampaignRow, at: str) -> str:
    if row.against is None:
        return row.sentence
    latency = with_claim(row.latency_against) if row.latency_against else "not measured"
    return f"NOPM {with_claim(row.against)}\nlatency {at} {latency}"


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
        **flat("queries_per_hour_ratio" if row.point == "pass" else "nopm_ratio", ratio),
        **(_flat_queries(row.queries) if row.queries else {}),
    }


def _flat_queries(found: QueryRow) -> dict[str, Any]:
    return {
        **flat("queries_per_hour", found.per_hour),
        "streams": found.streams,
        **flat("streams_per_hour", found.streams_per_hour),
    }
