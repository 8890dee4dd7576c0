"""Streams of TPROC-H's queries as a rung: its window is from the first statement to the last row of
the slowest stream. One query alone is a stream of one.

The sessions are open before the clock starts. Meters, those of power too, are read at both ends and
once per second in between.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

from kneebench.databases.engine import Analyst, AnswersQueries, Server
from kneebench.measurement.derived_metrics import derived_metrics
from kneebench.measurement.held_window import HeldWindow
from kneebench.measurement.instruments import ALONE, RungMachines, Samples
from kneebench.measurement.measure import MeasuredRung, rung_power
from kneebench.measurement.meters import log_histogram
from kneebench.measurement.meters.meter import MeterContext
from kneebench.measurement.power.recorder import PowerClock
from kneebench.measurement.rung_runner import described, losses_reported
from kneebench.measurement.summaries import Window, series, summaries, window
from kneebench.measurement.validity import judged, with_faults
from kneebench.plan.database_plan import RungPlan
from kneebench.records import (
    REFRESH,
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

Rows = Sequence[Sequence[Any]]
CANCEL_S = 10.0
"""How long queries may take to end once they were cancelled."""
NO_LIMIT_S = 86_400.0
"""For a refresh function: what it did in part would spoil all answers after it."""
NOT_OF_QUERIES = (log_histogram.NAME, "log_writes", "checkpoints")
"""Meters of the log, which queries do not write."""


class AskedQuery(NamedTuple):
    """A query with its parameters, or the statements of a refresh function. `judge`: what is wrong
    with its answer, in words; None where no other answer is known.
    """

    number: int
    statements: tuple[str, ...]
    judge: Callable[[Rows], str] | None = None


Streams = Sequence[Sequence[AskedQuery]]


class Answered(NamedTuple):
    """One query that was run; without an answer where it was cancelled."""

    query: AskedQuery
    stream: int
    began_s: float
    ended_s: float
    cpu_s: float
    answer: Rows | None


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
    assert isinstance(server, AnswersQueries)
    context = MeterContext(server, server.paths, machines.log_trace, machines.links)
    meters = [name for name in plan.meters if name not in NOT_OF_QUERIES]
    started_at = datetime.now(UTC).isoformat(timespec="seconds")
    limit_s = plan.workload.query_limit
    with losses_reported(server, described(order)), ExitStack() as opened:
        analysts = [
            opened.enter_context(server.querying(NO_LIMIT_S if _refreshes(one) else limit_s))
            for one in streams
        ]
        with closing(machines.instruments.samples(meters, context, real=True)) as samples:
            clock = PowerClock(machines.power, server)
            sample = partial(_sample, samples, clock)
            ran = _run(analysts, streams, sample, _reported(order, watch))
    held = window(samples.raw_series, 0, samples.last)
    rung = _rung(order, started_at, ran, held, server.cores, plan.workload.load_generator_cores)
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


def _refreshes(stream: Sequence[AskedQuery]) -> bool:
    return any(one.number in REFRESH for one in stream)


# --- under load -----------------------------------------------------------------------------------


def _sample(samples: Samples, clock: PowerClock) -> None:
    samples.sample()
    clock.read()


def _run(
    analysts: Sequence[Analyst],
    streams: Streams,
    sample: Callable[[], None],
    report: Callable[[float], None],
) -> list[Answered]:
    """All queries as they were run. Whatever ends the wait also ends them."""
    with ThreadPoolExecutor(len(streams), thread_name_prefix="stream") as threads:
        began_s = time.monotonic()
        pairs = zip(analysts, streams, strict=True)
        running = [threads.submit(_stream, *pair, at) for at, pair in enumerate(pairs, 1)]
        try:
            while _under_way(running, _to_the_second(began_s)):
                sample()
                report(time.monotonic() - began_s)
            sample()
            failed = [one for one in running if one.done() and one.exception()]
            return [*chain.from_iterable(one.result() for one in failed or running)]
        except BaseException:
            _end(analysts, running)
            raise


def _under_way(running: Sequence[Future[Any]], for_s: float) -> bool:
    """Whether, after a while, none has failed and some have not ended."""
    done, rest = wait(running, for_s, FIRST_EXCEPTION)
    return bool(rest) and not any(one.exception() for one in done)


def _to_the_second(began_s: float) -> float:
    return 1.0 - (time.monotonic() - began_s) % 1.0


def _stream(analyst: Analyst, queries: Sequence[AskedQuery], number: int) -> list[Answered]:
    found = []
    for query in queries:
        began_s, cpu_s = time.monotonic(), time.thread_time()
        for statement in query.statements:
            if (answer := analyst.ask(statement)) is None:
                break
        ended_s, used_s = time.monotonic(), time.thread_time() - cpu_s
        found.append(Answered(query, number, began_s, ended_s, used_s, answer))
        analyst.settle()
    return found


def _end(analysts: Sequence[Analyst], running: Sequence[Future[Any]]) -> None:
    """Cancel until every stream has ended: each goes on with its next query."""
    until_s = time.monotonic() + CANCEL_S
    while wait(running, 0.0).not_done and time.monotonic() < until_s:
        for analyst, one in zip(analysts, running, strict=True):
            if not one.done():
                analyst.cancel()
        wait(running, 0.2)


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
        checks=_checks(ran),
        queries=tuple(
            QueryRun(
                stream=one.stream,
                query=one.query.number,
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
    for number in sorted({one.query.number for one in ran}):
        own = [one.answer is not None for one in ran if one.query.number == number]
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


def _checks(ran: Sequence[Answered]) -> tuple[Check, ...]:
    """Whether the answers are right, where that is known."""
    found = [
        (one.query.number, one.query.judge(one.answer))
        for one in ran
        if one.query.judge is not None and one.answer is not None
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
    numbers = [str(one.query.number) for one in ran if one.answer is None]
    if not numbers:
        return ()
    words = f"query {', '.join(numbers)} was cancelled after {limit_s:g} s, the limit of the plan"
    return (Remark(kind="cancelled", severity="invalid", words=words, value=limit_s, unit="s"),)
