"""Campaigns that were measured, from Python: found by name, compared, and judged."""

from __future__ import annotations

from pathlib import Path
from typing import overload

from kneebench.analysis import comparison
from kneebench.analysis.acceptance import Margins
from kneebench.analysis.wording import capital
from kneebench.directories import CAMPAIGNS
from kneebench.errors import PlanError
from kneebench.notebook.loaded import LoadedResults, loaded
from kneebench.records import Comparison, Record
from kneebench.records.markup import html_table
from kneebench.results import Listed, acceptance, compare_campaigns, differences
from kneebench.results.acceptance import Acceptance
from kneebench.results.compare_plans import ANYWAY
from kneebench.results.cross_campaign import DRIFT, CampaignRow, caveats
from kneebench.results.given_campaigns import Given, given_campaign, told_apart
from kneebench.results.trend import Trend, trends


class ComparedCampaigns(Record):
    """Several campaigns beside each other: the configurations of all in `rows`, against the first
    campaign's baseline; in `trends` each storage against itself in the first campaign that has it.

    `caveats`: what differs between the campaigns, what disturbed them, and that no interval covers
    the time between them.
    """

    rows: tuple[CampaignRow, ...]
    trends: tuple[Trend, ...]
    caveats: tuple[str, ...]

    def _repr_html_(self) -> str:
        """A row for each configuration, with the caveats below."""
        cells = (
            (
                f"{one.campaign}{f' ({one.label.lower()})' if one.label else ''}",
                one.name,
                str(one.knee.nopm) if one.knee else "",
                str(one.against.ratio) if one.against else "",
                one.sentence,
            )
            for one in self.rows
        )
        head = ("Campaign", "Configuration", "NOPM", "Ratio", "Finding")
        return html_table(head, cells, below=self.caveats)


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
) -> Acceptance:
    """Judge a campaign against a baseline, within the margins of its plan if none are given. Each
    is its results, or a name or path as for `load`; `folder` holds campaigns.

    By keyword only, so that neither is taken for the other. Of a campaign that is the baseline
    itself, only the limits are judged: its runs are no second measurement.

    Raises PlanError where they cannot be compared, either is unfinished, or no storage is in both;
    InvalidMeasurement without figures to judge; CheckFailed if a self-check of either failed;
    TypeError for what is no campaign.
    """
    base, judged = told_apart([given_campaign(one, folder) for one in (baseline, campaign)])
    return acceptance.accept(baseline=base, campaign=judged, margins=margins)
