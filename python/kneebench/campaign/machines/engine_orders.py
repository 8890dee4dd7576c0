"""Orders on the engines and servers of a database host: those of databases/engine.py, as plain
data.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import NamedTuple, cast

from kneebench.campaign.machines.kept import Kept
from kneebench.databases.engine import (
    AdmitsUsers,
    EndsStuckUsers,
    MakesLogFiles,
    ReachedByUsers,
    RemovesImages,
    WireAddress,
)
from kneebench.plan.database_plan import DatabasePlan
from kneebench.records import Check, Configuration, Finding, Role, Setting, Whereabouts

ABILITIES = {
    one.__name__: one
    for one in (AdmitsUsers, RemovesImages, MakesLogFiles, ReachedByUsers, EndsStuckUsers)
}
"""What only some engines and servers can do, by name."""


class OpenedEngine(NamedTuple):
    """An engine, by its number."""

    number: int
    abilities: frozenset[str]


class OpenedServer(NamedTuple):
    """A restored server, by its number, with what does not change."""

    number: int
    abilities: frozenset[str]
    settings: tuple[Setting, ...]
    measures: frozenset[str]
    cores: tuple[int, ...]
    paths: tuple[Path, ...]
    roles: tuple[Role, ...]
    restore_s: float
    notes: tuple[str, ...]


def abilities_of(one: object) -> frozenset[str]:
    """The names of what it can do."""
    return frozenset(name for name, kind in ABILITIES.items() if isinstance(one, kind))


class EngineOrders(Kept):
    """What a controller may order of engines, by their numbers."""

    def open_engine(
        self, databases: dict[str, DatabasePlan], environment: dict[str, str]
    ) -> OpenedEngine:
        """DatabaseMachine.engine; `environment`: passwords that the engines read there."""
        os.environ.update(environment)
        with contextlib.ExitStack() as stack:
            engine = self.machine.engine(databases)
            stack.callback(engine.close)
            return OpenedEngine(self._keep(engine, stack), abilities_of(engine))

    def engine_findings(self, engine: int) -> tuple[Finding, ...]:
        """Engine.findings."""
        return (*self._engine(engine).findings(),)

    def where(self, engine: int, configuration: Configuration) -> Whereabouts:
        """Engine.where."""
        return self._engine(engine).where(configuration)

    def prepare(self, engine: int) -> dict[str, str]:
        """Engine.prepare."""
        return self._engine(engine).prepare(self.watch)

    def close(self, engine: int) -> None:
        """Engine.close; the engine can still be used."""
        self._engine(engine).close()

    def admit(self, engine: int, addresses: tuple[str, ...]) -> None:
        """AdmitsUsers.admit."""
        cast(AdmitsUsers, self._kept[engine]).admit(addresses)

    def remove_image(self, engine: int) -> str:
        """RemovesImages.remove_image."""
        return cast(RemovesImages, self._kept[engine]).remove_image(self.watch)

    def restored(self, engine: int, configuration: Configuration, restore: int) -> OpenedServer:
        """Engine.restored, up until `end`."""
        with contextlib.ExitStack() as stack:
            restored = self._engine(engine).restored(configuration, self.watch, restore)
            server = stack.enter_context(restored)
            return OpenedServer(
                self._keep(server, stack),
                abilities_of(server),
                (*server.settings,),
                frozenset(server.measures),
                (*server.cores,),
                (*server.paths,),
                (*server.roles,),
                server.restore_s,
                (*server.notes,),
            )


class ServerOrders(EngineOrders):
    """What a controller may order of restored servers, by their numbers."""

    def readings(self, server: int, meter: str) -> dict[str, float]:
        """Server.readings."""
        return self._server(server).readings(meter)

    def sum_next_order_ids(self, server: int) -> int:
        """Server.sum_next_order_ids."""
        return self._server(server).sum_next_order_ids()

    def transaction_counts(self, server: int) -> tuple[int, int] | None:
        """Server.transaction_counts."""
        return self._server(server).transaction_counts()

    def conditions(self, server: int) -> tuple[Check, ...]:
        """Server.conditions."""
        return (*self._server(server).conditions(self.watch),)

    def processes(self, server: int) -> tuple[int, ...]:
        """Server.processes."""
        return (*self._server(server).processes(),)

    def checkpoint(self, server: int) -> None:
        """Server.checkpoint."""
        self._server(server).checkpoint()

    def connection_hint(self, server: int, code: str, message: str) -> str:
        """Server.connection_hint."""
        return self._server(server).connection_hint(code, message)

    def alive(self, server: int) -> str:
        """Server.alive."""
        return self._server(server).alive()

    def ready_log(self, server: int, for_s: float, limit_s: float) -> bool | None:
        """MakesLogFiles.ready_log."""
        return cast(MakesLogFiles, self._kept[server]).ready_log(for_s, limit_s)

    def users_address(self, server: int) -> WireAddress:
        """ReachedByUsers.users_address."""
        return cast(ReachedByUsers, self._kept[server]).users_address()

    def end_users(self, server: int) -> int:
        """ReachedByUsers.end_users."""
        return cast(ReachedByUsers, self._kept[server]).end_users()

    def end_stuck(self, server: int, for_s: float) -> str:
        """EndsStuckUsers.end_stuck."""
        return cast(EndsStuckUsers, self._kept[server]).end_stuck(for_s)
