"""The log's flushes of a rung: their distribution in its window, and whether the database's own
mean agrees (or count, where it does not time them).

They are compared over the whole rung, because the database's counts are exact from idle to
idle only: within it a session reports them once per second at most.
"""

from __future__ import annotations

from collections.abc import Sequence

from kneebench.analysis.log_histogram import disagreement, log_histogram
from kneebench.measurement.log_trace import PROGRAM_NAME
from kneebench.measurement.quantities import RATIOS
from kneebench.measurement.sampler import RawSeries
from kneebench.measurement.summaries import Window, between, combined, histogram, quotient
from kneebench.records import LogHistogram

KERNEL = RATIOS["log.kernel_write_latency"]
DATABASE = RATIOS["log.write_latency"]._replace(instead="")


def log_flushes(held: Window) -> LogHistogram | None:
    """The flushes of a window; None if the kernel's were not measured over all of it."""
    mean_s = quotient(held.whole, KERNEL)
    if mean_s is None:
        return None
    counts = histogram(held, "log.kernel_histogram")
    buckets = {int(bucket): n for bucket, n in counts.items()}
    return log_histogram(buckets, mean_s, _difference(held.raw_series))


def log_notes(held: Window, found: LogHistogram | None) -> tuple[str, ...]:
    """Notes for the reader: percentiles that are not shown, and a trace that saw nothing."""
    if found:
        return disagreement(found)
    if not _traced(held.raw_series, held.last):
        return ()  # the meter has a note of its own
    attached = _traced(held.raw_series, held.first)
    why = "it saw no flush of the log" if attached else "it attached after the window had begun"
    return (f"log write histogram not measured: {PROGRAM_NAME} ran, but {why}",)


def _traced(raw_series: Sequence[RawSeries], sample: int) -> bool:
    (key,) = KERNEL.denominators
    return any(f"{key}|kernel" in raw.values[sample] for raw in raw_series)


def _difference(raw_series: Sequence[RawSeries]) -> float | None:
    """Of the kernel's mean from the database's, from the first sample that has the kernel's counts
    to the last one; of its count, where the database does not time its log.
    """
    samples = range(len(raw_series[0].at_s))
    first = next(at for at in samples if _traced(raw_series, at))
    whole = between(raw_series, first, samples[-1])
    kernel, database = quotient(whole, KERNEL), quotient(whole, DATABASE)
    if database is None:
        kernel, database = (
            combined(whole, f"log.{what}") for what in ("kernel_flushes", "flushes")
        )
    return kernel / database - 1 if kernel and database else None
