"""A schema that HammerDB built on MariaDB or MySQL: what is found of it, and our procedures beside
it (databases/tproc_c/adopted.py).

Its columns have the names of ours and wider types, in another order; OL_AMOUNT is a whole number.
The procedures name all columns that they write, so they run on it unchanged.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import partial

import pymysql

from kneebench.databases.engines.mariadb.address import client_command
from kneebench.databases.engines.mariadb.copies import REMOVAL_LIMIT_S, once_it_answers
from kneebench.databases.engines.mariadb.server_address import MariadbAddress
from kneebench.databases.engines.mariadb.session import MariadbSession, connect, explained
from kneebench.databases.engines.mariadb.sql_schema import (
    PROCEDURES_END,
    install_procedures,
    size_bytes,
    statements,
    tables_there,
)
from kneebench.databases.tproc_c import adopted
from kneebench.databases.tproc_c.adopted import Existing
from kneebench.databases.tproc_c.loading import LARGEST_FIRST
from kneebench.errors import PlanError
from kneebench.lab.journal import Journal
from kneebench.lab.server_cleanup import undone_after
from kneebench.plan.database_plan import DatabasePlan
from kneebench.records import Finding, Watch

OTHER_ENGINES = """
SELECT DISTINCT engine FROM information_schema.tables
WHERE table_schema = DATABASE() AND table_name IN %s AND engine <> 'InnoDB'"""


def _drop_procedures() -> list[str]:
    """What removes all that procedures.sql makes.

    >>> len(_drop_procedures()), _drop_procedures()[0]
    (6, 'DROP PROCEDURE IF EXISTS kneebench_new_order')
    """
    every = statements("procedures.sql", PROCEDURES_END)
    return [statement for statement in every if statement.startswith("DROP PROCEDURE")]


def facts(session: MariadbSession, database: str, warehouses: int) -> dict[str, str]:
    """What is known of the schema in the session's database; changes nothing.

    Raises PlanError where there is none, one of another size, or one without transactions.
    """
    if others := session.rows(OTHER_ENGINES, LARGEST_FIRST):
        raise PlanError(
            f"cannot use HammerDB's schema in {database}",
            seen=f"it has tables of the storage engine {others[0][0]}",
            do="build the schema with HammerDB's storage engine innodb",
        )

    def count() -> int:
        return int(session.value("SELECT count(*) FROM warehouse"))

    return adopted.facts(database, tables_there(session), count, warehouses)


def findings(
    session: MariadbSession, database: str, subject: str, plan: DatabasePlan
) -> Iterator[Finding]:
    """What becomes of the user's tables; refused if the plan does not state it.

    Raises PlanError where there is no such schema, or one of another size.
    """
    facts(session, database, plan.workload.warehouses)
    schema = Existing(database, size_bytes(session, database))
    stated = plan.database.restore == plan.restore
    yield from adopted.findings(schema, subject, plan.restore, stated=stated)


@contextlib.contextmanager
def with_procedures(address: MariadbAddress, journal: Journal, watch: Watch) -> Iterator[None]:
    """Beside tables that are not ours: our procedures are installed, and removed at the end of the
    block.
    """
    what = f"kneebench's procedures in the database {address.database}"
    by_hand = client_command(address, "; ".join(_drop_procedures()))
    noted = journal.on_a_server(what, address.place, by_hand)
    undo = partial(once_it_answers, address, partial(_remove, address))
    with undone_after(undo, noted, journal, watch, pymysql.Error, OSError):
        with explained("cannot install the procedures", address), connect(address) as session:
            install_procedures(session)
        yield


def _remove(address: MariadbAddress) -> None:
    with connect(address, limit_s=REMOVAL_LIMIT_S) as session:
        session.run(f"SET SESSION lock_wait_timeout = {round(REMOVAL_LIMIT_S)}")
        for statement in _drop_procedures():
            session.run(statement)
