"""Measure one rung: so many users (or such a rate) on one server, from the first connection to the
last check.

Order of things: idle counts; connect; go; warm up; window; cool down; idle counts again; then the
record is summarised and judged.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from kneebench.analysis.wording import number_of_users
from kneebench.core_errors import ConnectError
from kneebench.databases.engine import HasDatabases, ReachedByUsers, Server
from kneebench.errors import InvalidMeasurement
from kneebench.hosts.load_hosts import LoadHosts
from kneebench.measurement.held_window import HeldWindow, hold_window, moved_at_last
from kneebench.measurement.idle_counts import Idle
from kneebench.measurement.instruments import ALONE, RungMachines, Samples
from kneebench.measurement.meters.meter import MeterContext
from kneebench.measurement.power.recorder import PowerRecorder
from kneebench.measurement.rung_runner import (
    RungRunner,
    described,
    losses_reported,
    make_log_ready,
    refusing_stuck,
)
from kneebench.measurement.rung_summary import LoadRecord, RungRecord, summarised
from kneebench.measurement.silence import Seen, silences
from kneebench.measurement.summaries import series
from kneebench.measurement.validity import judged, refuse_starved, with_faults
from kneebench.measurement.warm_up import (
    LOG_MOST_S,
    WARM,
    Beginning,
    Schedule,
    completed_before,
    schedule,
    warm_up,
)
from kneebench.plan.database_plan import RungPlan
from kneebench.records import (
    SYSTEM_POWER,
    Order,
    PowerWindow,
    Remark,
    Rung,
    Second,
    Series,
    Summary,
    Watch,
)
from kneebench.workload import LoadGenerators, generator_spec, running_load


class MeasuredRung(NamedTuple):
    """A rung with its series and seconds.

    `disturbed`: the outside disturbance that made it invalid and may not recur.
    """

    rung: Rung
    series: tuple[Series, ...]
    seconds: tuple[Second, ...]
    disturbed: str = ""


def measure(
    order: Order,
    plan: RungPlan,
    server: Server,
    watch: Watch,
    beginning: Beginning = WARM,
    machines: RungMachines = ALONE,
) -> MeasuredRung:
    """Measure one rung; `machines`: what reads the server's, and where the users run.

    Raises DatabaseLost when the server goes away, InvalidMeasurement when it runs out of room,
    memory or connections, does not let the users in, or somebody else's lock keeps them waiting.
    """
    cycle_s = plan.engine.checkpoint_cycle_s(server.settings)
    times = schedule(order, plan.ladder, cycle_s, beginning)
    context = MeterContext(server, server.paths, machines.log_trace, machines.links)
    with losses_reported(server, described(order)):
        record = _run_load(order, plan, context, times, watch, machines)
    devices = machines.instruments.counted_devices(server.paths, server.roles)
    load = record.load
    rung, outside = judged(summarised(record, plan, server, devices), load.held, _silent(record))
    power = rung_power(machines.power, load.clock_s, load.held)
    at_s = record.raw_series[-1].at_s[1 : load.held.last + 1]
    return MeasuredRung(
        with_faults(power.on(rung), machines.instruments.storage_faults(server.paths)),
        (*series(at_s, load.values[: load.held.last]), *power.series),
        load.seconds,
        outside,
    )


def _run_load(
    order: Order,
    plan: RungPlan,
    context: MeterContext,
    times: Schedule,
    watch: Watch,
    machines: RungMachines,
) -> RungRecord:
    """Run the rung's load, with what the database counts while idle before and after it."""
    started_at = datetime.now(UTC).isoformat(timespec="seconds")
    server = context.server
    before = _idle(server)
    make_log_ready(server, times.shortest_s + times.logged_s, LOG_MOST_S)
    generator = load_of(order, plan, server, machines.load_hosts)
    _connect(generator, order, server)
    real = plan.engine.measures_real_hardware
    with _pin_to(plan.workload.load_generator_cores if real else ()):
        opened = machines.instruments.samples(plan.meters, context, real=real)
        with contextlib.closing(opened) as sampler:
            load = _under_load(generator, order, times, sampler, server, watch, machines.power)
            refuse_starved(order, load.tally, plan.engine)
            after = _idle(server)
            sampler.sample()
    return RungRecord(order, started_at, before, load, after, sampler.raw_series, sampler.remarks)


def load_of(
    order: Order, plan: RungPlan, server: Server, load_hosts: LoadHosts | None
) -> LoadGenerators:
    """The users of an order, on this machine or on the load hosts."""
    spec = generator_spec(plan.workload, plan.seed, order)
    if load_hosts and isinstance(server, ReachedByUsers):
        threads = plan.workload.load_generator_threads
        return load_hosts.load(spec, server.users_address(), threads)
    return server.load_generator(spec)


def _idle(server: Server) -> Idle:
    each = server.next_order_ids() if isinstance(server, HasDatabases) else ()
    ids = sum(each) if each else server.sum_next_order_ids()
    commits, rollbacks = server.transaction_counts() or (None, None)
    return Idle(ids, commits, rollbacks, each)


def _connect(generator: LoadGenerators, order: Order, server: Server) -> None:
    """Open every connection before the clock starts."""
    try:
        generator.ready()
    except ConnectError as error:
        if server.alive():
            raise
        do = f"{server.connection_hint(error.code, error.message)}; completed rungs are saved"
        raise InvalidMeasurement(
            f"cannot connect {number_of_users(order.users)}", seen=error.message, do=do
        ) from error


@contextlib.contextmanager
def _pin_to(cores: Sequence[int]) -> Iterator[None]:
    """Pin this thread, which reads the meters, to the load generator's cores if the plan names
    any.
    """
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores or before)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _under_load(
    generator: LoadGenerators,
    order: Order,
    times: Schedule,
    sampler: Samples,
    server: Server,
    watch: Watch,
    power: PowerRecorder | None,
) -> LoadRecord:
    """Run the load, from go to the last response."""
    with running_load(generator) as users:
        runner = RungRunner(order, users, sampler, server, watch, power)
        warmed = warm_up(runner, times)
        warm_up_s = runner.now_s
        held = hold_window(runner, times)
        with refusing_stuck(server, f"{described(order)}, waiting for the last responses"):
            tally = users.stop()
    return LoadRecord(
        tally,
        warmed,
        held,
        warm_up_s,
        runner.read,
        tuple(runner.seconds),
        completed_before(runner, warm_up_s),
        None if warmed.steady else moved_at_last(runner, held, times),
        runner.power.at_s,
        tuple(runner.progress),
        tuple(runner.ended_s),
    )


def _silent(record: RungRecord) -> tuple[Remark, ...]:
    load = record.load
    first, last = load.held.first, load.held.last
    seen = Seen(load.tally, load.progress, load.ended_s, record.raw_series, first, last)
    return tuple(silences(seen))


# The power of a rung: of its window, and of each second since go.


class RungPower(NamedTuple):
    """What was measured; nothing without meters."""

    window: PowerWindow | None = None
    series: tuple[Series, ...] = ()

    def on(self, rung: Rung) -> Rung:
        """The rung with its power."""
        if not self.window:
            return rung
        changed: dict[str, object] = {"power": self.window}
        if self.window.system_w is not None:
            each = {one.meter: one.watts for one in self.window.meters if one.watts is not None}
            high = next(
                (one.high_w for one in self.window.meters if one.watts == self.window.system_w),
                None,
            )
            summary = Summary(unit="W", value=self.window.system_w, high=high, sources=each)
            changed["quantities"] = {**rung.quantities, SYSTEM_POWER: summary}
        return rung.model_copy(update=changed)


def rung_power(
    power: PowerRecorder | None, clock_s: Sequence[float], held: HeldWindow
) -> RungPower:
    """The power of a window, which began and ended with these samples of the rung."""
    if not power:
        return RungPower()
    begin_s, end_s = clock_s[held.first], clock_s[held.last]
    window = power.window(begin_s, end_s)
    return RungPower(window, power.series(clock_s[0], end_s))
