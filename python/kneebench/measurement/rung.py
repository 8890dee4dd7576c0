"""One rung, watched: so many users (or such a rate) on one server, from the first connection to the last check.

Order of things: idle counts; connect; go; warm up; window; cool down; idle counts again; summaries and checks.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from kneebench._core import ConnectError, LoadGenerator
from kneebench.analysis import disturbance
from kneebench.databases.engine import Server
from kneebench.errors import InvalidMeasurement
from kneebench.measurement import delay
from kneebench.measurement.checks import CheckInput, Idle, checks, counted_by_the_database, rise, warehouses_note
from kneebench.measurement.derived_metrics import derived_metrics
from kneebench.measurement.meters import open_meters
from kneebench.measurement.meters.meter import MeterContext
from kneebench.measurement.rung_runner import RungRunner, described, losses_reported
from kneebench.measurement.sampler import Sampler
from kneebench.measurement.stuck import refusing_stuck
from kneebench.measurement.summaries import Values, series, summaries, window
from kneebench.measurement.validity import disturbed, invalid, refuse_starved
from kneebench.measurement.warm_up import Held, Schedule, WarmedUp, hold_window, schedule, warm_up
from kneebench.plan import Plan
from kneebench.records import Counted, Order, Rung, Second, Series, Tally, Watch
from kneebench.workload import generator_spec, running_load


class MeasuredRung(NamedTuple):
    """A rung with its series and seconds. `disturbed`: the outside disturbance that made it invalid and may not recur."""

    rung: Rung
    series: tuple[Series, ...]
    seconds: tuple[Second, ...]
    disturbed: str = ""


class LoadRecord(NamedTuple):
    """Record of a rung's load, from go to stop."""

    tally: Tally
    warmed: WarmedUp
    held: Held
    warm_up_s: float
    sampler: Sampler
    read: Sequence[Values]
    seconds: tuple[Second, ...]


def measure(order: Order, plan: Plan, server: Server, storage_paths: Sequence[Path], watch: Watch, *, cold: bool = False) -> MeasuredRung:
    """Measure one rung; `cold` where it is the first on a restored database, which takes longer to warm.

    Raises DatabaseLost when the server goes away, InvalidMeasurement when it runs out of room, memory or
    connections, does not let the users in, or somebody else's lock keeps them waiting.
    """
    started_at = datetime.now(UTC).isoformat(timespec="seconds")
    engine = plan.engine
    cycle_s = engine.checkpoint_cycle_s(server.settings)
    times = schedule(order, plan.ladder, cycle_s, cold=cold)
    with losses_reported(server, described(order)):
        before = _idle(server)
        generator = server.load_generator(generator_spec(plan, order))
        _connect(generator, order, server)
        sampler = Sampler(open_meters(plan.meters, MeterContext(server, storage_paths), not engine.measures_real_hardware), server.now_s)
        with _kept_on(plan.workload.load_generator_cores if engine.measures_real_hardware else ()):
            seen = _under_load(generator, order, times, sampler, server, watch)
        refuse_starved(order, seen.tally, engine)
        after = _idle(server)
        seen.sampler.sample()
    raw_series, first, last = seen.sampler.raw_series, seen.held.first, seen.held.last
    tpm = counted_by_the_database(seen.tally, before, after)
    evidence = CheckInput(order, plan.workload, seen.tally, before, after, tpm, _scans(seen.sampler))
    held = window(raw_series, first, last, seen.read[first:last])
    quantities = summaries(held) | derived_metrics(held, seen.tally, server.cores, plan.workload.load_generator_cores, seen.held.late_s)
    rung = Rung(
        order=order,
        started_at=started_at,
        warm_up_s=seen.warm_up_s,
        steady=seen.warmed.steady,
        tally=seen.tally,
        tpm=tpm,
        counted=Counted(**rise(before, after)._asdict()),
        quantities=quantities,
        checks=checks(evidence),
        notes=(*_notes(evidence, seen), *(delay.notes(seen.tally) if engine.measures_real_hardware else ()), *server.notes),
        invalid=invalid(order, seen.tally, plan.ladder.stops.errors.share),
    )
    rung, outside = _judged(rung, seen.held)
    return MeasuredRung(rung, series(raw_series[-1].at_s[1 : last + 1], seen.read[:last]), seen.seconds, outside)


def _judged(rung: Rung, held: Held) -> tuple[Rung, str]:
    """The rung with what disturbed it from outside; and that alone, where it makes the rung invalid."""
    outside = disturbed(rung, held)
    reasons = "; ".join(filter(None, (outside, rung.invalid)))
    return rung.model_copy(update={"invalid": reasons, "notes": (*rung.notes, *disturbance.notes(rung))}), outside


def _idle(server: Server) -> Idle:
    return Idle(server.sum_next_order_ids(), *server.transaction_counts())


def _connect(generator: LoadGenerator, order: Order, server: Server) -> None:
    """Open every connection before the clock starts."""
    try:
        generator.ready()
    except ConnectError as error:
        if server.alive():
            raise
        do = f"{server.connection_hint(error.code, error.message)}; completed rungs are saved"
        raise InvalidMeasurement(f"connecting {order.users} users", seen=error.message, do=do) from error


@contextlib.contextmanager
def _kept_on(cores: Sequence[int]) -> Iterator[None]:
    """Pin this thread, which reads the meters, to the load generator's cores if the plan names any."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores or before)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _under_load(generator: LoadGenerator, order: Order, times: Schedule, sampler: Sampler, server: Server, watch: Watch) -> LoadRecord:
    """Run the load, from go to the last response."""
    with running_load(generator) as users:
        runner = RungRunner(order, users, sampler, server, watch)
        warmed = warm_up(runner, times)
        warm_up_s = runner.now_s
        held = hold_window(runner, times)
        with refusing_stuck(server, f"{described(order)}, waiting for the last responses"):
            tally = users.stop()
    return LoadRecord(tally, warmed, held, warm_up_s, sampler, runner.read, tuple(runner.seconds))


def _scans(sampler: Sampler) -> dict[str, float] | None:
    """Sequential scans by table from go to idle; None if the server does not report them."""
    found: dict[str, float] = {}
    for raw in sampler.raw_series:
        for key, count in raw.values[-1].items():
            quantity, _, table = key.partition("|")
            if quantity == "tables.sequential_scans":
                found[table] = count - raw.values[0].get(key, 0.0)
    return found or None


def _notes(evidence: CheckInput, seen: LoadRecord) -> tuple[str, ...]:
    unsteady = () if seen.warmed.steady else (f"not steady: {seen.warmed.why}",)
    few = warehouses_note(evidence.order, evidence.workload)
    unseen = ("sequential scans not checked: no meter reports them",) if evidence.scans is None else ()
    return (*unsteady, *seen.warmed.notes, *seen.held.notes, *few, *unseen, *seen.sampler.notes)
