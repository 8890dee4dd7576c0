"""One query of TPROC-H as a rung: its window is the query, from the statement to the last row.

The session is open before the clock starts. Meters are read at both ends and once per second in
between.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing
from datetime import UTC, datetime
from typing import Any, NamedTuple

from kneebench.databases.engine import Analyst, AnswersQueries, Server
from kneebench.measurement.derived_metrics import derived_metrics
from kneebench.measurement.held_window import HeldWindow
from kneebench.measurement.instruments import ALONE, RungMachines, Samples
from kneebench.measurement.measure import MeasuredRung
from kneebench.measurement.meters import log_histogram
from kneebench.measurement.meters.meter import MeterContext
from kneebench.measurement.rung_runner import described, losses_reported
from kneebench.measurement.summaries import series, summaries, window
from kneebench.measurement.validity import judged, with_faults
from kneebench.plan.database_plan import RungPlan
from kneebench.records import (
    Check,
    Counts,
    Event,
    Order,
    Remark,
    Rung,
    Tally,
    TransactionTally,
    Watch,
)

Rows = Sequence[Sequence[Any]]
CANCEL_S = 10.0
"""How long a query may take to end once it was cancelled."""
NOT_OF_QUERIES = (log_histogram.NAME, "log_writes", "checkpoints")
"""Meters of the log: queries write none."""


class AskedQuery(NamedTuple):
    """A query with its parameters. `judge`: what is wrong with its answer, in words; None where no
    other answer is known.
    """

    number: int
    statement: str
    judge: Callable[[Rows], str] | None = None


def measure_query(
    order: Order,
    plan: RungPlan,
    server: Server,
    query: AskedQuery,
    watch: Watch,
    machines: RungMachines = ALONE,
) -> MeasuredRung:
    """Run one query and read the meters. Raises DatabaseLost where the server goes away."""
    assert isinstance(server, AnswersQueries)
    context = MeterContext(server, server.paths, machines.log_trace, machines.links)
    meters = [name for name in plan.meters if name not in NOT_OF_QUERIES]
    started_at, limit_s = datetime.now(UTC).isoformat(timespec="seconds"), plan.workload.query_limit
    with losses_reported(server, described(order)), server.querying(limit_s) as analyst:
        opened = machines.instruments.samples(meters, context, real=True)
        with closing(opened) as samples:
            answer, took_s = _asked(analyst, query.statement, samples, _reported(order, watch))
    held = window(samples.raw_series, 0, samples.last)
    rung = Rung(
        order=order,
        started_at=started_at,
        warm_up_s=0.0,
        steady=True,
        tally=_tally(query.number, took_s, answered=answer is not None),
        tpm=0.0,
        quantities=summaries(held),
        checks=_checks(query, answer),
        remarks=(*samples.remarks, *_cancelled(query.number, answer, limit_s)),
        devices=machines.instruments.counted_devices(server.paths, server.roles),
    )
    own = derived_metrics(held, rung.tally, server.cores, plan.workload.load_generator_cores)
    rung = rung.model_copy(update={"quantities": rung.quantities | own})
    rung, outside = judged(rung, HeldWindow(0, samples.last, took_s, 0.0), ())
    faults = machines.instruments.storage_faults(server.paths)
    at_s = samples.raw_series[-1].at_s[1:]
    return MeasuredRung(with_faults(rung, faults), series(at_s, held.seconds), (), outside)


def _asked(
    analyst: Analyst, statement: str, samples: Samples, report: Callable[[float], None]
) -> tuple[Rows | None, float]:
    """(the answer, the time that it took). Whatever ends the wait also ends the query."""
    with ThreadPoolExecutor(1, thread_name_prefix="query") as threads:
        began_s = time.monotonic()
        asked = threads.submit(_timed, analyst, statement)
        try:
            while not wait([asked], 1.0 - (time.monotonic() - began_s) % 1.0).done:
                samples.sample()
                report(time.monotonic() - began_s)
            samples.sample()
            answer, ended_s = asked.result()
        except BaseException:
            _end(analyst, asked)
            raise
    return answer, ended_s - began_s


def _timed(analyst: Analyst, statement: str) -> tuple[Rows | None, float]:
    answer = analyst.ask(statement)
    return answer, time.monotonic()


def _end(analyst: Analyst, asked: Future[Any]) -> None:
    if not asked.done():
        analyst.cancel()
        wait([asked], CANCEL_S)


def _reported(order: Order, watch: Watch) -> Callable[[float], None]:
    def report(for_s: float) -> None:
        doing = f"{described(order)}: {for_s:.0f} s"
        watch(Event(kind="progress", doing=doing, data={"order": order.model_dump()}))

    return report


def _tally(number: int, took_s: float, *, answered: bool) -> Tally:
    counts = Counts(started=1, committed=int(answered), failed=int(not answered))
    return Tally(
        users=1,
        window_s=took_s,
        whole_s=took_s,
        transactions={f"query_{number}": TransactionTally(whole=counts, window=counts)},
        latency=None,
    )


def _checks(query: AskedQuery, answer: Rows | None) -> tuple[Check, ...]:
    """Whether the answer is right, where that is known."""
    if answer is None or query.judge is None:
        return ()
    wrong = query.judge(answer)
    what = f"has {wrong}" if wrong else "is that of DuckDB over the same rows"
    return (
        Check(
            name="answer",
            passed=not wrong,
            seen=wrong or "the same",
            limit="the same",
            sentence=f"The answer of query {query.number} {what}.",
        ),
    )


def _cancelled(number: int, answer: Rows | None, limit_s: float) -> tuple[Remark, ...]:
    if answer is not None:
        return ()
    words = f"query {number} was cancelled after {limit_s:g} s, the limit of the plan"
    return (Remark(kind="cancelled", severity="invalid", words=words, value=limit_s, unit="s"),)
