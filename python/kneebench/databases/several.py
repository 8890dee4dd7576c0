"""The engine of a plan. Those of several databases are one, in which each does the work of its own
configurations.

What no engine can see alone is added: the space that all of them need at once, and that the others
give back what they keep while one has the machine.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import psutil

from kneebench.databases.engine import (
    AdmitsUsers,
    Crashes,
    Crashing,
    Engine,
    Restarting,
    Restarts,
    Server,
    crashes,
)
from kneebench.databases.managed.disk_space import device_of, free_bytes
from kneebench.errors import PlanError
from kneebench.lab.drives import IN_MEMORY, file_system_of
from kneebench.lab.journal import Journal
from kneebench.plan.database import kept_commands
from kneebench.plan.database_plan import DatabasePlan
from kneebench.plan.explanation import dotted
from kneebench.records import Configuration, Finding, Watch, Whereabouts, image_fact
from kneebench.shelf import ENGINES
from kneebench.units import size


def engine_of(databases: Mapping[str, DatabasePlan], journal: Journal) -> Engine:
    """The engine of a plan's only database, or those of several as one, ready to say what it finds;
    nothing is changed yet.

    Raises UnknownPart with the names of the engines, and PlanError for a plan read from results,
    which contain no commands.
    """
    if kept := kept_commands({name: one.database for name, one in databases.items()}):
        raise PlanError(
            f"cannot read {dotted(kept[0])}",
            seen="this is the placeholder that results keep in place of a command",
            do="write the command itself",
        )
    engines: dict[str, Engine] = {
        name: ENGINES.module(one.database.engine, "engine").open_engine(one, journal)
        for name, one in databases.items()
    }
    if "" in engines:
        return engines[""]
    if all(isinstance(one, Restarts) for one in engines.values()):
        return SeveralThatRestart(databases, engines)
    crash = all(isinstance(one, Crashes) for one in engines.values())
    return (SeveralThatCrash if crash else SeveralEngines)(databases, engines)


class SeveralEngines:
    """An engine for each database of a plan, by the database's name."""

    def __init__(self, plans: Mapping[str, DatabasePlan], engines: Mapping[str, Engine]) -> None:
        self._plans, self._engines = plans, engines
        self._up = 0

    def findings(self) -> Sequence[Finding]:
        """Those of each engine; with short rounds also whether all databases fit at once."""
        found = {name: [*engine.findings()] for name, engine in self._engines.items()}
        first = next(iter(self._plans.values()))
        if first.ladder.rounds != "short":
            return together(found)
        times = len(first.configurations) // len(first.storages)
        every = [one for some in found.values() for one in some]
        return (*together(found), *_shortages(every, times))

    def where(self, configuration: Configuration) -> Whereabouts:
        """As the engine of the configuration's database knows it."""
        return self._engines[configuration.database].where(configuration)

    def admit(self, addresses: Sequence[str]) -> None:
        """To the servers of all engines that start some."""
        for engine in self._engines.values():
            if isinstance(engine, AdmitsUsers):
                engine.admit(addresses)

    def prepare(self, watch: Watch) -> dict[str, str]:
        """Load all databases, or find their images; each fact with the name of its database."""
        return {
            image_fact(name, fact): value
            for name, engine in self._engines.items()
            for fact, value in engine.prepare(watch).items()
        }

    @contextlib.contextmanager
    def restored(
        self, configuration: Configuration, watch: Watch, restore: int = 0
    ) -> Iterator[Server]:
        """A server of the configuration's engine. While no other server is up, the other engines
        give back what they keep between restores, such as emulated drives.
        """
        engine = self._alone(configuration)
        with engine.restored(configuration, watch, restore) as server:
            self._up += 1
            try:
                yield server
            finally:
                self._up -= 1

    def _alone(self, configuration: Configuration) -> Engine:
        engine = self._engines[configuration.database]
        for other in self._engines.values() if not self._up else ():
            if other is not engine:
                other.close()
        return engine

    def close(self) -> None:
        """Close all of them, also where closing one fails."""
        with contextlib.ExitStack() as stack:
            for engine in self._engines.values():
                stack.callback(engine.close)


class SeveralThatCrash(SeveralEngines):
    """Engines of which each can cut its servers off."""

    def crashing(
        self, configuration: Configuration, watch: Watch
    ) -> contextlib.AbstractContextManager[Crashing]:
        """Of the configuration's engine, as `restored` has it."""
        engine = self._alone(configuration)
        return crashes(engine).crashing(configuration, watch)


class SeveralThatRestart(SeveralThatCrash):
    """Engines of which each can start its servers again."""

    def restarting(
        self, configuration: Configuration, watch: Watch
    ) -> contextlib.AbstractContextManager[Restarting]:
        """Of the configuration's engine; all servers stay up side by side."""
        engine = self._engines[configuration.database]
        assert isinstance(engine, Restarts)
        return engine.restarting(configuration, watch)


def together(found: Mapping[str, Sequence[Finding]]) -> tuple[Finding, ...]:
    """Findings by the name of a database as one list: what all say is in it once, and what one says
    is said of its database. Those of a plan with one database are as they were.
    """
    if len(found) == 1:
        return tuple(*found.values())
    rest = [[*some] for some in found.values()]
    shared = [one for one in rest[0] if all(one in others for others in rest)]
    own = (
        one.model_copy(update={"subject": f"{name}: {one.subject}"})
        for name, some in found.items()
        for one in some
        if one not in shared
    )
    return (*dict.fromkeys(shared), *own)


def of_each_database(
    plans: Mapping[str, DatabasePlan], found: Callable[[DatabasePlan], Iterable[Finding]]
) -> tuple[Finding, ...]:
    """Findings on each database of a plan."""
    return together({name: [*found(one)] for name, one in plans.items()})


def _shortages(found: Sequence[Finding], times: int) -> Iterator[Finding]:
    """File systems with less space than the databases of all configurations, up side by side, need
    there; `times`: constraints, each with a database of its own.
    """
    written: defaultdict[int, dict[str, int]] = defaultdict(dict)
    for one in found:
        if one.writes_to:
            there = written[device_of(Path(one.writes_to))]
            there[one.writes_to] = there.get(one.writes_to, 0) + times * one.writes_bytes
    for by_path in written.values():
        first, needed = Path(next(iter(by_path))), sum(by_path.values())
        free = free_bytes(first)
        if file_system_of(first) in IN_MEMORY:
            free = min(free, psutil.virtual_memory().available)
        if free < needed:
            yield Finding(
                level="error",
                subject=", ".join(by_path),
                seen=f"{size(free)} free, {size(needed)} needed by all databases side by side",
                do='free some space, lower workload.warehouses, or set ladder.rounds = "long"',
            )
