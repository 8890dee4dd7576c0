"""Campaigns side by side, for the terminal and for programs: what is simulated or emulated is said
first, then every storage against the first baseline, then the trend; the fair-use line last.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from kneebench.analysis.undecided import unclaimed
from kneebench.analysis.wording import DERIVED, times_with_interval
from kneebench.records import Remark
from kneebench.results import CampaignRow
from kneebench.results.cross_campaign import DRIFT, notes
from kneebench.results.trend import Trend, TrendPoint
from kneebench.screen import tables
from kneebench.units import count, time


def printed(
    rows: Sequence[CampaignRow],
    differing: Sequence[str],
    disturbed: Mapping[str, Sequence[Remark]] = {},
    trend: Sequence[Trend] = (),
) -> Iterator[RenderableType]:
    """The parts to print, in order."""
    for label, campaigns in _labelled(rows).items():
        yield Text(f"{label.upper()}: {' and '.join(campaigns)}", style="bold")
    yield from caveats(disturbed)
    yield tables.campaign_rows(rows)
    if trend:
        yield Text("\nTrend, each storage against itself in the first campaign:", style="bold")
        yield _trend_table(trend)
    if said := list(notes(rows, trend)):
        yield Text("\n" + "\n".join(said))
    if not all(row.interleaved for row in rows):
        yield Text(f"\n{DRIFT[:1].upper()}{DRIFT[1:]}.")
    yield from tables.differences(differing)
    yield Text(f"\n{DERIVED}", style="dim")


def caveats(disturbed: Mapping[str, Sequence[Remark]]) -> Iterator[Text]:
    """A line for each remark, with its campaign."""
    for campaign, remarks in disturbed.items():
        yield from (Text(f"CAVEAT  {campaign}: {one.words}", style="yellow") for one in remarks)


def as_documents(disturbed: Mapping[str, Sequence[Remark]]) -> dict[str, list[dict[str, Any]]]:
    """The same for programs."""
    return {campaign: [one.model_dump() for one in some] for campaign, some in disturbed.items()}


def _trend_table(trend: Sequence[Trend]) -> Table:
    """A row for each figure of a storage, a column for each campaign by its number (their names are
    too long for several side by side); empty where a campaign lacks the storage.
    """
    campaigns = list(dict.fromkeys(point.campaign for one in trend for point in one.points))
    numbers = [str(number) for number in range(1, len(campaigns) + 1)]
    table = tables.plain_table("storage", "figure", *numbers)
    table.caption = escape("\n".join(map(" ".join, zip(numbers, campaigns, strict=True))))
    table.caption_justify = "left"
    for one in trend:
        texts = {point.campaign: _point(one, point) for point in one.points}
        cells = (texts.get(campaign, "") for campaign in campaigns)
        table.add_row(escape(one.storage), escape(one.called), *cells)
    return table


def _point(trend: Trend, point: TrendPoint) -> str:
    if point.against is None:
        value = point.value.value if point.value else None
        return count(value) if trend.quantity == "nopm" else time(value)
    ratio = times_with_interval(point.against.ratio)
    return "\n".join(filter(None, (ratio, unclaimed(point.against))))


def document(
    rows: Sequence[CampaignRow],
    differing: Sequence[str],
    disturbed: Mapping[str, Sequence[Remark]] = {},
    trend: Sequence[Trend] = (),
) -> dict[str, Any]:
    """The same for programs; `simulated` and `label` where any campaign is, and each row says it of
    its own.
    """
    storages = [row.model_dump(mode="json") for row in rows]
    drift = "" if all(row.interleaved for row in rows) else DRIFT
    return {
        "derived": DERIVED,
        "simulated": any(row.simulated for row in rows),
        "label": " and ".join(_labelled(rows)),
        "drift": drift,
        "disturbances": as_documents(disturbed),
        "storages": storages,
        "trend": [one.model_dump(mode="json") for one in trend],
        "differences": list(differing),
    }


def _labelled(rows: Sequence[CampaignRow]) -> dict[str, list[str]]:
    """The campaigns of each label."""
    labels = {row.campaign: row.label for row in rows if row.label}
    found: dict[str, list[str]] = {}
    for campaign, label in labels.items():
        found.setdefault(label, []).append(campaign)
    return found
