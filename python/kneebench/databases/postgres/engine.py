"""The PostgreSQL engine: servers that we run ourselves (embedded, or the user's build), or one by
URL.

A managed server lives for one restored cell. Its data directory is copied from the base image onto
the storage under test, it starts cold, and at the end both are removed. Start reading here.
"""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Literal

from kneebench.databases.engine import Engine, finding_of
from kneebench.databases.managed.account import Account
from kneebench.databases.managed.directory_findings import (
    DirectoryFindings,
    Sizes,
    image_requirement,
)
from kneebench.databases.managed.disk_space import require
from kneebench.databases.managed.ownership import home
from kneebench.databases.managed.storage_space import log_space_bytes
from kneebench.databases.postgres import image as images
from kneebench.databases.postgres.account import server_account
from kneebench.databases.postgres.builds import Build, find_build
from kneebench.databases.postgres.cluster import DATABASE
from kneebench.databases.postgres.footprint import cache_bytes
from kneebench.databases.postgres.launcher import Launch, RunningServer, running_server
from kneebench.databases.postgres.remote import RemotePostgres
from kneebench.databases.postgres.restoring import restore
from kneebench.databases.postgres.runtime import runtime_directory
from kneebench.databases.postgres.server import PostgresServer, Process
from kneebench.databases.postgres.server_settings import (
    Machine,
    check_settings,
    complaint,
    initdb_options,
    rules,
    setting_bytes,
)
from kneebench.databases.postgres.table import postgres_table
from kneebench.databases.postgres.temporary import TABLESPACE, make_tablespace
from kneebench.errors import KneebenchError, PlanError
from kneebench.lab.journal import Journal
from kneebench.lab.limit_findings import missing_for_all
from kneebench.lab.limits import Limits
from kneebench.lab.preparation import Lab, Prepared, Resources
from kneebench.plan import Plan
from kneebench.plan.explanation import dotted
from kneebench.records import Cell, Event, Finding, Watch, Whereabouts


def open_engine(plan: Plan, journal: Journal) -> Engine:
    """The engine that the plan requires; changes nothing.

    Raises PlanError for a plan read from results, which contain no commands.
    """
    if plan.kept_commands:
        raise PlanError(
            f"reading {dotted(plan.kept_commands[0])}",
            seen="this is the placeholder that results keep in place of a command",
            do="write the command itself",
        )
    if any(plan.urls.values()):
        return RemotePostgres(plan, journal)
    return OwnPostgres(plan, journal)


class OwnPostgres:
    """Servers that we start and stop."""

    def __init__(self, plan: Plan, journal: Journal) -> None:
        self.plan, self.journal, self.lab = plan, journal, Lab(plan, journal)
        self.table = postgres_table(plan.database)
        self._settings: dict[Resources, dict[str, str]] = {}

    @cached_property
    def build(self) -> Build:
        """The binaries."""
        return find_build(self.table.bin_dir)

    @cached_property
    def account(self) -> Account | None:
        """Whom the server runs as."""
        return server_account()

    @property
    def settings(self) -> dict[str, str]:
        """Settings of the server that loads the image: it has all resources of the plan."""
        return self.settings_for(self.lab.resources)

    def settings_for(self, resources: Resources) -> dict[str, str]:
        """Settings of a server with this share of the machine.

        A constraint changes the cache alone: what else is sized is the same in all cells. Sized
        once, because drives may be fuller later.
        """
        if resources not in self._settings:
            of_all = self.lab.resources
            machine = Machine(
                len(of_all.cores),
                resources.memory_bytes,
                self._log_space_bytes,
                resources.cache_bytes,
                resources.limited,
            )
            self._settings[resources] = rules(self.plan, machine)
        return self._settings[resources]

    @cached_property
    def _log_space_bytes(self) -> int:
        memory, servers = self.lab.resources.memory_bytes, self.lab.servers
        cache = cache_bytes(memory, self.plan.workload.warehouses)
        image = image_requirement(self.plan, self.image_path)
        space = log_space_bytes(self.plan, servers * memory, servers * cache, image)
        return space // self.lab.databases

    @cached_property
    def recipe(self) -> images.Recipe:
        """What shapes the image."""
        return images.Recipe(
            self.build.version,
            initdb_options(self.plan, self.build),
            self.plan.workload,
            self.plan.seed,
        )

    @property
    def image_path(self) -> Path:
        """The base image's directory, there or not."""
        return self.table.base_image_path.absolute() / self.recipe.key

    @cached_property
    def directories(self) -> DirectoryFindings:
        """Findings on the plan's directories."""
        log, cache = "max_wal_size", "shared_buffers"
        of_log, of_cache = (setting_bytes(self.settings[name]) for name in (log, cache))
        sizes = Sizes(of_log, log, of_cache, cache)
        return DirectoryFindings(self.plan, self.image_path, self.account, sizes)

    @contextlib.contextmanager
    def _launch(self, resources: Resources, limits: Limits | None = None) -> Iterator[Launch]:
        with runtime_directory(self.journal, self.account) as runtime:
            yield Launch(self.build, self.account, runtime, resources.pinned_cores, limits)

    def findings(self) -> Sequence[Finding]:
        """What is there and what is missing; starts no server and leaves no files."""
        try:
            return list(self._findings())
        except KneebenchError as error:
            return [finding_of(error)]

    def _findings(self) -> Iterator[Finding]:
        yield Finding(
            level="ok",
            subject="PostgreSQL",
            seen=f"version {self.build.version} in {self.build.bin_dir}",
        )
        if self.account:
            yield Finding(
                level="ok",
                subject="account",
                seen=f"kneebench runs as root; the server runs as {self.account.name!r}",
            )
        for name, storage in self.plan.storages.items():
            yield from self.directories.of(storage)
            yield from self.directories.of_volumes(name, storage)
        if self.lab.servers > 1:
            yield from self.directories.side_by_side(self.lab.servers)
        yield self.directories.base_image()
        yield from self.directories.cloning()
        if missing := [*missing_for_all(self.table.cores, self.table.memory)]:
            yield from missing
            return
        with self._launch(self.lab.resources) as launch:
            if words := complaint(launch, self.settings):
                yield Finding(
                    level="error",
                    subject="database.settings",
                    seen=words,
                    do="correct the plan's settings",
                )

    def where(self, cell: Cell) -> Whereabouts:
        """On this machine, as the plan says."""
        paths = self.plan.storages[cell.storage].paths_by_role
        return Whereabouts(
            here=True,
            seen="on this machine",
            cores=self.lab.resources_of(cell).cores,
            paths=tuple(paths.values()),
            roles=tuple(paths),
        )

    def prepare(self, watch: Watch) -> dict[str, str]:
        """Build the image, or find it; nothing is loaded if there is no space to restore it."""
        require([self.directories.base_image()], "making room for the base image")
        for name, storage in self.plan.storages.items():
            doing = f"making room for the base image and its copy on {name!r}"
            require(list(self.directories.shortages(storage)), doing)
        with self._launch(self.lab.resources) as launch:
            check_settings(launch, self.settings)
            self._image = images.prepare(
                self.table.base_image_path.absolute(),
                self.recipe,
                launch,
                self.settings,
                self.journal,
                watch,
            )
        return dict(self._image.facts)

    def close(self) -> None:
        """Put back what was kept between restores."""
        self.lab.close()

    @contextlib.contextmanager
    def restored(self, cell: Cell, watch: Watch, restore: int = 0) -> Iterator[PostgresServer]:
        """A server over a fresh copy of the image on the cell's storage; its own cache is empty."""
        if not hasattr(self, "_image"):
            self.prepare(watch)
        with self.lab.prepared(cell, watch) as prepared:
            require(list(self.directories.of(prepared.storage)), f"restoring to {cell.name!r}")
            with self._restored(prepared, watch) as server:
                yield server

    @contextlib.contextmanager
    def _restored(self, prepared: Prepared, watch: Watch) -> Iterator[PostgresServer]:
        doing = f"restoring the database to {prepared.cell.name!r}"
        watch(Event(kind="start", doing=doing))
        began = time.monotonic()
        with contextlib.ExitStack() as stack:
            data, *apart = self._put_in_place(prepared, stack, watch, doing)
            launch = stack.enter_context(self._launch(prepared.resources, prepared.limits))
            process = stack.enter_context(running_server(launch, data, self.journal, reach=apart))
            if prepared.storage.temporary_path:
                make_tablespace(process.address, apart[-1])
            server = self._server(prepared, process, time.monotonic() - began)
            stack.callback(server.close)
            watch(Event(kind="end", doing=doing, share=1.0, data={"restore_s": server.restore_s}))
            yield server

    def _put_in_place(
        self, prepared: Prepared, stack: contextlib.ExitStack, watch: Watch, doing: str
    ) -> list[Path]:
        """The data directory on the storage, from the image, then those of its log and of its
        temporary files, where they have their own.
        """
        storage, name = prepared.storage, f".kneebench-{uuid.uuid4().hex[:12]}"

        def make(parent: Path, what: str) -> Path:
            place = parent.resolve() / f"{name}-{what.split()[0]}"
            made = self.journal.directory(place, f"a restored database's {what}")
            return stack.enter_context(made)

        settings = self.settings_for(prepared.resources)
        how: Literal["copy", "clone"] = "clone" if self.table.restore == "clone" else "copy"
        warm = self.table.page_cache == "warm"
        try:
            files = make(storage.path or Path(), "data")
            log = make(storage.log_path, "log") if storage.log_path else None
            apart = [log] if log else []
            if storage.temporary_path:
                settings = {**settings, "temp_tablespaces": TABLESPACE}
                place = make(storage.temporary_path, "temporary files")
                apart.append(home(place, "files", self.account))
            data = restore(
                self._image, files, log, how, settings, self.account, watch, doing, warm=warm
            )
        except OSError as error:
            raise PlanError(
                doing,
                seen=str(error),
                do="check the permissions, the free space and the health of the storage",
            ) from error
        return [data, *apart]

    def _server(
        self, prepared: Prepared, process: RunningServer, restore_s: float
    ) -> PostgresServer:
        address = process.address.model_copy(update={"database": DATABASE})
        notes = []
        if self.table.restore == "clone":
            notes.append(
                "restored by reflink: the first write to each block includes its copy-on-write"
            )
        cores, paths = prepared.resources.cores, prepared.storage.paths_by_role
        here = Process(process.family, process.crash_report, cores, [*paths.values()], [*paths])
        if prepared.limits:
            here = here._replace(without_limit=prepared.limits.lifted)
        server = PostgresServer(address, self.plan.workload.warehouses, restore_s, notes, here)
        if prepared.limits and prepared.cell.constraint:
            server.settings = (*server.settings, *prepared.limits.settings)
        return server
