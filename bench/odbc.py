"""What a transaction costs the load generator over ODBC: beside our own sessions, with procedures
and functions that do nothing, on PostgreSQL and MariaDB. Over Unix sockets.
"""

from __future__ import annotations

import contextlib
import platform
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from bench.innodb_server import MARIADB
from bench.mysql import CLIENT, SERVER, stood_in
from bench.ratio import Ratio, Size, at_most, turns
from bench.servers import MEMORY, loaded
from bench.timed_load import DIALECT
from bench.turn import generator_values, in_turn, own_turn
from kneebench.databases.engine import ServerAddress
from kneebench.databases.odbc.dialect import dialect_in
from kneebench.databases.odbc.session import OdbcAddress, module
from kneebench.errors import PlanError
from kneebench.plan.workload import Workload

NAME = "odbc"
ABOUT = "load generator CPU per transaction over ODBC vs. our own sessions"
AIM = 3.0
USERS = (1, 16)
DRIVERS = Path("/usr/lib") / f"{platform.machine()}-linux-gnu" / "odbc"
STAND_INS = """
SET search_path = public;
CREATE FUNCTION kneebench_new_order(w int, d int, c int, n int, remote int, order_lines text)
    RETURNS numeric LANGUAGE sql AS 'SELECT 1.5';
CREATE FUNCTION kneebench_payment(w int, d int, c_w int, c_d int, c int, name text, cents int)
    RETURNS int LANGUAGE sql AS 'SELECT 1';
CREATE FUNCTION kneebench_order_status(w int, d int, c int, name text)
    RETURNS TABLE (o int) LANGUAGE sql AS 'SELECT 1';
CREATE FUNCTION kneebench_delivery(w int, carrier int) RETURNS int LANGUAGE sql AS 'SELECT 10';
CREATE FUNCTION kneebench_stock_level(w int, d int, threshold int)
    RETURNS int LANGUAGE sql AS 'SELECT 0';
"""
"""As those of our own sessions: calls that cost the server next to nothing."""
NOTE = "Unix socket, closed loop; a thread per connection over ODBC, one thread without"


class Pair(NamedTuple):
    """A server by its driver, and by our own session."""

    name: str
    by_driver: OdbcAddress
    own: ServerAddress


def unable() -> str:
    """The module and both drivers are needed."""
    try:
        module()
    except PlanError as error:
        return error.seen
    missing = [name for name in ("psqlodbcw.so", "libmaodbc.so") if not (DRIVERS / name).exists()]
    return f"no {missing[0]} (Debian: odbc-postgresql, odbc-mariadb)" if missing else ""


def measure(size: Size) -> list[Ratio]:
    """A row for each driver and number of connections."""
    workload = Workload(warehouses=1, profile="hammerdb")
    with contextlib.ExitStack() as stack:
        place = MEMORY if MEMORY.is_dir() else None
        server = stack.enter_context(loaded(size, workload, {}, SERVER, place))
        postgres = server.stood_in()
        server.run(STAND_INS, postgres.database)
        where = f"Servername={postgres.host};Port={postgres.port};UID={postgres.user}"
        by_driver = _address(f"psqlodbcw.so;{where};Database={postgres.database}")
        pairs = [Pair("psqlodbc", by_driver, postgres)]
        if not MARIADB.missing:
            mariadb = stack.enter_context(stood_in(MARIADB))
            where = f"Socket={mariadb.socket};UID={mariadb.user};Database={mariadb.database}"
            pairs.append(Pair("MariaDB's driver", _address(f"libmaodbc.so;{where}"), mariadb))
        return [_row(pair, users, size) for pair in pairs for users in USERS]


def _address(rest: str) -> OdbcAddress:
    return OdbcAddress(string=f"Driver={DRIVERS}/{rest}", dialect=dialect_in(DIALECT))


def _row(pair: Pair, users: int, size: Size) -> Ratio:
    seconds, values = size.count(8, 1), generator_values(users, 1)
    driver, own = in_turn(
        size.count(6, 1),
        lambda: own_turn(values, pair.by_driver, seconds, CLIENT),
        lambda: own_turn(values, pair.own, seconds, CLIENT),
    )
    us = [[one.cpu_us for one in side] for side in (driver, own)]
    many = "1 connection" if users == 1 else f"{users} connections"
    return at_most(
        f"load generator CPU per transaction, {pair.name} vs. our own session, {many}",
        turns(*us),
        AIM,
        note=NOTE,
        driver_us=fmean(us[0]),
        own_us=fmean(us[1]),
        driver_per_s=fmean(one.per_s for one in driver),
        own_per_s=fmean(one.per_s for one in own),
    )
