"""Configurations against the baseline: at their knees, and at the fixed rate. Storages are compared
within one database; databases with one another in databases.py.

The unit is one restored run. Runs are paired by repeat, as the final runs interleaved them (A B B
A), so that what drifts with time cancels out; runs of two campaigns are not interleaved and not
paired. A difference is claimed only when the interval of the ratio excludes 1 *and* the ratio is
beyond the noise floor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import log, log1p
from typing import NamedTuple

from kneebench.analysis.drift import FLOOR
from kneebench.analysis.estimate import scatter, unpaired_ratio
from kneebench.analysis.final_estimates import estimate_of, quotient, ratio_of_pairs, short
from kneebench.analysis.fixed_rate import together
from kneebench.analysis.knee import place, quoted_rungs
from kneebench.analysis.still_warming import still_warming
from kneebench.analysis.wording import (
    FEW,
    capital,
    not_shown,
    number_of_users,
    percent,
    times,
    times_another,
    times_with_interval,
)
from kneebench.errors import require_kind
from kneebench.records import Climb, Comparison, Estimate, Phase, Results, Rung, configuration_name
from kneebench.units import count

Pick = Callable[[Rung], float]


class ComparedQuantity(NamedTuple):
    """What is compared: in which phase's rungs, and how a sentence calls it; {} is where: the knee,
    or a fixed number of users.
    """

    name: str
    phase: Phase
    pick: Pick
    called: str


def _mean_s(rung: Rung) -> float:
    return rung.tally.latency.mean_s if rung.tally.latency else 0.0


def _p999_s(rung: Rung) -> float:
    return rung.tally.latency.p999_s if rung.tally.latency else 0.0


NOPM = ComparedQuantity("nopm", "final_run", lambda rung: rung.tally.nopm, "NOPM at {}")
KNEE_LATENCY = ComparedQuantity("latency.knee", "final_run", _mean_s, "mean latency at {}")
MEAN = ComparedQuantity("latency.mean", "fixed_rate", _mean_s, "mean latency at the fixed rate")
P999 = ComparedQuantity("latency.p999", "fixed_rate", _p999_s, "P99.9 latency at the fixed rate")


def compare(results: Results) -> tuple[Comparison, ...]:
    """Every configuration against the baseline's configuration of the same database and constraint:
    "nopm", then "latency.mean" and "latency.p999" at the fixed rate.

    Pairs of which one is missing, invalid or did nothing are left out; a quantity without any pair
    has no comparison, and neither has a configuration that never became steady (still_warming.py).
    One pair alone has an interval that excludes nothing (estimate.ALONE), so it never differs.
    """
    require_kind(results, Results, "kneebench.load(folder) reads a campaign")
    base = baseline(results)
    bases = {
        (climb.configuration.database, climb.configuration.constraint): climb
        for climb in results.climbs
        if climb.configuration.storage == base
    }
    found: list[Comparison] = []
    for climb in results.climbs:
        against = bases.get((climb.configuration.database, climb.configuration.constraint))
        if against is not None and climb.configuration.storage != base:
            interleaved = results.campaign.interleaved(climb.id, against.configuration.id)
            found += _of_configuration(climb, against, interleaved=interleaved)
    return tuple(found)


def baseline(results: Results) -> str:
    """The storage that the others are compared with: the plan's `baseline`, or its first."""
    measured = results.climbs[0].configuration.storage if results.climbs else ""
    return results.campaign.resolved.baseline or measured


def noise_floor(climbs: Sequence[Climb], quantity: ComparedQuantity) -> float:
    """max(2%, what two runs of one configuration differ by): one run differs from another by
    less.
    """
    groups = [[quantity.pick(r) for r in _rungs(climb, quantity)] for climb in climbs]
    return max(FLOOR, scatter(groups))


def _claim_floor(climbs: Sequence[Climb], quantity: ComparedQuantity) -> float:
    """Below it no difference is claimed, by the runs themselves: the noise floor.

    Of short rounds only their mean is compared, and its interval contains their scatter: 2%.
    """
    if all(short(_rungs(climb, quantity)) for climb in climbs):
        return FLOOR
    return noise_floor(climbs, quantity)


def machine_floor(climbs: Sequence[Climb], quantity: str) -> float:
    """Below it no difference is claimed, by the A/A pairs of the machines; 0 without any."""
    known = (climb.noise_floor for climb in climbs)
    return max((one.shares.get(quantity, 0.0) for one in known if one), default=0.0)


def ratio_of(
    climb: Climb, against: Climb, quantity: ComparedQuantity, *, interleaved: bool = True
) -> Comparison | None:
    """The ratio of one quantity from the pairs of repeats, or from all runs of either where they
    were not `interleaved` or share no repeat; the sentence leaves out what is shown beside it. None
    if there is no pair, or if either is still warming.
    """
    if still_warming(climb) or still_warming(against):
        return None
    both, phase = (climb, against), quantity.phase
    apart = not interleaved or climb.repeats(phase).isdisjoint(against.repeats(phase))
    ratio = (_unpaired if apart else _paired)(climb, against, quantity)
    if ratio is None:
        return None
    what = quantity.called.format(place(climb))
    own, machine = _claim_floor(both, quantity), machine_floor(both, quantity.name)
    floor = max(own, machine)
    beyond, differs = is_beyond(ratio, floor), is_claimed(ratio, floor)
    base = _called_beside(climb, against)
    sentence = f"{capital(called(climb))}: {times_another(times_with_interval(ratio), base, what)}"
    if not differs:
        unsure = "the interval includes 1x" if ratio.n > 1 else "one pair of runs is too few"
        why = unsure if beyond else _within(own, machine)
        sentence = (
            f"{not_shown(ratio)} in {what}: {called(climb)} vs. {base}"
            f" {times_with_interval(ratio)}, {why}"
        )
    return Comparison(
        quantity=quantity.name,
        baseline=against.configuration.id,
        configuration=climb.id,
        ratio=ratio,
        differs=differs,
        noise_floor=floor,
        sentence=sentence,
    )


def ratio_estimate(climb: Climb, against: Climb, *, interleaved: bool) -> Estimate | None:
    """The ratio of NOPM as `ratio_of` has it, also of configurations that are still warming."""
    return (_paired if interleaved else _unpaired)(climb, against, NOPM)


def is_claimed(ratio: Estimate, floor: float) -> bool:
    """True if a ratio is a difference: its interval excludes 1, and it exceeds the noise floor."""
    return is_beyond(ratio, floor) and not ratio.low <= 1 <= ratio.high


def is_beyond(ratio: Estimate, floor: float) -> bool:
    """True if a ratio's value is further from 1 than a noise floor, in either direction."""
    return abs(log(ratio.value)) > log1p(floor)


def _within(own: float, machine: float) -> str:
    """Why a ratio below the larger of two floors is no difference."""
    if machine > own:
        return f"within the machine's noise floor of {percent(machine)}"
    if own < 1:
        return f"within the noise floor of {percent(own)}"
    return "repeats of one storage differ by more than 2x"


def called(climb: Climb) -> str:
    """A configuration as people call it."""
    return climb.configuration.name


def _called_beside(climb: Climb, against: Climb) -> str:
    """The second configuration in a sentence that names the first: by its storage within one
    database, by its database on one storage.
    """
    one, other = climb.configuration, against.configuration
    if one.database == other.database:
        return configuration_name(other.storage, other.constraint)
    alike = (one.storage, one.constraint) == (other.storage, other.constraint)
    return other.database if alike else other.name


def _of_configuration(climb: Climb, against: Climb, *, interleaved: bool) -> Iterator[Comparison]:
    nopm, mean, p999 = (
        ratio_of(climb, against, quantity, interleaved=interleaved)
        for quantity in (NOPM, MEAN, P999)
    )
    if nopm:
        yield nopm.model_copy(
            update={"sentence": nopm.sentence + _latency_beside(climb, against, mean)}
        )
    for one in (mean, p999):
        if one:
            doubt = _doubt(climb, against) if one is p999 else ""
            yield one.model_copy(update={"sentence": one.sentence + _rate(climb) + doubt})


def _latency_beside(climb: Climb, against: Climb, mean: Comparison | None) -> str:
    """A relative NOPM is bought with users: the latency that it cost, and the latency at one
    rate.
    """
    at_knee = ratio_of(climb, against, KNEE_LATENCY)
    there = number_of_users(against.knee_users or 0)
    users = "" if climb.of("fixed_load") else f" ({climb.knee_users} vs. {there})"
    latency = [f"{times(at_knee.ratio.value)} at {place(climb)}"] if at_knee else []
    latency += [f"{times(mean.ratio.value)} at the fixed rate"] if mean else []
    return users + (f"; mean latency {', '.join(latency)}" if latency else "")


def _rate(climb: Climb) -> str:
    rate_per_s = next(
        (r.order.rate_per_s for r in climb.of("fixed_rate") if r.order.rate_per_s), None
    )
    return f" ({count(rate_per_s)} transactions/s on both)" if rate_per_s else ""


def _doubt(*climbs: Climb) -> str:
    n = [
        sum(r.tally.latency.n for r in c.of("fixed_rate") if r.tally.latency and not r.invalid)
        for c in climbs
    ]
    return (
        f"; {FEW}: of {min(n):,} transactions, fewer than 100 exceed P99.9"
        if min(n) < 100_000
        else ""
    )


def _rungs(climb: Climb, quantity: ComparedQuantity) -> tuple[Rung, ...]:
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


def _paired(climb: Climb, against: Climb, quantity: ComparedQuantity) -> Estimate | None:
    pairs = paired_rungs(climb, against, quantity)
    if not pairs:
        return None
    ratio = ratio_of_pairs(pairs, quantity.pick)
    return _of_merged(ratio, pairs) if quantity is P999 else ratio


def _of_merged(between: Estimate, pairs: Sequence[tuple[Rung, Rung]]) -> Estimate:
    """The ratio of the merged histograms' percentiles, as a brief draws them; the interval holds
    the repeats' ratios with their scatter, that ratio, and the percentiles' own.
    """
    a, b = (
        together([rung.tally.latency for rung in side if rung.tally.latency])
        for side in zip(*pairs, strict=True)
    )
    value = a.p999_s / b.p999_s
    method = (
        f"merged histograms; {between.method}, at least as wide as the percentiles' order"
        " statistics"
    )
    low = min(between.low, value, a.p999_low_s / b.p999_high_s)
    high = max(between.high, value, a.p999_high_s / b.p999_low_s)
    return Estimate(value=value, low=low, high=high, n=between.n, method=method)


def _unpaired(climb: Climb, against: Climb, quantity: ComparedQuantity) -> Estimate | None:
    counted = [_counted(one, quantity) for one in (climb, against)]
    if not all(counted):
        return None
    if any(map(short, counted)):
        return quotient(*(estimate_of(rungs, quantity.pick) for rungs in counted))
    return unpaired_ratio(*([quantity.pick(rung) for rung in rungs] for rungs in counted))


def _counted(climb: Climb, quantity: ComparedQuantity) -> list[Rung]:
    return [rung for rung in _rungs(climb, quantity) if quantity.pick(rung) > 0]
