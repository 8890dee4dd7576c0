"""Power per NOPM and energy per order: of the meter or sum that a campaign names for it, at the
knee and at equal work.

The unit is a run, as for NOPM: the figure of each run is its mean power over its own NOPM, and
storages are compared in pairs of runs. What a meter is wrong by is in no interval: it is the same
on both sides of a ratio, as far as it is a factor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import log, sqrt
from statistics import fmean, stdev
from typing import NamedTuple

from kneebench.analysis.estimate import few_and_equal, student_t
from kneebench.analysis.final_estimates import estimate_of
from kneebench.analysis.knee import final_rungs, quoted_rungs
from kneebench.analysis.quantity_ratio import ComparedQuantity, paired_rungs
from kneebench.analysis.wording import times_with_interval
from kneebench.records import (
    LOAD_NOT_SEEN,
    SYSTEM_POWER,
    CampaignPower,
    Climb,
    Estimate,
    MeasuredPower,
    PowerMeterFacts,
    PowerWindow,
    Rung,
    at_rest_on,
)

MILLI = 1000.0
AGREEING = 0.1
"""Two meters of one thing agree within this and the accuracies that their makers state."""
SECONDS = 60.0


def power_w(rung: Rung) -> float:
    """Mean power of a rung's window; 0 where it was not measured."""
    return rung.quantity(SYSTEM_POWER) or 0.0


def mw_per_nopm(rung: Rung) -> float:
    """Milliwatts per New-Order per minute; 0 where power was not measured."""
    return MILLI * power_w(rung) / rung.tally.nopm if rung.tally.nopm else 0.0


def joules_per_transaction(rung: Rung) -> float:
    """Of all types; 0 where power was not measured."""
    per_s = rung.tally.throughput_per_s
    return power_w(rung) / per_s if per_s else 0.0


PER_NOPM = ComparedQuantity("power.per_nopm", "final_run", mw_per_nopm, "power per NOPM at {}")
AT_RATE = ComparedQuantity(
    "power.per_transaction",
    "fixed_rate",
    joules_per_transaction,
    "energy per transaction at the fixed rate",
)


class PowerOfLoad(NamedTuple):
    """The power of a configuration under one load, of `n` of its `runs`; energy per New-Order and
    per transaction.
    """

    watts: Estimate
    mw_per_nopm: Estimate
    joules_per_order: Estimate
    joules_per_transaction: Estimate
    nopm_per_w: Estimate
    runs: int
    above_idle: Estimate | None
    """mW/NOPM of what it takes more than without a load."""

    @property
    def n(self) -> int:
        """Runs of which power was measured."""
        return self.watts.n


def power_of(rungs: Sequence[Rung], idle_w: float | None) -> PowerOfLoad | None:
    """The power of some runs at one load; None where none of them measured it."""
    measured = [rung for rung in rungs if power_w(rung) > 0 and rung.tally.nopm > 0]
    if not measured:
        return None
    more = [power_w(rung) - idle_w for rung in measured] if idle_w else []

    def above(rung: Rung) -> float:
        return MILLI * (power_w(rung) - (idle_w or 0.0)) / rung.tally.nopm

    return PowerOfLoad(
        watts=estimate_of(measured, power_w),
        mw_per_nopm=estimate_of(measured, mw_per_nopm).in_unit("mW/NOPM"),
        joules_per_order=estimate_of(measured, lambda one: SECONDS * mw_per_nopm(one) / MILLI),
        joules_per_transaction=estimate_of(measured, joules_per_transaction),
        nopm_per_w=estimate_of(measured, lambda one: MILLI / mw_per_nopm(one)),
        runs=len(rungs),
        above_idle=(
            estimate_of(measured, above).in_unit("mW/NOPM") if more and min(more) > 0 else None
        ),
    )


def idle_of(climb: Climb, power: CampaignPower) -> PowerWindow | None:
    """The power without a load of a storage and a database, on their first configuration."""
    return power.idle.get(at_rest_on(climb.configuration))


def at_the_knee(climb: Climb, power: CampaignPower) -> PowerOfLoad | None:
    """Of the quoted final runs."""
    idle = idle_of(climb, power)
    return power_of(final_rungs(climb), idle.system_w if idle else None)


def at_the_rate(climb: Climb, power: CampaignPower) -> PowerOfLoad | None:
    """Of the runs at the fixed rate: equal work on all storages."""
    idle = idle_of(climb, power)
    rungs = [rung for rung in climb.of("fixed_rate") if not rung.invalid]
    return power_of(rungs, idle.system_w if idle else None)


def more_w(climb: Climb, against: Climb, quantity: ComparedQuantity) -> Estimate | None:
    """How many watts a configuration takes more than another, from pairs of runs; None with fewer
    than two, or two that are equal. May be below 0.
    """
    pairs = paired_rungs(climb, against, quantity)
    if len(pairs) < 2:
        return None
    more = [power_w(one) - power_w(other) for one, other in pairs]
    if few_and_equal(more):
        return None
    half = student_t(len(more) - 1) * stdev(more) / sqrt(len(more))
    value, method = fmean(more), "t interval of paired differences"
    return Estimate(value=value, low=value - half, high=value + half, n=len(more), method=method)


class Witness(NamedTuple):
    """Another meter of what the leading one measures: its power over that one's."""

    name: str
    ratio: Estimate


def witnesses(climbs: Sequence[Climb], power: CampaignPower) -> Iterator[Witness]:
    """Meters and sums of the leading one's scope and coverage, over the runs that both measured."""
    for name, rungs in _of_the_same(climbs, power):
        yield Witness(name, estimate_of(rungs, _over(name, power.leading)))


def _of_the_same(climbs: Sequence[Climb], power: CampaignPower) -> Iterator[tuple[str, list[Rung]]]:
    leading = power.leading
    if not leading:
        return
    kind = _kind(power.parts(leading))
    rungs = [rung for climb in climbs for rung in final_rungs(climb)]
    parts = {part for some in power.sums.values() for part in some}
    names = [one.name for one in power.meters if one.name not in parts]
    for name in (*power.sums, *names):
        if name == leading or _kind(power.parts(name)) != kind:
            continue
        both = [rung for rung in rungs if _of(rung, name) > 0 and _of(rung, leading) > 0]
        if both:
            yield name, both


def doubts(climbs: Sequence[Climb], power: CampaignPower | None) -> tuple[str, ...]:
    """Why the leading meter may not measure this server, in clauses: a witness contradicts it, or
    it never showed the load that was switched on and off.
    """
    if not power or not power.leading:
        return ()
    head = "{} may not measure this server: "
    apart = [
        Witness(name, estimate_of(rungs, _over(name, power.leading)))
        for name, rungs in _of_the_same(climbs, power)
        if _contradicts(name, rungs, power)
    ]
    return (
        *(
            head.format(power.leading) + f"{one.name}, of the same scope and coverage, shows"
            f" {times_with_interval(one.ratio)} its power"
            for one in apart
        ),
        *(
            head.format(one.name) + "no load that was switched on and off was seen in its power"
            for one in power.parts(power.leading)
            if _never_seen(one.name, power)
        ),
    )


def _contradicts(name: str, rungs: Sequence[Rung], power: CampaignPower) -> bool:
    wrong = [
        max((part.accuracy or 0.0 for part in power.parts(one)), default=0.0)
        for one in (name, power.leading)
    ]
    apart = fmean(log(_over(name, power.leading)(rung)) for rung in rungs)
    return abs(apart) > log(1 + AGREEING + sum(wrong))


def _never_seen(meter: str, power: CampaignPower) -> bool:
    lags = [one for some in power.lags.values() for one in some if one.meter == meter]
    seen = any(one.step_w is not None for one in lags)
    return not seen and any(one.why == LOAD_NOT_SEEN for one in lags)


def _over(name: str, leading: str) -> Callable[[Rung], float]:
    return lambda rung: _of(rung, name) / _of(rung, leading)


def _of(rung: Rung, name: str) -> float:
    return (rung.power.of(name) if rung.power else None) or 0.0


def meter_w(rungs: Sequence[Rung], name: str) -> Estimate | None:
    """The mean power by one meter or sum over some runs; None where none of them has it."""
    measured = [rung for rung in rungs if _of(rung, name) > 0]
    return estimate_of(measured, lambda rung: _of(rung, name)) if measured else None


def _kind(parts: Sequence[PowerMeterFacts]) -> tuple[str, frozenset[str]]:
    """What meters measure together."""
    return parts[0].scope, frozenset(name for one in parts for name in one.covers)


def not_measured(measured: Iterable[MeasuredPower]) -> dict[str, list[str]]:
    """Why a meter did not measure some runs: the reason of each, by kind."""
    found: dict[str, list[str]] = {}
    for one in measured:
        if one.why:
            found.setdefault(next(iter(one.kinds), one.why), []).append(one.why)
    return found


def power_per_nopm(climb: Climb) -> Estimate | None:
    """mW/NOPM over the quoted final runs; None where power was not measured."""
    rungs = [rung for rung in quoted_rungs(climb) if mw_per_nopm(rung) > 0]
    return estimate_of(rungs, mw_per_nopm).in_unit("mW/NOPM") if rungs else None


def meters_differ(of: CampaignPower | None, to: CampaignPower | None) -> str:
    """Why the power of two campaigns is not compared; empty where their meters are alike, or one
    has none.
    """
    if not of or not to or _measured(of) == _measured(to):
        return ""
    return f"the meters differ ({_called(to)} in the baseline, {_called(of)} now)"


def _measured(power: CampaignPower) -> set[tuple[str, str, tuple[str, ...]]]:
    return {(one.type, one.scope, one.covers) for one in power.parts(power.leading)}


def _called(power: CampaignPower) -> str:
    parts = power.parts(power.leading)
    return ", ".join(f"{one.name}: {one.type}, {one.caption}" for one in parts) or "none"
