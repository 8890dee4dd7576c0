"""The spectrum of a latency: from its middle to its far tail, of all repeats together."""

from __future__ import annotations

from collections.abc import Sequence
from math import log10
from typing import NamedTuple

from kneebench.records import Latency

NAMED = {0.5: "P50", 0.9: "P90", 0.99: "P99", 0.999: "P99.9", 0.9999: "P99.99"}
"""The quantiles that have a name."""
LEAST_BEYOND = 10
"""A quantile that fewer samples exceed is not shown."""
PER_DECADE = 10
"""Points of a curve from one named quantile to the next."""


class Quantile(NamedTuple):
    """A share of the transactions (0.99: P99) and the latency that they did not exceed."""

    share: float
    latency_s: float


def named_quantiles(latencies: Sequence[Latency]) -> dict[str, Quantile]:
    """P50 to P99.99 by name, those that enough samples exceed."""
    return {NAMED[one.share]: one for one in _quantiles(latencies, list(NAMED))}


def spectrum(latencies: Sequence[Latency]) -> list[Quantile]:
    """The curve from P50 on, evenly over the nines. Empty where histograms are missing."""
    n = sum(one.n for one in latencies)
    most = log10(n / LEAST_BEYOND) if n > LEAST_BEYOND else 0.0
    tails = [step / PER_DECADE for step in range(3, int(most * PER_DECADE) + 1)]
    return _quantiles(latencies, [1 - 10**-tail for tail in tails])


def _quantiles(latencies: Sequence[Latency], shares: list[float]) -> list[Quantile]:
    histograms = [one.histogram for one in latencies]
    n = sum(one.n for one in latencies)
    if not histograms or not all(histograms):
        return []
    try:
        from kneebench._core import merged_quantiles
    except ImportError:
        return []
    enough = [share for share in shares if n * (1 - share) >= LEAST_BEYOND - 1e-6]
    return list(map(Quantile, enough, merged_quantiles(histograms, enough)))
