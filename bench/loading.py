"""Loading over its floor: psql's COPY BINARY of the same rows out of files made beforehand, on
Debian's PostgreSQL 15, on the disk.

Both sides do the same to the same server: each table made in the transaction that fills it
(wal_level = minimal, frozen), over as many streams, then the same keys, statistics and a
checkpoint. The floor's rows cost no time to make, and its files lie in the page cache.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import NamedTuple

import psutil

from bench.ratio import Ratio, Size, at_least, turns
from bench.servers import DEBIAN, unwatched
from bench.turn import in_turn
from kneebench.databases.engines.postgres.address import connect
from kneebench.databases.engines.postgres.builds import find_build
from kneebench.databases.engines.postgres.engine import server_account
from kneebench.databases.engines.postgres.footprint import GIB
from kneebench.databases.engines.postgres.image import configure
from kneebench.databases.engines.postgres.launcher import (
    SOCKET,
    Launch,
    make_cluster,
    running_server,
)
from kneebench.databases.engines.postgres.query_schema import schema_of
from kneebench.databases.engines.postgres.server_address import PostgresAddress
from kneebench.databases.engines.postgres.server_settings import loading, rules
from kneebench.databases.loading import STREAMS
from kneebench.databases.managed.directory_findings import Machine
from kneebench.databases.managed.ownership import home
from kneebench.databases.managed.runtime import runtime_directory
from kneebench.lab.folder import Folder
from kneebench.lab.journal import Journal
from kneebench.plan import Plan
from kneebench.plan.study import Study
from kneebench.plan.workload import Workload

NAME = "loading"
ABOUT = "loading speed over psql's COPY BINARY of the same rows from files"
AIM = 0.8
SEED = 42


class Seconds(NamedTuple):
    """How long one load took: its rows, and all of it."""

    rows_s: float
    whole_s: float


def measure(size: Size) -> list[Ratio]:
    """Two rows for each database: the rows alone, and with keys, statistics and checkpoint."""
    if not (DEBIAN / "psql").exists():
        print(f"{NAME}: skipped, {DEBIAN} is not there (Debian: postgresql-15)", file=sys.stderr)
        return []
    of_h = Workload(type="tproc-h", scale=0.02 if size.quick else 0.5)
    of_c = [(1, 1)] if size.quick else [(10, 5), (50, 3)]
    sizes = [*((Workload(warehouses=number), pairs) for number, pairs in of_c), (of_h, of_c[0][1])]
    return [row for workload, pairs in sizes for row in _rows(workload, pairs)]


def _rows(workload: Workload, pairs: int) -> list[Ratio]:
    here = Path(".kneebench").absolute()
    here.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix="bench-loading-", dir=here) as folder,
        _server(Path(folder), workload) as server,
    ):
        files = _made(server, Path(folder), workload)
        ours, floor = in_turn(
            pairs, lambda: _ours(server, workload), lambda: _floor(server, workload, files)
        )
    name = workload.size
    alone = turns([one.rows_s for one in floor], [one.rows_s for one in ours])
    whole = turns([one.whole_s for one in floor], [one.whole_s for one in ours])
    ours_s, floor_s = median([one.whole_s for one in ours]), median([one.whole_s for one in floor])
    note = f"floor seconds / ours, {STREAMS} streams"
    per_minute = 60 * workload.sized_as / ours_s
    return [
        at_least(
            f"loading, {name}: rows alone",
            alone,
            AIM,
            note=f"{note}; tables made and filled",
            ours_s=median([one.rows_s for one in ours]),
            floor_s=median([one.rows_s for one in floor]),
        ),
        at_least(
            f"loading, {name}: all",
            whole,
            AIM,
            note=f"{note}; tables, rows, keys, VACUUM ANALYZE, checkpoint",
            warehouses_per_minute=per_minute,
            ours_s=ours_s,
            floor_s=floor_s,
        ),
    ]


@contextlib.contextmanager
def _server(folder: Path, workload: Workload) -> Iterator[PostgresAddress]:
    """A fresh cluster with the settings that an image is built with."""
    journal, account = Journal(folder / "journal"), server_account()
    plan = Plan.model_validate(
        {"workload": workload.model_dump(), "storages": {"disk": {"path": str(folder)}}}
    )
    settings = loading(
        rules(
            Study(plan).only_database,
            Machine(psutil.cpu_count() or 1, psutil.virtual_memory().total, 64 * GIB),
        )
    )
    folder.chmod(0o755)
    with (
        runtime_directory(journal, account, SOCKET) as runtime,
        journal.directory(folder / "cluster", "a benchmark's cluster") as cluster,
    ):
        launch, data = Launch(find_build(DEBIAN), account, runtime), home(cluster, "data", account)
        make_cluster(launch, data, [])
        with Folder.at(data) as opened:
            configure(opened, settings, account)
        with running_server(launch, data, journal) as server:
            yield server.address


@contextlib.contextmanager
def _database(server: PostgresAddress, name: str) -> Iterator[PostgresAddress]:
    """An empty database; dropped at the end, and all of it written out, so that the next turn does
    not pay for this one.
    """
    with connect(server) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE template0".encode())
        connection.execute("CHECKPOINT")
    yield server.model_copy(update={"database": name})
    with connect(server) as connection:
        connection.execute(f"DROP DATABASE {name}".encode())
        connection.execute("CHECKPOINT")
    subprocess.run(["sync"], check=True)


def _ours(server: PostgresAddress, workload: Workload) -> Seconds:
    with _database(server, "ours") as address:
        began = time.monotonic()
        facts = schema_of(workload).load(address, workload, SEED, unwatched)
        return Seconds(float(facts["rows_s"]), time.monotonic() - began)


def _made(server: PostgresAddress, folder: Path, workload: Workload) -> dict[str, Path]:
    """The rows of a load of ours, a file a table."""
    schema = schema_of(workload)
    files = {table: folder / f"{table}.copy" for table in schema.loaded}
    with _database(server, "source") as address:
        schema.load(address, workload, SEED, unwatched)
        for table, file in files.items():
            _psql(address, [f"\\copy public.{table} TO '{file}' (FORMAT binary)"])
    return files


def _floor(server: PostgresAddress, workload: Workload, files: dict[str, Path]) -> Seconds:
    with _database(server, "floor") as address, connect(address) as session:
        schema = schema_of(workload)(session)
        began = time.monotonic()
        _streams(
            address,
            [
                [
                    "BEGIN",
                    *schema.making(table),
                    f"\\copy public.{table} FROM '{file}' (FORMAT binary, FREEZE)",
                    "COMMIT",
                ]
                for table, file in files.items()
            ],
        )
        rows_s = time.monotonic() - began
        schema.finish(address, unwatched)
        return Seconds(rows_s, time.monotonic() - began)


def _streams(address: PostgresAddress, scripts: Sequence[Sequence[str]]) -> None:
    """Run the scripts over as many sessions as ours, the next free one taking the next."""
    with ThreadPoolExecutor(STREAMS) as threads:
        for _ in threads.map(lambda script: _psql(address, script), scripts):
            pass


def _psql(address: PostgresAddress, script: Sequence[str]) -> None:
    text = "".join(f"{line}{'' if line.startswith(chr(92)) else ';'}\n" for line in script)
    where = [
        "-h",
        address.host,
        "-p",
        str(address.port),
        "-U",
        address.user,
        "-d",
        address.database,
    ]
    subprocess.run(
        [DEBIAN / "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", *where],
        input=text,
        text=True,
        check=True,
    )
