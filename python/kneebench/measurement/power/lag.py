"""How late a meter is: a load is switched on and off at known moments, and the shift is taken at
which the meter's power follows it best.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

from kneebench.measurement.power.energy import energy_at, longest_gap_s
from kneebench.measurement.power.record import PowerRecord
from kneebench.records import LOAD_NOT_SEEN, MeterLag
from kneebench.units import power, time

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

Steps = Sequence[tuple[float, float]]
"""The load: from when to when it was on."""
ON_S, OFF_S = (4.0, 6.0, 5.0), (5.0, 4.0, 6.0)
"""How long the load is on, and off after that: unequal, so that one shift fits best."""
STEP_S = 0.05
EARLIEST_S, LATEST_S = -1.0, 12.0
LEAST = 0.7
"""Correlation of power and load from which the shift is believed."""
BESIDE_S, LEVEL_S = 1.5, 1.0
"""The energy from so long before an edge to so long after it says when the edge was; the power on
either side is that of so long beyond."""


def lag_of(meter: str, record: PowerRecord, steps: Steps, end_s: float) -> MeterLag:
    """The lag of a meter by a load that was on in these steps, of readings up to `end_s`."""
    import numpy as np

    begin_s = steps[0][0] - OFF_S[0] / 2
    try:
        before, after = record.within(begin_s, end_s)
    except IndexError:
        return MeterLag(meter=meter, why="it was not read all through the load step")
    gap_s = max(b - a for a, b in pairwise(record.at_s[before : after + 1]))
    if gap_s > longest_gap_s(record):
        return MeterLag(meter=meter, why=f"it gave no reading for {time(gap_s)} of the load step")
    edges = np.arange(begin_s, end_s, STEP_S)
    joules = np.array([energy_at(record, float(edge)) for edge in edges])
    watts, middles = np.diff(joules) / STEP_S, edges[:-1] + STEP_S / 2
    if watts.std() == 0:
        return MeterLag(meter=meter, why=LOAD_NOT_SEEN)
    shifts = np.arange(EARLIEST_S, LATEST_S + STEP_S / 2, STEP_S)
    fits = [_correlation(watts, _load(middles - shift, steps)) for shift in shifts]
    best = int(np.argmax(fits))
    if fits[best] < LEAST:
        return MeterLag(meter=meter, why=LOAD_NOT_SEEN)
    on = _load(middles - shifts[best], steps) > 0
    step_w = float(watts[on].mean() - watts[~on].mean())
    if best in (0, len(shifts) - 1):
        limit = f"{-EARLIEST_S:g} s early" if best == 0 else f"{LATEST_S:g} s late"
        why = f"it follows the load by {power(step_w)}, but more than {limit}"
        return MeterLag(meter=meter, step_w=step_w, why=why)
    lag_s = _refined(record, steps, float(shifts[best]), end_s)
    return MeterLag(meter=meter, lag_s=round(lag_s, 3), step_w=step_w)


def _refined(record: PowerRecord, steps: Steps, about_s: float, end_s: float) -> float:
    """The lag, from about that: by energy, for a meter that is read seldom, or shows means, has its
    edges in the middle of a slope.
    """
    found = []
    for edge_s in (at + about_s for step in steps for at in step):
        times = [edge_s + s for s in (-BESIDE_S - LEVEL_S, -BESIDE_S, BESIDE_S, BESIDE_S + LEVEL_S)]
        if times[-1] > end_s:
            continue
        a, b, c, d = (energy_at(record, at_s) for at_s in times)
        before_w, after_w = (b - a) / LEVEL_S, (d - c) / LEVEL_S
        if before_w != after_w:
            early_s = ((c - b) - (before_w + after_w) * BESIDE_S) / (after_w - before_w)
            found.append(about_s - early_s)
    near = [one for one in found if abs(one - about_s) < BESIDE_S]
    return median(near) if near else about_s


def _load(at_s: NDArray[float64], steps: Steps) -> NDArray[float64]:
    """1 where the load was on, else 0."""
    found = 0 * at_s
    for on_s, off_s in steps:
        found[(at_s >= on_s) & (at_s < off_s)] = 1.0
    return found


def _correlation(a: NDArray[float64], b: NDArray[float64]) -> float:
    import numpy as np

    return float(np.corrcoef(a, b)[0, 1]) if b.std() > 0 else 0.0
