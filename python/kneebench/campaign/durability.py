"""Durability: a server is cut off under load, started again, and asked for every order that it had
acknowledged.

The load generator keeps the ledger, outside of what is cut off. An order without an answer is
unknown: it is looked up, and never called lost.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from functools import partial
from math import inf
from typing import Any, NamedTuple

from kneebench.analysis.durability import told
from kneebench.analysis.wording import plural
from kneebench.databases.engine import Crashing, Engine, KeepsOrders, crashes, finding_of
from kneebench.databases.tproc_c.orders import Ledger, left_of
from kneebench.errors import (
    CheckFailed,
    FileSystemLost,
    InvalidMeasurement,
    KneebenchError,
    PlanError,
)
from kneebench.plan.database_plan import DatabasePlan
from kneebench.plan.durability import DEFAULT_USERS
from kneebench.plan.storage import ROLES
from kneebench.plan.study import Study
from kneebench.plan.volume import can_lose_power
from kneebench.records import Configuration, Cut, Event, Finding, Order, Watch
from kneebench.records import CutLevel as Level
from kneebench.workload import RunningLoad, generator_spec, running_load

LEAST_S, MOST_S = 2.0, 6.0
"""Time under load before a cut: random, so that cuts fall anywhere between two checkpoints."""
EARLIER = 4
"""Earlier moments of one load, to which recorded drives are put back as well."""
WITHIN_S = 0.5
"""Moments of a load begin so long after its start."""
LOST_S = 180.0
"""Within this time users lose their connections to a server that was cut off: the kernel of a
machine that is back refuses what they send again."""
HERE = "cut off servers that kneebench starts on its own machine"
RECOVERY_S, RESTORE_S = 12.0, 15.0
"""About how long a server takes to recover, with the checks after it, and a restore."""


class Cuts(NamedTuple):
    """How often a configuration's server is cut off, under the load of how many users; `made`
    before.
    """

    level: Level
    times: int
    users: int
    made: int = 0


def cuts_s(study: Study) -> float:
    """About how long the cuts of a plan take."""
    wanted = study.durability
    if wanted.level in ("auto", "none"):
        return 0.0
    each_s = RESTORE_S + wanted.cuts * ((LEAST_S + MOST_S) / 2 + RECOVERY_S)
    return len(cut_configurations(study.configurations)) * each_s


def cuts_wanted(study: Study) -> Cuts:
    """What the plan says, for a command that cuts servers off whatever it says."""
    wanted = study.durability
    level: Level = "server"
    if wanted.level != "auto" and wanted.level != "none":
        level = wanted.level
    return Cuts(level, wanted.cuts, wanted.users or DEFAULT_USERS)


def for_cuts(study: Study, level: Level) -> dict[str, DatabasePlan]:
    """The study's databases, ready for cuts of this level. Raises PlanError for storages whose
    drives have no power that could be cut.
    """
    if not study.measures_real_hardware:
        raise PlanError("durability.level", seen="a model has nothing to lose", do="leave it out")
    if study.workload.databases > 1:
        seen = "a ledger of orders is of one database, and the server has several"
        raise PlanError("durability.level", seen=seen, do="leave it out, or use one database")
    by_url = [bool(url) for one in study.databases.values() for url in one.urls.values()]
    if level == "cut" and not all(by_url):
        do = "name the servers by URL, each with database.cut_command"
        raise PlanError("durability.level", seen="kneebench starts the servers itself", do=do)
    tables = [one.database for one in study.databases.values()]
    if level == "cut" and not all(getattr(one, "cut_command", "") for one in tables):
        do = "set it to what cuts the power of the server's machine"
        raise PlanError("database.cut_command", seen="the plan has none", do=do)
    if level == "cut" and not study.hosts.database.ssh:
        return study.databases
    if any(by_url):
        seen, do = "a server by URL can only be cut off by a command", 'use the level "cut"'
        raise PlanError("durability.level", seen=seen, do=do)
    if study.hosts.database.ssh:
        raise PlanError("durability.level", seen="the servers are on another machine", do=HERE)
    if level == "server":
        return study.databases
    for name, storage in study.storages.items():
        drives = [drive for one in storage.volumes_by_path.values() for drive in one.drives]
        paths = [key for key in ROLES if getattr(storage, key)]
        if not drives or paths or any(not can_lose_power(drive) for drive in drives):
            seen = f"storage {name!r} is not on emulated drives alone (class memory has no power)"
            do = 'give it such drives, or cut at the level "server"'
            raise PlanError("durability.level", seen=seen, do=do)
    return {name: one._replace(recorded=True) for name, one in study.databases.items()}


def durability_findings(study: Study, engine: Engine) -> Iterator[Finding]:
    """What keeps the plan's servers from being cut off; none unless it wants that."""
    level = study.durability.level
    if level != "auto" and level != "none":
        yield from map(finding_of, _obstacles(study, engine, level))


def level_of(study: Study, engine: Engine, *, judged: bool) -> Level | None:
    """At which level the study's servers are cut off after its final runs; None: they are not.
    `judged`: the campaign is run to be accepted.
    """
    level = study.durability.level
    if level == "auto":
        level = "server" if judged and not [*_obstacles(study, engine, "server")] else "none"
    return None if level == "none" else level


def _obstacles(study: Study, engine: Engine, level: Level) -> Iterator[PlanError]:
    """What keeps servers from being cut off so."""
    try:
        for_cuts(study, level)
        crashes(engine)
    except PlanError as error:
        yield error


def cut_configurations(configurations: Sequence[Configuration]) -> tuple[Configuration, ...]:
    """One of each storage and database: constraints change nothing that a storage keeps."""
    first: dict[tuple[str, str], Configuration] = {}
    for one in configurations:
        first.setdefault((one.storage, one.database), one)
    return tuple(first.values())


def cut_off(
    engine: Engine,
    databases: Mapping[str, DatabasePlan],
    configuration: Configuration,
    cuts: Cuts,
    watch: Watch,
) -> Generator[Cut, None, None]:
    """Cut the server of a configuration off so many times: one after the other on one restore,
    unless a database does not come back. Recorded drives are also put back to random earlier
    moments of each load: each of these is a cut as well.
    """
    plan, made = databases[configuration.database], cuts.made
    while made < cuts.times:
        with crashes(engine).crashing(configuration, watch) as crashing:
            came_back = True
            while came_back and made < cuts.times:
                watch(Event(kind="start", doing=f"{configuration.name}: load to be cut off"))
                load = CutLoad(crashing, plan, _order(configuration, cuts.users, made + 1), cuts)
                for cut in load.cuts(min(cuts.times - made, 1 + EARLIER), watch):
                    made += 1
                    watch(Event(kind="end", doing=f"{made} of {cuts.times}: {told(cut)}"))
                    yield cut
                    came_back = cut.lost is not None


def _order(configuration: Configuration, users: int, number: int) -> Order:
    return Order(configuration=configuration.id, phase="fixed_load", users=users, repeat=number)


class CutLoad:
    """A load with a ledger, from its start to what is left of it after each cut."""

    def __init__(self, crashing: Crashing, plan: DatabasePlan, order: Order, cuts: Cuts) -> None:
        self._crashing, self._order, self._level = crashing, order, cuts.level
        self._first = self._orders.next_order_numbers()
        spec = generator_spec(plan.workload, plan.seed, order, ledger=True)
        self._generator = crashing.server.load_generator(spec)
        self._kept = b"", b""
        self._began_s = 0.0

    def cuts(self, number: int, watch: Watch) -> Iterator[Cut]:
        """Cut the server off at a random moment; then at earlier ones, the latest first, as far as
        its drives are recorded. What does not come back is the last.
        """
        self._generator.ready()
        self._crashing.begin()
        with running_load(self._generator) as load:
            self._began_s = time.monotonic()
            time.sleep(random.uniform(LEAST_S, MOST_S))  # noqa: S311
            found = self._found(time.monotonic(), self._crashing.cut, watch, load)
        yield found
        for at_s in self._crashing.moments(number - 1, self._began_s + WITHIN_S):
            if found.lost is None:
                return
            found = self._found(at_s, partial(self._crashing.cut, at_s), watch)
            yield found

    def _found(
        self, at_s: float, cut: Callable[[], None], watch: Watch, load: RunningLoad | None = None
    ) -> Cut:
        """What is there after a cut; of the first one, the load is under way."""
        after_s = at_s - self._began_s
        said, recovery_s = self._cut_and_recover(cut, load)
        if load:
            self._end(load)
        ledger = Ledger.read(*self._kept, until_s=inf if load else after_s)
        found = Cut(
            configuration=self._order.configuration,
            level=self._level,
            load=self._order.repeat,
            users=self._order.users,
            after_s=after_s,
            acknowledged=ledger.acknowledged.total(),
            unknown=ledger.unknown.total(),
            recovery_s=recovery_s,
            **said,
        )
        if said:
            return found
        try:
            return found.model_copy(update=self._left(ledger, watch))
        except KneebenchError as error:  # it cannot be read: a damaged page, a missing table
            if isinstance(error, CheckFailed):
                raise
            return found.model_copy(update={"damage": str(error)})

    def _cut_and_recover(
        self, cut: Callable[[], None], load: RunningLoad | None
    ) -> tuple[dict[str, str], float | None]:
        """What does not come back, by the field that says so; else how long it took."""
        try:
            cut()
        except FileSystemLost as error:
            return {"file_system": str(error)}, None
        if load and self._crashing.is_there():  # a command may return before it cuts
            self._await_lost(load, self._crashing.is_there)
        try:
            return {}, self._crashing.recover()
        except KneebenchError as error:
            return {"database": str(error)}, None

    def _end(self, load: RunningLoad) -> None:
        """End the load, which has lost all of its connections, and take its ledger. Raises
        InvalidMeasurement where nothing was cut off, and where nothing had been acknowledged.
        """
        self._await_lost(load)
        errors = load.stop().errors
        self._kept = self._generator.take_ledger()
        if not self._kept[0]:
            seen = f"no order was acknowledged before it ({errors[0].first if errors else 'none'})"
            raise InvalidMeasurement("a cut shows nothing", seen=seen, do="use fewer users")

    def _await_lost(self, load: RunningLoad, is_there: Callable[[], bool] = lambda: True) -> None:
        """Wait until all users have lost their connections, or the server is not there. Raises
        InvalidMeasurement where that does not happen.
        """
        until = time.monotonic() + LOST_S
        while (alive := load.tick().alive) and is_there():
            if time.monotonic() > until:
                seen = f"{plural(alive, 'user')} still had a connection {LOST_S:g} s later"
                do = "correct what cuts the server off"
                raise InvalidMeasurement("the server was not cut off", seen=seen, do=do)

    def _left(self, ledger: Ledger, watch: Watch) -> dict[str, Any]:
        """What is there of its orders, and whether the database is whole."""
        kept = self._orders.orders_from(self._first)
        left = left_of(ledger, kept, self._first, self._orders.next_order_numbers())
        conditions = tuple(self._crashing.server.conditions(watch))
        whole = not left.lost and all(one.passed for one in conditions)
        if left.unsent and whole:
            seen = f"the database has {left.unsent} orders that were never sent"
            raise CheckFailed("the ledger of orders", seen=seen)
        return {**left._asdict(), "conditions": conditions, "damage": self._orders.damage()}

    @property
    def _orders(self) -> KeepsOrders:
        server = self._crashing.server
        assert isinstance(server, KeepsOrders)
        return server
