"""The knee: the final runs at the number of users where the climb's throughput stopped growing."""

from __future__ import annotations

from collections.abc import Sequence

from kneebench.analysis.final_estimates import estimate_of
from kneebench.analysis.knee_interval import users_interval
from kneebench.analysis.wording import number_of_users
from kneebench.errors import require_kind
from kneebench.records import Climb, Estimate, Knee, Latency, Rung, caveats_of

PAST_PEAK = 0.02
"""Least drop of the last rung below the highest throughput, as a share, for a peak to be claimed;
otherwise it is a plateau."""


def knee(climb: Climb) -> Knee | None:
    """The knee (or fixed load) from the climb's quoted rungs; None if there are none.

    The interval of `users` is from the climb (`users_interval`), and it widens the latency at the
    knee: on a plateau latency is users / throughput. So the interval of the repeats is widened on
    either side by users / bracket. `peak` is True if throughput was seen to fall beyond the knee;
    otherwise the knee is the start of a plateau, and more throughput may be possible.
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
        latency_s=_widened(estimate_of(rungs, lambda rung: latency_of(rung).mean_s), users),
        p999_s=_widened(repeated_p999(rungs, merged), users),
        latency=merged,
        peak=_peaked(climb),
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


def place(climb: Climb) -> str:
    """The load of a climb's final runs, for sentences: "the knee", or the number of users that the
    plan fixed.
    """
    fixed = climb.of("fixed_load")
    return number_of_users(fixed[0].users) if fixed else "the knee"


def quoted_rungs(climb: Climb) -> tuple[Rung, ...]:
    """The valid final runs; if a fixed load has none, its one rung, which is measured like them."""
    return tuple(r for r in climb.of("final_run") or climb.of("fixed_load") if not r.invalid)


def final_rungs(climb: Climb) -> tuple[Rung, ...]:
    """The knee's valid final runs, or the climb's own rung if there are no final runs yet."""
    found = quoted_rungs(climb)
    own = knee_rung(climb)
    return found or ((own,) if own else ())


def metered(rungs: Sequence[Rung], quantity: str) -> Estimate | None:
    """A metered quantity over the knee's runs (`final_rungs`), estimated as throughput is; None if
    none of them measured it.
    """
    measured = [rung for rung in rungs if rung.quantity(quantity) is not None]
    return estimate_of(measured, lambda rung: rung.quantity(quantity) or 0.0) if measured else None


def merged_latency(latencies: Sequence[Latency]) -> Latency | None:
    """One latency of several, from their merged histograms: percentiles are never averaged.

    None if they cannot be merged: a histogram is missing, or the compiled core is.
    """
    histograms = [one.histogram for one in latencies]
    if len(histograms) == 1:
        return latencies[0]
    if not histograms or not all(histograms):
        return None
    try:
        from kneebench._core import merge_histograms
    except ImportError:
        return None
    return Latency.model_validate(merge_histograms(histograms))


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


def _widened(latency: Estimate, users: Estimate) -> Estimate:
    if users.low <= 0 or users.value <= 0:
        return latency
    low, high = latency.low * users.low / users.value, latency.high * users.high / users.value
    return latency.model_copy(
        update={
            "low": low,
            "high": high,
            "method": f"{latency.method}, widened by the interval of users",
        }
    )


def _peaked(climb: Climb) -> bool:
    search_rungs = sorted((r for r in climb.of("search") if not r.invalid), key=lambda r: r.users)
    throughput = [r.tally.throughput_per_s for r in search_rungs]
    return len(throughput) > 1 and throughput[-1] < (1 - PAST_PEAK) * max(throughput)
