"""What the eight tables are on every engine."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from kneebench.databases.schema import Schema, SessionOf
from kneebench.databases.tproc_h.tables import LARGEST_FIRST, rows_check
from kneebench.records import Check


class QueryTables(Schema[SessionOf]):
    """Beside an engine's schema of TPROC-C: what else it makes, and how it counts."""

    rolls_back = False
    loaded = LARGEST_FIRST

    @abstractmethod
    def count(self, table: str) -> Any:
        """How many rows a table has."""

    def is_unused(self) -> bool:
        """A base image is: queries run on copies."""
        return True

    def install_routines(self) -> None:
        """Queries are plain SQL."""

    def conditions(self, warehouses: int, before: Sequence[Check] | None = None) -> list[Check]:
        """All rows of the load are there, and no others."""
        there = sum(int(self.count(table)) for table in LARGEST_FIRST)
        return [rows_check(there, int(self.facts()["rows"]))]
