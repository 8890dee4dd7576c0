"""Servers with one loaded warehouse or two, for tests that spoil them: each test gets a database of
its own, copied from a template.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from kneebench.databases.managed.ownership import home
from kneebench.databases.postgres.account import server_account
from kneebench.databases.postgres.address import connect, parameters
from kneebench.databases.postgres.builds import find_build
from kneebench.databases.postgres.cluster import configure
from kneebench.databases.postgres.launcher import Launch, make_cluster, running_server
from kneebench.databases.postgres.loading import load
from kneebench.databases.postgres.runtime import runtime_directory
from kneebench.databases.postgres.server_address import Address
from kneebench.lab.folder import Folder
from kneebench.lab.journal import Journal
from kneebench.plan.plan import Workload
from kneebench.records import Event

DEBIAN = Path("/usr/lib/postgresql/15/bin")
WITHOUT_DEBIAN = pytest.mark.skipif(
    not DEBIAN.exists(), reason="Debian's PostgreSQL 15 is not installed"
)
BUILDS = [
    pytest.param(None, id="embedded-18"),
    pytest.param(DEBIAN, id="debian-15", marks=[pytest.mark.postgres15, WITHOUT_DEBIAN]),
]
SETTINGS = {
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

    def __init__(self, address: Address) -> None:
        self.address, self._numbers, self._templates = address, itertools.count(), {}

    def empty(self, template: str = "template0") -> Address:
        name = f"test_{next(self._numbers)}"
        with connect(self.address) as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        return self.address.model_copy(update={"database": name})

    def loaded(self, warehouses: int = 1, profile: str = "spec") -> Address:
        key = (warehouses, profile)
        if key not in self._templates:
            address = self.empty()
            load(address, Workload(warehouses=warehouses, profile=profile), 42, unwatched)
            self._templates[key] = address.database
        return self.empty(self._templates[key])


@contextlib.contextmanager
def databases(folder: Path, bin_dir: Path | None) -> Iterator[Databases]:
    journal, account = Journal(folder / "journal"), server_account()
    with runtime_directory(journal, account) as runtime:
        launch = Launch(find_build(bin_dir), account, runtime)
        data = home(runtime, "data", account)
        make_cluster(launch, data, [])
        with Folder.at(data) as opened:
            configure(opened, {**SETTINGS, "listen_addresses": ""}, account)
        with running_server(launch, data, journal) as server:
            yield Databases(server.address)


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


def url_of(address: Address, user: str = "") -> str:
    """The address as a plan names a server by URL."""
    place = f"host={address.host}&port={address.port}"
    return f"postgresql://{user or address.user}@/{address.database}?{place}"


def data_of(address: Address) -> Path:
    """The server's data directory; its log is beside it."""
    with connect(address) as connection:
        return Path(
            (connection.execute("SELECT current_setting('data_directory')").fetchone() or ("",))[0]
        )


def session(address: Address) -> psycopg.Connection[tuple[Any, ...]]:
    """A session as a virtual user has it."""
    return psycopg.connect(**parameters(address), options=SESSION, autocommit=True)


def value(connection: psycopg.Connection[tuple[Any, ...]], query: str, *given: object) -> Any:
    return connection.execute(query.encode(), given or None).fetchone()[0]
