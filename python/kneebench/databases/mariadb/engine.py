"""The MariaDB engine: servers that we run ourselves (Debian's, or the user's build), or one by URL.

A managed server lives for one restored cell. Its files are copied from the base image onto the
storage under test, it starts cold, and at the end both are removed. Start reading here.
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
from kneebench.databases.managed.base_image import BaseImage
from kneebench.databases.managed.directory_findings import (
    DirectoryFindings,
    Sizes,
    image_requirement,
)
from kneebench.databases.managed.disk_space import require
from kneebench.databases.managed.storage_space import log_space_bytes
from kneebench.databases.mariadb import image as images
from kneebench.databases.mariadb.allowed_settings import setting_bytes
from kneebench.databases.mariadb.builds import Build, find_build, server_account
from kneebench.databases.mariadb.cluster import DATABASE
from kneebench.databases.mariadb.footprint import cache_bytes
from kneebench.databases.mariadb.launcher import (
    Files,
    Launch,
    RunningServer,
    running_server,
    runtime_directory,
)
from kneebench.databases.mariadb.remote import RemoteMariadb
from kneebench.databases.mariadb.restoring import Places, make_log, put_in_place, settle
from kneebench.databases.mariadb.server import MariadbServer, Process
from kneebench.databases.mariadb.server_settings import Machine, check_settings, complaint, rules
from kneebench.databases.mariadb.table import mariadb_table
from kneebench.errors import KneebenchError, PlanError
from kneebench.lab.journal import Journal
from kneebench.lab.limit_findings import missing_for_all
from kneebench.lab.limits import Limits
from kneebench.lab.preparation import Lab, Prepared, Resources
from kneebench.plan import Plan
from kneebench.records import Cell, Event, Finding, Watch, Whereabouts

CLONED = "restored by reflink: the first write to each block includes its copy-on-write"


def open_engine(plan: Plan, journal: Journal) -> Engine:
    """The engine that the plan requires; changes nothing."""
    if any(plan.urls.values()):
        return RemoteMariadb(plan, journal)
    return OwnMariadb(plan, journal)


class OwnMariadb:
    """Servers that we start and stop."""

    def __init__(self, plan: Plan, journal: Journal) -> None:
        self.plan, self.journal, self.lab = plan, journal, Lab(plan, journal)
        self.table = mariadb_table(plan.database)
        self._settings: dict[Resources, dict[str, str]] = {}
        self._image: BaseImage | None = None

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
            machine = Machine(
                len(self.lab.resources.cores),
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
        given = {name: str(value) for name, value in self.plan.database.settings.items()}
        workload, seed = self.plan.workload, self.plan.seed
        return images.Recipe(self.build.version, images.fixed(given), workload, seed)

    @property
    def image_path(self) -> Path:
        """The base image's directory, there or not."""
        return self.table.base_image_path.absolute() / self.recipe.key

    @cached_property
    def directories(self) -> DirectoryFindings:
        """Findings on the plan's directories."""
        log, cache = "innodb_log_file_size", "innodb_buffer_pool_size"
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
        seen = f"version {self.build.version} in {self.build.program.parent}"
        yield Finding(level="ok", subject="MariaDB", seen=seen)
        if self.account:
            seen = f"kneebench runs as root; the server runs as {self.account.name!r}"
            yield Finding(level="ok", subject="account", seen=seen)
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
                do = "correct the plan's settings"
                yield Finding(level="error", subject="database.settings", seen=words, do=do)

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
        return dict(self._prepared(watch).facts)

    def _prepared(self, watch: Watch) -> BaseImage:
        require([self.directories.base_image()], "making room for the base image")
        for name, storage in self.plan.storages.items():
            doing = f"making room for the base image and its copy on {name!r}"
            require(list(self.directories.shortages(storage)), doing)
        folder = self.table.base_image_path.absolute()
        with self._launch(self.lab.resources) as launch:
            check_settings(launch, self.settings)
            self._image = images.prepare(
                folder, self.recipe, launch, self.settings, self.journal, watch
            )
        return self._image

    def close(self) -> None:
        """Put back what was kept between restores."""
        self.lab.close()

    @contextlib.contextmanager
    def restored(self, cell: Cell, watch: Watch, restore: int = 0) -> Iterator[MariadbServer]:
        """A server over a fresh copy of the image on the cell's storage; its own cache is empty."""
        image = self._image or self._prepared(watch)
        with self.lab.prepared(cell, watch) as prepared:
            require(list(self.directories.of(prepared.storage)), f"restoring to {cell.name!r}")
            with self._restored(image, prepared, watch) as server:
                yield server

    @contextlib.contextmanager
    def _restored(
        self, image: BaseImage, prepared: Prepared, watch: Watch
    ) -> Iterator[MariadbServer]:
        doing = f"restoring the database to {prepared.cell.name!r}"
        watch(Event(kind="start", doing=doing))
        began = time.monotonic()
        with contextlib.ExitStack() as stack:
            launch = stack.enter_context(self._launch(prepared.resources, prepared.limits))
            files = self._put_in_place(image, prepared, launch, stack, watch, doing)
            process = stack.enter_context(running_server(launch, files, self.journal))
            server = self._server(prepared, files, process, time.monotonic() - began)
            stack.callback(server.close)
            watch(Event(kind="end", doing=doing, share=1.0, data={"restore_s": server.restore_s}))
            yield server

    def _put_in_place(
        self,
        image: BaseImage,
        prepared: Prepared,
        launch: Launch,
        stack: contextlib.ExitStack,
        watch: Watch,
        doing: str,
    ) -> Files:
        """The files on the storage, from the image, with a log of the right size."""
        storage, name = prepared.storage, f".kneebench-{uuid.uuid4().hex[:12]}"

        def make(parent: Path | None, what: str) -> Path | None:
            if parent is None:
                return None
            place = parent.resolve() / f"{name}-{what.split()[0]}"
            made = self.journal.directory(place, f"a restored database's {what}")
            return stack.enter_context(made)

        settings = self.settings_for(prepared.resources)
        try:
            places = Places(
                make(storage.path, "data") or Path(),
                make(storage.log_path, "log"),
                make(storage.temporary_path, "temporary files"),
            )
            how: Literal["copy", "clone"] = "clone" if self.table.restore == "clone" else "copy"
            files = put_in_place(image, places, how, settings, launch.account, watch, doing)
            make_log(launch, files)
            settle(image, files, warm=self.table.page_cache == "warm")
        except OSError as error:
            do = "check the permissions, the free space and the health of the storage"
            raise PlanError(doing, seen=str(error), do=do) from error
        return files

    def _server(
        self, prepared: Prepared, files: Files, process: RunningServer, restore_s: float
    ) -> MariadbServer:
        address = process.address.model_copy(update={"database": DATABASE})
        notes = [CLONED] if self.table.restore == "clone" else []
        cores, paths = prepared.resources.cores, prepared.storage.paths_by_role
        here = Process(
            process.family, process.crash_report, cores, [*paths.values()], [*paths], files.log
        )
        if prepared.limits:
            here = here._replace(without_limit=prepared.limits.lifted)
        server = MariadbServer(address, self.plan.workload.warehouses, restore_s, notes, here)
        if prepared.limits and prepared.cell.constraint:
            server.settings = (*server.settings, *prepared.limits.settings)
        return server
