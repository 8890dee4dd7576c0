"""A schema that another tool built (HammerDB): measured as it stands or as a copy, with nothing of
ours left in it.

Measuring writes into the tables: new orders, payments, deliveries. So a plan says whose tables
these may be: a copy (restore = "template"), those that a command puts back, or with restore =
"none" the user's own.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Any

import psycopg

from kneebench.databases.postgres.address import connect
from kneebench.databases.postgres.remote_cleanup import (
    once_it_answers,
    psql_command,
    undo_or_report,
)
from kneebench.databases.postgres.server_address import Address
from kneebench.databases.postgres.sql_schema import HERE, tables_there
from kneebench.errors import PlanError
from kneebench.lab.journal import Journal
from kneebench.records import Finding, Watch
from kneebench.units import size

Connection = psycopg.Connection[tuple[Any, ...]]
REMOVAL_LIMIT_S = 60.0
DROP_SCHEMA = "DROP SCHEMA IF EXISTS kneebench"
CHANGED = "measuring adds orders, payments and history to HammerDB's tables in {}, {}"
NAMED = (
    "SELECT pg_database_size(oid), datistemplate OR pg_has_role(datdba, 'usage') FROM pg_database"
    " WHERE datname = current_database()"
)


def _drop_functions() -> str:
    """All that procedures.sql makes.

    >>> _drop_functions()[:46]
    'DROP FUNCTION IF EXISTS kneebench.new_order, k'
    """
    names = re.findall(r"FUNCTION (kneebench\.\w+)\(", (HERE / "procedures.sql").read_text())
    return f"DROP FUNCTION IF EXISTS {', '.join(names)}"


def facts(connection: Connection, warehouses: int) -> dict[str, str]:
    """What is known of the schema; changes nothing.

    Raises PlanError where there is none, or one of another size.
    """
    database = connection.info.dbname
    if "order_line" not in tables_there(connection):
        raise PlanError(
            f"looking for HammerDB's schema in {database}",
            seen="no table order_line",
            do="build the schema with HammerDB, or correct the URL",
        )
    there = (connection.execute("SELECT count(*) FROM public.warehouse").fetchone() or (0,))[0]
    if there != warehouses:
        raise PlanError(
            f"using HammerDB's schema in {database}",
            seen=f"it has {there} warehouses",
            do=f"set workload.warehouses = {there}",
        )
    return {"reused": "yes", "schema_from": "hammerdb", "warehouses": str(there)}


def findings(connection: Connection, subject: str, how: str, *, stated: bool) -> Iterator[Finding]:
    """What becomes of the user's tables; refused if the plan does not state it."""
    database = connection.info.dbname
    size_bytes, may_copy = connection.execute(NAMED).fetchone() or (0, False)
    copied = f"a copy of {size(size_bytes)} is measured and dropped; {database} is not changed"
    template = f'set restore = "template": {copied}'
    if how == "none" and not stated:
        seen = CHANGED.format(database, "and nothing restores them")
        do = f'{template}; or set restore = "none" if they may change'
        yield Finding(level="refused", subject=subject, seen=seen, do=do)
    elif how == "none":
        seen = CHANGED.format(database, "and nothing restores them")
        yield Finding(level="warning", subject=subject, seen=seen, do=template)
    elif how == "command":
        seen = CHANGED.format(
            database, "which restore_command restores before each climb, but not after the last"
        )
        do = "run restore_command once more at the end"
        yield Finding(level="note", subject=subject, seen=seen, do=do)
    elif not may_copy:
        seen = f"only the owner of {database} may copy it"
        do = (
            f'GRANT the owner of {database} TO {connection.info.user}, or set restore = "none" if'
            " the tables may change"
        )
        yield Finding(level="error", subject=subject, seen=seen, do=do)
    else:
        yield Finding(level="ok", subject=subject, seen=copied)


@contextlib.contextmanager
def without_functions_after(address: Address, journal: Journal, watch: Watch) -> Iterator[None]:
    """Beside tables that are not ours our functions go at the end of the block, and their schema
    where nothing else is in it.
    """
    what = f"kneebench's functions in the database {address.database}"
    server = f"{address.host}:{address.port}"
    noted = journal.on_a_server(
        what, server, psql_command(address, f"{_drop_functions()}; {DROP_SCHEMA}")
    )
    try:
        yield
    finally:
        undo_or_report(
            lambda: once_it_answers(address, lambda: _remove(address)), noted, journal, watch
        )


def _remove(address: Address) -> None:
    with connect(address, limit_s=REMOVAL_LIMIT_S) as connection:
        connection.execute(_drop_functions().encode())
        with contextlib.suppress(
            psycopg.errors.DependentObjectsStillExist
        ):  # the schema holds something else
            connection.execute(DROP_SCHEMA)
