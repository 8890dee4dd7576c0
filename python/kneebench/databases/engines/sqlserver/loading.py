"""Loading: tables, rows, keys, procedures, statistics, checkpoint, into a database of ours.

The rows come from the core by bulk insert into heaps with TABLOCK, over a few streams, so that they
are minimally logged where the recovery model is not FULL ("Prerequisites for minimal logging in
bulk import"). Clustered keys come after the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial

from kneebench._core import TableLoad
from kneebench.core_errors import LoadError
from kneebench.databases import loading
from kneebench.databases.engines.sqlserver.address import explained
from kneebench.databases.engines.sqlserver.database import connect_to, facts, note
from kneebench.databases.engines.sqlserver.error_hints import refusal
from kneebench.databases.engines.sqlserver.server_address import SqlServerAddress
from kneebench.databases.engines.sqlserver.session import SqlServerSession
from kneebench.databases.engines.sqlserver.sql_files import (
    columns_of,
    install_procedures,
    keys_of,
    making,
)
from kneebench.databases.engines.sqlserver.version import version_of
from kneebench.databases.loading import Step, TableRows
from kneebench.databases.tproc_c.tables import LARGEST_FIRST
from kneebench.errors import KneebenchError
from kneebench.plan.workload import Workload
from kneebench.records import Watch

UNUSED = "SELECT MIN(d_next_o_id), MAX(d_next_o_id), MIN(d_ytd), MAX(d_ytd) FROM dbo.district"


def unused_facts(inside: SqlServerSession, key: str) -> dict[str, str]:
    """The facts of a whole load of this key; empty without one, or if something was run on it."""
    found = facts(inside)
    if found.pop("state", "") != "whole" or found.get("key") != key:
        return {}
    first, last, least, most = inside.execute(UNUSED)[0]
    return found if (first, last, int(least), int(most)) == (3001, 3001, 30000, 30000) else {}


def load(address: SqlServerAddress, workload: Workload, seed: int, watch: Watch) -> dict[str, str]:
    """Fill an empty database of ours; its facts (warehouses, profile, seed, rows, times), which the
    caller notes.
    """
    shape = loading.shape_of(workload, seed)
    with connect_to(address) as inside:
        with explained("cannot not the load", address):
            note(inside, {"state": "loading", **shape})
            babelfish = version_of(inside).babelfish
        rows = _rows(address, workload, seed, babelfish=babelfish)
        loaded = loading.load_rows(rows, watch, partial(_refusal, address))
        return {**shape, **loaded, **_after(inside, watch)}


def _rows(
    address: SqlServerAddress, workload: Workload, seed: int, *, babelfish: bool
) -> TableRows:
    tables = [
        TableLoad(name=table, before=[making(table)], fill=filling(table, babelfish=babelfish))
        for table in LARGEST_FIRST
    ]
    return TableRows(address, workload, seed, tables)


def _refusal(address: SqlServerAddress, what: str, error: LoadError) -> KneebenchError:
    number = int(error.code) if error.code.isdigit() else 0
    return refusal(what, error.message, number, address)


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


def _after(inside: SqlServerSession, watch: Watch) -> dict[str, str]:
    address = inside.address
    keys = [keys_of(table) for table in LARGEST_FIRST]
    statistics, checkpoint = "EXEC sp_updatestats", "CHECKPOINT"
    steps = [
        Step("keys_s", "creating keys", lambda: _side_by_side(address, keys)),
        Step(
            "procedures_s",
            "installing the procedures",
            lambda: install_procedures(inside),
        ),
        Step(
            "statistics_s",
            "gathering statistics",
            lambda: inside.execute(statistics),
        ),
        Step(
            "checkpoint_s",
            "waiting for a checkpoint",
            lambda: inside.execute(checkpoint),
        ),
    ]
    return loading.take_steps(steps, watch, lambda what: explained(what, address))


def _side_by_side(address: SqlServerAddress, groups: Sequence[Sequence[str]]) -> None:
    with ExitStack() as stack:
        sessions = [stack.enter_context(connect_to(address)) for _ in range(loading.STREAMS)]
        loading.side_by_side(sessions, groups, SqlServerSession.execute)
