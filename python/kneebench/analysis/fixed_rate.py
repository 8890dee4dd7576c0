"""Latency in open loop, at the fixed rate, the same for every configuration."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum
from typing import NamedTuple

from kneebench.analysis.final_estimates import estimate_of
from kneebench.analysis.knee import (
    final_rungs,
    knee,
    latency_of,
    merged_latency,
    metered,
    place,
    repeated_p999,
)
from kneebench.analysis.wording import by_finding, listed, number_of_users, percent, times
from kneebench.records import Climb, Estimate, Latency, Results, Rung
from kneebench.units import count

SAME_RATE = 0.01
"""Rates within this share of each other count as equal: below the knee, 1% more load changes
latency by less than the noise floor."""
MOST_WAIT = 0.02
"""Share of the mean latency that may be the wait for a free user: the noise floor of a latency. A
run that waits longer is measured again with more users."""


BEHIND = 0.05
"""Share of a rate that may be missing in a short window by chance."""


class FixedRateLatency(NamedTuple):
    """Latency of one configuration at the fixed rate.

    `rate_per_s` is that of all configurations; `share` is the rate over the configuration's own
    quoted throughput at the knee (None without a quoted knee); `p999_certain`: at least 100 samples
    exceed it, over all repeats. `wait`: share of the mean that is the wait for a free user or
    connection, `without_wait_s` the mean without it; None if that was not measured.
    """

    rate_per_s: float
    share: float | None
    mean_s: Estimate
    p999_s: Estimate
    p999_certain: bool
    n: int
    users: int
    wait: float | None
    without_wait_s: Estimate | None


def fixed_rate_latency(climb: Climb) -> FixedRateLatency | None:
    """The repeats of a configuration's open-loop rung together: means by repeat, percentiles from
    the merged histogram.
    """
    return _at_one_rate(climb, climb.of("fixed_rate"))


class LoadLevel(NamedTuple):
    """Latency of one configuration at a percentage of its own knee's throughput, from one run, with
    the transactions per second that it completed.
    """

    percent: int
    latency: FixedRateLatency
    log_write_s: Estimate | None
    completed_per_s: float

    @property
    def saturated(self) -> bool:
        """Whether it completed clearly fewer than were offered: its queue grew."""
        return self.completed_per_s < (1 - BEHIND) * self.latency.rate_per_s


def load_levels(climb: Climb) -> tuple[LoadLevel, ...]:
    """The valid runs of a configuration at its load levels, the lowest first."""
    runs = sorted(climb.of("load_level"), key=lambda rung: rung.order.repeat)
    found = [(rung, _at_one_rate(climb, [rung])) for rung in runs]
    return tuple(
        LoadLevel(
            rung.order.repeat,
            latency,
            metered([rung], "log.write_latency"),
            rung.tally.throughput_per_s,
        )
        for rung, latency in found
        if latency
    )


def _at_one_rate(climb: Climb, runs: Sequence[Rung]) -> FixedRateLatency | None:
    """The valid ones of some runs together; None without any."""
    rungs = [
        rung for rung in runs if rung.tally.latency and rung.order.rate_per_s and not rung.invalid
    ]
    latencies = [latency_of(rung) for rung in rungs]
    if not rungs or not rungs[0].order.rate_per_s:
        return None
    merged = merged_latency(latencies)
    whole = together(latencies)
    rate_per_s, own = rungs[0].order.rate_per_s, knee(climb)
    return FixedRateLatency(
        rate_per_s=rate_per_s,
        share=60 * rate_per_s / own.tpm.value if own else None,
        mean_s=estimate_of(rungs, lambda rung: latency_of(rung).mean_s).in_unit("s"),
        p999_s=repeated_p999(rungs, merged).in_unit("s"),
        p999_certain=whole.p999_is_certain,
        n=whole.n,
        users=max(rung.users for rung in rungs),
        wait=wait_share(*rungs),
        without_wait_s=_without_wait(rungs),
    )


def _without_wait(rungs: Sequence[Rung]) -> Estimate | None:
    """The mean latency from the moment that a user took up the transaction; None where a rung did
    not measure the wait.
    """
    if any(wait_share(rung) is None for rung in rungs):
        return None
    own = estimate_of(rungs, lambda rung: latency_of(rung).mean_s * (1 - (wait_share(rung) or 0)))
    return own.in_unit("s")


def waited_for(connections: int) -> str:
    """What an open loop waits for before a transaction begins; `connections`: shared ones."""
    return f"one of {connections} shared connections" if connections else "a free user"


def without_wait(climb: Climb, against: Climb, connections: int) -> str:
    """`ratio_without_wait` in words; empty where that is none."""
    ratio = ratio_without_wait(climb, against)
    return f"{times(ratio)} without the wait for {waited_for(connections)}" if ratio else ""


def ratio_without_wait(climb: Climb, against: Climb) -> float | None:
    """The ratio of the mean latencies without the wait for a free user, where that wait is a large
    part of either; None elsewhere.
    """
    both = [fixed_rate_latency(one) for one in (climb, against)]
    if not any(one and one.wait and one.wait > MOST_WAIT for one in both):
        return None
    of, to = (one.without_wait_s if one else None for one in both)
    return of.value / to.value if of and to else None


def wait_share(*rungs: Rung) -> float | None:
    """The wait for a free user or connection, as a share of the mean latency of all transactions;
    None if no rung measured both.
    """
    tallies = [rung.tally for rung in rungs]
    both = [(one.wait, one.latency) for one in tallies if one.wait and one.latency]
    waited_s = fsum(wait.mean_s * wait.n for wait, _ in both)
    took_s = fsum(latency.mean_s * latency.n for _, latency in both)
    return waited_s / took_s if took_s else None


def same_rate(rates_per_s: Sequence[float]) -> bool:
    """Whether there are rates, and all count as one.

    >>> same_rate([800.0, 805.0]), same_rate([800.0, 0.0]), same_rate([])
    (True, False, False)
    """
    return bool(rates_per_s) and max(rates_per_s) <= (1 + SAME_RATE) * min(rates_per_s)


def rate_text(rates_per_s: Sequence[float]) -> str:
    """The fixed rate of several that count as one.

    >>> rate_text([880.0, 880.0]), rate_text([874.0, 880.0])
    ('880/s', 'the fixed rate')
    """
    texts = {f"{count(rate)}/s" for rate in rates_per_s}
    return texts.pop() if len(texts) == 1 else "the fixed rate"


def rate_caveats(climbs: Sequence[Climb], planned_per_s: float = 0.0) -> tuple[str, ...]:
    """A sentence for all configurations whose knee is below a fixed rate: open loop, their queue
    grows.

    The rate is that of the configuration's rungs, else `planned_per_s`. The knee is that of the
    final runs, else of the climb.
    """
    by_rate: dict[str, list[str]] = {}
    for climb in climbs:
        if found := _saturated(climb, planned_per_s):
            rate, name = found
            by_rate.setdefault(rate, []).append(name)
    return tuple(
        f"The fixed rate of {rate} transactions/s saturates {listed(names)}:"
        f" {'its' if len(names) == 1 else 'their'} latency at this rate grows as long as the window"
        " lasts. Choose a lower latency_rate."
        for rate, names in by_rate.items()
    )


def _saturated(climb: Climb, planned_per_s: float) -> tuple[str, str] | None:
    """The rate and the configuration in words, with its knee; None for a configuration that the
    rate leaves room.
    """
    orders = [rung.order for rung in climb.of("fixed_rate")]
    rate_per_s = orders[0].rate_per_s if orders else planned_per_s
    rungs = [rung for rung in final_rungs(climb) if rung.tpm > 0]
    if not rate_per_s or not rungs:
        return None
    knee_per_s = estimate_of(rungs, lambda rung: rung.tpm).value / 60
    if rate_per_s < knee_per_s:
        return None
    share = percent(round(rate_per_s / knee_per_s, 2))
    at = f"{share} of the {count(knee_per_s)}/s at {place(climb)}"
    return count(rate_per_s), f"{climb.configuration.name} ({at})"


def wait_caveats(results: Results) -> tuple[str, ...]:
    """A sentence for all configurations whose transactions waited too long for a free user at the
    fixed rate, but for those that it saturates, as `rate_caveats` says.
    """
    latencies = [(climb, fixed_rate_latency(climb)) for climb in results.climbs]
    waited = [
        (climb.configuration, f"{percent(round(at.wait, 3))} at {number_of_users(at.users)}")
        for climb, at in latencies
        if at and at.wait and at.wait > MOST_WAIT and not _saturated(climb, 0.0)
    ]
    if not waited:
        return ()
    shared = results.campaign.resolved.connections
    free = waited_for(shared)
    return (
        f"At the fixed rate the wait for {free} is a large part of the mean latency (limit"
        f" {percent(MOST_WAIT)}): {by_finding(waited, len(results.climbs))}.",
    )


def together(latencies: Sequence[Latency]) -> Latency:
    """The latency of several repeats: of their merged histograms, or of the middle one where they
    cannot be merged.
    """
    return (
        merged_latency(latencies)
        or sorted(latencies, key=lambda one: one.p999_s)[len(latencies) // 2]
    )
