"""Loading: tables, rows, keys, functions, statistics, checkpoint; found again when it is whole,
cleanly redone when it is not.

The rows come from the core: binary COPY over a few streams, each table in the transaction that
makes it, so that with wal_level = minimal they are not logged, and frozen (PostgreSQL's manual:
COPY, FREEZE; "Disable WAL Archival and Streaming Replication"). Keys come after the rows, which
costs less than keeping them up meanwhile (docs/decisions/load-order.md).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

import psycopg

from kneebench._core import LoadError, TableLoad
from kneebench.databases.engine import core_address
from kneebench.databases.engines.postgres.address import connect
from kneebench.databases.engines.postgres.error_hints import refusal
from kneebench.databases.engines.postgres.server_address import PostgresAddress
from kneebench.databases.engines.postgres.sql_schema import (
    Connection,
    drop_ours,
    facts,
    install_functions,
    keys_of,
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

__all__ = ["install_functions", "load"]

KEYS_MEMORY = "512MB"
"""maintenance_work_mem for keys: the largest of 10 warehouses is sorted in memory."""
UNUSED = "SELECT bool_and(d_next_o_id = 3001) AND bool_and(d_ytd = 30000) FROM public.district"


def load(address: PostgresAddress, workload: Workload, seed: int, watch: Watch) -> dict[str, str]:
    """Fill an empty database; its facts (warehouses, profile, seed, rows, times).

    A whole load of the same shape that nothing was run on is left as it is; one that was run on, or
    never came to its end, is dropped and done again. Raises Refused for tables that we did not make
    and for a whole load of another shape.
    """
    shape = loading.shape_of(workload, seed)
    with connect(address) as connection:
        if found := _whole(connection, shape):
            return {**found, "reused": "yes"}
        drop_ours(connection)
        note(connection, {"state": "loading", **shape})
        rows = loading.load_rows(_rows(address, workload, seed), watch, _refusal)
        known = {**shape, **rows, **_after(connection, address, watch)}
        note(connection, {**known, "state": "whole"})
    return known


def require_loadable(connection: Connection, workload: Workload, seed: int) -> None:
    """Raise what `load` would of a database that it may not fill; changes nothing."""
    if not _whole(connection, loading.shape_of(workload, seed)):
        require_ours(connection)


def _whole(connection: Connection, shape: dict[str, str]) -> dict[str, str]:
    """The facts of a whole and unused load of this shape; empty where all must be done (again)."""
    found = facts(connection)
    if found.get("state") != "whole" or set(tables_there(connection)) != set(LARGEST_FIRST):
        return {}
    loading.require_shape(found, shape, connection.info.dbname)
    fresh = connection.execute(UNUSED).fetchone() == (True,)
    return {name: value for name, value in found.items() if name != "state"} if fresh else {}


def _rows(address: PostgresAddress, workload: Workload, seed: int) -> TableRows:
    tables = [
        TableLoad(
            name=table,
            before=making(table),
            fill=f"COPY public.{table} FROM STDIN (FORMAT binary, FREEZE)",
        )
        for table in LARGEST_FIRST
    ]
    return TableRows(core_address(address), workload, seed, tables)


def _refusal(what: str, error: LoadError) -> KneebenchError:
    return refusal(what, error.message, error.code)


def _after(connection: Connection, address: PostgresAddress, watch: Watch) -> dict[str, str]:
    keys = [keys_of(table) for table in LARGEST_FIRST]
    vacuum = [[f"VACUUM (ANALYZE) public.{table}"] for table in LARGEST_FIRST]
    steps = [
        Step("keys_s", "creating keys", lambda: _side_by_side(address, keys)),
        Step(
            "vacuum_s",
            "gathering statistics",
            lambda: _side_by_side(address, vacuum),
        ),
        Step(
            "functions_s",
            "installing the functions",
            lambda: install_functions(connection),
        ),
        Step(
            "checkpoint_s",
            "waiting for a checkpoint",
            lambda: _checkpoint(connection),
        ),
    ]
    return loading.take_steps(steps, watch, _reported)


@contextlib.contextmanager
def _reported(what: str) -> Iterator[None]:
    try:
        yield
    except psycopg.Error as error:
        state = error.sqlstate or ""
        words = f"{' '.join(str(error).split())} (SQLSTATE {error.sqlstate})"
        raise refusal(what, words, state) from error


def _side_by_side(address: PostgresAddress, groups: Sequence[Sequence[str]]) -> None:
    with contextlib.ExitStack() as stack:
        connections = [stack.enter_context(connect(address)) for _ in range(loading.STREAMS)]
        for connection in connections:
            connection.execute(f"SET maintenance_work_mem = '{KEYS_MEMORY}'".encode())
        loading.side_by_side(
            connections,
            groups,
            lambda connection, statement: connection.execute(statement.encode()),
            lambda connection: connection.cancel(),
        )


def _checkpoint(connection: Connection) -> None:
    """A server that does not let us ask for one makes its own later."""
    with contextlib.suppress(psycopg.errors.InsufficientPrivilege):
        connection.execute("CHECKPOINT")
