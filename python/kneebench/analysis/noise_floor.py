"""The noise floor of a machine, by quantity: what A/A pairs differ by.

An A/A pair is one campaign that measures the same storage under two names. The true ratio is 1, so
each pair's ratio is noise.

- From three pairs on, the floor is the 95% prediction limit for the next pair: Student's t with n
  degrees of freedom times the root mean square of ln ratio, whose mean is known to be 0. It
  contains what no interval from within one campaign can show.
- One or two pairs do not show how pairs differ. Their floor is twice the standard error within a
  pair, or the largest ratio seen.

An interval's half-width is not the floor: with few restores it is wide because the noise is little
known, and each campaign has its own. docs/method/comparing.md has the share of false claims.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import expm1, log, sqrt
from statistics import stdev

from kneebench.analysis.comparison import compare, ratio_of
from kneebench.analysis.drift import FLOOR
from kneebench.analysis.estimate import student_t
from kneebench.analysis.quantity_ratio import (
    KNEE_LATENCY,
    MEAN,
    NOPM,
    P999,
    ComparedQuantity,
    paired_rungs,
)
from kneebench.records import Climb, Estimate, NoiseFloor, Record, Results

LOG_WRITE = ComparedQuantity(
    "log.write_latency",
    "final_run",
    lambda rung: rung.quantity("log.write_latency") or 0.0,
    "log write latency at {}",
)
QUANTITIES = {
    NOPM: "NOPM",
    KNEE_LATENCY: "mean latency at the knee",
    MEAN: "mean latency at the fixed rate",
    P999: "P99.9 latency at the fixed rate",
    LOG_WRITE: "log write latency",
}
"""Quantities with a noise floor, and how people call them."""
ENOUGH = 3
"""Pairs from which their own scatter is the floor: t with 1 or 2 degrees of freedom is 12.7 or
4.3."""


class NoiseRatio(Record):
    """The ratio of one quantity in an A/A pair, and the standard error of its logarithm by round
    (long runs: by run); 0 from a single one.
    """

    ratio: Estimate
    error: float


class NoisePair(Record):
    """One A/A pair: ratios by the name of the quantity, and the quantities that were claimed to
    differ.
    """

    campaign: str
    measured_at: str
    ratios: dict[str, NoiseRatio]
    claimed: tuple[str, ...] = ()


def noise_pair(results: Results) -> NoisePair:
    """The pair that a campaign of one storage under two names measured.

    A quantity that was not measured has no ratio. Raises ValueError unless there are two
    configurations.
    """
    a, b = results.climbs
    found = {one.name: _ratio(b, a, one) for one in QUANTITIES}
    return NoisePair(
        campaign=results.campaign.id,
        measured_at=results.campaign.started_at,
        ratios={name: one for name, one in found.items() if one},
        claimed=tuple(one.quantity for one in compare(results) if one.differs),
    )


def _ratio(climb: Climb, against: Climb, quantity: ComparedQuantity) -> NoiseRatio | None:
    found = ratio_of(climb, against, quantity)
    pairs = paired_rungs(climb, against, quantity)
    logs = [log(quantity.pick(a) / quantity.pick(b)) for a, b in pairs]
    error = stdev(logs) / sqrt(len(logs)) if len(logs) > 1 else 0.0
    return NoiseRatio(ratio=found.ratio, error=error) if found else None


def floor(ratios: Sequence[NoiseRatio]) -> float:
    """The noise floor of one quantity from its ratios in A/A pairs, as a share; at least 2%.

    Raises ValueError for no ratios.

    >>> def pair(value):
    ...     ratio = Estimate(value=value, low=value / 1.1, high=value * 1.1, n=10)
    ...     return NoiseRatio(ratio=ratio, error=0.015)
    >>> [round(floor([*map(pair, values)]), 3) for values in ([1.01], [1.01, 0.96])]
    [0.03, 0.042]
    >>> round(floor([*map(pair, [1.01, 0.96, 1.02])]), 3)
    0.089
    """
    if not ratios:
        raise ValueError("a noise floor needs at least one pair")
    logs = [log(one.ratio.value) for one in ratios]
    if len(ratios) < ENOUGH:
        reach = max(*map(abs, logs), *(2 * one.error for one in ratios))
    else:
        reach = student_t(len(logs)) * sqrt(sum(one**2 for one in logs) / len(logs))
    return max(FLOOR, expm1(reach))


def noise_floor_of(pairs: Sequence[NoisePair]) -> NoiseFloor:
    """The noise floor by quantity, from at least one A/A pair of one storage and one plan."""
    shares = {
        one.name: floor(ratios)
        for one in QUANTITIES
        if (ratios := [pair.ratios[one.name] for pair in pairs if one.name in pair.ratios])
    }
    return NoiseFloor(
        shares=shares,
        pairs=len(pairs),
        measured_at=max(pair.measured_at for pair in pairs),
    )


def largest(floors: Iterable[NoiseFloor]) -> NoiseFloor | None:
    """The largest floor of each quantity, with the number of all pairs; None without floors."""
    found = list(floors)
    if not found:
        return None
    names = dict.fromkeys(name for one in found for name in one.shares)
    return NoiseFloor(
        shares={name: max(one.shares.get(name, 0.0) for one in found) for name in names},
        pairs=sum(one.pairs for one in found),
        measured_at=max(one.measured_at for one in found),
    )
