"""Latency in open loop, at the one rate that every cell was given."""

from __future__ import annotations

from typing import NamedTuple

from kneebench.analysis.estimate import estimate
from kneebench.analysis.knee import merged_latency, repeated_p999
from kneebench.records import Climb, Estimate


class AtOneRate(NamedTuple):
    """`rate_per_s` was asked of every cell; `p999_certain`: at least 100 samples lie beyond it, over all repeats."""

    rate_per_s: float
    mean_s: Estimate
    p999_s: Estimate
    p999_certain: bool
    n: int
    users: int


def at_one_rate(climb: Climb) -> AtOneRate | None:
    """The repeats of a cell's open-loop rung together: means by repeat, percentiles from the merged histogram."""
    rungs = [rung for rung in climb.of("latency") if rung.tally.latency and rung.order.rate_per_s and not rung.invalid]
    latencies = [rung.tally.latency for rung in rungs if rung.tally.latency]
    if not rungs or not rungs[0].order.rate_per_s:
        return None
    merged = merged_latency(latencies)
    whole = merged or sorted(latencies, key=lambda one: one.p999_s)[len(latencies) // 2]
    means = estimate([latency.mean_s for latency in latencies])
    return AtOneRate(rungs[0].order.rate_per_s, means, repeated_p999(latencies, merged), whole.p999_is_certain, whole.n, rungs[0].users)
