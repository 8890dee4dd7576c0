"""Streams of TPROC-H's queries as a rung: its window is from the first statement to the last row of
the slowest stream. One query alone is a stream of one.

The sessions are open before the clock starts. Meters, those of power too, are read at both ends and
once per second in between.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from typing import NamedTuple

from kneebench.databases.engine import Server
from kneebench.databases.tproc_h.rows import PlainRow
from kneebench.measurement.derived_metrics import derived_metrics
from kneebench.measurement.held_window import HeldWindow
from kneebench.measurement.instruments import ALONE, RungMachines, Samples
from kneebench.measurement.measure import MeasuredRung, rung_power
from kneebench.measurement.meters import log_histogram
from kneebench.measurement.meters.meter import MeterContext
from kneebench.measurement.power.recorder import PowerClock
from kneebench.measurement.rung_runner import described, losses_reported
from kneebench.measurement.streams import Answered, QueryText, RunningStreams
from kneebench.measurement.summaries import Window, series, summaries, window
from kneebench.measurement.validity import judged, with_faults
from kneebench.plan.database_plan import RungPlan
from kneebench.records import (
    Check,
    Counts,
    Event,
    Order,
    QueryRun,
    Remark,
    Rung,
    Tally,
    TransactionTally,
    Watch,
)

NOT_OF_QUERIES = (log_histogram.NAME, "log_writes", "checkpoints")
"""Meters of the log, which queries do not write."""


class AskedQuery(NamedTuple):
    """What the server is asked. `judge`: what is wrong with an answer, in words; None where no
    other answer is known.
    """

    text: QueryText
    judge: Callable[[Sequence[PlainRow]], str] | None = None


Streams = Sequence[Sequence[AskedQuery]]


def measure_streams(
    order: Order,
    plan: RungPlan,
    server: Server,
    streams: Streams,
    watch: Watch,
    machines: RungMachines = ALONE,
) -> MeasuredRung:
    """Run each stream's queries one after the other, all streams side by side, and read the meters.
    Raises DatabaseLost where the server goes away.
    """
    context = MeterContext(server, server.paths, machines.log_trace, machines.links)
    meters = [name for name in plan.meters if name not in NOT_OF_QUERIES]
    started_at = datetime.now(UTC).isoformat(timespec="seconds")
    limit_s, instruments = plan.workload.query_limit, machines.instruments
    with (
        losses_reported(server, described(order)),
        instruments.streams(server, texts_of(streams), limit_s) as running,
        closing(instruments.samples(meters, context, real=True)) as samples,
    ):
        clock = PowerClock(machines.power, server)
        ran = _run(running, partial(_sample, samples, clock), _reported(order, watch))
    held = window(samples.raw_series, 0, samples.last)
    cores = server.cores, plan.workload.load_generator_cores
    rung = _rung(order, started_at, ran, held, *cores, _checks(streams, ran))
    rung = rung.with_remarks(*samples.remarks, *_cancelled(ran, limit_s))
    devices = machines.instruments.counted_devices(server.paths, server.roles)
    rung = rung.model_copy(update={"devices": devices})
    whole = HeldWindow(0, held.last, rung.tally.window_s, 0.0)
    rung, outside = judged(rung, whole, ())
    power = rung_power(machines.power, clock.at_s, whole)
    faults = machines.instruments.storage_faults(server.paths)
    at_s = samples.raw_series[-1].at_s[1:]
    found = (*series(at_s, held.seconds), *power.series)
    return MeasuredRung(with_faults(power.on(rung), faults), found, (), outside)


def texts_of(streams: Streams) -> list[tuple[QueryText, ...]]:
    """What each of them asks; an answer that nobody judges is not wanted."""
    return [
        tuple(one.text._replace(wanted=one.judge is not None) for one in stream)
        for stream in streams
    ]


# --- under load -----------------------------------------------------------------------------------


def _sample(samples: Samples, clock: PowerClock) -> None:
    samples.sample()
    clock.read()


def _run(
    running: RunningStreams, sample: Callable[[], None], report: Callable[[float], None]
) -> Sequence[Answered]:
    """All queries as they were run."""
    began_s = time.monotonic()
    running.begin()
    while running.under_way(_to_the_second(began_s)):
        sample()
        report(time.monotonic() - began_s)
    sample()
    return running.answered()


def _to_the_second(began_s: float) -> float:
    return 1.0 - (time.monotonic() - began_s) % 1.0


def _reported(order: Order, watch: Watch) -> Callable[[float], None]:
    def report(for_s: float) -> None:
        doing = f"{described(order)}: {for_s:.0f} s"
        watch(Event(kind="progress", doing=doing, data={"order": order.model_dump()}))

    return report


# --- what was run, as a record --------------------------------------------------------------------


def _rung(
    order: Order,
    started_at: str,
    ran: Sequence[Answered],
    held: Window,
    cores: Sequence[int],
    load_generator_cores: Sequence[int],
    checks: tuple[Check, ...],
) -> Rung:
    begins_s = min(one.began_s for one in ran)
    tally = _tally(order.users, ran, max(one.ended_s for one in ran) - begins_s)
    return Rung(
        order=order,
        started_at=started_at,
        warm_up_s=0.0,
        steady=True,
        tally=tally,
        tpm=0.0,
        quantities=summaries(held) | derived_metrics(held, tally, cores, load_generator_cores),
        checks=checks,
        queries=tuple(
            QueryRun(
                stream=one.stream,
                query=one.number,
                began_s=one.began_s - begins_s,
                took_s=one.ended_s - one.began_s,
                answered=one.answer is not None,
            )
            for one in ran
        ),
    )


def _tally(users: int, ran: Sequence[Answered], took_s: float) -> Tally:
    """Each query of the specification is a transaction type."""
    types = {}
    for number in sorted({one.number for one in ran}):
        own = [one.answer is not None for one in ran if one.number == number]
        counts = Counts(started=len(own), committed=sum(own), failed=len(own) - sum(own))
        types[f"query_{number}"] = TransactionTally(whole=counts, window=counts)
    return Tally(
        users=users,
        window_s=took_s,
        whole_s=took_s,
        transactions=types,
        latency=None,
        load_generator_cpu_s=sum(one.cpu_s for one in ran),
        load_generator_threads=len({one.stream for one in ran}),
        load_generator_cores=1,  # that of the interpreter, which all streams share
    )


def _checks(streams: Streams, ran: Sequence[Answered]) -> tuple[Check, ...]:
    """Whether the answers are right, where that is known."""
    found = [
        (one.number, query.judge(one.answer))
        for query, one in zip(chain.from_iterable(streams), ran, strict=True)
        if query.judge is not None and one.answer is not None
    ]
    if not found:
        return ()
    wrong = [f"query {number} has {words}" for number, words in found if words]
    right = f"All {len(found)} answers are" if len(found) > 1 else "The answer is"
    return (
        Check(
            name="answers",
            passed=not wrong,
            seen="; ".join(wrong) or "the same",
            limit="the same",
            sentence=f"Of the answers, {'; '.join(wrong)}, unlike DuckDB's over the same rows."
            if wrong
            else f"{right} DuckDB's over the same rows.",
            value=len(wrong),
            limit_value=0,
        ),
    )


def _cancelled(ran: Sequence[Answered], limit_s: float) -> tuple[Remark, ...]:
    numbers = [str(one.number) for one in ran if one.answer is None]
    if not numbers:
        return ()
    words = f"query {', '.join(numbers)} was cancelled after {limit_s:g} s, the limit of the plan"
    return (Remark(kind="cancelled", severity="invalid", words=words, value=limit_s, unit="s"),)
