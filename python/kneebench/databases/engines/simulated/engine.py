"""The simulated engine: nothing is loaded, nothing on this machine is touched, and its clock jumps.

The model is in the Rust core (src/session/simulated.rs): k cores with one queue, buffer misses to a
data device of c channels, and a log with group commit. Its figures are the plan's `simulated` table
of each storage. It is never the default, and every page made from it says "simulated".
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from hashlib import blake2b

from kneebench._core import SimulatedServer
from kneebench.databases.engines.simulated import footprint
from kneebench.databases.engines.simulated.server import Simulated
from kneebench.databases.engines.simulated.storage import SimulatedStorage, constrained, drives_of
from kneebench.databases.engines.simulated.table import simulated_table
from kneebench.errors import PlanError
from kneebench.lab.journal import Journal
from kneebench.plan.database_plan import DatabasePlan
from kneebench.plan.workload import Workload
from kneebench.records import Configuration, Event, Finding, Watch, Whereabouts


def simulated_server(storage: SimulatedStorage, workload: Workload, seed: int) -> SimulatedServer:
    """A simulated database of a workload's size; `seed`: of its chances."""
    return SimulatedServer(
        storage=storage, warehouses=workload.warehouses, profile=workload.profile, seed=seed
    )


def restored_seed(seed: int, configuration: str, restore: int) -> int:
    """The seed of one restore.

    Restores differ, as on a noisy machine; a campaign that is run again or resumed does not.

    >>> first = restored_seed(1, "disk", 0)
    >>> restored_seed(1, "disk", 0) == first, restored_seed(1, "disk", 1) == first
    (True, False)
    """
    return (
        int.from_bytes(
            blake2b(f"{seed}/{configuration}/{restore}".encode(), digest_size=8).digest()
        )
        >> 1
    )


class SimulatedEngine:
    """Models in place of servers.

    A restore is a new model, seeded by plan, configuration and the number of the restore.
    """

    def __init__(self, plan: DatabasePlan) -> None:
        self._plan = plan

    def findings(self) -> Sequence[Finding]:
        """A line for each storage: its model, or that it has none; then constraints with more cores
        than the model has.
        """
        return [*map(self._finding, self._plan.storages), *self._too_many_cores()]

    def _too_many_cores(self) -> Iterator[Finding]:
        for one in self._plan.configurations:
            model, wanted = self._drives_of(one.storage), one.cores or 0
            if model and wanted > model.cores:
                yield Finding(
                    level="error",
                    subject="constraints",
                    seen=f"{one.name}: needs {wanted} cores, {model.cores} available in the model",
                    do=f"use fewer cores, or set storages.{one.storage}.simulated.cores",
                )

    def _finding(self, name: str) -> Finding:
        found = self._drives_of(name)
        if found is None:
            return Finding(
                level="error", subject=f"storage {name}", seen="no model", do=_table(name)
            )
        drives = (
            f"{found.cores} cores, reads of {1e3 * found.read_latency:g} ms, log flushes of"
            f" {1e3 * found.log_latency:g} ms"
        )
        return Finding(
            level="ok", subject=f"storage {name}", seen=f"simulated: {drives}; nothing is written"
        )

    def where(self, configuration: Configuration) -> Whereabouts:
        """Nowhere, on the model's cores."""
        found = self._drives(configuration)
        return Whereabouts(seen="a model", cores=tuple(range(found.cores if found else 0)))

    def _drives(self, configuration: Configuration) -> SimulatedStorage | None:
        """The model's figures under the configuration's constraint; None for a storage without a
        model.
        """
        found = self._drives_of(configuration.storage)
        data_bytes = footprint.data_bytes(self._plan.workload.warehouses)
        return found and constrained(found, configuration, data_bytes)

    def _drives_of(self, storage: str) -> SimulatedStorage | None:
        """The storage's figures with those that the database's settings change."""
        found = drives_of(self._plan.storages[storage])
        return found and simulated_table(self._plan.database).changed(found)

    def prepare(self, watch: Watch) -> dict[str, str]:
        """Nothing to load: a model is born with its tables full."""
        watch(Event(kind="end", doing="preparing the simulated database"))
        return {"engine": "simulated", "warehouses": str(self._plan.workload.warehouses)}

    @contextlib.contextmanager
    def restored(
        self, configuration: Configuration, watch: Watch, restore: int = 0
    ) -> Iterator[Simulated]:
        """A fresh model with a cold cache and its clock at 0.

        Raises PlanError where the storage has none.
        """
        storage = self._drives(configuration)
        if storage is None:
            raise PlanError(
                f"storage {configuration.storage}",
                seen="no model",
                do=_table(configuration.storage),
            )
        seed = restored_seed(self._plan.seed, configuration.id, restore)
        server = simulated_server(storage, self._plan.workload, seed)
        watch(Event(kind="end", doing=f"restoring {configuration.name} (simulated)"))
        yield Simulated(server, storage)

    def close(self) -> None:
        """Nothing is kept between restores."""


def _table(storage: str) -> str:
    return f'add a table [storages."{storage}".simulated]'


def open_engine(plan: DatabasePlan, journal: Journal) -> SimulatedEngine:
    """The engine of a plan; the journal stays empty, nothing is changed."""
    return SimulatedEngine(plan)
