"""A schema that HammerDB built on SQL Server: what is found of it, and our procedures beside it
(databases/tproc_c/adopted.py).

Its columns have the names of ours and other types (money, tinyint, char), which convert. The
procedures name all columns that they write, so they run on it unchanged. Its indexes of orders,
order lines and new orders lock pages, not rows: where READ COMMITTED takes locks, a Stock-Level and
a New-Order may then wait for each other, and one of them is retried.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import partial

from kneebench.databases.engines.sqlserver.address import sqlcmd
from kneebench.databases.engines.sqlserver.conditions import by_bcp
from kneebench.databases.engines.sqlserver.database import connect_to
from kneebench.databases.engines.sqlserver.server_address import SqlServerAddress
from kneebench.databases.engines.sqlserver.session import SqlError, SqlServerSession, quoted
from kneebench.databases.engines.sqlserver.sql_files import batches, install_procedures
from kneebench.databases.external.engine import once_it_is_back
from kneebench.databases.tproc_c import adopted
from kneebench.databases.tproc_c.adopted import Existing
from kneebench.databases.tproc_c.tables import LARGEST_FIRST
from kneebench.errors import PlanError
from kneebench.lab.journal import Journal
from kneebench.lab.server_cleanup import undone_after
from kneebench.plan.database_plan import DatabasePlan
from kneebench.records import Finding, Watch

TABLES = "SELECT name, is_memory_optimized FROM sys.tables WHERE schema_id = SCHEMA_ID('dbo')"
OWNS = "SELECT HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), 'DATABASE', 'CONTROL')"
"""Whether the login may do everything in the database, as db_owner may."""
REMOVAL_LIMIT_S = 60.0
TABLES_S = 900.0
"""Longest wait for what is read of the tables while a server is checked."""
COMMAND = 'set restore = "command": restore_command restores them before each climb'
BCP = (
    "HammerDB's bulk load (bcp) gave carriers to undelivered orders: conditions 5 and 7 leave these"
    " out until they are delivered"
)
DROP_SCHEMA = (
    "IF SCHEMA_ID('kneebench') IS NOT NULL AND NOT EXISTS (SELECT 1 FROM sys.objects WHERE"
    " schema_id = SCHEMA_ID('kneebench')) EXEC('DROP SCHEMA kneebench')"
)


def removal() -> list[str]:
    """What removes all that procedures.sql makes; the schema too, if nothing else is in it.

    >>> removal()[0], len(removal())
    ('DROP PROCEDURE IF EXISTS kneebench.new_order', 6)
    """
    drops = [one for one in batches("procedures.sql") if one.startswith("DROP PROCEDURE")]
    return [*(drop.rstrip(";") for drop in drops), DROP_SCHEMA]


def facts(inside: SqlServerSession, warehouses: int) -> dict[str, str]:
    """What is known of the schema in the session's database; changes nothing.

    Raises PlanError where there is none, one of another size, or one in memory.
    """
    database = inside.address.database
    there = {str(name): bool(in_memory) for name, in_memory in inside.execute(TABLES)}
    if in_memory := [name for name in LARGEST_FIRST if there.get(name)]:
        raise PlanError(
            f"cannot use HammerDB's schema in {database}",
            seen=f"{', '.join(in_memory)}: in memory, where rows are not locked",
            do="build the schema with mssqls_imdb = false",
        )

    def count() -> int:
        return int(inside.value("SELECT COUNT(*) FROM dbo.warehouse"))

    return adopted.facts(database, there, count, warehouses)


def findings(address: SqlServerAddress, subject: str, plan: DatabasePlan) -> Iterator[Finding]:
    """What becomes of the user's tables, refused if the plan does not state it; the login's rights.

    Raises PlanError where there is no such schema, or one of another size.
    """
    with connect_to(address, TABLES_S) as inside:
        facts(inside, plan.workload.warehouses)
        stated = plan.database.restore == plan.restore
        schema = Existing(address.database, instead=COMMAND)
        yield from adopted.findings(schema, subject, plan.restore, stated=stated)
        if not inside.value(OWNS):
            name = quoted(address.database)
            yield Finding(
                level="error",
                subject=subject,
                seen=f"the login has not all rights on {name}",
                do=f"in {name}: ALTER ROLE db_owner ADD MEMBER {quoted(address.user)}",
            )
        elif by_bcp(inside, plan.workload.warehouses):
            yield Finding(level="note", subject=subject, seen=BCP)


@contextlib.contextmanager
def with_procedures(address: SqlServerAddress, journal: Journal, watch: Watch) -> Iterator[None]:
    """Beside tables that are not ours: our procedures are installed, and removed at the end of the
    block.
    """
    what = f"kneebench's procedures in the database {address.database}"
    by_hand = sqlcmd(address, "; ".join(removal()), address.database)
    noted = journal.on_a_server(what, address.place, by_hand)
    undo = partial(once_it_is_back, partial(_remove, address), (PlanError,))
    with undone_after(undo, noted, journal, watch, SqlError):
        with connect_to(address) as inside:
            install_procedures(inside)
        yield


def _remove(address: SqlServerAddress) -> None:
    with connect_to(address, REMOVAL_LIMIT_S) as inside:
        for statement in (f"SET LOCK_TIMEOUT {round(1000 * REMOVAL_LIMIT_S)}", *removal()):
            inside.execute(statement)
