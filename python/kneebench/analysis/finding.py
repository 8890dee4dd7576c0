"""A campaign's one finding: the title of its brief."""

from __future__ import annotations

from collections.abc import Sequence
from math import log

from kneebench.analysis.comparison import NOPM, called, compare
from kneebench.analysis.knee import knee, place, report_rungs
from kneebench.analysis.words import number_of_users, times, times_with_interval
from kneebench.records import Climb, Comparison, Knee, Results
from kneebench.units import count

HARDLY_ANY_READS = 0.1
"""Device reads per transaction below which the storage's reads were not tested: a log and write-back test (methods: distrust)."""


def finding(results: Results) -> str:
    """The title, as a finding with its interval; what limits it stands in the title too ("simulated", "data cached").

    Compared cells give the ratio of NOPM at the knee that is farthest from 1 (a third as much is farther than twice as much), with
    the latency it cost; one cell alone gives its knee; a campaign without a report says that it has none yet.
    """
    said = _said(results)
    if data_cached(results.climbs):
        said += " (data cached: a log and write-back test)"
    return f"Simulated: {said}" if results.campaign.simulated else said


def data_cached(climbs: Sequence[Climb]) -> bool:
    """True where device reads at the knee were measured somewhere and were nowhere above 0.1 per transaction."""
    seen = [r.quantity("device.reads_per_transaction") for climb in climbs for r in report_rungs(climb)]
    measured = [reads for reads in seen if reads is not None]
    return bool(measured) and max(measured) < HARDLY_ANY_READS


def foremost(compared: Sequence[Comparison]) -> Comparison | None:
    """The comparison of NOPM that a campaign is about: of those that differ the one farthest from 1; None where nothing is compared."""
    return max((c for c in compared if c.quantity == "nopm"), key=lambda c: (c.differs, abs(log(c.ratio.value))), default=None)


def _said(results: Results) -> str:
    compared = compare(results)
    best = foremost(compared)
    climbs = {climb.cell.id: climb for climb in results.climbs}
    if best:
        latency = next((c for c in compared if c.quantity == "latency.mean" and c.cell == best.cell), None)
        return _compared(best, latency, climbs[best.cell], climbs[best.baseline])
    knees = [(climb, found) for climb in results.climbs if (found := knee(climb))]
    return _alone(*knees[0]) if knees else "no report was measured yet"


def _compared(best: Comparison, latency: Comparison | None, cell: Climb, base: Climb) -> str:
    beside = f", {_beside(latency)} mean latency at one rate" if latency else ""
    if not best.differs:
        return f"no difference shown between {called(cell)} and {called(base)}: {times_with_interval(best.ratio)} the {NOPM.called.format(place(cell))}{beside}"
    return f"{called(cell)} did {times_with_interval(best.ratio)} the NOPM of {called(base)}{beside}"


def _beside(latency: Comparison) -> str:
    return f"at {times(latency.ratio.value)} the" if latency.differs else "no difference shown in"


def _alone(climb: Climb, found: Knee) -> str:
    interval = f"{count(found.nopm.low)} to {count(found.nopm.high)}, n={found.nopm.n}"
    return f"{called(climb)} did {count(found.nopm.value)} NOPM ({interval}) at {number_of_users(found.users.value)}"
