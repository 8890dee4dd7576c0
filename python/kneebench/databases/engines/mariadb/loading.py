"""Loading: tables with their keys, rows, procedures, statistics; found again when it is whole,
cleanly redone when it is not.

The rows come from the core: LOAD DATA LOCAL INFILE over a few streams, in the order of each table's
primary key, by which InnoDB stores it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pymysql

from kneebench._core import LoadError, TableLoad
from kneebench.databases.engine import core_address
from kneebench.databases.engines.mariadb.error_hints import refusal
from kneebench.databases.engines.mariadb.server_address import MariadbAddress
from kneebench.databases.engines.mariadb.session import MariadbSession, connect, words_of
from kneebench.databases.engines.mariadb.sql_schema import (
    FACTS,
    drop_ours,
    facts,
    install_procedures,
    making,
    note,
    require_ours,
    tables_there,
)
from kneebench.databases.tproc_c import loading
from kneebench.databases.tproc_c.loading import LARGEST_FIRST, Step, TableRows
from kneebench.errors import KneebenchError
from kneebench.plan.workload import Workload
from kneebench.records import Watch

UNUSED = "SELECT min(d_next_o_id = 3001 AND d_ytd = 30000) FROM district"


def load(address: MariadbAddress, workload: Workload, seed: int, watch: Watch) -> dict[str, str]:
    """Fill an empty database; its facts (warehouses, profile, seed, rows, times).

    A whole load of the same shape that nothing was run on is left as it is; one that was run on, or
    never came to its end, is dropped and done again. Raises Refused for tables that we did not make
    and for a whole load of another shape.
    """
    shape = loading.shape_of(workload, seed)
    with connect(address) as session:
        if found := _whole(session, address.database, shape):
            return {**found, "reused": "yes"}
        drop_ours(session, address.database)
        note(session, {"state": "loading", **shape})
        rows = loading.load_rows(_rows(address, workload, seed), watch, _refusal)
        known = {**shape, **rows, **finish(session, watch)}
        note(session, {**known, "state": "whole"})
    return known


def require_loadable(session: MariadbSession, database: str, workload: Workload, seed: int) -> None:
    """Raise what `load` would of a database that it may not fill; changes nothing."""
    if not _whole(session, database, loading.shape_of(workload, seed)):
        require_ours(session, database)


def _whole(session: MariadbSession, database: str, shape: dict[str, str]) -> dict[str, str]:
    """The facts of a whole and unused load of this shape; empty where all must be done (again)."""
    found = facts(session)
    wanted = {*LARGEST_FIRST, FACTS}
    if found.get("state") != "whole" or not wanted <= set(tables_there(session)):
        return {}
    loading.require_shape(found, shape, database)
    fresh = session.value(UNUSED)
    return {name: value for name, value in found.items() if name != "state"} if fresh else {}


def _rows(address: MariadbAddress, workload: Workload, seed: int) -> TableRows:
    tables = [
        TableLoad(
            name=table,
            before=making(table),
            fill=f"LOAD DATA LOCAL INFILE 'rows' INTO TABLE {table} CHARACTER SET ascii",
        )
        for table in LARGEST_FIRST
    ]
    return TableRows(core_address(address), workload, seed, tables)


def _refusal(what: str, error: LoadError) -> KneebenchError:
    return refusal(what, error.message, error.code)


def finish(session: MariadbSession, watch: Watch) -> dict[str, str]:
    """Statistics and procedures for tables that have their rows; the seconds that each took."""
    analyze = f"ANALYZE NO_WRITE_TO_BINLOG TABLE {', '.join(LARGEST_FIRST)}"
    steps = [
        Step(
            "statistics_s",
            "gathering statistics",
            lambda: session.run(analyze),
        ),
        Step(
            "functions_s",
            "installing the procedures",
            lambda: install_procedures(session),
        ),
    ]
    return loading.take_steps(steps, watch, _reported)


@contextlib.contextmanager
def _reported(what: str) -> Iterator[None]:
    try:
        yield
    except pymysql.Error as error:
        code, words = words_of(error)
        raise refusal(what, f"{words} (error {code})", code) from error
