"""Configurations against the baseline: at their knees, and at the fixed rate. Storages are compared
within one database; databases with one another in databases.py.

The unit is one restored run. Runs are paired by repeat, as the final runs interleaved them (A B B
A), so that what drifts with time cancels out; runs of two campaigns are not interleaved and not
paired. A difference is claimed only when the interval of the ratio excludes 1 *and* the ratio is
beyond the noise floor.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import exp, log, log1p

from kneebench.analysis.drift import FLOOR
from kneebench.analysis.estimate import scatter, student_t
from kneebench.analysis.final_estimates import inverse, quotient, short
from kneebench.analysis.knee import knee, place
from kneebench.analysis.knee_fit import LOWER, throughput_share, users_interval
from kneebench.analysis.power import AT_RATE, PER_NOPM
from kneebench.analysis.price import PER_WORK, ratio_of_prices
from kneebench.analysis.quantity_ratio import (
    KNEE_LATENCY,
    MEAN,
    NOPM,
    P999,
    ComparedQuantity,
    compared_rungs,
    few_beyond,
    paired,
    unpaired,
)
from kneebench.analysis.still_warming import still_warming
from kneebench.analysis.undecided import undecided, within_floor
from kneebench.analysis.wording import (
    FEW,
    capital,
    known,
    number_of_users,
    times,
    times_another,
    times_with_interval,
)
from kneebench.errors import require_kind
from kneebench.records import (
    Climb,
    Comparison,
    Configuration,
    Estimate,
    Results,
    caveats_of,
    configuration_name,
)
from kneebench.units import count


def compare(results: Results) -> tuple[Comparison, ...]:
    """Every configuration against the baseline's configuration of the same database and constraint:
    "nopm", then "latency.mean" and "latency.p999" at the fixed rate; where power was measured
    "power.per_nopm" and, at the fixed rate, "power.per_transaction"; where both storages have a
    price "price.per_nopm".

    Pairs of which one is missing, invalid or did nothing are left out; a quantity without any pair
    has no comparison, and neither has a configuration that never became steady (still_warming.py).
    One pair alone has an interval that excludes nothing (estimate.ALONE), so it never differs.
    """
    require_kind(results, Results, "kneebench.load(folder) reads a campaign")
    bases, found = base_climbs(results), list[Comparison]()
    for climb in results.climbs:
        against = bases.get(climb.id)
        if against is not None and against is not climb:
            interleaved = results.campaign.interleaved(climb.id, against.configuration.id)
            of_both = list(_of_configuration(climb, against, interleaved=interleaved))
            found += (*of_both, *_of_prices(results, climb, against, of_both))
    return tuple(found)


def base_climbs(results: Results) -> dict[str, Climb]:
    """By configuration the climb that it is compared with, which may be its own."""
    climbs = {climb.id: climb for climb in results.climbs}
    bases = bases_of([one.configuration for one in results.climbs], baseline(results))
    return {id_: climbs[base] for id_, base in bases.items()}


def bases_of(configurations: Sequence[Configuration], storage: str) -> dict[str, str]:
    """By configuration the one on this storage with the same database and constraint; those without
    one are left out.
    """
    bases = {
        (one.database, one.constraint): one.id for one in configurations if one.storage == storage
    }
    found = ((one.id, bases.get((one.database, one.constraint))) for one in configurations)
    return {id_: base for id_, base in found if base}


def _of_prices(
    results: Results, climb: Climb, against: Climb, compared: Sequence[Comparison]
) -> Iterator[Comparison]:
    """What the work of a configuration costs, where both storages have a price."""
    storages = results.campaign.resolved.storages
    price, base = (
        storages[one.configuration.storage].price if one.configuration.storage in storages else None
        for one in (climb, against)
    )
    for nopm in compared:
        if nopm.quantity == NOPM.name and price and base and nopm.ratio.low > 0:
            ratio = ratio_of_prices(nopm.ratio, price, base)
            yield stated(climb, against, PER_WORK, ratio, nopm.doubt)


def baseline(results: Results) -> str:
    """The storage that the others are compared with: the plan's `baseline`, or its first."""
    measured = results.climbs[0].configuration.storage if results.climbs else ""
    return results.campaign.resolved.baseline or measured


def noise_floor(climbs: Sequence[Climb], quantity: ComparedQuantity) -> float:
    """max(2%, what two runs of one configuration differ by): one run differs from another by
    less.
    """
    groups = [[quantity.pick(r) for r in compared_rungs(climb, quantity)] for climb in climbs]
    return max(FLOOR, scatter(groups))


def _claim_floor(climbs: Sequence[Climb], quantity: ComparedQuantity) -> float:
    """Below it no difference is claimed, by the runs themselves: the noise floor.

    Of short rounds only their mean is compared, and its interval contains their scatter: 2%. So
    does that of passes over queries, each of which has other parameters.
    """
    if quantity.over or all(short(compared_rungs(climb, quantity)) for climb in climbs):
        return FLOOR
    return noise_floor(climbs, quantity)


def own_floor(climb: Climb) -> float:
    """The difference between two runs of a configuration; no smaller difference is claimed."""
    return max(noise_floor((climb,), NOPM), machine_floor((climb,), NOPM.name))


def machine_floor(climbs: Sequence[Climb], quantity: str) -> float:
    """Below it no difference is claimed, by the A/A pairs of the machines; 0 without any."""
    known = (climb.noise_floor for climb in climbs)
    return max((one.shares.get(quantity, 0.0) for one in known if one), default=0.0)


def ratio_of(
    climb: Climb,
    against: Climb,
    quantity: ComparedQuantity,
    *,
    interleaved: bool = True,
) -> Comparison | None:
    """The ratio of one quantity as `measured_ratio` has it, with what may be claimed of it; None
    where that is None.
    """
    ratio = measured_ratio(climb, against, quantity, interleaved=interleaved)
    if not ratio:
        return None
    apart = "" if interleaved else knees_apart(climb, against, quantity, ratio)
    return stated(climb, against, quantity, ratio, apart)


def measured_ratio(
    climb: Climb, against: Climb, quantity: ComparedQuantity, *, interleaved: bool = True
) -> Estimate | None:
    """The ratio from the pairs of repeats, or from all runs of either where they were not
    `interleaved` or share no repeat. None if there is no pair, or if either is still warming.
    """
    if still_warming(climb) or still_warming(against):
        return None
    if quantity.over:
        return quantity.over(climb, against)
    phase = quantity.phase
    apart = not interleaved or climb.repeats(phase).isdisjoint(against.repeats(phase))
    return (unpaired if apart else paired)(climb, against, quantity)


def stated(
    climb: Climb, against: Climb, quantity: ComparedQuantity, ratio: Estimate, doubt: str = ""
) -> Comparison:
    """What may be claimed of a ratio, by its interval and the noise floors, and nothing where there
    is another `doubt`; the sentence leaves out what is shown beside it.
    """
    both, what = (climb, against), quantity.called.format(place(climb))
    own = _claim_floor(both, quantity)
    machine = machine_floor(both, quantity.scatters_as or quantity.name)
    floor = max(own, machine)
    differs = is_claimed(ratio, floor) and not doubt
    base = _called_beside(climb, against)
    said = f"{capital(called(climb))}: {times_another(times_with_interval(ratio), base, what)}"
    why = ""
    if not differs:
        why = doubt or (_unsure(ratio) if is_beyond(ratio, floor) else within_floor(own, machine))
        pair = f"{called(climb)} vs. {base} {times_with_interval(ratio)}"
        answer = f"Cannot say for {what}" if doubt else undecided(ratio, what)
        said = ", ".join(filter(None, (f"{answer}: {pair}", why)))
    return Comparison(
        quantity=quantity.name,
        baseline=against.configuration.id,
        configuration=climb.id,
        ratio=ratio,
        differs=differs,
        noise_floor=floor,
        sentence=said,
        doubt=doubt,
        reason=why,
        label=climb.label,
        caveats=caveats_of([rung for one in both for rung in one.of(quantity.phase)]),
    )


def ratio_estimate(climb: Climb, against: Climb, *, interleaved: bool) -> Estimate | None:
    """The ratio of NOPM as `ratio_of` has it, also of configurations that are still warming."""
    return (paired if interleaved else unpaired)(climb, against, NOPM)


def is_claimed(ratio: Estimate, floor: float) -> bool:
    """True if a ratio is a difference: its interval excludes 1, and it exceeds the noise floor."""
    return is_beyond(ratio, floor) and 1 not in ratio


def is_beyond(ratio: Estimate, floor: float) -> bool:
    """True if a ratio's value is further from 1 than a noise floor, in either direction."""
    return abs(log(ratio.value)) > log1p(floor)


def _unsure(ratio: Estimate) -> str:
    """Why an interval shows no difference; empty where it is unknown, which is said beside it."""
    if ratio.n == 1:
        return "one pair of runs is too few"
    return "the interval includes 1x" if known(ratio) else ""


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
    for quantity in (PER_NOPM, AT_RATE):
        if one := ratio_of(climb, against, quantity, interleaved=interleaved):
            yield one


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
    few = few_beyond(*climbs)
    return f"; {FEW}: of {few:,} transactions in a run, fewer than 100 exceed P99.9" if few else ""


# Two climbs whose knees are at different numbers of users, and what that explains by itself.
#
# A knee is any number of users that gives 97% of the best throughput. So two climbs of the same
# storage may find it at different ones. By that alone NOPM differs by up to 3%, and latency in a
# closed loop as much as the load.


def knees_apart(climb: Climb, against: Climb, quantity: ComparedQuantity, ratio: Estimate) -> str:
    """Why a ratio at the knees of two campaigns is no difference: they are at different numbers of
    users, and that may be all. Empty where it is not, or where the numbers are the same.
    """
    users = climb.knee_users, against.knee_users
    if None in users or users[0] == users[1]:
        return ""
    explained = ratio.low < 1 / (1 - LOWER) and ratio.high > 1 - LOWER
    if quantity is KNEE_LATENCY or (quantity is NOPM and explained):
        return f"the knees are at different numbers of users ({users[0]} vs. {users[1]})"
    return ""


def compared_users(climb: Climb, against: Climb) -> int | None:
    """The users of the baseline's knee, where those of the climb's are others although the two do
    not contradict each other: the interval of either contains the other's knee.
    """
    own, base = users_interval(climb), users_interval(against)
    if own is None or base is None or own.value == base.value:
        return None
    within = base.value in own or own.value in base
    return int(base.value) if within else None


def carried_nopm(climb: Climb, nopm: Estimate, users: int) -> Estimate | None:
    """NOPM of a climb's knee at other users, by the curves through its own rungs. A knee has at
    least 97% of the best throughput, so no more than that is ever added or taken away. None where
    the climb did not measure as many or as few users.
    """
    share = throughput_share(climb.rungs, climb.knee_users or 0, users)
    if share is None or nopm.low <= 0:
        return None
    value, low, high = (
        min(max(one, 1 - LOWER), 1 / (1 - LOWER)) for one in (share.value, share.low, share.high)
    )
    return quotient(nopm, Estimate(value=value, low=low, high=high, n=nopm.n, method=share.method))


# Every pair of storages compared, not only with the baseline: is four drives worth it over two?
#
# With more pairs one of them is off by chance more often. So each interval is as much wider as
# Student's t of a confidence of 1 - 5% / pairs is than that of 95% (Bonferroni): all of them
# together hold with 95%. Its degrees of freedom are those of the runs, and never more than FREEDOM,
# since short rounds have fewer than their number says: too few only widen an interval.

FREEDOM = 3


def all_pairs(results: Results) -> tuple[Comparison, ...]:
    """NOPM of each storage over that of each one measured before it, under one constraint and with
    one database; empty for fewer than three storages, whose only pair is the comparison itself.

    A pair of which one is still warming, or that shares no valid run, is left out.
    """
    found = [(*pair, ratio) for pair in pairs_of(results) if (ratio := _ratio(results, *pair))]
    return tuple(
        stated(climb, against, NOPM, widened(ratio, len(found))) for climb, against, ratio in found
    )


def step_up(
    results: Results, best: Comparison, compared: Sequence[Comparison]
) -> Comparison | None:
    """The comparison of the two storages with the most NOPM, of those measured beside this one's;
    with the interval that holds for all pairs, unless one of them is the baseline: then it is one
    of those `compared`.
    """
    of = next(climb.configuration for climb in results.climbs if climb.id == best.configuration)
    most = sorted(
        (-found.nopm.value, climb.id)
        for climb in results.climbs
        if (climb.configuration.database, climb.configuration.constraint)
        == (of.database, of.constraint)
        and (found := knee(climb))
    )
    two = {id_ for _, id_ in most[:2]}

    def of_two(some: Sequence[Comparison]) -> Comparison | None:
        nopm = (one for one in some if one.quantity == NOPM.name)
        return next((one for one in nopm if {one.configuration, one.baseline} == two), None)

    pair = of_two(compared) or of_two(all_pairs(results))
    return _turned(results, pair) if pair and pair.configuration != most[0][1] else pair


def _turned(results: Results, found: Comparison) -> Comparison:
    """The same with the other storage over this one, where its ratio has an interval."""
    climbs = {climb.id: climb for climb in results.climbs}
    ratio, both = found.ratio, (climbs[found.baseline], climbs[found.configuration])
    if ratio.low <= 0:
        return found
    return stated(*both, NOPM, inverse(ratio), found.doubt)


def _ratio(results: Results, climb: Climb, against: Climb) -> Estimate | None:
    interleaved = results.campaign.interleaved(climb.id, against.configuration.id)
    return measured_ratio(climb, against, NOPM, interleaved=interleaved)


def pairs_of(results: Results) -> Iterator[tuple[Climb, Climb]]:
    """Each storage with each one measured before it, under one constraint and with one database,
    where these are three or more.
    """
    groups: dict[tuple[str, str], list[Climb]] = {}
    for climb in results.climbs:
        of = climb.configuration
        groups.setdefault((of.database, of.constraint), []).append(climb)
    for climbs in groups.values():
        if len(climbs) > 2:
            yield from ((later, before) for before, later in combinations(climbs, 2))


def widened(ratio: Estimate, pairs: int) -> Estimate:
    """A ratio of which there are so many, with an interval for all of them together.

    >>> print(widened(Estimate(value=2.0, low=1.9, high=2.1, n=4), 3))
    2 (1.849 to 2.155, n=4)
    >>> widened(Estimate(value=2.0, low=1.9, high=2.1, n=4), 1).low
    1.9
    """
    if pairs < 2 or ratio.n < 2 or ratio.low <= 0:
        return ratio
    freedom = min(ratio.n - 1, FREEDOM)
    times = student_t(freedom, 1 - 0.025 / pairs) / student_t(freedom)
    low, high = (
        ratio.value * exp(times * log(end / ratio.value)) for end in (ratio.low, ratio.high)
    )
    method = f"{ratio.method}, widened for {pairs} pairs"
    return ratio.model_copy(update={"low": low, "high": high, "method": method})
