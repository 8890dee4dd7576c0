"""The TDS server that KNEEBENCH_TDS_URL names, tds://user:password@host:port/database with
?tls=MODE&root=FILE, as a plan names it; tests that need it are skipped elsewhere.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from kneebench.databases.engines.sqlserver.address import address_of
from kneebench.databases.engines.sqlserver.database import connect_to, drop
from kneebench.databases.engines.sqlserver.server_address import SqlServerAddress
from kneebench.databases.engines.sqlserver.session import SqlError, connect
from kneebench.databases.engines.sqlserver.table import SqlServerDatabase

VARIABLE = "KNEEBENCH_TDS_URL"
URL = os.environ.get(VARIABLE, "")
WITHOUT_SERVER = pytest.mark.skipif(not URL, reason=f"{VARIABLE} names no TDS server")
DATABASE = f"kneebench_test_{os.getpid()}"
OTHER_NAMES = {"localhost": "127.0.0.1", "127.0.0.1": "localhost"}
"""Two names of one server are two servers to a plan."""
IN_THE_WRONG_ORDER = (
    "BEGIN TRANSACTION; UPDATE dbo.warehouse SET w_ytd = w_ytd",
    "UPDATE dbo.district SET d_ytd = d_ytd; ROLLBACK TRANSACTION",
)
"""In between, users queue for the warehouse with their districts locked."""
QUEUE_S, ENDING_S = 0.5, 4.0


def password() -> str:
    return unquote(urlsplit(URL).password or "")


def database(**more: Any) -> dict[str, Any]:
    """The table [database] of a plan, for a database of this process."""
    root = parse_qs(urlsplit(URL).query).get("root", [""])[0]
    given = {"engine": "sqlserver", "url": url(), "trust_server_certificate": not root}
    return {**given, **({"root_certificates": root} if root else {}), **more}


def url(name: str = DATABASE, *, other_name: bool = False) -> str:
    parts = urlsplit(URL)
    host = parts.hostname or ""
    shown = OTHER_NAMES.get(host, host) if other_name else host
    return f"sqlserver://{parts.username}@{shown}:{parts.port or 1433}/{name}"


@contextlib.contextmanager
def conflicts(address: SqlServerAddress) -> Iterator[None]:
    """Another session locks rows in the order opposite to that of the procedures. It ends with the
    block: Babelfish drops no database that a session uses.
    """
    ended = threading.Event()

    def lock() -> None:
        with connect_to(address, limit_s=10.0) as session:
            while not ended.is_set():
                try:
                    for statement in IN_THE_WRONG_ORDER:
                        session.execute(statement)
                        time.sleep(QUEUE_S)
                except SqlError as error:
                    if error.lost:
                        return
                    session.execute("IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION")

    thread = threading.Thread(target=lock, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def drop_databases() -> None:
    """Those of this process."""
    patch = pytest.MonkeyPatch()
    patch.setenv("SQLCMDPASSWORD", password())
    table = SqlServerDatabase.model_validate(database())
    with patch.context(), connect(address_of(url(), table)) as session:
        for name in (DATABASE, f"{DATABASE}_second"):
            drop(session, name)
    patch.undo()


def end_all_sessions(address: SqlServerAddress) -> None:
    """Every session in the database, for some seconds, as an administrator would end them."""
    query = (
        "SELECT session_id FROM sys.dm_exec_sessions"
        " WHERE database_id = DB_ID(%s) AND session_id > 0"
    )
    until = time.monotonic() + ENDING_S
    with connect(address) as session:
        while time.monotonic() < until:
            for (spid,) in session.execute(query, address.database):
                with contextlib.suppress(SqlError):
                    session.execute(f"KILL {spid:d}")
            time.sleep(0.3)
