"""The knee: the final runs at the number of users where the climb's throughput stopped growing."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from statistics import fmean
from typing import NamedTuple

from kneebench.analysis.confirmation import Confirmed, confirmed
from kneebench.analysis.final_estimates import estimate_of
from kneebench.analysis.knee_fit import LOWER, users_interval
from kneebench.analysis.wording import number_of_users, plural
from kneebench.errors import require_kind
from kneebench.records import Climb, Estimate, Knee, KneeEnd, Latency, Rung, caveats_of
from kneebench.units import significant, time

PAST_PEAK = 0.02
"""Least drop of the last rung below the highest throughput, as a share, for a peak to be claimed;
otherwise it is a plateau."""


FOR_THROUGHPUT = ("plateau", "saturation", "budget")
"""Stop reasons of climbs whose knee is the fewest users with nearly the most throughput."""
MAY_BE_HIGHER = "The knee may be higher: it is the climb's last and best rung."


def knee(climb: Climb) -> Knee | None:
    """The knee (or fixed load) from the climb's quoted rungs; None if there are none.

    All figures are of the final runs, at one number of users. How sure that number is is apart: the
    interval of `users` is from the climb (`users_interval`), and `ends` are the rungs that the
    climb measured there.
    """
    require_kind(climb, Climb, "those of a campaign are in its results.climbs")
    rungs = [r for r in quoted_rungs(climb) if r.tally.latency is not None]
    users = users_interval(climb)
    if not rungs or users is None:
        return None
    latencies = [latency_of(r) for r in rungs]
    merged = merged_latency(latencies)
    return Knee(
        configuration=climb.configuration,
        users=users,
        nopm=estimate_of(rungs, lambda rung: rung.tally.nopm),
        tpm=estimate_of(rungs, lambda rung: rung.tpm),
        latency_s=estimate_of(rungs, lambda rung: latency_of(rung).mean_s),
        p999_s=repeated_p999(rungs, merged),
        latency=merged,
        peak=_peaked(climb),
        open_ended=_open_ended(climb),
        ends=_ends(climb, users),
        label=climb.label,
        caveats=caveats_of(rungs),
    )


def knee_rung(climb: Climb) -> Rung | None:
    """The rung that the climb itself measured at its knee: the final runs are planned by it, and it
    is never quoted as a result.
    """
    return next(
        (
            r
            for r in climb.of("search", "bisection", "fixed_load")
            if r.users == climb.knee_users and not r.invalid
        ),
        None,
    )


def rungs_by_users(climb: Climb) -> list[Rung]:
    """The valid rungs of a climb's curve, in the order of users; of two with as many the later."""
    rungs = (r for r in climb.of("search", "bisection", "fixed_load") if not r.invalid)
    return sorted({rung.users: rung for rung in rungs}.values(), key=lambda rung: rung.users)


def best_rung(climb: Climb) -> Rung | None:
    """The valid search rung with most NOPM."""
    searched = (rung for rung in climb.of("search", "bisection") if not rung.invalid)
    return max(searched, key=lambda rung: rung.tally.nopm, default=None)


def confirmed_knee(climb: Climb) -> Confirmed | None:
    """What candidates did in turn, where the final runs have the users that they confirmed."""
    sure = confirmed(climb.rungs)
    return sure if sure and sure.users == climb.knee_users else None


class BelowBest(NamedTuple):
    """The final runs' share of the most NOPM that a climb measured, with its users: that of its
    best candidate, or of its best search rung, which is partly luck.
    """

    share: float
    nopm: float
    users: int
    of: str

    @property
    def seen(self) -> str:
        """What the climb measured there, for people."""
        return f"{significant(self.nopm)} NOPM at {number_of_users(self.users)}"


def below_best(climb: Climb) -> BelowBest | None:
    """Where a climb looked for the most throughput, and its final runs gave less of it than a knee
    promises; None elsewhere.
    """
    if climb.stopped_by not in FOR_THROUGHPUT or not (found := knee(climb)):
        return None
    best = _best_candidate(climb)
    if not best and (rung := best_rung(climb)):
        best = rung.tally.nopm, rung.users, "search rung"
    if not best or not best[0]:
        return None
    share = found.nopm.value / best[0]
    return BelowBest(share, *best) if share < 1 - LOWER else None


def _best_candidate(climb: Climb) -> tuple[float, int, str] | None:
    """The NOPM of the best one, as the mean of its turns; None where there were none."""
    if not confirmed_knee(climb):
        return None
    turns = climb.of("confirmation")
    by_users = {r.users: [one.tally.nopm for one in turns if one.users == r.users] for r in turns}
    nopm, users = max((fmean(values), users) for users, values in by_users.items())
    return nopm, users, "candidate"


def place(climb: Climb) -> str:
    """The load of a climb's final runs, for sentences: "the knee", or the number of users or
    streams that the plan fixed.
    """
    fixed = climb.of("fixed_load")
    if fixed and fixed[0].queries:
        return plural(fixed[0].users, "stream")
    return number_of_users(fixed[0].users) if fixed else "the knee"


def quoted_rungs(climb: Climb) -> tuple[Rung, ...]:
    """The valid final runs; if a fixed load has none, its one rung, which is measured like them."""
    return tuple(r for r in climb.of("final_run") or climb.of("fixed_load") if not r.invalid)


def final_rungs(climb: Climb) -> tuple[Rung, ...]:
    """The knee's valid final runs, or the climb's own rung if there are no final runs yet."""
    found = quoted_rungs(climb)
    own = knee_rung(climb)
    return found or ((own,) if own else ())


def metered(rungs: Sequence[Rung], quantity: str, *, adds: bool = False) -> Estimate | None:
    """A metered quantity over the knee's runs (`final_rungs`), estimated as throughput is, or by
    the arithmetic mean if it adds up; None if none of them measured it.
    """
    measured = [rung for rung in rungs if rung.quantity(quantity) is not None]
    if not measured:
        return None
    return estimate_of(measured, lambda rung: rung.quantity(quantity) or 0.0, adds=adds)


def merged_latency(latencies: Sequence[Latency]) -> Latency | None:
    """One latency of several, from their merged histograms: percentiles are never averaged.

    None if they cannot be merged: a histogram is missing, or the compiled core is.
    """
    histograms = [one.histogram for one in latencies]
    if len(histograms) == 1:
        return latencies[0]
    return _merged(*histograms) if histograms and all(histograms) else None


@lru_cache(maxsize=256)
def _merged(*histograms: str) -> Latency | None:
    """Many answers ask for the same runs."""
    try:
        from kneebench._core import merge_histograms
    except ImportError:
        return None
    return Latency.model_validate(merge_histograms(list(histograms)))


def repeated_p999(rungs: Sequence[Rung], merged: Latency | None) -> Estimate:
    """P99.9 of repeats: that of the merged histogram, or of the middle run if they were not merged.

    Its interval covers both the repeats' interval and that of the order statistics.
    """
    between = estimate_of(rungs, lambda rung: latency_of(rung).p999_s)
    latencies = [latency_of(rung) for rung in rungs]
    middle = sorted(latencies, key=lambda one: one.p999_s)[len(latencies) // 2]
    one = merged or middle
    ratio = one.p999_s / between.value if between.value else 1.0
    low, high = min(ratio * between.low, one.p999_low_s), max(ratio * between.high, one.p999_high_s)
    method = (
        f"{'merged histograms' if merged else 'the middle run'}; {between.method}, at least as wide"
        " as the percentile's order statistics"
    )
    return Estimate(value=one.p999_s, low=low, high=high, n=len(latencies), method=method)


def latency_of(rung: Rung) -> Latency:
    """The latency of a rung that has one."""
    assert rung.tally.latency is not None
    return rung.tally.latency


def _ends(climb: Climb, users: Estimate) -> tuple[KneeEnd, ...]:
    rungs = {r.users: r for r in climb.of("search", "bisection") if not r.invalid}
    numbers = (users.low, users.high) if users.low < users.high else ()
    return tuple(
        KneeEnd(users=r.users, nopm=r.tally.nopm, latency_s=latency_of(r).mean_s)
        for number in numbers
        if (r := rungs.get(round(number))) and r.tally.latency
    )


def where_between(knee: Knee) -> str:
    """How sure the knee's number of users is, and what the climb measured at its ends; empty where
    the number is exact.
    """
    if knee.users.low >= knee.users.high:
        return ""
    seen = f" (its ends: {measured_at_ends(knee.ends)})" if knee.ends else ""
    return f"Knee: {knee.users.low:.0f} to {number_of_users(knee.users.high)}{seen}."


def measured_at_ends(ends: Sequence[KneeEnd]) -> str:
    """Throughput and mean latency of the search rungs at the ends of the knee's interval, in the
    order of users; of one end alone where the other is not valid.

    >>> measured_at_ends([KneeEnd(users=1, nopm=39_933, latency_s=0.00066),
    ...     KneeEnd(users=5, nopm=82_153, latency_s=0.00151)])
    '39,900 to 82,200 NOPM, 660 µs to 1.51 ms'
    """
    nopm = " to ".join(significant(end.nopm) for end in ends)
    latency = " to ".join(time(end.latency_s) for end in ends)
    alone = f" at {number_of_users(ends[0].users)}" if len(ends) == 1 else ""
    return f"{nopm} NOPM, {latency}{alone}"


def _open_ended(climb: Climb) -> bool:
    rungs = [r for r in climb.of("search", "bisection") if not r.invalid]
    last = max(rungs, key=lambda r: r.users, default=None)
    best = max(rungs, key=lambda r: r.tally.throughput_per_s, default=None)
    return last is not None and last is best and last.users == climb.knee_users


def _peaked(climb: Climb) -> bool:
    search_rungs = sorted((r for r in climb.of("search") if not r.invalid), key=lambda r: r.users)
    throughput = [r.tally.throughput_per_s for r in search_rungs]
    return len(throughput) > 1 and throughput[-1] < (1 - PAST_PEAK) * max(throughput)
