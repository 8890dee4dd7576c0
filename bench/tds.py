"""What a transaction costs the load generator over TDS, beside PostgreSQL over TCP: procedures and
functions that do nothing. With one connection every response wakes the load generator by itself;
with more, those of a slow server come together, which is cheaper.

KNEEBENCH_TDS_URL names the server (tds://user:password@host:port/database?tls=MODE&root=FILE).
"""

from __future__ import annotations

import contextlib
import importlib
import os
from collections.abc import Iterator
from statistics import fmean
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from pydantic import SecretStr

from bench.ratio import Ratio, Size, at_most, turns
from bench.servers import MEMORY, Loaded, loaded
from bench.tcp import LISTENING, over_tcp, over_tls
from bench.timed_load import PASSWORD
from bench.turn import LOAD_GENERATOR, Turn, generator_values, in_turn, program_turn
from kneebench.databases.engines.postgres.server_address import PostgresAddress
from kneebench.plan.workload import Workload
from kneebench.records import Record

NAME = "tds"
ABOUT = "load generator CPU per transaction over TDS vs. over PostgreSQL's protocol"
AIM = 1.5
URL = "KNEEBENCH_TDS_URL"
DATABASE = "kneebench_bench"
CASES: tuple[tuple[int, float | None], ...] = ((1, None), (16, 400.0))
"""Connections, and the rate of both sides; None: a closed loop."""
CLIENT, SERVER = (0,), (1,)
LINES = ", ".join(f"@i{n} int = 0, @s{n} int = 0, @q{n} smallint = 0" for n in range(1, 16))
PLACE = "@w int, @d smallint"
STAND_INS = {
    "new_order": (f"{PLACE}, @c int, @lines smallint, {LINES}", "1.5"),
    "payment": (
        f"{PLACE}, @c_w int, @c_d smallint, @c int, @c_last varchar(16), @amount_cents int",
        "1",
    ),
    "order_status": (f"{PLACE}, @c int, @c_last varchar(16)", "1"),
    "delivery": ("@w int, @carrier smallint", "10"),
    "stock_level": (f"{PLACE}, @threshold smallint", "0"),
}
"""Parameters and result of the five procedures: calls that cost the server next to nothing."""
NOTE = "loopback TCP, one thread"


class TdsAddress(Record):
    """Where the server is, as the core takes it."""

    protocol: str = "tds"
    host: str
    port: int
    user: str
    password: SecretStr
    database: str
    sslmode: str
    sslrootcert: str


def unable() -> str:
    """A server is needed."""
    return "" if os.environ.get(URL) else f"{URL} names no TDS server"


def measure(size: Size) -> list[Ratio]:
    """A row without encryption, and one with it."""
    workload = Workload(warehouses=1, profile="hammerdb")
    with contextlib.ExitStack() as stack:
        place = MEMORY if MEMORY.is_dir() else None
        server = stack.enter_context(loaded(size, workload, dict(LISTENING), SERVER, place))
        tds = stack.enter_context(_stood_in(_address(os.environ[URL])))
        plain = _postgres(server)
        pairs = [("no TLS", tds.model_copy(update={"sslmode": "disable"}), plain)]
        if (encrypted := over_tls(server, plain)) and tds.sslmode != "disable":
            pairs.append(("TLS", tds, encrypted))
        return [_row(*pair, *case, size) for pair in pairs for case in CASES]


def _postgres(server: Loaded) -> PostgresAddress:
    """The database whose functions do nothing, over TCP."""
    functions = server.stood_in()
    return over_tcp(server._replace(address=functions))


def _row(
    what: str,
    tds: TdsAddress,
    postgres: PostgresAddress,
    users: int,
    rate_per_s: float | None,
    size: Size,
) -> Ratio:
    seconds, values = size.count(8, 1), generator_values(users, 1, rate_per_s=rate_per_s)
    ours, theirs = in_turn(
        size.count(8, 1),
        lambda: _turn(values, tds, seconds),
        lambda: _turn(values, postgres, seconds),
    )
    load = "1 connection" if users == 1 else f"{users} connections, {rate_per_s:g}/s"
    return at_most(
        f"load generator CPU per transaction, TDS vs. PostgreSQL, {what}, {load}",
        turns([t.cpu_us for t in ours], [t.cpu_us for t in theirs]),
        AIM,
        note=NOTE,
        tds_us=fmean(t.cpu_us for t in ours),
        postgres_us=fmean(t.cpu_us for t in theirs),
        tds_switches=fmean(t.switches_each for t in ours),
        postgres_switches=fmean(t.switches_each for t in theirs),
        tds_per_s=fmean(t.per_s for t in ours),
        postgres_per_s=fmean(t.per_s for t in theirs),
    )


def _turn(values: dict[str, Any], address: Any, seconds: int) -> Turn:
    os.environ[PASSWORD] = address.password.get_secret_value()
    return program_turn(LOAD_GENERATOR, values, address, seconds, CLIENT)


def _address(url: str) -> TdsAddress:
    parts, options = urlsplit(url), parse_qs(urlsplit(url).query)
    return TdsAddress(
        host=parts.hostname or "",
        port=parts.port or 1433,
        user=unquote(parts.username or ""),
        password=SecretStr(unquote(parts.password or "")),
        database=parts.path.strip("/"),
        sslmode=options.get("tls", ["verify-full"])[0],
        sslrootcert=options.get("root", [""])[0],
    )


@contextlib.contextmanager
def _stood_in(server: TdsAddress) -> Iterator[TdsAddress]:
    """A database of the benchmark's own, with procedures that do nothing; dropped at the end."""
    pytds: Any = importlib.import_module("pytds")
    with pytds.connect(
        dsn=server.host,
        port=server.port,
        user=server.user,
        password=server.password.get_secret_value(),
        database=server.database,
        autocommit=True,
    ) as connection:
        cursor = connection.cursor()
        cursor.execute(f"DROP DATABASE IF EXISTS {DATABASE}")
        cursor.execute(f"CREATE DATABASE {DATABASE}")
        try:
            cursor.execute(f"USE {DATABASE}")
            cursor.execute("CREATE SCHEMA kneebench")
            for name, (parameters, result) in STAND_INS.items():
                body = f"SET NOCOUNT ON; SELECT {result} AS result"
                cursor.execute(
                    f"CREATE PROCEDURE kneebench.{name} {parameters} AS BEGIN {body}; END"
                )
            yield server.model_copy(update={"database": DATABASE})
        finally:
            cursor.execute(f"USE {server.database}")
            cursor.execute(f"DROP DATABASE {DATABASE}")
