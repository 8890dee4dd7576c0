"""The engine of servers that we run ourselves, as far as it is the same for all of them.

A managed server lives for one restored configuration. Its files are copied from the base image onto
the storage under test, it starts cold, and at the end both are removed.
"""

from __future__ import annotations

import contextlib
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

from kneebench.databases.engine import OpenedServer, finding_of, safety_findings
from kneebench.databases.loading import Recipe, databases_of
from kneebench.databases.managed.account import Account
from kneebench.databases.managed.base_image import BaseImage, prepare
from kneebench.databases.managed.copying import drop_caches
from kneebench.databases.managed.directory_findings import (
    DirectoryFindings,
    Machine,
    Sizes,
    image_requirement,
    log_space_bytes,
    too_large_cache,
)
from kneebench.databases.managed.disk_space import require
from kneebench.databases.managed.launching import Binaries, Launch
from kneebench.databases.managed.listening import Listening, ListensForUsers, listening_findings
from kneebench.databases.managed.runtime import runtime_directory
from kneebench.databases.managed.server_process import START_LIMIT_S, Process, ServerProcess
from kneebench.databases.server_of_several import server_of
from kneebench.errors import KneebenchError, PlanError
from kneebench.lab.folder import Folder
from kneebench.lab.journal import Journal
from kneebench.lab.limit_findings import missing_for_all
from kneebench.lab.limits import DatabaseLimits, Resources
from kneebench.lab.preparation import DrivePower, Lab, Prepared
from kneebench.plan.borrowed import executed_by_server
from kneebench.plan.database_plan import DatabasePlan
from kneebench.plan.managed_database import ManagedDatabase
from kneebench.plan.workload import Workload
from kneebench.records import Configuration, Event, Finding, Watch, Whereabouts

CLONED = "restored by reflink: the first write to each block includes its copy-on-write"
UNUSABLE = "check the permissions, the free space and the health of the storage"


class OwnKind(NamedTuple):
    """What each engine knows of servers of its own."""

    engine: str
    socket: str
    log_setting: str
    cache_setting: str
    """The settings that size the log and the cache."""
    find_build: Callable[[Path | None], Binaries]
    """By the plan's `bin_dir`."""
    find_account: Callable[[], Account | None]
    recipe_of: Callable[[str, Any, Workload, int], Recipe]
    """What shapes the image, of a version, what is `fixed`, the workload and the seed."""
    fixed: Callable[[DatabasePlan, Any], Any]
    """What of a plan an image of a build keeps from the moment when it is made."""
    rules: Callable[[DatabasePlan, Machine], dict[str, str]]
    """The settings of a server on a share of the machine."""
    cache_bytes: Callable[[int, int], int]
    """The server's own cache by the rules, of bytes of memory and warehouses."""
    setting_bytes: Callable[[str], int]
    complaint: Callable[[Launch[Any], Mapping[str, str]], str]
    """The server's words on settings that it refuses; empty where it takes them."""
    fill: Callable[..., dict[str, str]]
    """Load an image's data directory, in its place, by a server that is then shut down; what is
    known of the load. Takes place, data, recipe, launch, settings, journal and watch."""
    users_address: Callable[[Any, Listening], Any]
    """Where users on other machines connect to a server at an address, once they may."""
    database: str
    """The workload's database on every server."""


class OwnServers(ListensForUsers, ABC):
    """Servers that we start and stop."""

    own: ClassVar[OwnKind]

    def __init__(self, plan: DatabasePlan, journal: Journal) -> None:
        assert isinstance(plan.database, ManagedDatabase)
        self.plan, self.journal, self.table = plan, journal, plan.database
        self.lab = Lab(plan, journal)
        self._settings: dict[Resources, dict[str, str]] = {}
        self._image: BaseImage | None = None

    @abstractmethod
    def put_in_place(self, restore: Restore, launch: Launch[Any]) -> Any:
        """The image's files on the storage; raises OSError where it takes none."""

    @abstractmethod
    def running(self, launch: Launch[Any], files: Any) -> AbstractContextManager[Any]:
        """A server over the files, for the block: its process, with its `address`."""

    @abstractmethod
    def asked(self, files: Any, **what: Any) -> OpenedServer:
        """What asks a server over the files: made of its address and that for users, the
        warehouses, the seconds of the restore, notes and its processes.
        """

    @cached_property
    def build(self) -> Binaries:
        """The binaries that the plan's table names."""
        return self.own.find_build(self.table.bin_dir)

    @cached_property
    def account(self) -> Account | None:
        """Whom the server runs as; None for ourselves."""
        return self.own.find_account()

    @property
    def recipe(self) -> Recipe:
        """What shapes the image."""
        plan, fixed = self.plan, self.own.fixed(self.plan, self.build)
        return self.own.recipe_of(self.build.version, fixed, plan.workload, plan.seed)

    @property
    def settings(self) -> dict[str, str]:
        """Settings of the server that loads the image: it has all resources of the plan."""
        return self.settings_for(self.lab.resources)

    def settings_for(self, resources: Resources) -> dict[str, str]:
        """Settings of a server with this share of the machine.

        A constraint changes the cache alone. Sized once, because drives may be fuller later.
        """
        if resources not in self._settings:
            machine = Machine(
                len(self.lab.resources.cores),
                resources.memory_bytes,
                self._log_space_bytes,
                resources.cache_bytes,
                resources.limited,
            )
            self._settings[resources] = self.own.rules(self.plan, machine)
        return self._settings[resources]

    @cached_property
    def _log_space_bytes(self) -> int:
        memory = self.lab.resources.memory_bytes
        image = image_requirement(self.plan, self.image_path)
        cache_bytes = self.own.cache_bytes(memory, self.plan.workload.sized_as)
        return log_space_bytes(self.plan, memory, cache_bytes, image)

    @property
    def image_path(self) -> Path:
        """The base image's directory, there or not."""
        return self.table.base_image_path.absolute() / self.recipe.key

    @cached_property
    def directories(self) -> DirectoryFindings:
        """Findings on the plan's directories."""
        log, cache = self.own.log_setting, self.own.cache_setting
        of_log, of_cache = (self.own.setting_bytes(self.settings[name]) for name in (log, cache))
        sizes = Sizes(of_log, log, of_cache, cache)
        return DirectoryFindings(self.plan, self.image_path, self.account, sizes)

    @contextlib.contextmanager
    def launch(
        self, resources: Resources, limits: DatabaseLimits | None = None
    ) -> Iterator[Launch[Any]]:
        """What a start with this share of the machine needs; its runtime directory is removed."""
        with runtime_directory(self.journal, self.account, self.own.socket) as runtime:
            yield Launch(self.build, self.account, runtime, resources.pinned_cores, limits)

    def findings(self) -> Sequence[Finding]:
        """What is there and what is missing; starts no server and leaves no files."""
        try:
            return list(self._findings())
        except KneebenchError as error:
            return [finding_of(error)]

    def _findings(self) -> Iterator[Finding]:
        seen = f"version {self.build.version} in {self.build.server.parent}"
        yield Finding(level="ok", subject=self.own.engine, seen=seen)
        if self.account:
            seen = f"kneebench runs as root; the server runs as {self.account.name!r}"
            yield Finding(level="ok", subject="account", seen=seen)
        for name, storage in self.plan.storages.items():
            yield from self.directories.of(storage)
            yield from self.directories.of_volumes(name, storage)
        if self.plan.servers_at_once > 1:
            yield from self.directories.side_by_side(self.plan.servers_at_once)
        yield self.directories.base_image()
        yield from self.directories.cloning()
        yield from listening_findings(self.plan.hosts.database, self.build.server)
        yield from (missing := [*missing_for_all(self.table.cores, self.table.memory)])
        if missing:
            return
        if executed_by_server(self.table):
            seen = "not tested: that would start a program of the plan; `run` does it first of all"
            yield Finding(level="note", subject="database.settings", seen=seen)
        else:
            with self.launch(self.lab.resources) as launch:
                if words := self.own.complaint(launch, self.settings):
                    do = "correct the plan's settings"
                    yield Finding(level="error", subject="database.settings", seen=words, do=do)
        yield from safety_findings(self.plan.engine, self.settings, "database.settings")
        name = self.own.cache_setting
        yield from too_large_cache(self.lab, name, self.settings_for, self.own.setting_bytes)

    def where(self, configuration: Configuration) -> Whereabouts:
        """On this machine, as the plan says."""
        paths = self.plan.storages[configuration.storage].paths_by_role
        return Whereabouts(
            here=True,
            seen="on this machine",
            cores=self.lab.resources_of(configuration).cores,
            paths=tuple(paths.values()),
            roles=tuple(paths),
        )

    def prepare(self, watch: Watch) -> dict[str, str]:
        """Build the image, or find it; nothing is loaded if there is no space to restore it."""
        return dict(self._prepare_image(watch).facts)

    def _prepare_image(self, watch: Watch) -> BaseImage:
        require([self.directories.base_image()], "cannot make room for the base image")
        for name, storage in self.plan.storages.items():
            what = f"cannot make room for the base image and its copy on {name!r}"
            require(list(self.directories.shortages(storage)), what)
        with self.launch(self.lab.resources) as launch:
            if words := self.own.complaint(launch, self.settings):
                seen = f"{self.own.engine} {self.build.version} reports: {words}"
                raise PlanError("database.settings", seen=seen, do="correct the plan's settings")
            self._image = self.build_image(launch, watch)
        return self._image

    def build_image(self, launch: Launch[Any], watch: Watch) -> BaseImage:
        """The image, found or built."""
        fill = partial(
            self.own.fill,
            recipe=self.recipe,
            launch=launch,
            settings=self.settings,
            journal=self.journal,
            watch=watch,
        )
        images = self.image_path.parent
        return prepare(images, self.recipe, self.account, fill, self.journal, watch)

    def close(self) -> None:
        self.lab.close()

    @contextlib.contextmanager
    def restored(
        self, configuration: Configuration, watch: Watch, restore: int = 0
    ) -> Iterator[OpenedServer]:
        """A server over a fresh copy of the image; its own cache is empty."""
        with self._in_place(configuration, watch) as files, files.running() as (_, server):
            files.report(server)
            yield server

    @contextlib.contextmanager
    def crashing(self, configuration: Configuration, watch: Watch) -> Iterator[KilledServer]:
        """A server over a fresh copy of the image that is killed and started again."""
        with (
            self._in_place(configuration, watch) as files,
            KilledServer(files.running, files.restore.prepared.power) as killed,
        ):
            files.report(killed.server)
            yield killed

    @contextlib.contextmanager
    def restarting(self, configuration: Configuration, watch: Watch) -> Iterator[RestartedServer]:
        """A fresh copy of the image, over which servers are started with nothing cached."""
        with self._in_place(configuration, watch) as files:
            yield RestartedServer(files)

    @contextlib.contextmanager
    def _in_place(self, configuration: Configuration, watch: Watch) -> Iterator[FilesInPlace]:
        """A fresh copy of the image on the configuration's storage; removed at the end."""
        image = self._image or self._prepare_image(watch)
        with contextlib.ExitStack() as stack:
            prepared = stack.enter_context(self.lab.prepared(configuration, watch))
            there = [*self.directories.of(prepared.storage)]
            require(there, f"cannot restore to {configuration.name!r}")
            doing = f"restoring the database to {configuration.name!r}"
            watch(Event(kind="start", doing=doing))
            began = time.monotonic()
            launch = stack.enter_context(self.launch(prepared.resources, prepared.limits))
            listening = self.listening(self.build.server, launch.runtime, self.account)
            launch = launch._replace(listening=listening)
            with self._usable(prepared):
                restore = Restore(image, prepared, self._new_places(prepared, stack), watch, doing)
                files = self.put_in_place(restore, launch)
            yield FilesInPlace(self, restore, launch, files, began)

    @property
    def how(self) -> Literal["copy", "clone"]:
        """How the image's files are copied."""
        return "clone" if self.table.restore == "clone" else "copy"

    def _new_places(self, prepared: Prepared, stack: contextlib.ExitStack) -> Places:
        name, storage = f".kneebench-{uuid.uuid4().hex[:12]}", prepared.storage

        def make(parent: Path, what: str) -> Path:
            place = parent.resolve() / f"{name}-{what.split()[0]}"
            made = self.journal.directory(place, f"a restored database's {what}")
            return stack.enter_context(made)

        return Places(
            make(storage.path or Path(), "data"),
            make(storage.log_path, "log") if storage.log_path else None,
            make(storage.temporary_path, "temporary files") if storage.temporary_path else None,
        )

    @contextlib.contextmanager
    def _usable(self, prepared: Prepared) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            what = f"cannot restore the database to {prepared.configuration.name!r}"
            raise PlanError(what, seen=str(error), do=UNUSABLE) from error


# One restore of a database of ours: what is copied where, and the server that runs over it.


class Places(NamedTuple):
    """New directories of ours below a storage's; `log` and `temporary` where they are apart."""

    data: Path
    log: Path | None = None
    temporary: Path | None = None


class Restore(NamedTuple):
    """One restore: what is copied onto which storage, and where there."""

    image: BaseImage
    prepared: Prepared
    places: Places
    watch: Watch
    doing: str


class FilesInPlace(NamedTuple):
    """A restored database's files, and what a server over them needs to start. `began`: when the
    restore did.
    """

    servers: OwnServers
    restore: Restore
    launch: Launch[Any]
    files: Any
    began: float

    @contextlib.contextmanager
    def running(
        self, start_limit_s: float = START_LIMIT_S
    ) -> Iterator[tuple[ServerProcess, OpenedServer]]:
        """A server over the files, and its process; stopped at the end."""
        prepared = self.restore.prepared
        launch = self.launch._replace(start_limit_s=start_limit_s)
        with contextlib.ExitStack() as opened:
            process = opened.enter_context(self.servers.running(launch, self.files))
            asked = (self._asked(process, one) for one in self._addresses(process.address))
            server = server_of([opened.enter_context(contextlib.closing(one)) for one in asked])
            if prepared.limits and prepared.configuration.constraint:
                server.settings = (*server.settings, *prepared.limits.settings)
            yield process, server

    def _asked(self, process: Any, address: Any) -> OpenedServer:
        """What asks the server of a process in the database at an address."""
        own, listening = self.servers.own, self.launch.listening
        return self.servers.asked(
            self.files,
            address=address,
            users=listening and own.users_address(address, listening),
            warehouses=self.servers.plan.workload.warehouses,
            restore_s=time.monotonic() - self.began,
            notes=[CLONED] if self.servers.how == "clone" else [],
            process=processes_of(process, self.restore.prepared),
        )

    def _addresses(self, of_server: Any) -> list[Any]:
        """Of the databases that have users."""
        plan, one = self.servers.plan, self.restore.prepared.configuration
        names = databases_of(plan.workload, self.servers.own.database)
        used = names[: one.databases or len(names)]
        return [of_server.model_copy(update={"database": name}) for name in used]

    def report(self, server: OpenedServer) -> None:
        """The restore is over: a server runs."""
        data = {"restore_s": server.restore_s}
        doing = self.restore.doing
        self.restore.watch(Event(kind="end", doing=doing, share=1.0, data=data))


class RestartedServer:
    """A restored database whose server is started again and again."""

    def __init__(self, files: FilesInPlace) -> None:
        self._files, self._reported = files, False

    @contextlib.contextmanager
    def started(self) -> Iterator[OpenedServer]:
        """A server over the files, which are dropped from the page cache before."""
        with contextlib.ExitStack() as opened:
            places = filter(None, self._files.restore.places)
            drop_caches([opened.enter_context(Folder.at(place)) for place in places])
        with self._files.running() as (_, server):
            if not self._reported:
                self._files.report(server)
            self._reported = True
            yield server


Running = Callable[..., AbstractContextManager[tuple[ServerProcess, OpenedServer]]]
RECOVERY_LIMIT_S = 3600.0
"""How long a database may recover: as long as its log takes to be read."""


class KilledServer:
    """A server that is killed, and started again over what that left."""

    server: OpenedServer

    def __init__(self, running: Running, power: DrivePower | None) -> None:
        self._running, self._power, self._stack = running, power, contextlib.ExitStack()
        self._process: ServerProcess

    def __enter__(self) -> KilledServer:
        self._process, self.server = self._stack.enter_context(self._running())
        return self

    def __exit__(self, *error: object) -> None:
        if self._power:
            self._power.end()
        self._stack.close()

    def begin(self) -> None:
        """A load begins."""
        if self._power:
            self._power.begin()

    def cut(self, at_s: float | None = None) -> None:
        """All of its processes end at once, and its drives lose their power, or have what they had
        at an earlier moment.
        """
        self._process.kill()
        self._stack.close()
        if self._power:
            self._power.cut(at_s)

    def is_there(self) -> bool:
        """Never between a cut and the recovery."""
        return False

    def moments(self, number: int, from_s: float) -> list[float]:
        """Of the load that was cut off; none without recorded drives."""
        return self._power.moments(number, from_s) if self._power else []

    def recover(self) -> float:
        """Start it again; seconds until it answers."""
        running = self._running(RECOVERY_LIMIT_S)
        self._process, self.server = self._stack.enter_context(running)
        return self._process.starting_s


def processes_of(process: ServerProcess, prepared: Prepared) -> Process:
    """What a server over a prepared storage can be asked beside SQL."""
    paths = prepared.storage.paths_by_role
    here = Process(
        process.family,
        process.crash_report,
        prepared.resources.cores,
        [*paths.values()],
        [*paths],
    )
    return here._replace(without_limit=prepared.limits.lift) if prepared.limits else here
