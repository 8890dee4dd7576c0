"""The log's flushes as the kernel sees them: how long each took, by buckets of 3%.

A bpftrace program times the system calls of the measured server on the files of its log
(measurement/log_trace.py): a flush is a sync and the writes before it, as the database's own
statistics count. They know the mean only. The mean here is exact; the percentiles are those of the
buckets.
"""

from __future__ import annotations

from kneebench.measurement.log_trace import LogTrace
from kneebench.measurement.meters.meter import Meter, MeterContext, UnavailableMeter
from kneebench.records import Remark, noted

NAME = "log_histogram"
QUANTITIES = ("log.kernel_flushes", "log.kernel_time", "log.kernel_histogram")
NOT_MEASURED = "log write histogram not measured: {}"


class LogHistogramMeter:
    """The counts of a trace, since it began."""

    name = NAME
    quantities = QUANTITIES

    def __init__(self, trace: LogTrace) -> None:
        self._trace = trace

    @property
    def notes(self) -> tuple[Remark, ...]:
        """Why the trace ended, if it did."""
        why_not = self._trace.why_not
        return noted("not_measured", NOT_MEASURED.format(why_not)) if why_not else ()

    def read(self) -> dict[str, float]:
        """Flushes, their time in seconds, and how many by bucket; nothing before the trace is
        attached.
        """
        if not (seen := self._trace.seen):
            return {}
        sums = {
            "log.kernel_flushes|kernel": float(seen.n),
            "log.kernel_time|kernel": seen.sum_ns / 1e9,
        }
        counts = {f"log.kernel_histogram|{bucket}": float(n) for bucket, n in seen.counts.items()}
        return sums | counts


def open_meter(context: MeterContext) -> Meter:
    """The trace that runs beside the server, where there is one."""
    trace = context.log_trace
    if isinstance(trace, LogTrace):
        return LogHistogramMeter(trace)
    return UnavailableMeter(
        NAME, QUANTITIES, notes=noted("not_measured", NOT_MEASURED.format(trace))
    )
