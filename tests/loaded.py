"""Servers with a loaded warehouse, for tests that spoil it: each test gets a database of its own,
copied from a template. The servers begin as copies of base images, which all processes of a run
share.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import psycopg
import pytest

from kneebench.databases.engines.postgres.address import connect, parameters
from kneebench.databases.engines.postgres.builds import find_build
from kneebench.databases.engines.postgres.engine import restore, server_account
from kneebench.databases.engines.postgres.image import fill, recipe_of
from kneebench.databases.engines.postgres.launcher import SOCKET, Launch, running_server, socket_of
from kneebench.databases.engines.postgres.server_address import DATABASE, PostgresAddress
from kneebench.databases.engines.postgres.server_settings import LISTENING
from kneebench.databases.engines.postgres.sql_schema import PostgresSchema
from kneebench.databases.managed.base_image import prepare
from kneebench.databases.managed.runtime import runtime_directory
from kneebench.lab.journal import Journal
from kneebench.plan.workload import Workload
from kneebench.records import Event

DEBIAN = Path("/usr/lib/postgresql/15/bin")
WITHOUT_DEBIAN = pytest.mark.skipif(
    not DEBIAN.exists(), reason="Debian's PostgreSQL 15 is not installed"
)
_ON_DEBIAN = (pytest.mark.postgres15, WITHOUT_DEBIAN)
BUILDS = [
    pytest.param(None, id="embedded-18"),
    pytest.param(DEBIAN, id="debian-15", marks=[*_ON_DEBIAN, pytest.mark.long]),
]
"""The older one with --long only: by URL it runs the engine contract at any time."""
SEED = 9300
"""Of what is loaded here; the default of a plan, so that plans find the same base image."""
SETTINGS = {
    **LISTENING,
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "fsync": "off",
    "shared_buffers": "256MB",
    "max_wal_size": "2GB",
    "max_connections": "40",
}
SESSION = (
    "-c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c enable_hashjoin=off -c"
    " enable_mergejoin=off -c jit=off"
)
"""As the virtual users' sessions are set."""


def unwatched(event: Event) -> None:
    """Nobody looks."""


class Databases:
    """One server; databases on it, empty or loaded."""

    def __init__(self, address: PostgresAddress) -> None:
        self.address, self._numbers = address, itertools.count()
        self._templates = {(1, "spec"): DATABASE}
        self.events: dict[tuple[int, str], list[Event]] = {}

    def empty(self, template: str = "template0") -> PostgresAddress:
        """By a copy of files, which costs a fraction of a copy through the log."""
        name = f"test_{next(self._numbers)}"
        with connect(self.address) as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy")
        return self.address.model_copy(update={"database": name})

    def loaded(self, warehouses: int = 1, profile: str = "spec") -> PostgresAddress:
        key = (warehouses, profile)
        if key not in self._templates:
            address = self.empty()
            events = self.events[key] = []
            workload = Workload(warehouses=warehouses, profile=profile)
            PostgresSchema.load(address, workload, SEED, events.append)
            self._templates[key] = address.database
        return self.empty(self._templates[key])


def shared_images() -> Path:
    """Directory of the base images that all processes of a run share; each is loaded once."""
    return Path(os.environ["KNEEBENCH_TESTS_IMAGES"])


class Cluster(NamedTuple):
    """A copy of the base image with one warehouse, to start servers on one after another."""

    launch: Launch
    data: Path
    journal: Journal

    @contextlib.contextmanager
    def databases(self) -> Iterator[Databases]:
        """A server; one that was killed before left its socket."""
        socket_of(self.launch.runtime).unlink(missing_ok=True)
        with running_server(self.launch, self.data, self.journal) as server:
            yield Databases(server.address)


@contextlib.contextmanager
def cluster(folder: Path, bin_dir: Path | None) -> Iterator[Cluster]:
    journal, account, build = Journal(folder / "journal"), server_account(), find_build(bin_dir)
    recipe = recipe_of(build.version, (), Workload(warehouses=1), SEED)
    with runtime_directory(journal, account, SOCKET) as runtime:
        launch = Launch(build, account, runtime)
        filled = partial(
            fill,
            recipe=recipe,
            launch=launch,
            settings=SETTINGS,
            journal=journal,
            watch=unwatched,
        )
        image = prepare(shared_images(), recipe, account, filled, journal, unwatched)
        data = restore(
            image, runtime, None, "copy", SETTINGS, account, unwatched, "restoring", warm=True
        )
        yield Cluster(launch, data, journal)


@contextlib.contextmanager
def databases(folder: Path, bin_dir: Path | None) -> Iterator[Databases]:
    with cluster(folder, bin_dir) as made, made.databases() as running:
        yield running


class Servers:
    """One server for each build, started by the first test that uses it; tests that stop, freeze or
    reconfigure a server start their own.
    """

    def __init__(self, folder: Callable[[str], Path], stack: contextlib.ExitStack) -> None:
        self._folder, self._stack = folder, stack
        self._running: dict[Path | None, Databases] = {}

    def __call__(self, bin_dir: Path | None) -> Databases:
        if bin_dir not in self._running:
            self._running[bin_dir] = self._stack.enter_context(
                databases(self._folder("server"), bin_dir)
            )
        return self._running[bin_dir]


def url_of(address: PostgresAddress, user: str = "") -> str:
    """The address as a plan names a server by URL."""
    place = f"host={address.host}&port={address.port}"
    return f"postgresql://{user or address.user}@/{address.database}?{place}"


def first_process_of(address: PostgresAddress) -> int:
    """The process above all others of the server."""
    with connect(address) as connection:
        parent: int = psutil.Process(connection.info.backend_pid).ppid()
        return parent


def data_of(address: PostgresAddress) -> Path:
    """The server's data directory; its log is beside it."""
    with connect(address) as connection:
        return Path(
            (connection.execute("SELECT current_setting('data_directory')").fetchone() or ("",))[0]
        )


def session(address: PostgresAddress) -> psycopg.Connection[tuple[Any, ...]]:
    """A session as a virtual user has it."""
    return psycopg.connect(**parameters(address), options=SESSION, autocommit=True)


def value(connection: psycopg.Connection[tuple[Any, ...]], query: str, *given: object) -> Any:
    return connection.execute(query.encode(), given or None).fetchone()[0]
