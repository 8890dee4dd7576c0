"""What a transaction costs the load generator over MySQL's protocol: beside PostgreSQL's, with
procedures and functions that do nothing, on MariaDB and MySQL, and beside mariadb-slap (Debian:
mariadb-client), which calls one such procedure. Over Unix sockets.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from bench.innodb_server import MARIADB, MYSQL, Product, innodb_server
from bench.ratio import Ratio, Size, at_most, turns
from bench.servers import MEMORY, loaded
from bench.turn import generator_values, in_turn, own_turn, pinned
from kneebench.databases.engine import ServerAddress
from kneebench.databases.innodb import sql_schema
from kneebench.databases.innodb.server_address import InnodbAddress
from kneebench.databases.innodb.session import connect
from kneebench.plan.workload import Workload

NAME = "mysql"
ABOUT = "load generator CPU per transaction, MySQL's protocol vs. PostgreSQL's and mariadb-slap"
AIM, SLAP_AIM, PRODUCT_AIM = 1.5, 1.0, 1.1
USERS = (1, 16)
CLIENT, SERVER = (0,), (1,)
SIGNATURE = re.compile(r"CREATE PROCEDURE (kneebench_\w+)(\(.*?\))\n", re.DOTALL)
NOTE = "Unix socket, closed loop, one thread on a core of its own; drawn arguments"
SLAP_NOTE = f"{NOTE}; mariadb-slap has a thread for each connection and sends one constant call"


def unable() -> str:
    """A server is needed."""
    return MARIADB.missing


def measure(size: Size) -> list[Ratio]:
    """A row for each number of connections, and as many beside mariadb-slap."""
    workload = Workload(warehouses=1, profile="hammerdb")
    with contextlib.ExitStack() as stack:
        place = MEMORY if MEMORY.is_dir() else None
        postgres = stack.enter_context(loaded(size, workload, {}, SERVER, place)).stood_in()
        mariadb = stack.enter_context(stood_in(MARIADB))
        protocol, other = (
            Side("mysql", "MySQL's protocol", mariadb),
            Side("postgres", "PostgreSQL's", postgres),
        )
        rows = [_row(protocol, other, AIM, users, size) for users in USERS]
        if not MYSQL.missing:
            mysql = stack.enter_context(stood_in(MYSQL))
            products = Side("mysql", "MySQL", mysql), Side("mariadb", "MariaDB", mariadb)
            rows += [_row(*products, PRODUCT_AIM, users, size) for users in USERS]
        if not (slap := shutil.which("mariadb-slap")):
            print(f"{NAME}: mariadb-slap skipped (Debian: mariadb-client)", file=sys.stderr)
            return rows
        return [*rows, *(_slap_row(slap, mariadb, users, size) for users in USERS)]


class Side(NamedTuple):
    """What a row compares: by the name of its values, and in words."""

    key: str
    name: str
    address: ServerAddress


def _row(ours: Side, theirs: Side, aim: float, users: int, size: Size) -> Ratio:
    seconds, values = size.count(8, 1), generator_values(users, 1)
    found = in_turn(
        size.count(8, 1),
        lambda: own_turn(values, ours.address, seconds, CLIENT),
        lambda: own_turn(values, theirs.address, seconds, CLIENT),
    )
    means = {
        f"{side.key}_{name}": fmean(getattr(one, of) for one in some)
        for side, some in zip((ours, theirs), found, strict=True)
        for name, of in (("us", "cpu_us"), ("switches", "switches_each"), ("per_s", "per_s"))
    }
    named = f"{ours.name} vs. {theirs.name}, {_many(users)}"
    us = ([one.cpu_us for one in some] for some in found)
    title = f"load generator CPU per transaction, {named}"
    return at_most(title, turns(*us), aim, note=NOTE, unit="x", **means)


def _slap_row(slap: str, mariadb: InnodbAddress, users: int, size: Size) -> Ratio:
    seconds, values = size.count(8, 1), generator_values(users, 1)
    ours, theirs = in_turn(
        size.count(8, 1),
        lambda: own_turn(values, mariadb, seconds, CLIENT).cpu_us,
        lambda: _slap_us(slap, mariadb, users, size.count(100_000, 2_000)),
    )
    return at_most(
        f"load generator CPU per transaction vs. mariadb-slap, {_many(users)}",
        turns(ours, theirs),
        SLAP_AIM,
        note=SLAP_NOTE,
        ours_us=fmean(ours),
        slap_us=fmean(theirs),
    )


def _many(users: int) -> str:
    return "1 connection" if users == 1 else f"{users} connections"


def _slap_us(slap: str, address: InnodbAddress, users: int, calls: int) -> float:
    """Its CPU for each call, in microseconds, its start and its end among them."""
    given = [
        f"--socket={address.socket}",
        f"--user={address.user}",
        f"--create-schema={address.database}",
        "--no-drop",
        f"--concurrency={users}",
        f"--number-of-queries={calls}",
        "--query=CALL kneebench_delivery(1, 2)",
    ]
    process = subprocess.Popen([*pinned(CLIENT), slap, *given], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"mariadb-slap ended with {process.returncode}")
    return 1e6 * (used.ru_utime + used.ru_stime) / calls


@contextlib.contextmanager
def stood_in(product: Product) -> Iterator[InnodbAddress]:
    """A server of the benchmark's own, whose five procedures do nothing; removed at the end."""
    with innodb_server(product, {"max_connections": "40"}, SERVER) as address:
        _stand_in(address)
        yield address


def _stand_in(address: InnodbAddress) -> None:
    """The signatures of the five procedures, and nothing behind them: calls that cost the server
    next to nothing.
    """
    text = (Path(sql_schema.__file__).parent / "procedures.sql").read_text()
    with connect(address) as session:
        for name, parameters in SIGNATURE.findall(text):
            session.run(f"CREATE PROCEDURE {name}{parameters} SELECT 1")
