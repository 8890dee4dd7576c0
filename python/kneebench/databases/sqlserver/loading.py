"""Loading: tables, rows, keys, procedures, statistics, checkpoint, into a database of ours.

The rows come from the core by bulk insert into heaps with TABLOCK, over a few streams, so that they
are minimally logged where the recovery model is not FULL ("Prerequisites for minimal logging in
bulk import"). Clustered keys come after the rows.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack

from kneebench._core import LoadError, Loading, TableLoad
from kneebench.databases.sqlserver.address import core_address, explained
from kneebench.databases.sqlserver.database import connect_to, facts, note
from kneebench.databases.sqlserver.error_hints import refusal
from kneebench.databases.sqlserver.server_address import Address
from kneebench.databases.sqlserver.session import Session
from kneebench.databases.sqlserver.sql_files import (
    LARGEST_FIRST,
    columns_of,
    install_procedures,
    keys_of,
    making,
)
from kneebench.databases.sqlserver.version import version_of
from kneebench.plan.plan import Workload
from kneebench.records import Event, Watch

ROWS_FORMAT = "1"
"""Counts up when the same seed would give other rows."""
STREAMS = 2 if (os.cpu_count() or 1) < 6 else 3
UNUSED = "SELECT MIN(d_next_o_id), MAX(d_next_o_id), MIN(d_ytd), MAX(d_ytd) FROM dbo.district"


def shape_of(workload: Workload, seed: int) -> dict[str, str]:
    """What a load is known by."""
    return {
        "warehouses": str(workload.warehouses),
        "profile": workload.profile,
        "seed": str(seed),
        "rows_format": ROWS_FORMAT,
    }


def loaded_facts(inside: Session, shape: dict[str, str], *, used: bool) -> dict[str, str]:
    """The facts of a whole load of this shape; empty without one, or if something was run on it,
    unless it may be `used`.
    """
    found = facts(inside)
    if found.pop("state", "") != "whole" or any(found.get(k) != v for k, v in shape.items()):
        return {}
    if used:
        return found
    first, last, least, most = inside.execute(UNUSED)[0]
    return found if (first, last, int(least), int(most)) == (3001, 3001, 30000, 30000) else {}


def load(address: Address, workload: Workload, seed: int, watch: Watch) -> dict[str, str]:
    """Fill an empty database of ours; its facts (warehouses, profile, seed, rows, times), which the
    caller notes.
    """
    shape = shape_of(workload, seed)
    with connect_to(address) as inside:
        with explained("noting the load", address):
            note(inside, {"state": "loading", **shape})
            babelfish = version_of(inside).babelfish
        statements = {table: filling(table, babelfish=babelfish) for table in LARGEST_FIRST}
        rows = _rows(address, workload, seed, statements, watch)
        return {**shape, **rows, **_after(inside, watch)}


# --- rows -----------------------------------------------------------------------------------------


def _rows(
    address: Address, workload: Workload, seed: int, statements: dict[str, str], watch: Watch
) -> dict[str, str]:
    began = time.monotonic()
    loading = Loading(
        address=core_address(address),
        warehouses=workload.warehouses,
        profile=workload.profile,
        seed=seed,
        streams=STREAMS,
        tables=[
            TableLoad(name=table, before=[making(table)], fill=fill)
            for table, fill in statements.items()
        ],
    )
    loading.start()
    try:
        while not loading.wait(0.5):
            watch(_progress(loading.progress(), workload.warehouses, time.monotonic() - began))
    except LoadError as error:
        number = int(error.code) if error.code.isdigit() else 0
        raise refusal("loading the tables", error.message, number, address) from error
    except BaseException:
        _stop(loading)
        raise
    done, elapsed_s = loading.progress(), time.monotonic() - began
    return {
        "rows": str(done["rows"]),
        "copied_bytes": str(done["bytes"]),
        "rows_s": f"{elapsed_s:.2f}",
    }


def filling(table: str, *, babelfish: bool = False) -> str:
    """The statement that takes a table's rows, in the types of its columns. Babelfish reads any
    decimal as one of 38 digits, so there it is declared as one.

    >>> filling("new_order")
    'INSERT BULK dbo.new_order (no_w_id int, no_o_id int, no_d_id smallint) WITH (TABLOCK)'
    """
    columns = ", ".join(
        f"{name} {_widest(kind) if babelfish else kind}" for name, kind, _ in columns_of(table)
    )
    return f"INSERT BULK dbo.{table} ({columns}) WITH (TABLOCK)"


def _widest(kind: str) -> str:
    """A decimal's type with all digits; any other type."""
    return f"decimal(38,{kind.rpartition(',')[2]}" if kind.startswith("decimal") else kind


def _stop(loading: Loading) -> None:
    """End a load in mid-stream: the tables under way are rolled back when their connections
    close.
    """
    loading.cancel()
    try:
        loading.wait(60.0)
    except LoadError:
        return


def _progress(done: dict[str, int], warehouses: int, elapsed_s: float) -> Event:
    share = min(1.0, done["rows"] / done["rows_total"])
    rates = {
        "rows_per_s": done["rows"] / elapsed_s,
        "bytes_per_s": done["bytes"] / elapsed_s,
        "warehouses_per_min": 60 * warehouses * share / elapsed_s,
    }
    return Event(
        kind="progress",
        doing=f"loading {warehouses} warehouses",
        share=share,
        left_s=elapsed_s * (1 - share) / share if share else None,
        data={"rows": done["rows"], **rates},
    )


# --- what comes after -----------------------------------------------------------------------------


def _after(inside: Session, watch: Watch) -> dict[str, str]:
    address = inside.address
    keys = [keys_of(table) for table in LARGEST_FIRST]
    steps: list[tuple[str, str, Callable[[], object]]] = [
        ("keys_s", "creating keys", lambda: _side_by_side(address, keys)),
        ("procedures_s", "installing the procedures", lambda: install_procedures(inside)),
        ("statistics_s", "gathering statistics", lambda: inside.execute("EXEC sp_updatestats")),
        ("checkpoint_s", "waiting for a checkpoint", lambda: inside.execute("CHECKPOINT")),
    ]
    known = {}
    for number, (name, doing, step) in enumerate(steps):
        watch(Event(kind="progress", doing=doing, share=number / len(steps)))
        began = time.monotonic()
        with explained(doing, address):
            step()
        known[name] = f"{time.monotonic() - began:.2f}"
    return known


def _side_by_side(address: Address, groups: Sequence[Sequence[str]]) -> None:
    """Run groups of statements over STREAMS connections, the next free one taking the next group;
    the first error ends all.
    """
    rest = iter(groups)
    with ExitStack() as stack:
        sessions = [stack.enter_context(connect_to(address)) for _ in range(STREAMS)]
        threads = stack.enter_context(ThreadPoolExecutor(STREAMS, thread_name_prefix="loading"))
        try:
            for ended in as_completed(
                [threads.submit(_run, session, rest) for session in sessions]
            ):
                ended.result()
        except BaseException:
            deque(rest, maxlen=0)  # what was not begun is not begun any more
            raise


def _run(session: Session, groups: Iterator[Sequence[str]]) -> None:
    for group in groups:
        for statement in group:
            session.execute(statement)
