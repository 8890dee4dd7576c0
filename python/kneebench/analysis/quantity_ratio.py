"""What is compared of two configurations, and its ratio: from pairs of runs, or from all runs of
either.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from kneebench.analysis.equivalence import ratio_to_baseline
from kneebench.analysis.estimate import unpaired_ratio
from kneebench.analysis.final_estimates import estimate_of, ratio_of_pairs, short
from kneebench.analysis.fixed_rate import together
from kneebench.analysis.knee import quoted_rungs
from kneebench.records import Climb, Estimate, Phase, Rung

Pick = Callable[[Rung], float]


class ComparedQuantity(NamedTuple):
    """What is compared: in which phase's rungs, and how a sentence calls it; {} is where: the knee,
    or a fixed number of users. `scatters_as`: the quantity whose noise floor on a machine is its
    own, if it is not measured by itself.

    `over`: the ratio of a figure to which several rungs belong, of one climb over another.
    """

    name: str
    phase: Phase
    pick: Pick
    called: str
    scatters_as: str = ""
    more_is_better: bool = False
    over: Callable[[Climb, Climb], Estimate | None] | None = None


def _mean_s(rung: Rung) -> float:
    return rung.tally.latency.mean_s if rung.tally.latency else 0.0


def _p999_s(rung: Rung) -> float:
    return rung.tally.latency.p999_s if rung.tally.latency else 0.0


NOPM = ComparedQuantity(
    "nopm", "final_run", lambda rung: rung.tally.nopm, "NOPM at {}", more_is_better=True
)
KNEE_LATENCY = ComparedQuantity("latency.knee", "final_run", _mean_s, "mean latency at {}")
MEAN = ComparedQuantity("latency.mean", "fixed_rate", _mean_s, "mean latency at the fixed rate")
P999 = ComparedQuantity("latency.p999", "fixed_rate", _p999_s, "P99.9 latency at the fixed rate")


def compared_rungs(climb: Climb, quantity: ComparedQuantity) -> tuple[Rung, ...]:
    """The valid rungs of the quantity's phase."""
    return (
        quoted_rungs(climb)
        if quantity.phase == "final_run"
        else tuple(r for r in climb.of(quantity.phase) if not r.invalid)
    )


def paired_rungs(
    climb: Climb, against: Climb, quantity: ComparedQuantity
) -> list[tuple[Rung, Rung]]:
    """The valid rungs of either configuration, by repeat, that measured the quantity."""
    other = {rung.order.repeat: rung for rung in _counted(against, quantity)}
    return [
        (rung, other[rung.order.repeat])
        for rung in _counted(climb, quantity)
        if rung.order.repeat in other
    ]


def paired(climb: Climb, against: Climb, quantity: ComparedQuantity) -> Estimate | None:
    """The ratio of the pairs of repeats; None without any."""
    pairs = paired_rungs(climb, against, quantity)
    if not pairs:
        return None
    ratio = ratio_of_pairs(pairs, quantity.pick)
    return _of_percentiles(ratio, *zip(*pairs, strict=True)) if quantity is P999 else ratio


def unpaired(climb: Climb, against: Climb, quantity: ComparedQuantity) -> Estimate | None:
    """The ratio of runs that were not measured in turn; None where either has none."""
    counted = [_counted(one, quantity) for one in (climb, against)]
    if not all(counted):
        return None
    if any(map(short, counted)):
        ratio = ratio_to_baseline(*(estimate_of(rungs, quantity.pick) for rungs in counted))
    else:
        ratio = unpaired_ratio(*([quantity.pick(rung) for rung in rungs] for rungs in counted))
    return _of_percentiles(ratio, *counted) if quantity is P999 else ratio


def _of_percentiles(between: Estimate, *sides: Sequence[Rung]) -> Estimate:
    """The ratio of the runs' percentiles, and an interval at least as wide as the percentiles' own.

    Not that of the merged histograms: one run with the longest stalls decides what all of them have
    beyond a percentile, so that ratio may be outside those of all pairs.
    """
    a, b = (together([rung.tally.latency for rung in side if rung.tally.latency]) for side in sides)
    value, merged = between.value, a.p999_s / b.p999_s
    low = value * a.p999_low_s / b.p999_high_s / merged
    high = value * a.p999_high_s / b.p999_low_s / merged
    method = f"{between.method}, at least as wide as the percentiles' order statistics"
    return between.model_copy(
        update={"low": min(between.low, low), "high": max(between.high, high), "method": method}
    )


def few_beyond(*climbs: Climb) -> int:
    """Fewest transactions of a run whose P99.9 is compared, if fewer than 100 exceed it; else 0."""
    runs = [rung.tally.latency for one in climbs for rung in compared_rungs(one, P999)]
    fewest = min((one for one in runs if one), key=lambda one: one.n, default=None)
    return 0 if fewest is None or fewest.p999_is_certain else fewest.n


def _counted(climb: Climb, quantity: ComparedQuantity) -> list[Rung]:
    return [rung for rung in compared_rungs(climb, quantity) if quantity.pick(rung) > 0]
