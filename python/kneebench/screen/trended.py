"""A trend, for the terminal and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from kneebench.analysis.drift import FLOOR
from kneebench.analysis.judged import shown_as
from kneebench.analysis.wording import DERIVED, as_sentence, behind_label, percent
from kneebench.results.nights import Nights
from kneebench.results.trend import (
    Trend,
    TrendPoint,
    change_sentence,
    headline,
    hidden_latencies,
    outlier_sentence,
)
from kneebench.screen import tables
from kneebench.units import NOTHING

MARKS = {
    "* ": "* first campaign after a change point",
    "! ": "! outlying: alone beyond the level beside it",
}


def printed(
    nights: Nights, trends: Sequence[Trend], differing: Mapping[str, Sequence[str]]
) -> Iterator[RenderableType]:
    """The parts to print, in order: the answer, every campaign, the changes, who is left out."""
    yield Text(behind_label(nights.label, headline(trends)), style="bold")
    yield Text()
    for storage in dict.fromkeys(one.storage for one in trends):
        yield _table(storage, [one for one in trends if one.storage == storage])
        yield Text()
    for one in trends:
        for change in one.changes:
            style = "red" if change.worse else "green"
            yield Text(as_sentence(change_sentence(one, change)), style=style)
        for outlier in one.outliers:
            yield Text(as_sentence(outlier_sentence(one, outlier)), style="yellow")
    yield from (Text(f"  {said}") for sentences in differing.values() for said in sentences)
    floors = ", ".join(dict.fromkeys(f"{one.called}: {percent(one.floor)}" for one in trends))
    least = f"{percent(FLOOR)} is assumed at least"
    yield Text(f"Noise floor ({floors}; {least}); a change point is beyond it.", style="dim")
    if hidden := hidden_latencies(nights.campaigns):
        yield Text(as_sentence(hidden), style="yellow")
    for left in nights.left_out:
        yield Text(f"left out: {left.campaign}: {left.reason}", style="yellow")
    yield Text(f"\n{DERIVED}", style="dim")


def _table(storage: str, trends: Sequence[Trend]) -> Table:
    """A row for each campaign, with all figures of one storage."""
    columns = [f"{one.called}\n95% CI" for one in trends]
    table = tables.plain_table("campaign\nmeasured", *columns, title=escape(storage))
    table.columns[0].no_wrap = True
    marks = {one.campaign: "! " for trend in trends for one in trend.outliers}
    marks |= {one.campaign: "* " for trend in trends for one in trend.changes}
    points = {point.campaign: point.started_at for one in trends for point in one.points}
    for campaign, started_at in points.items():
        mark = marks.get(campaign, "")
        cells = ["\n".join(filter(None, _cells(one, campaign))) for one in trends]
        measured = started_at[:16].replace("T", " ")
        table.add_row(f"{mark}{escape(campaign)}\n[dim]{measured}[/]", *cells)
    legend = [words for mark, words in MARKS.items() if mark in marks.values()]
    table.caption, table.caption_justify = "\n".join(legend) or None, "left"
    return table


def _cells(trend: Trend, campaign: str) -> tuple[str, str]:
    found: TrendPoint | None = next((p for p in trend.points if p.campaign == campaign), None)
    if not found or not found.value:
        return NOTHING, ""
    value = found.value
    shown = [shown_as(trend.quantity, one) for one in (value.value, value.low, value.high)]
    interval = f"{shown[1]} to {shown[2]}, n={value.n}" if value.n > 1 else "n=1"
    return shown[0], f"{interval}{_mark(trend, campaign)}"


def _mark(trend: Trend, campaign: str) -> str:
    alone = {one.campaign: one.worse for one in trend.outliers}
    worse = alone | {one.campaign: one.worse for one in trend.changes}
    if campaign not in worse:
        return ""
    return f"{' outlying,' if campaign in alone else ''} {'worse' if worse[campaign] else 'better'}"


def document(
    nights: Nights, trends: Sequence[Trend], differing: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """The same for programs."""
    return {
        "derived": DERIVED,
        "simulated": any(one.campaign.simulated for one in nights.campaigns),
        "label": nights.label,
        "headline": headline(trends),
        "campaigns": [
            {
                "id": one.campaign.id,
                "started_at": one.campaign.started_at,
                "tags": one.campaign.tags,
            }
            for one in nights.campaigns
        ],
        "left_out": [one.model_dump() for one in nights.left_out],
        "trends": [one.model_dump(mode="json") for one in trends],
        "differing_at": {name: list(said) for name, said in differing.items()},
    }
