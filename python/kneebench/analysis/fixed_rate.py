"""Latency in open loop, at the one rate that every cell was given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kneebench.analysis.final_estimates import estimate_of
from kneebench.analysis.knee import knee, latency_of, merged_latency, repeated_p999
from kneebench.records import Climb, Estimate, Latency


class FixedRateLatency(NamedTuple):
    """Latency of one cell at the fixed rate.

    `rate_per_s` is that of all cells; `share` is the rate over the cell's own quoted throughput at
    the knee (None without a quoted knee); `p999_certain`: at least 100 samples exceed it, over all
    repeats.
    """

    rate_per_s: float
    share: float | None
    mean_s: Estimate
    p999_s: Estimate
    p999_certain: bool
    n: int
    users: int


def fixed_rate_latency(climb: Climb) -> FixedRateLatency | None:
    """The repeats of a cell's open-loop rung together: means by repeat, percentiles from the merged
    histogram.
    """
    rungs = [
        rung
        for rung in climb.of("fixed_rate")
        if rung.tally.latency and rung.order.rate_per_s and not rung.invalid
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
        mean_s=estimate_of(rungs, lambda rung: latency_of(rung).mean_s),
        p999_s=repeated_p999(rungs, merged),
        p999_certain=whole.p999_is_certain,
        n=whole.n,
        users=rungs[0].users,
    )


def together(latencies: Sequence[Latency]) -> Latency:
    """The latency of several repeats: of their merged histograms, or of the middle one where they
    cannot be merged.
    """
    return (
        merged_latency(latencies)
        or sorted(latencies, key=lambda one: one.p999_s)[len(latencies) // 2]
    )
