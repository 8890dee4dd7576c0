"""What a plan says of one of its databases, which an engine is made of, and of its rungs."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from kneebench.engine_properties import EngineProperties, engine_properties
from kneebench.plan.engine_table import EngineStorage, EngineTable
from kneebench.plan.hosts import Hosts
from kneebench.plan.ladder import Ladder
from kneebench.plan.workload import Workload
from kneebench.records import Configuration


class RungPlan(NamedTuple):
    """The rules of a configuration's rungs.

    `ladder`: with the stop conditions of its storage; `workload`: with the cores that its load
    generator has; `seed`: of the random streams; `meters`: those to read.
    """

    engine: EngineProperties
    ladder: Ladder
    workload: Workload
    seed: int
    meters: tuple[str, ...]


class DatabasePlan(NamedTuple):
    """One database of a plan, with what it shares with the others.

    `name`: that of the database, "" in a plan with one. `configurations`: those with this database.
    `servers_at_once`, `databases_at_once`: how many of the whole plan are up at the same time: the
    machine and the drives are shared out to them. `aligned`: windows of several configurations
    begin after as many transactions (`Ladder.aligned`). `raw_profile`: its storages are measured
    without it, too. `first_id`: the configuration of the whole plan that is measured first.
    `by_default`: the plan is kneebench's default, which no file has. `hosts`: the other machines
    that take part. `recorded`: the writes of its emulated drives are recorded, for power cuts.
    """

    name: str
    database: EngineTable
    storages: dict[str, EngineStorage]
    configurations: tuple[Configuration, ...]
    workload: Workload
    ladder: Ladder
    seed: int
    emulated_path: Path
    meters: tuple[str, ...] = ()
    servers_at_once: int = 1
    databases_at_once: int = 1
    aligned: bool = False
    raw_profile: bool = False
    first_id: str = ""
    by_default: bool = False
    hosts: Hosts = Hosts()
    recorded: bool = False

    @property
    def engine(self) -> EngineProperties:
        """The properties of its engine. Raises UnknownPart where there is no such engine."""
        return engine_properties(self.database.engine)

    def ladder_on(self, storage: str) -> Ladder:
        """The ladder with the stop conditions of a storage."""
        return self.ladder.on(self.storages[storage].stops)

    def rungs_of(self, one: Configuration) -> RungPlan:
        """The rules of a configuration's rungs, with the databases that have users."""
        ladder, databases = self.ladder_on(one.storage), one.databases or self.workload.databases
        workload = self.workload.model_copy(update={"databases": databases})
        return RungPlan(self.engine, ladder, workload, self.seed, self.meters)

    @property
    def drains(self) -> bool:
        """Whether a drive is drained before each restore."""
        return any(volume.drain for one in self.storages.values() for volume in one.volumes)

    @property
    def urls(self) -> dict[str, str]:
        """The server's URL by storage; an empty text where kneebench starts the server."""
        return self.database.urls(self.storages)

    @property
    def restore(self) -> str:
        """How a climb gets its database, "auto" resolved."""
        return self.database.restored_by(self.urls)

    @property
    def data_bytes(self) -> int:
        """Expected size of the data."""
        return self.engine.footprint.data_bytes(self.workload.sized_as)
