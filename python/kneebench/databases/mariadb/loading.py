"""Loading: tables with their keys, rows, procedures, statistics; found again when it is whole,
cleanly redone when it is not.

The rows come from the core: LOAD DATA LOCAL INFILE over a few streams, in the order of each table's
primary key, by which InnoDB stores it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import pymysql

from kneebench._core import LoadError, Loading, TableLoad
from kneebench.databases.mariadb.address import core_address
from kneebench.databases.mariadb.error_hints import refusal
from kneebench.databases.mariadb.server_address import Address
from kneebench.databases.mariadb.session import Session, connect, words_of
from kneebench.databases.mariadb.sql_schema import (
    FACTS,
    LARGEST_FIRST,
    drop_ours,
    facts,
    install_procedures,
    making,
    note,
    tables_there,
)
from kneebench.errors import Refused
from kneebench.plan.plan import Workload
from kneebench.records import Event, Watch

ROWS_FORMAT = "1"
"""Counts up when the same seed would give other rows."""
STREAMS = 2 if (os.cpu_count() or 1) < 6 else 3


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
    with connect(address) as session:
        if found := _whole(session, address.database, shape):
            return {**found, "reused": "yes"}
        drop_ours(session, address.database)
        note(session, {"state": "loading", **shape})
        rows = _rows(address, workload, seed, watch)
        known = {**shape, **rows, **finish(session, watch)}
        note(session, {**known, "state": "whole"})
    return known


def _whole(session: Session, database: str, shape: dict[str, str]) -> dict[str, str]:
    """The facts of a whole and unused load of this shape; empty where all must be done (again)."""
    found = facts(session)
    wanted = {*LARGEST_FIRST, FACTS}
    if found.get("state") != "whole" or not wanted <= set(tables_there(session)):
        return {}
    if any(found.get(name) != value for name, value in shape.items()):
        held = ", ".join(f"{name} = {found.get(name)}" for name in shape)
        raise Refused(
            f"loading the database {database}",
            seen=f"it contains a different load: {held}",
            do="use another database, or drop this one",
        )
    fresh = session.value("SELECT min(d_next_o_id = 3001 AND d_ytd = 30000) FROM district")
    return {name: value for name, value in found.items() if name != "state"} if fresh else {}


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
    """End a load in mid-stream."""
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
            fill=f"LOAD DATA LOCAL INFILE 'rows' INTO TABLE {table} CHARACTER SET ascii",
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


def finish(session: Session, watch: Watch) -> dict[str, str]:
    """Statistics and procedures for tables that have their rows; the seconds that each took."""
    analyze = f"ANALYZE NO_WRITE_TO_BINLOG TABLE {', '.join(LARGEST_FIRST)}"
    steps: list[tuple[str, str, Callable[[], None]]] = [
        ("statistics_s", "gathering statistics", lambda: session.run(analyze)),
        ("functions_s", "installing the procedures", lambda: install_procedures(session)),
    ]
    known = {}
    for number, (name, doing, step) in enumerate(steps):
        watch(Event(kind="progress", doing=doing, share=number / len(steps)))
        began = time.monotonic()
        try:
            step()
        except pymysql.Error as error:
            code, words = words_of(error)
            raise refusal(doing, f"{words} (error {code})", code) from error
        known[name] = f"{time.monotonic() - began:.2f}"
    return known
