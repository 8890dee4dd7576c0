"""The distribution of the log's flushes: buckets, percentiles, and whether the database's
statistics agree: their mean, or their count where the database does not time its log.

Below 64 ns a bucket is 1 ns wide. Above, each doubling has 32 buckets, so that a bucket is 1.6% to
3.1% wide. A percentile is interpolated within its bucket.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate

from kneebench.analysis.wording import percent
from kneebench.records import LogHistogram

PER_DOUBLING = 32
AGREEMENT = 0.05
"""Largest difference of the two means, or of the two counts, as a share of the database's."""
CERTAIN, SHOWN = 100, 10
"""Flushes beyond a percentile from which it is certain, and from which it is shown at all."""


def bounds_ns(bucket: int) -> tuple[int, int]:
    """The lower bound of a bucket, and its width.

    >>> bounds_ns(63), bounds_ns(64), bounds_ns(96)
    ((63, 1), (64, 2), (128, 4))
    """
    shift = max(0, bucket // PER_DOUBLING - 1)
    return (bucket - PER_DOUBLING * shift) << shift, 1 << shift


def percentile_s(counts: Mapping[int, int], share: float) -> float:
    """The time that this share of all flushes did not exceed.

    >>> percentile_s({64: 50, 96: 50}, 0.5), percentile_s({64: 50, 96: 50}, 0.75)
    (6.6e-08, 1.3e-07)
    """
    ordered = sorted(counts.items())
    wanted = share * sum(counts.values())
    for (bucket, n), until in zip(ordered, accumulate(n for _, n in ordered), strict=True):
        if until >= wanted:
            low, width = bounds_ns(bucket)
            return (low + width * (1 - (until - wanted) / n)) / 1e9
    raise ValueError("no flushes")


def log_histogram(
    counts: Mapping[int, int], mean_s: float, difference: float | None
) -> LogHistogram | None:
    """The distribution of these counts by bucket; None without any."""
    counts = {bucket: n for bucket, n in sorted(counts.items()) if n > 0}
    if not counts:
        return None
    return LogHistogram(
        n=sum(counts.values()),
        mean_s=mean_s,
        p50_s=percentile_s(counts, 0.5),
        p90_s=percentile_s(counts, 0.9),
        p99_s=percentile_s(counts, 0.99),
        p999_s=percentile_s(counts, 0.999),
        difference=difference,
        counts=counts,
    )


def merged(found: Sequence[LogHistogram]) -> LogHistogram | None:
    """One distribution of several, with the largest of their differences; None without any."""
    counts = sum((Counter(one.counts) for one in found), Counter[int]())
    n = sum(counts.values())
    known = [one.difference for one in found if one.difference is not None]
    difference = max(known, key=abs) if known and len(known) == len(found) else None
    return log_histogram(counts, sum(one.n * one.mean_s for one in found) / max(n, 1), difference)


def is_certain(one: LogHistogram, share: float) -> bool:
    """Whether at least 100 flushes exceed this percentile, as for latency."""
    return _beyond(one, share) >= CERTAIN


def is_shown(one: LogHistogram, share: float) -> bool:
    """Whether at least 10 flushes exceed this percentile; below, it says nothing."""
    return _beyond(one, share) >= SHOWN


def _beyond(one: LogHistogram, share: float) -> int:
    return round(one.n * (1 - share))


def agrees(one: LogHistogram) -> bool:
    """Whether it is that of the database's statistics; False where they have none."""
    return one.difference is not None and abs(one.difference) <= AGREEMENT


def disagreement(one: LogHistogram) -> tuple[str, ...]:
    """A note for the reader where it is not the database's: its percentiles are not shown."""
    if agrees(one):
        return ()
    what = (
        "the database reports nothing to compare it with"
        if one.difference is None
        else f"it differs from the database's statistics by {percent(one.difference, signed=True)}"
        f" (limit {percent(AGREEMENT)})"
    )
    return (f"log write histogram not shown: {what}",)
