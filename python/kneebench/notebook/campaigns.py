"""Campaigns that were measured, from Python: found by name, and compared."""

from __future__ import annotations

from pathlib import Path
from typing import overload

from kneebench import records
from kneebench.analysis import comparison
from kneebench.analysis.wording import capital
from kneebench.directories import CAMPAIGNS
from kneebench.errors import PlanError, require_kind
from kneebench.notebook.loaded import LoadedResults, loaded
from kneebench.records import Comparison, Record
from kneebench.records.markup import html_table
from kneebench.results import Listed, campaign_reader, compare_campaigns, differences
from kneebench.results.campaign_names import find_campaign
from kneebench.results.compare_plans import ANYWAY
from kneebench.results.cross_campaign import DRIFT, CampaignRow, caveats
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
    """The campaign with a name: a path, a folder's name, the name that `run --name` gave, the
    beginning of either, "latest", or "latest~1" for the one before; or one that `campaigns()`
    lists. `folder` holds campaigns.

    Raises PlanError, with the names that were perhaps meant, where there is none, and TypeError for
    what is no name. Each climb has its rungs in the order measured; configurations without
    rungs yet are included, empty.
    """
    if isinstance(name, Listed):
        return loaded(campaign_reader.load(name.folder))
    if not isinstance(name, str | Path):
        seen = f"{name!r} ({type(name).__name__})"
        raise TypeError(f"a name or a path is required, not {seen}: campaigns() lists them")
    return loaded(campaign_reader.load(find_campaign(name, folder)))


@overload
def compare(results: records.Results, /) -> tuple[Comparison, ...]: ...
@overload
def compare(
    results: records.Results,
    other: records.Results,
    /,
    *more: records.Results,
    anyway: bool = False,
) -> ComparedCampaigns: ...
def compare(
    results: records.Results, /, *others: records.Results, anyway: bool = False
) -> tuple[Comparison, ...] | ComparedCampaigns:
    """The configurations of a campaign against its baseline; or of several campaigns against the
    first one's, as `kneebench compare` does.

    Raises PlanError, which names the key, for campaigns whose plans differ in what shapes a figure
    (with `anyway` that is a caveat instead), and TypeError for what is no campaign.
    """
    every = (results, *others)
    for one in every:
        require_kind(one, records.Results, "kneebench.load(folder) reads a campaign")
    if not others:
        return comparison.compare(results)
    try:
        rows = compare_campaigns(every, anyway=anyway)
    except PlanError as error:
        do = error.do.replace(ANYWAY, "show them side by side with compare(..., anyway=True)")
        raise PlanError(error.what, seen=error.seen, do=do) from None
    differ = [text for other in others for text in differences(results, other)]
    disturbed = (
        f"{name}: {remark.words}" for name, remarks in caveats(every).items() for remark in remarks
    )
    said = (*differ, *disturbed, f"{capital(DRIFT)}.")
    return ComparedCampaigns(rows=rows, trends=trends(every), caveats=said)
