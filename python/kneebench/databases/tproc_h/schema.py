"""What the eight tables are on every engine, ours or the user's own.

Partitions, column stores and other types of columns are the user's own: such tables are checked,
and not loaded. Queries read them by the names of their columns.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

from kneebench.databases.schema import Schema, SessionOf
from kneebench.databases.tproc_h.refresh import BLOCK, OF_ORDERS, USED
from kneebench.databases.tproc_h.tables import LARGEST_FIRST, SUPPLIERS, TABLES, rows_check
from kneebench.errors import PlanError
from kneebench.plan.database_plan import DatabasePlan
from kneebench.plan.workload import Workload
from kneebench.records import Check, Finding

ADDED = {table: f"{table} WHERE mod({key}, {BLOCK}) >= {USED}" for table, key in OF_ORDERS.items()}
"""What a refresh function added to a table."""


class QueryTables(Schema[SessionOf]):
    """Beside an engine's schema of TPROC-C: what else it makes, and how it counts."""

    rolls_back = keyless = installs = False
    theirs = "own"
    changed = "RF1 adds orders to the tables in {}, and RF2 removes them, {}"
    loaded = LARGEST_FIRST

    @abstractmethod
    def count(self, table: str) -> Any:
        """How many rows a table has; a condition can follow its name."""

    @abstractmethod
    def columns(self, table: str) -> Sequence[str]:
        """The names of a table's columns."""

    def is_unused(self) -> bool:
        """No order is there that a refresh function added and none removed."""
        return int(self.count(ADDED["orders"])) == 0

    def install_routines(self) -> None:
        """Queries are plain SQL."""

    def conditions(self, warehouses: int, before: Sequence[Check] | None = None) -> list[Check]:
        """All rows are there that were loaded, or that the user's own tables had, and no others."""
        there = sum(int(self.count(table)) for table in LARGEST_FIRST)
        known = self.facts().get("rows", there) if before is None else before[0].value
        return [rows_check(there, int(known or 0))]

    def existing_facts(self, workload: Workload) -> dict[str, str]:
        """Raises PlanError for tables that lack columns, or have orders of a refresh function."""
        what = f"cannot use the tables in {self.database}"
        for table, shape in TABLES.items():
            there = self.columns(table)
            if missing := [name for name in shape.columns if name not in there]:
                seen = f"{table} has no {', '.join(missing)}" if there else f"no table {table}"
                raise PlanError(what, seen=seen, do="build the tables of TPC-H, or correct the URL")
        rows, wanted = int(self.count("supplier")), round(SUPPLIERS * workload.scale)
        if rows != wanted:
            seen = f"supplier has {rows:,} rows, and at scale {workload.scale:g} {wanted:,}"
            raise PlanError(what, seen=seen, do=f"set workload.scale = {rows / SUPPLIERS:g}")
        for table, added in ADDED.items() if workload.refresh else ():
            if rows := int(self.count(added)):
                seen = f"{table} has {rows:,} rows in keys that dbgen leaves free"
                do = f"remove what a refresh function added ({added}), or set refresh = false"
                raise PlanError(what, seen=seen, do=do)
        return {"reused": "yes", "schema_from": "own", "scale": f"{workload.scale:g}"}

    def existing_findings(self, subject: str, plan: DatabasePlan) -> Iterator[Finding]:
        """Queries without refresh functions change nothing."""
        if plan.restore != "none" or plan.workload.writes:
            yield from super().existing_findings(subject, plan)
            return
        self.existing_facts(plan.workload)
        seen = f"the tables in {self.database} are read, and not changed"
        yield Finding(level="ok", subject=subject, seen=seen)
