"""What the eight tables are on every engine."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from kneebench.databases.schema import Schema, SessionOf
from kneebench.databases.tproc_h.refresh import BLOCK, USED
from kneebench.databases.tproc_h.tables import LARGEST_FIRST, rows_check
from kneebench.records import Check


class QueryTables(Schema[SessionOf]):
    """Beside an engine's schema of TPROC-C: what else it makes, and how it counts."""

    rolls_back = keyless = False
    loaded = LARGEST_FIRST

    @abstractmethod
    def count(self, table: str) -> Any:
        """How many rows a table has; a condition can follow its name."""

    def is_unused(self) -> bool:
        """No order is there that a refresh function added and none removed."""
        return int(self.count(f"orders WHERE o_orderkey % {BLOCK} >= {USED}")) == 0

    def install_routines(self) -> None:
        """Queries are plain SQL."""

    def conditions(self, warehouses: int, before: Sequence[Check] | None = None) -> list[Check]:
        """All rows of the load are there, and no others."""
        there = sum(int(self.count(table)) for table in LARGEST_FIRST)
        return [rows_check(there, int(self.facts()["rows"]))]
