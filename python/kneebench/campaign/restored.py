"""Restored databases: one that rungs are measured on, or those of all configurations side by side.

A database is restored when the first rung really has to be measured, so a resumed campaign restores
nothing for rungs that it has already. Everything measured is kept at once.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from kneebench.analysis.background import background_kinds
from kneebench.analysis.disturbance import CLIMBING, TRIES, caveats, heavier
from kneebench.analysis.wording import number_of_users
from kneebench.campaign.machines.machine import DatabaseMachine
from kneebench.databases.engine import Engine, ReachedByUsers, Server
from kneebench.errors import InvalidMeasurement
from kneebench.hosts.connection import HostLost
from kneebench.hosts.load_hosts import LoadHosts
from kneebench.lab.preparation import Shares
from kneebench.lab.topology import as_list
from kneebench.ladder.climb import Climbing, climb
from kneebench.ladder.final_runs import Load
from kneebench.ladder.steps import ClimbStep
from kneebench.measurement.background import BackgroundWork
from kneebench.measurement.instruments import RungMachines
from kneebench.measurement.measure import MeasuredRung, measure
from kneebench.measurement.meters import log_histogram
from kneebench.measurement.power.recorder import PowerRecorder
from kneebench.measurement.rung_runner import described
from kneebench.measurement.warm_up import Beginning, ColdStart
from kneebench.plan.configurations import largest_beside
from kneebench.plan.database_plan import DatabasePlan, RungPlan
from kneebench.plan.ladder import ROUND_RAMP_S, Ladder
from kneebench.plan.workload import Workload
from kneebench.records import Configuration, Event, Link, Order, Remark, Rung, Setting, Watch, noted
from kneebench.results.campaign_reader import rungs_in, workload
from kneebench.results.joining import sized_otherwise
from kneebench.results.store import Store
from kneebench.workload import on_cores

RESUMED = (
    "{}: this climb was resumed on a freshly restored database; drift and consistency checks cover"
    " only what was measured after the resume"
)
RESUMED_ROUNDS = (
    "{}: the rounds on restore {} were resumed on a freshly restored database, so those after the"
    " resume began at a younger age"
)


CORES_UNKNOWN = (
    "the climb started at 1 user because the core count of an external server is unknown"
)


class Context(NamedTuple):
    """What every measurement of a campaign needs."""

    databases: Mapping[str, DatabasePlan]
    """By name, as the study has them."""
    configurations: tuple[Configuration, ...]
    """The baseline's first."""
    engine: Engine
    store: Store
    watch: Watch
    machine: DatabaseMachine
    in_force: Sequence[Setting] = ()
    """The kernel's settings of the plan."""
    load_hosts: LoadHosts | None = None
    """Where the users run; None for this machine."""
    link: Link | None = None
    """The network to them, where it was measured."""
    power: PowerRecorder | None = None

    def database(self, configuration: Configuration) -> DatabasePlan:
        """The one that a configuration has."""
        return self.databases[configuration.database]

    @property
    def ladder(self) -> Ladder:
        """The plan's, without stop conditions of a storage's own."""
        return next(iter(self.databases.values())).ladder

    @property
    def workload(self) -> Workload:
        """The plan's."""
        return next(iter(self.databases.values())).workload

    @property
    def machines(self) -> RungMachines:
        """Those of every rung."""
        carries = self.link and self.link.carries
        links = {self.link.interface: carries} if self.link and carries else {}
        return RungMachines(self.machine.instruments, self.load_hosts, links, self.power)

    def with_its_cores(self, configuration: Configuration) -> RungPlan:
        """The plan of a configuration's rungs, with the cores that its load generator has."""
        database = self.database(configuration)
        cores = Shares(database).load_generator_cores(configuration)
        plan = database.rungs_of(configuration)
        return plan._replace(workload=on_cores(plan.workload, cores))

    def gathering(self) -> tuple[list[Setting], Watch]:
        """The kernel's settings, and a watcher that adds those of a volume's drives, which are
        reported while it is made.
        """
        kernel = [*self.in_force]

        def watched(event: Event) -> None:
            if isinstance(settings := event.data.get("settings"), tuple):
                kernel.extend(settings)
            self.watch(event)

        return kernel, watched

    def report_rung(self, rung: Rung, *, kept: bool) -> None:
        """Report a rung to the watcher: measured now, or kept from before."""
        data = {"rung": rung, "kept": kept, "in": str(self.store.folder)}
        self.watch(Event(kind="rung", doing=number_of_users(rung.users), data=data))


class Turns(Protocol):
    """The databases that take turns, one under load at a time (bench.py)."""

    def servers(self) -> Mapping[str, Server]:
        """The servers by configuration."""
        ...

    def checkpoint(self) -> None:
        """A checkpoint on every server; transactions count from there."""
        ...

    def begins_at(self, order: Order) -> int:
        """Transactions since the restore after which the window of an order begins."""
        ...


class Restored:
    """One restored database: made on first use, removed at the end.

    `load` is measured on it first, for nothing; without one, the first rung that is kept of a
    database that was here before. `beside` are the databases that take turns with this one; without
    it, background work is left to happen, and final runs begin after `begins_at` transactions.
    """

    def __init__(
        self,
        context: Context,
        configuration: Configuration,
        restore: int = 0,
        load: Load | None = None,
        beside: Turns | None = None,
        begins_at: int = 0,
    ) -> None:
        self.context, self.configuration, self.restore = context, configuration, restore
        self.plan = context.with_its_cores(configuration)
        self._load, self._beside, self._begins_at = load, beside, begins_at
        self._stack = contextlib.ExitStack()
        self._server: Server | None = None
        self._machines = context.machines
        self._restore_s: float | None = None
        """What restoring took, until a rung says it."""
        self.transactions, self._under_load_s, self._knee_per_s = 0, 0.0, 0.0
        """Since the restore, or since a checkpoint on all that take turns; at the latest load."""
        self._searched = list[Rung]()
        self._last: Order | None = None
        """The latest order that was measured or kept."""

    def __enter__(self) -> Restored:
        return self

    def __exit__(self, *error: Any) -> None:
        """What failed reaches those who prepared the storage: they may know why."""
        self._stack.__exit__(*error)

    # --- the server -------------------------------------------------------------------------------

    @property
    def server(self) -> Server:
        """The server, restored and started on first use."""
        return self._server or self._restored()

    def _restored(self) -> Server:
        context = self.context
        kernel, watched = context.gathering()
        restored = context.engine.restored(self.configuration, watched, self.restore)
        self._server = server = self._stack.enter_context(restored)
        self._restore_s = server.restore_s
        if log_histogram.NAME in self.plan.meters and self.plan.engine.measures_real_hardware:
            trace = self._stack.enter_context(context.machine.instruments.log_trace(server))
            self._machines = self._machines._replace(log_trace=trace)
        self._keep_settings((*server.settings, *kernel, *self._load_generator))
        return server

    def _keep_settings(self, settings: Sequence[Setting]) -> None:
        store, own = self.context.store, self.configuration.database
        store.put_settings(self.configuration, settings)
        database = self.context.databases[own].database
        sized = [one for one in database.sized_settings if one != database.cache_setting]
        others = [one.id for one in self.context.configurations if one.database != own]
        if note := sized_otherwise(store.campaign, self.configuration, sized, others):
            store.put_note(note)

    @property
    def _load_generator(self) -> Iterator[Setting]:
        """The cores of the load generator, where a constraint has moved it there."""
        cores = self.plan.workload.load_generator_cores
        planned = self.context.database(self.configuration).workload
        if cores != planned.load_generator_cores:
            name, value = "cores of the load generator", as_list(cores)
            yield Setting(name=name, value=value, source="constraint (affinity)", matters=True)

    # --- its rungs --------------------------------------------------------------------------------

    def climb(self) -> Climbing:
        """The steps of a climb on it. The cores of a server on another machine are unknown: its
        climb begins at 1 user.
        """
        cores, ladder = self.context.engine.where(self.configuration).cores, self.plan.ladder
        if not cores and not ladder.first:
            self.context.store.put_note(CORES_UNKNOWN)
        return climb(ladder, len(cores) or 1)

    def step(self, step: ClimbStep) -> Rung:
        """The rung of a step of the climb."""
        return self.rung(step.on(self.configuration.id))

    def rung(self, order: Order) -> Rung:
        """The kept rung of this order, or else a new one, measured and kept."""
        kept = self.context.store.rung(order)
        if kept and self._server is None:
            self._load = self._load or Load(order)
        rung = kept or self._measure_and_keep(order)
        self._last = order
        if order.phase in CLIMBING:
            self._searched.append(rung)
        self.context.report_rung(rung, kept=kept is not None)
        return rung

    def load_again(self) -> bool:
        """True if the database was restored and cold, and a load was put on it now: before rounds,
        before the fixed rate of a final run, or after a resume.

        It fills the cache, as it did before, and leaves the consistency conditions something to
        find.
        """
        if self._server is not None or self._load is None:
            return False
        if not self.restore:
            self.context.store.put_note(RESUMED.format(self.configuration.name))
        elif self._load.order.restore and self._last:
            note = RESUMED_ROUNDS.format(self.configuration.name, self.restore)
            self.context.store.put_note(note)
        self._measure(self._load.order, cold=True, warm_up_s=self._load.warm_up_s)
        return True

    def check_conditions(self) -> None:
        """Check the consistency conditions after the last rung, unless that was done before."""
        if self._last and not self.context.store.has_conditions(self._last):
            self.load_again()
            found = self.server.conditions(self.context.watch)
            self.context.store.put_conditions(self._last, found)

    def _measure_and_keep(self, order: Order) -> Rung:
        """The first attempt that nothing disturbed, or the last one; the others are remarks, and so
        are the hosts that were lost in them.
        """
        cold = not self._under_load_s and not self.load_again()
        tried, lost = list[str](), list[Remark]()
        while True:
            measured = self._attempt(order, cold=cold and not tried)
            disturbed, tries = disturbed_by(measured, self._searched, self.context.store.latest)
            if not disturbed or len(tried) + 1 >= tries:
                break
            lost += [one for one in measured.rung.remarks if one.kind == "host_lost"]
            tried.append(f"{measured.rung.tally.nopm:,.0f} NOPM, {disturbed}")
            attempt = f"attempt {len(tried)} of {tries} is {disturbed}"
            self.context.watch(Event(kind="warning", doing=f"{described(order)}: {attempt}"))
        rung = with_tries(measured.rung.with_remarks(*lost), tried)
        rung = rung.model_copy(update={"restore_s": self._restore_s})
        self._restore_s = None
        self.context.store.put(measured._replace(rung=rung))
        return rung

    def _attempt(self, order: Order, *, cold: bool) -> MeasuredRung:
        """Invalid if background work began meanwhile on a server side by side: all then make a
        checkpoint, so that the next attempt is alike on all.
        """
        servers = self._beside.servers() if self._beside else {}
        databases = self.context.databases.values()
        kinds = background_kinds(*(one.engine.own_quantities for one in databases))
        background = BackgroundWork(servers, kinds)
        measured = self._measure(order, cold=cold)
        if not (began := background.began()) or not self._beside:
            return measured
        self._beside.checkpoint()
        remark = Remark(kind="background", severity="invalid", words=began)
        return measured._replace(rung=measured.rung.with_remarks(remark))

    def _measure(self, order: Order, *, cold: bool, warm_up_s: float | None = None) -> MeasuredRung:
        """Begun again where a load host is lost meanwhile."""
        context, server = self.context, self.server
        start = cold_start(self.configuration, context) if cold else None
        first = not self._under_load_s
        beginning = Beginning(start, warm_up_s, self._missing(order), first)
        losses = Losses(context, server, order)
        while True:
            try:
                measured = measure(
                    order, self.plan, server, context.watch, beginning, self._machines
                )
                break
            except HostLost as error:
                losses.overcome(error)
        return self._aged(order, measured, losses)

    def _aged(self, order: Order, measured: MeasuredRung, losses: Losses) -> MeasuredRung:
        """A rung with the age that the database had in its window; it is older now."""
        rung = measured.rung.with_remarks(*noted("host_lost", *losses.before))
        begun = self.transactions + (rung.discarded or 0)
        self.transactions += rung.tally.whole.completed
        if order.rate_per_s is None:
            self._knee_per_s = rung.tally.throughput_per_s
        age_s = self._under_load_s + rung.warm_up_s
        self._under_load_s += rung.tally.whole_s
        age = {"age_s": round(age_s, 3), "age_transactions": begun}
        return measured._replace(rung=rung.model_copy(update=age))

    def after_ramp(self, order: Order) -> float:
        """About how many transactions it will have had after the ramp of a round."""
        return self.transactions + ROUND_RAMP_S * (order.rate_per_s or self._knee_per_s)

    def _missing(self, order: Order) -> int:
        """Transactions until the window may begin: after as many since the restore on all."""
        begins_at = self._begins_at if order.phase == "final_run" else 0
        if self._beside:
            begins_at = self._beside.begins_at(order)
        return max(0, begins_at - self.transactions)


# When a rung is measured again, and what is kept of the attempts before.


def disturbed_by(
    measured: MeasuredRung, searched: Sequence[Rung], before: Rung | None
) -> tuple[str, int]:
    """(what disturbed a rung so that it is measured again, or nothing; attempts at most).

    A short round, or a run of queries, is measured again for any reason, also once more if other
    processes or a hypervisor used more of the cores than a caveat allows. So is a rung of a climb,
    and one that fell behind a checkpoint, unlike those `searched` before it. What also disturbed
    the rung kept `before` is likely to stay: it is no reason.
    """
    rung = measured.rung
    round_ = bool(rung.order.restore or rung.queries)
    if invalid := measured.disturbed or (round_ and rung.invalid):
        return f"invalid: {invalid}", TRIES
    climbing = rung.order.phase in CLIMBING
    stays = {one.kind for one in caveats(before)} if before else set()
    seen = [one.words for one in caveats(rung) if one.kind not in stays]
    seen += heavier(rung, searched) if climbing else ()
    return (f"disturbed: {'; '.join(seen)}", 2) if seen and (round_ or climbing) else ("", 1)


def with_tries(rung: Rung, tried: Sequence[str]) -> Rung:
    """The rung with a note for each attempt before it, which is not kept."""
    repeated = (
        f"attempt {number} of {len(tried) + 1} was repeated: {seen}"
        for number, seen in enumerate(tried, start=1)
    )
    return rung.with_remarks(*noted("repeated", *repeated))


# Cold starts: what a restored database has to reach before its first window.
#
# Limited memory has to be filled. A reference without a limit has more to fill and looks steady
# long before it is as warm as the largest configuration beside it. So it reads at least as much as
# that one's memory holds, and warms at least as long as that one has taken so far.


def cold_start(configuration: Configuration, context: Context) -> ColdStart | None:
    """That of a configuration among all of its campaign, by the rungs measured until now; None
    where what a restore leaves is warm.
    """
    store = context.store
    if not context.database(configuration).database.restored_cold:
        return None
    largest = largest_beside(configuration, context.configurations)
    if largest is None:
        return ColdStart(configuration.memory_bytes or 0)
    rungs = rungs_in(store.folder, workload(store.campaign))
    first = (r for r in rungs if r.order.configuration == largest.id and r.restore_s is not None)
    least_s = max((rung.age_s or rung.warm_up_s for rung in first), default=0.0)
    return ColdStart(largest.memory_bytes or 0, least_s)


TIMES = 3
"""So often a rung is begun again."""
ENDED_S, LOOK_S = 30.0, 0.2
"""For the sessions of a lost host to end, and between two looks."""


class Losses:
    """Load hosts that are lost in mid-rung: the others stop, no session is left on the server, and
    the rung is measured again once the host is back. `before`: those that were.
    """

    def __init__(self, context: Context, server: Server, order: Order) -> None:
        self._context, self._server, self._order = context, server, order
        self.before: list[str] = []

    def overcome(self, error: HostLost) -> None:
        """Wait until the host is back. Raises the error where it stays away, or too many were lost:
        the campaign is resumed there.
        """
        watch, load_hosts = self._context.watch, self._context.load_hosts
        if load_hosts is None or len(self.before) >= TIMES:
            raise error
        self.before.append(f"{error.what} ({error.seen})")
        doing = f"{described(self._order)}: invalid: {self.before[-1]}"
        watch(Event(kind="warning", doing=doing))
        end_all_users(self._server)
        load_hosts.connect_again(error)
        watch(Event(kind="start", doing=f"host {error.name} is back; measuring again"))


def end_all_users(server: Server) -> None:
    """End the sessions that a lost host left. Raises InvalidMeasurement where some stay."""
    until = time.monotonic() + ENDED_S
    while isinstance(server, ReachedByUsers) and (left := server.end_users()):
        if time.monotonic() > until:
            seen = f"{left} of them are still there after {ENDED_S:g} s"
            do = "end them by hand; completed rungs are saved"
            raise InvalidMeasurement("cannot end the users' sessions", seen=seen, do=do)
        time.sleep(LOOK_S)
