"""A schema that HammerDB built on PostgreSQL: what is found of it, and our functions beside it
(databases/tproc_c/adopted.py).
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from functools import partial
from typing import Any

import psycopg

from kneebench.databases.engines.postgres.address import connect
from kneebench.databases.engines.postgres.server_address import PostgresAddress
from kneebench.databases.engines.postgres.sql_schema import HERE, tables_there
from kneebench.databases.engines.postgres.templates import once_it_answers, psql_command
from kneebench.databases.tproc_c import adopted
from kneebench.databases.tproc_c.adopted import Existing
from kneebench.lab.journal import Journal
from kneebench.lab.server_cleanup import undone_after
from kneebench.plan.database_plan import DatabasePlan
from kneebench.records import Finding, Watch

Connection = psycopg.Connection[tuple[Any, ...]]
REMOVAL_LIMIT_S = 60.0
DROP_SCHEMA = "DROP SCHEMA IF EXISTS kneebench"
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

    def count() -> int:
        row = connection.execute("SELECT count(*) FROM public.warehouse").fetchone()
        return int((row or (0,))[0])

    there = tables_there(connection)
    return adopted.facts(connection.info.dbname, there, count, warehouses)


def findings(connection: Connection, subject: str, plan: DatabasePlan) -> Iterator[Finding]:
    """What becomes of the user's tables; refused if the plan does not state it.

    Raises PlanError where there is no such schema, or one of another size.
    """
    facts(connection, plan.workload.warehouses)
    database = connection.info.dbname
    size_bytes, may_copy = connection.execute(NAMED).fetchone() or (0, False)
    refused = (
        f"only the owner of {database} may copy it",
        f'GRANT the owner of {database} TO {connection.info.user}, or set restore = "none" if'
        " the tables may change",
    )
    schema = Existing(database, size_bytes, ("", "") if may_copy else refused)
    stated = plan.database.restore == plan.restore
    yield from adopted.findings(schema, subject, plan.restore, stated=stated)


@contextlib.contextmanager
def without_functions_after(
    address: PostgresAddress, journal: Journal, watch: Watch
) -> Iterator[None]:
    """Beside tables that are not ours our functions go at the end of the block, and their schema
    where nothing else is in it.
    """
    what = f"kneebench's functions in the database {address.database}"
    by_hand = psql_command(address, f"{_drop_functions()}; {DROP_SCHEMA}")
    noted = journal.on_a_server(what, address.place, by_hand)
    undo = partial(once_it_answers, address, partial(_remove, address))
    with undone_after(undo, noted, journal, watch, psycopg.Error):
        yield


def _remove(address: PostgresAddress) -> None:
    with connect(address, limit_s=REMOVAL_LIMIT_S) as connection:
        connection.execute(_drop_functions().encode())
        with contextlib.suppress(
            psycopg.errors.DependentObjectsStillExist
        ):  # the schema holds something else
            connection.execute(DROP_SCHEMA)
