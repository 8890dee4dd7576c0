"""Loading MariaDB and MySQL over their floor: mariadb-import (Debian: mariadb-client) of the same
rows out of files made beforehand, over as many streams, on the disk.

Both sides make the tables with their keys, and then fill them. The floor's rows cost no time to
make, and its files lie in the page cache.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from bench.innodb_server import MARIADB, MYSQL, Product, innodb_server
from bench.ratio import Ratio, Size, at_least, turns
from bench.servers import SEED, unwatched
from bench.turn import in_turn
from kneebench.databases.innodb.server_address import InnodbAddress
from kneebench.databases.innodb.session import connect
from kneebench.databases.innodb.sql_schema import InnodbSchema, making
from kneebench.databases.loading import STREAMS, dataset_of
from kneebench.databases.tproc_c.tables import LARGEST_FIRST
from kneebench.plan.workload import Workload

NAME = "mariadb_loading"
ABOUT = "loading speed over mariadb-import of the same rows from files"
AIM = 0.8
PROGRAM = "mariadb-import"
NOTE = f"floor seconds / ours, {STREAMS} streams; tables made with their keys and filled"


def unable() -> str:
    """A server and the program to compare with are needed."""
    without = "" if shutil.which(PROGRAM) else f"no {PROGRAM} (Debian: mariadb-client)"
    return MARIADB.missing or without


def measure(size: Size) -> list[Ratio]:
    """A row for each product that is there: the time to make and fill the nine tables."""
    there = [one for one in (MARIADB, MYSQL) if not one.missing]
    return [_row(one, size) for one in there]


def _row(product: Product, size: Size) -> Ratio:
    warehouses, pairs = (1, 1) if size.quick else (10, 5)
    settings = {"innodb_buffer_pool_size": "2G", product.settings.log: "2G"}
    with innodb_server(product, settings) as server, tempfile.TemporaryDirectory() as place:
        folder = _made(Path(place), warehouses)
        ours, floor = in_turn(
            pairs, lambda: _ours(server, warehouses), lambda: _floor(server, folder)
        )
    return at_least(
        f"loading {product.name}, {warehouses} warehouse{'s' if warehouses > 1 else ''}",
        turns(floor, ours),
        AIM,
        note=NOTE,
        warehouses_per_minute=60 * warehouses / median(ours),
        ours_s=median(ours),
        floor_s=median(floor),
    )


@contextlib.contextmanager
def _database(server: InnodbAddress, name: str) -> Iterator[InnodbAddress]:
    """An empty database; dropped at the end, and all of it written out, so that the next turn does
    not pay for this one.
    """
    with connect(server) as session:
        session.run(f"CREATE DATABASE {name} CHARACTER SET utf8mb4")
    yield server.model_copy(update={"database": name})
    with connect(server) as session:
        session.run(f"DROP DATABASE {name}")
    subprocess.run(["sync"], check=True)


def _ours(server: InnodbAddress, warehouses: int) -> float:
    with _database(server, "ours") as address:
        facts = InnodbSchema.load(address, Workload(warehouses=warehouses), SEED, unwatched)
        return float(facts["rows_s"])


def _made(folder: Path, warehouses: int) -> Path:
    """A directory with the rows of a load of ours, a file per table."""
    dataset = dataset_of(Workload(warehouses=warehouses), SEED)
    for table in LARGEST_FIRST:
        dataset.write(table, folder / f"{table}.txt")
    return folder


def _floor(server: InnodbAddress, folder: Path) -> float:
    with _database(server, "floor") as address:
        began = time.monotonic()
        with connect(address) as session:
            for statement in (one for table in LARGEST_FIRST for one in making(table)):
                session.run(statement)
        given = [f"--socket={address.socket}", f"--user={address.user}", "--local", "--silent"]
        threads = [f"--use-threads={STREAMS}", address.database]
        files = [folder / f"{table}.txt" for table in LARGEST_FIRST]
        subprocess.run([PROGRAM, *given, *threads, *files], check=True)
        return time.monotonic() - began
