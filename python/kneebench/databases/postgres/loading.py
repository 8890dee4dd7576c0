"""Loading: tables, rows, keys, functions, statistics, checkpoint; found again when it is whole,
cleanly redone when it is not.

The rows come from the core: binary COPY over a few streams, each table in the transaction that
makes it, so that with wal_level = minimal they are not logged, and frozen (PostgreSQL's manual:
COPY, FREEZE; "Disable WAL Archival and Streaming Replication"). Keys come after the rows, which
costs less than keeping them up meanwhile (docs/decisions/load-order.md).
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack

import psycopg

from kneebench._core import LoadError, Loading, TableLoad
from kneebench.databases.postgres.address import connect, core_address
from kneebench.databases.postgres.error_hints import refusal
from kneebench.databases.postgres.server_address import Address
from kneebench.databases.postgres.sql_schema import (
    LARGEST_FIRST,
    Connection,
    drop_ours,
    facts,
    install_functions,
    keys_of,
    making,
    note,
    tables_there,
)
from kneebench.errors import Refused
from kneebench.plan.plan import Workload
from kneebench.records import Event, Watch

__all__ = ["install_functions", "load"]

ROWS_FORMAT = "1"
"""Counts up when the same seed would give other rows."""
KEYS_MEMORY = "512MB"
"""maintenance_work_mem for keys: the largest of 10 warehouses is sorted in memory."""
STREAMS = 2 if (os.cpu_count() or 1) < 6 else 3
"""order_line, stock, and with cores to spare the rest beside them; each keeps a core of the server
busy."""


def load(address: Address, workload: Workload, seed: int, watch: Watch) -> dict[str, str]:
    """Fill an empty database; its facts (warehouses, profile, seed, rows, times).

    A whole load of the same shape that nothing was run on is left as it is; one that was run on, or
    never came to its end, is dropped and done again. Raises Refused for tables that we did not make
    and for a whole load of another shape.
    """
    shape = {
        "warehouses": str(workload.warehouses),
        "profile": workload.profile,
        "seed": str(seed),
        "rows_format": ROWS_FORMAT,
    }
    with connect(address) as connection:
        if found := _whole(connection, shape):
            return {**found, "reused": "yes"}
        drop_ours(connection)
        note(connection, {"state": "loading", **shape})
        known = {
            **shape,
            **_rows(address, workload, seed, watch),
            **_after(connection, address, watch),
        }
        note(connection, {**known, "state": "whole"})
    return known


def _whole(connection: Connection, shape: dict[str, str]) -> dict[str, str]:
    """The facts of a whole and unused load of this shape; empty where all must be done (again)."""
    found = facts(connection)
    if found.get("state") != "whole" or set(tables_there(connection)) != set(LARGEST_FIRST):
        return {}
    if any(found.get(name) != value for name, value in shape.items()):
        held = ", ".join(f"{name} = {found.get(name)}" for name in shape)
        raise Refused(
            f"loading the database {connection.info.dbname}",
            seen=f"it contains a different load: {held}",
            do="use another database, or drop this one",
        )
    fresh = connection.execute(
        "SELECT bool_and(d_next_o_id = 3001) AND bool_and(d_ytd = 30000) FROM public.district"
    ).fetchone()
    return (
        {name: value for name, value in found.items() if name != "state"}
        if fresh == (True,)
        else {}
    )


# --- rows -----------------------------------------------------------------------------------------


def _rows(address: Address, workload: Workload, seed: int, watch: Watch) -> dict[str, str]:
    began = time.monotonic()
    loading = _loading(address, workload, seed)
    loading.start()
    try:
        while not loading.wait(0.5):
            watch(_progress(loading.progress(), workload.warehouses, time.monotonic() - began))
    except LoadError as error:
        raise refusal("loading the tables", error.message, error.code) from error
    except BaseException:
        _stop(loading)
        raise
    done = loading.progress()
    return {
        "rows": str(done["rows"]),
        "copied_bytes": str(done["bytes"]),
        "rows_s": f"{time.monotonic() - began:.2f}",
    }


def _stop(loading: Loading) -> None:
    """End a load in mid-stream: the tables under way are rolled back when their connections
    close.
    """
    loading.cancel()
    try:
        loading.wait(60.0)
    except LoadError:
        return


def _loading(address: Address, workload: Workload, seed: int) -> Loading:
    tables = [
        TableLoad(
            name=table,
            before=making(table),
            fill=f"COPY public.{table} FROM STDIN (FORMAT binary, FREEZE)",
        )
        for table in LARGEST_FIRST
    ]
    return Loading(
        address=core_address(address),
        warehouses=workload.warehouses,
        profile=workload.profile,
        seed=seed,
        streams=STREAMS,
        tables=tables,
    )


def _progress(done: dict[str, int], warehouses: int, elapsed_s: float) -> Event:
    share = min(1.0, done["rows"] / done["rows_total"])
    rates = {
        "rows_per_s": done["rows"] / elapsed_s,
        "bytes_per_s": done["bytes"] / elapsed_s,
        "warehouses_per_min": 60 * warehouses * share / elapsed_s,
    }
    left_s = elapsed_s * (1 - share) / share if share else None
    return Event(
        kind="progress",
        doing=f"loading {warehouses} warehouses",
        share=share,
        left_s=left_s,
        data={"rows": done["rows"], **rates},
    )


# --- what comes after -----------------------------------------------------------------------------


def _after(connection: Connection, address: Address, watch: Watch) -> dict[str, str]:
    steps: list[tuple[str, str, Callable[[], None]]] = [
        (
            "keys_s",
            "creating keys",
            lambda: _side_by_side(address, [keys_of(table) for table in LARGEST_FIRST]),
        ),
        (
            "vacuum_s",
            "gathering statistics",
            lambda: _side_by_side(
                address, [[f"VACUUM (ANALYZE) public.{table}"] for table in LARGEST_FIRST]
            ),
        ),
        ("functions_s", "installing the functions", lambda: install_functions(connection)),
        ("checkpoint_s", "waiting for a checkpoint", lambda: _checkpoint(connection)),
    ]
    known = {}
    for number, (name, doing, step) in enumerate(steps):
        watch(Event(kind="progress", doing=doing, share=number / len(steps)))
        began = time.monotonic()
        try:
            step()
        except psycopg.Error as error:
            raise refusal(
                doing,
                f"{' '.join(str(error).split())} (SQLSTATE {error.sqlstate})",
                error.sqlstate or "",
            ) from error
        known[name] = f"{time.monotonic() - began:.2f}"
    return known


def _side_by_side(address: Address, groups: Sequence[Sequence[str]]) -> None:
    """Run groups of statements over STREAMS connections, the next free one taking the next group;
    the first error ends all.
    """
    rest = iter(groups)
    with ExitStack() as stack:
        connections = [stack.enter_context(connect(address)) for _ in range(STREAMS)]
        threads = stack.enter_context(ThreadPoolExecutor(STREAMS, thread_name_prefix="loading"))
        try:
            for ended in as_completed(
                [threads.submit(_run, connection, rest) for connection in connections]
            ):
                ended.result()
        except BaseException:
            deque(rest, maxlen=0)  # what was not begun is not begun any more
            for connection in connections:
                connection.cancel()
            raise


def _run(connection: Connection, groups: Iterator[Sequence[str]]) -> None:
    connection.execute(f"SET maintenance_work_mem = '{KEYS_MEMORY}'".encode())
    for group in groups:
        for statement in group:
            connection.execute(statement.encode())


def _checkpoint(connection: Connection) -> None:
    """A server that does not let us ask for one makes its own later."""
    try:
        connection.execute("CHECKPOINT")
    except psycopg.errors.InsufficientPrivilege:
        return
