"""Loading MariaDB over its floor: mariadb-import of the same rows out of files made beforehand
(Debian: mariadb-client), over as many streams, on the disk.

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

from bench.mariadb_server import mariadb_server, missing
from bench.ratio import Ratio, Size, at_least, turns
from bench.servers import SEED, unwatched
from bench.turn import in_turn
from kneebench.databases.engines.mariadb.builds import server_account
from kneebench.databases.engines.mariadb.server_address import MariadbAddress
from kneebench.databases.engines.mariadb.session import connect
from kneebench.databases.engines.mariadb.sql_schema import MariadbSchema, making
from kneebench.databases.loading import STREAMS
from kneebench.databases.tproc_c.tables import LARGEST_FIRST
from kneebench.plan.workload import Workload

NAME = "mariadb_loading"
ABOUT = "loading speed over mariadb-import of the same rows from files"
AIM = 0.8
PROGRAM = "mariadb-import"
SETTINGS = {"innodb_buffer_pool_size": "2G", "innodb_log_file_size": "2G"}
NOTE = f"floor seconds / ours, {STREAMS} streams; tables made with their keys and filled"


def unable() -> str:
    """A server and the program to compare with are needed."""
    return missing() or ("" if shutil.which(PROGRAM) else f"no {PROGRAM} (Debian: mariadb-client)")


def measure(size: Size) -> list[Ratio]:
    """One row: the time to make and fill the nine tables."""
    warehouses, pairs = (1, 1) if size.quick else (10, 5)
    with mariadb_server(SETTINGS) as server, tempfile.TemporaryDirectory() as place:
        folder = _made(server, Path(place), warehouses)
        ours, floor = in_turn(
            pairs, lambda: _ours(server, warehouses), lambda: _floor(server, folder)
        )
    return [
        at_least(
            f"loading MariaDB, {warehouses} warehouse{'s' if warehouses > 1 else ''}",
            turns(floor, ours),
            AIM,
            note=NOTE,
            warehouses_per_minute=60 * warehouses / median(ours),
            ours_s=median(ours),
            floor_s=median(floor),
        )
    ]


@contextlib.contextmanager
def _database(server: MariadbAddress, name: str) -> Iterator[MariadbAddress]:
    """An empty database; dropped at the end, and all of it written out, so that the next turn does
    not pay for this one.
    """
    with connect(server) as session:
        session.run(f"CREATE DATABASE {name} CHARACTER SET utf8mb4")
    yield server.model_copy(update={"database": name})
    with connect(server) as session:
        session.run(f"DROP DATABASE {name}")
    subprocess.run(["sync"], check=True)


def _ours(server: MariadbAddress, warehouses: int) -> float:
    with _database(server, "ours") as address:
        facts = MariadbSchema.load(address, Workload(warehouses=warehouses), SEED, unwatched)
        return float(facts["rows_s"])


def _made(server: MariadbAddress, place: Path, warehouses: int) -> Path:
    """A directory with the rows of a load of ours, a file per table, which the server writes."""
    folder = place / "rows"
    folder.mkdir()
    place.chmod(0o711)
    if account := server_account():
        shutil.chown(folder, account.uid, account.gid)
    with _database(server, "source") as address:
        MariadbSchema.load(address, Workload(warehouses=warehouses), SEED, unwatched)
        with connect(address) as session:
            for table in LARGEST_FIRST:
                session.run(f"SELECT * FROM {table} INTO OUTFILE '{folder / table}.txt'")
    return folder


def _floor(server: MariadbAddress, folder: Path) -> float:
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
