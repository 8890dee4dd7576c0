"""Campaigns side by side: the knee of every cell, against one baseline."""

from __future__ import annotations

from collections.abc import Sequence

from kneebench.analysis.comparison import NOPM, baseline, ratio_of
from kneebench.analysis.knee import knee
from kneebench.records import Climb, Comparison, Knee, Record, Results
from kneebench.results.compare_plans import comparable
from kneebench.results.reading import point


class Across(Record):
    """One cell of one campaign. `against` is its NOPM at the knee against the first campaign's baseline; None for the baseline
    itself, and where either has no report. `sentence` says it for people; `point` is what the report measured, "knee" or "fixed load"."""

    campaign: str
    cell: str
    storage: str
    constraint: str
    point: str
    knee: Knee | None
    against: Comparison | None
    sentence: str


def across(campaigns: Sequence[Results]) -> tuple[Across, ...]:
    """The cells of all campaigns, in order; raises PlanError that names the field when plans differ in what matters.

    Repeats of different campaigns were not interleaved: what drifted between the days is in the ratio, and no interval shows it.
    """
    for other in campaigns[1:]:
        comparable(campaigns[0], other)
    base = _base(campaigns[0])
    return tuple(_row(results, climb, base) for results in campaigns for climb in results.climbs)


def _base(results: Results) -> Climb:
    named = _named(results)
    return next((climb for climb, own in zip(named, results.climbs, strict=True) if own.cell.storage == baseline(results)), named[0])


def _named(results: Results) -> list[Climb]:
    """The climbs, their cells called by their campaign too: storages of two campaigns may have one name."""
    return [_renamed(results, climb) for climb in results.climbs]


def _renamed(results: Results, climb: Climb) -> Climb:
    cell = climb.cell.model_copy(update={"id": f"{results.campaign.id}/{climb.cell.id}", "storage": f"{climb.cell.storage} of {results.campaign.id}"})
    return climb.model_copy(update={"cell": cell})


def _row(results: Results, climb: Climb, base: Climb) -> Across:
    named, found = _renamed(results, climb), knee(climb)
    itself = named.cell.id == base.cell.id
    against = None if itself else ratio_of(named, base, NOPM)
    at = point(results.campaign)
    plain = "the baseline" if itself else f"no {at} was measured in a report" if found is None else f"the baseline has no {at} of a report"
    return Across(
        campaign=results.campaign.id,
        cell=climb.cell.id,
        storage=climb.cell.storage,
        constraint=climb.cell.constraint,
        point=at,
        knee=found,
        against=against,
        sentence=against.sentence if against else plain,
    )
