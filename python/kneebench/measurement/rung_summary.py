"""The record of a rung, and its summary: a rung with its window's quantities and its checks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kneebench.analysis.log_histogram import disagreement, log_histogram
from kneebench.databases.engine import Server
from kneebench.measurement import delay
from kneebench.measurement.checks import (
    CheckInput,
    checks,
    counted_by_the_database,
    few_warehouses,
)
from kneebench.measurement.derived_metrics import derived_metrics
from kneebench.measurement.held_window import HeldWindow
from kneebench.measurement.idle_counts import Idle, rise
from kneebench.measurement.log_trace import PROGRAM_NAME
from kneebench.measurement.quantities import RATIOS
from kneebench.measurement.sampler import RawSeries
from kneebench.measurement.summaries import (
    Values,
    Window,
    between,
    combined,
    histogram,
    quotient,
    summaries,
    window,
)
from kneebench.measurement.validity import invalid
from kneebench.measurement.warm_up import WarmedUp
from kneebench.plan.database_plan import RungPlan
from kneebench.records import (
    AnsweredSecond,
    Counted,
    CountedDevice,
    LogHistogram,
    Moved,
    Order,
    Remark,
    Rung,
    Second,
    Tally,
    noted,
)


class LoadRecord(NamedTuple):
    """The load, from go to stop. `values`: what the meters read in each second since go;
    `discarded`: transactions of the warm-up; `moved`: of a window that is not steady; `clock_s`:
    the time of each sample on the clock of the power meters; `progress`: answers by second;
    `ended_s`: the end of each second.
    """

    tally: Tally
    warmed: WarmedUp
    held: HeldWindow
    warm_up_s: float
    values: Sequence[Values]
    seconds: tuple[Second, ...]
    discarded: int
    moved: Moved | None
    clock_s: Sequence[float]
    progress: Sequence[AnsweredSecond]
    ended_s: Sequence[float]


class RungRecord(NamedTuple):
    """A rung's load between two counts of the idle database, and everything that the meters
    read.
    """

    order: Order
    started_at: str
    before: Idle
    load: LoadRecord
    after: Idle
    raw_series: Sequence[RawSeries]
    of_meters: tuple[Remark, ...]


def summarised(
    record: RungRecord, plan: RungPlan, server: Server, devices: tuple[CountedDevice, ...]
) -> Rung:
    """The rung of a record, with the quantities of its window and its checks; not yet judged for
    disturbances. `devices`: those under the server's directories.
    """
    order, load, tally = record.order, record.load, record.load.tally
    tpm = counted_by_the_database(tally, record.before, record.after)
    evidence = CheckInput(
        order, plan.workload, tally, record.before, record.after, tpm, _scans(record.raw_series)
    )
    first, last = load.held.first, load.held.last
    held = window(record.raw_series, first, last, load.values[first:last])
    quantities = summaries(held) | derived_metrics(
        held, tally, server.cores, plan.workload.load_generator_cores, load.held.late_s
    )
    flushes = log_flushes(held)
    return Rung(
        order=order,
        started_at=record.started_at,
        warm_up_s=load.warm_up_s,
        steady=load.warmed.steady,
        tally=tally,
        tpm=tpm,
        counted=Counted(**rise(record.before, record.after)._asdict()),
        quantities=quantities,
        log_histogram=flushes,
        checks=checks(evidence),
        remarks=(
            *_remarks(evidence, record),
            *noted("log_histogram", *log_notes(held, flushes)),
            *(delay.remarks(tally) if plan.engine.measures_real_hardware else ()),
            *noted("server", *server.notes),
            *invalid(order, tally, plan.ladder.stops.errors.share),
        ),
        devices=devices,
        discarded=load.discarded,
        moved=load.moved,
    )


def _scans(raw_series: Sequence[RawSeries]) -> dict[str, float] | None:
    """Sequential scans by table from go to idle; None if the server does not report them."""
    found: dict[str, float] = {}
    for raw in raw_series:
        for key, count in raw.values[-1].items():
            quantity, _, table = key.partition("|")
            if quantity == "tables.sequential_scans":
                found[table] = count - raw.values[0].get(key, 0.0)
    return found or None


def _remarks(evidence: CheckInput, record: RungRecord) -> tuple[Remark, ...]:
    warmed = record.load.warmed
    unsteady = () if warmed.steady else (f"not steady: {warmed.why}",)
    unseen = (
        ("sequential scans not checked: no meter reports them",) if evidence.scans is None else ()
    )
    return (
        *noted("not_steady" if warmed.filled else "not_filled", *unsteady),
        *noted("warm_up", *warmed.notes),
        *noted("window", *record.load.held.notes),
        *few_warehouses(evidence.order, evidence.workload, evidence.tally),
        *noted("not_measured", *unseen),
        *record.of_meters,
    )


# The log's flushes of a rung: their distribution in its window, and whether the database's own
# mean agrees (or count, where it does not time them).
#
# They are compared over the whole rung, because the database's counts are exact from idle to
# idle only: within it a session reports them once per second at most.

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
