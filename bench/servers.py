"""Servers for benchmarks: one PostgreSQL, loaded, with given settings and cores, in a directory
that is gone afterwards.
"""

from __future__ import annotations

import contextlib
import sys
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import psutil

from bench.ratio import Size
from kneebench.databases.engines.postgres.address import connect
from kneebench.databases.engines.postgres.builds import PostgresBuild, find_build
from kneebench.databases.engines.postgres.engine import restore, server_account
from kneebench.databases.engines.postgres.image import fill, recipe_of
from kneebench.databases.engines.postgres.launcher import (
    SOCKET,
    Launch,
    RunningPostgres,
    running_server,
)
from kneebench.databases.engines.postgres.server import PostgresServer
from kneebench.databases.engines.postgres.server_address import DATABASE, PostgresAddress
from kneebench.databases.engines.postgres.server_settings import LISTENING
from kneebench.databases.engines.postgres.sql_schema import PostgresSchema
from kneebench.databases.managed.base_image import prepare
from kneebench.databases.managed.runtime import runtime_directory
from kneebench.databases.managed.server_process import Process
from kneebench.lab.folder import Folder
from kneebench.lab.journal import Journal
from kneebench.measurement.meters.processes import Processes
from kneebench.plan.workload import Workload
from kneebench.records import Event

DEBIAN = Path("/usr/lib/postgresql/15/bin")
MEMORY = Path("/dev/shm")
SEED = 9300
ALWAYS = {
    **LISTENING,
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "track_io_timing": "on",
    "track_wal_io_timing": "on",
    "max_connections": "250",
}
STAND_INS = """
DROP SCHEMA IF EXISTS kneebench CASCADE;
CREATE SCHEMA kneebench;
CREATE FUNCTION kneebench.new_order(
    w int4, d int4, c int4, items int4[], suppliers int4[], quantities int4[])
    RETURNS numeric LANGUAGE sql AS 'SELECT 1.5';
CREATE FUNCTION kneebench.payment(
    w int4, d int4, c_w int4, c_d int4, c int4, c_last text, amount_cents int4)
    RETURNS int4 LANGUAGE sql AS 'SELECT 1';
CREATE FUNCTION kneebench.order_status(w int4, d int4, c int4, c_last text)
    RETURNS TABLE (o int4) LANGUAGE sql AS 'SELECT 1';
CREATE FUNCTION kneebench.delivery(w int4, carrier int4)
    RETURNS int4 LANGUAGE sql AS 'SELECT 10';
CREATE FUNCTION kneebench.stock_level(w int4, d int4, threshold int4)
    RETURNS int4 LANGUAGE sql AS 'SELECT 0';
"""
"""The five functions' signatures, and nothing behind them: calls that cost the server next to
nothing."""


class Loaded(NamedTuple):
    """A running server; `address` is that of its loaded database."""

    process: RunningPostgres
    build: PostgresBuild
    address: PostgresAddress
    workload: Workload
    data: Path

    def cpu_s(self) -> float:
        """CPU seconds of all of its processes so far, of those that have ended too."""
        return Processes(self.process.family()).read()["processes.cpu|server"]

    def written_bytes(self) -> int:
        """Bytes that its processes have written to files so far (wchar of /proc/PID/io; those that
        ended count in their parent).

        Not write_bytes: it counts a dirtied page cache folio as a whole, 64 kB and more for the 8
        kB of a commit.
        """
        total = 0
        for pid in self.process.family():
            with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                total += psutil.Process(pid).io_counters().write_chars
        return total

    def log_bytes(self) -> int:
        """The place in the log that has been written to."""
        with connect(self.address) as session:
            return int(
                (
                    session.execute("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn").fetchone()
                    or (0,)
                )[0]
            )

    def run(self, text: str, database: str = "") -> None:
        """Run some SQL."""
        with connect(self.address, database) as session:
            session.execute(text.encode())

    def empty(self, name: str) -> PostgresAddress:
        """Another database, with nothing in it."""
        self.run(f"CREATE DATABASE {name}")
        return self.address.model_copy(update={"database": name})

    def stood_in(self) -> PostgresAddress:
        """Another database, whose five functions do nothing."""
        address = self.empty("stand_ins")
        self.run(STAND_INS, address.database)
        return address

    def watched(self) -> PostgresServer:
        """The server as measuring sees it; to be closed."""
        return PostgresServer(
            self.address,
            self.workload.warehouses,
            0.0,
            (),
            Process(self.process.family, self.process.crash_report),
        )

    def require_consistent(self) -> None:
        """Raises where one of the twelve consistency conditions does not hold: what was fast was
        wrong.
        """
        with connect(self.address) as session:
            broken = [
                check.sentence
                for check in PostgresSchema(session).conditions(self.workload.warehouses)
                if not check.passed
            ]
        if broken:
            raise RuntimeError("the database is not consistent after the run: " + "; ".join(broken))


def the_build(size: Size) -> PostgresBuild:
    """Debian's PostgreSQL 15; the embedded one where that is not installed, and in quick runs."""
    if not size.quick and not DEBIAN.exists():
        print(f"no PostgreSQL 15 in {DEBIAN}: measured on the embedded one", file=sys.stderr)
    return find_build(None if size.quick or not DEBIAN.exists() else DEBIAN)


@contextlib.contextmanager
def loaded(
    size: Size,
    workload: Workload,
    settings: Mapping[str, str],
    cores: Sequence[int] = (),
    place: Path | None = None,
) -> Iterator[Loaded]:
    """A server over a restored database, below `place` (here, unless given), on the cores (all,
    unless given); removed at the end.

    The base image is loaded once for all benchmarks that want the same one (`Size.images`).
    """
    journal, account, build = Journal(), server_account(), the_build(size)
    name, settings = f".kneebench-bench-{uuid.uuid4().hex[:8]}", {**ALWAYS, **settings}
    with contextlib.ExitStack() as stack:
        runtime = stack.enter_context(runtime_directory(journal, account, SOCKET))
        launch = Launch(build, account, runtime, usable(cores))
        images = size.images or stack.enter_context(
            journal.directory(Path.cwd() / f"{name}-images", "a benchmark's base image")
        )
        recipe = recipe_of(build.version, (), workload, SEED)

        def filled(in_place: Folder, data: Path) -> dict[str, str]:
            return fill(in_place, data, recipe, launch, settings, journal, unwatched)

        image = prepare(images, recipe, account, filled, journal, unwatched)
        folder = stack.enter_context(
            journal.directory((place or Path.cwd()) / name, "a benchmark's database")
        )
        doing = "restoring a benchmark's database"
        data = restore(image, folder, None, "copy", settings, account, unwatched, doing, warm=True)
        process = stack.enter_context(running_server(launch, data, journal))
        address = process.address.model_copy(update={"database": DATABASE})
        yield Loaded(process, build, address, workload, data)


def usable(cores: Sequence[int]) -> tuple[int, ...]:
    """Those of the cores that this machine has; all of them (empty) where it lacks one."""
    return tuple(cores) if set(cores) <= set(psutil.Process().cpu_affinity() or ()) else ()


def unwatched(event: Event) -> None:
    """Nobody looks."""
