"""Campaigns that were measured, from Python: found by name, compared, and judged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import overload

from kneebench.analysis import comparison
from kneebench.analysis.acceptance import Margins
from kneebench.analysis.wording import behind_label, capital
from kneebench.directories import CAMPAIGNS
from kneebench.errors import PlanError
from kneebench.notebook import columns
from kneebench.notebook.frame import Frame
from kneebench.notebook.frames import ends
from kneebench.notebook.loaded import LoadedResults, loaded
from kneebench.records import Comparison, Record
from kneebench.records.markup import html_table
from kneebench.results import Listed, acceptance, compare_campaigns, differences
from kneebench.results import campaigns as listed_in
from kneebench.results.acceptance import Acceptance
from kneebench.results.campaign_names import require_folder
from kneebench.results.compare_plans import ANYWAY
from kneebench.results.cross_campaign import DRIFT, CampaignRow, caveats
from kneebench.results.given_campaigns import Given, given_campaign, told_apart
from kneebench.results.nights import LeftOut, in_order, nights
from kneebench.results.trend import Trend, headline, trends


class ComparedCampaigns(Record):
    """Several campaigns beside each other: the configurations of all in `rows`, against the first
    campaign's baseline; in `trends` each storage against itself in the first campaign that has it.

    `caveats`: what differs between the campaigns, what disturbed them, and that no interval covers
    the time between them.
    """

    rows: tuple[CampaignRow, ...]
    trends: tuple[Trend, ...]
    caveats: tuple[str, ...]

    def frame(self) -> Frame:
        """A row for each configuration of each campaign."""
        return Frame(
            columns.COMPARED,
            (
                (
                    *(one.campaign, one.label, one.name),
                    *ends(one.knee.users if one.knee else None),
                    *ends(one.knee.nopm if one.knee else None),
                    *ends(one.queries.per_hour if one.queries else None),
                    *ends(one.against.ratio if one.against else None),
                    *(one.mean_s and one.mean_s.value, one.rate_per_s, one.sentence),
                )
                for one in self.rows
            ),
        )

    def _repr_html_(self) -> str:
        """A row for each configuration, with the caveats below."""
        cells = (
            (
                f"{one.campaign}{f' ({one.label.lower()})' if one.label else ''}",
                one.name,
                str(one.knee.nopm if one.knee else one.queries.per_hour if one.queries else ""),
                str(one.against.ratio) if one.against else "",
                one.sentence,
            )
            for one in self.rows
        )
        units = dict.fromkeys("Queries/h" if one.point == "pass" else "NOPM" for one in self.rows)
        head = ("Campaign", "Configuration", " or ".join(units), "Ratio", "Finding")
        return html_table(head, cells, below=self.caveats)


class AcceptedCampaign(Acceptance):
    """The answer for a campaign, and the figures that it comes from, as Python has it."""

    def frame(self) -> Frame:
        """A row for each figure of each storage."""
        return Frame(
            columns.ACCEPTED,
            (
                (
                    *(self.campaign, self.label, self.baseline),
                    *(one.storage, one.quantity, one.judgement, one.margin),
                    *(end for of in (one.baseline, one.campaign, one.ratio) for end in ends(of)),
                    *(one.ratio.n if one.ratio else None, one.sentence),
                )
                for one in self.figures
            ),
        )


class CampaignTrends(Record):
    """Many campaigns of one plan, oldest first: each figure of each storage in `trends`, with its
    change points and outlying campaigns. `left_out`: campaigns that do not belong to them, and why;
    `label`: what must be known first, such as "Simulated".
    """

    headline: str
    label: str
    trends: tuple[Trend, ...]
    left_out: tuple[LeftOut, ...]

    def frame(self) -> Frame:
        """A row for each storage, figure and campaign."""
        return Frame(columns.TRENDS, (row for one in self.trends for row in _trend_rows(one)))

    def _repr_html_(self) -> str:
        """The last of each figure, with the headline above."""
        cells = (
            (one.storage, one.called, point.campaign, str(point.value or ""))
            for one in self.trends
            for point in one.points[-1:]
        )
        head = ("Storage", "Figure", "Last campaign", "Value")
        return html_table(head, cells, below=[behind_label(self.label, self.headline)])


def _trend_rows(trend: Trend) -> Iterator[tuple[object, ...]]:
    changes = {one.campaign: one.ratio for one in trend.changes}
    alone = {one.campaign: one.ratio for one in trend.outliers}
    for point in trend.points:
        yield (
            *(trend.storage, trend.quantity, point.campaign, point.started_at),
            *ends(point.value),
            point.value.n if point.value else None,
            *ends(changes.get(point.campaign)),
            alone.get(point.campaign),
        )


def load(name: str | Path | Listed, folder: str | Path = CAMPAIGNS) -> LoadedResults:
    """The campaign with a name: a path, a folder's name with its date or without, the name that
    `run --name` gave, the beginning of any, "latest", or "latest~1" for the one before; or one that
    `campaigns()` lists. `folder` holds campaigns.

    Raises PlanError, with the names that were perhaps meant, where there is none, and TypeError for
    what is no name. Each climb has its rungs in the order measured; configurations without
    rungs yet are included, empty.
    """
    if not isinstance(name, Listed | str | Path):
        seen = f"{name!r} ({type(name).__name__})"
        raise TypeError(f"a name or a path is required, not {seen}: campaigns() lists them")
    return loaded(given_campaign(name, folder))


@overload
def compare(campaign: Given, /, *, folder: str | Path = CAMPAIGNS) -> tuple[Comparison, ...]: ...
@overload
def compare(
    campaign: Given,
    other: Given,
    /,
    *more: Given,
    anyway: bool = False,
    folder: str | Path = CAMPAIGNS,
) -> ComparedCampaigns: ...
def compare(
    campaign: Given, /, *others: Given, anyway: bool = False, folder: str | Path = CAMPAIGNS
) -> tuple[Comparison, ...] | ComparedCampaigns:
    """The configurations of a campaign against its baseline; or of several campaigns against the
    first one's, as `kneebench compare` does. Each is its results, or a name or path as for `load`;
    `folder` holds campaigns. Those of one id are shown by the end of their paths.

    Raises PlanError, which names the key, for campaigns whose plans differ in what shapes a figure
    (with `anyway` that is a caveat instead), and TypeError for what is no campaign.
    """
    every = told_apart([given_campaign(one, folder) for one in (campaign, *others)])
    first, *later = every
    if not later:
        return comparison.compare(first)
    try:
        rows = compare_campaigns(every, anyway=anyway)
    except PlanError as error:
        do = error.do.replace(ANYWAY, "show them side by side with compare(..., anyway=True)")
        raise PlanError(error.what, seen=error.seen, do=do) from None
    differ = [text for other in later for text in differences(first, other)]
    disturbed = (
        f"{name}: {remark.words}" for name, remarks in caveats(every).items() for remark in remarks
    )
    said = (*differ, *disturbed, f"{capital(DRIFT)}.")
    return ComparedCampaigns(rows=rows, trends=trends(every), caveats=said)


def accept(
    *,
    baseline: Given,
    campaign: Given,
    margins: Margins | None = None,
    folder: str | Path = CAMPAIGNS,
) -> AcceptedCampaign:
    """Judge a campaign against a baseline, within the margins of its plan if none are given. Each
    is its results, or a name or path as for `load`; `folder` holds campaigns.

    By keyword only, so that neither is taken for the other. Of a campaign that is the baseline
    itself, only the limits are judged: its runs are no second measurement.

    Raises PlanError where they cannot be compared, either is unfinished, or no storage is in both;
    InvalidMeasurement without figures to judge; CheckFailed if a self-check of either failed;
    TypeError for what is no campaign.
    """
    base, judged = told_apart([given_campaign(one, folder) for one in (baseline, campaign)])
    found = acceptance.accept(baseline=base, campaign=judged, margins=margins)
    return AcceptedCampaign(**{name: getattr(found, name) for name in Acceptance.model_fields})


def trend(*campaigns: Given, folder: str | Path = CAMPAIGNS) -> CampaignTrends:
    """Each storage over many campaigns of one plan, oldest first, as `kneebench trend` has it:
    those that are given, or all in `folder` that can be compared with the newest.

    Raises PlanError where fewer than two can be compared, TypeError for what is no campaign.
    """
    if campaigns:
        found = in_order(told_apart([given_campaign(one, folder) for one in campaigns]))
    else:
        require_folder(Path(folder))
        found = nights(listed_in(folder))
    every = trends(found.campaigns)
    return CampaignTrends(
        headline=headline(every), label=found.label, trends=every, left_out=found.left_out
    )
