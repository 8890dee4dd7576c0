"""The right answers: those of DuckDB, an engine of its own kind, over the same rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb

from kneebench._core import Dataset
from kneebench.databases.tproc_h.rows import plain
from kneebench.databases.tproc_h.tables import MONEY, TABLES

Rows = Sequence[Sequence[Any]]
NUMBERS = ("integer", "bigint", MONEY)
"""Types of columns that are added up."""
MEMORY = "1GiB"
"""The rest is the measured database's."""
WITHIN = 1e-6
"""Of two numbers, or of a unit where they are below 1: engines keep other numbers of digits of a
mean or a share. TPC-H itself allows 1% (2.1.3.5)."""
ADDED_UP = 1e-10
"""The same of sums over all rows, which may be of floating point numbers."""


class Reference:
    """All tables of a scale in DuckDB, in a file in a directory of its user's."""

    def __init__(self, scale: float, place: Path) -> None:
        self._database = duckdb.connect(place / "answers.duckdb")
        self._database.execute(f"SET memory_limit = '{MEMORY}'")
        dataset, rows = Dataset.tproc_h(scale=scale), place / "rows"
        for name, table in TABLES.items():
            dataset.write(name, rows)
            self._database.execute(f"CREATE TABLE {name} ({table.declaration})")
            self._database.execute(
                f"COPY {name} FROM '{rows}' (DELIMITER '\t', QUOTE '', HEADER false)"
            )
            rows.unlink()

    def answer(self, statement: str) -> Rows:
        """The rows of a query's answer."""
        return self._database.execute(statement).fetchall()

    def run(self, statements: Sequence[str]) -> None:
        """Change the rows, as a refresh function does."""
        for statement in statements:
            self._database.execute(statement)

    def count(self, table: str) -> int:
        """How many rows a table has."""
        return len(self._database.table(table))

    def close(self) -> None:
        self._database.close()


def sums(table: str) -> str:
    """The query whose answer tells a table's rows from others, whatever types its columns have.

    >>> sums("region")
    'SELECT count(*), sum(r_regionkey) FROM region'
    """
    columns = TABLES[table].columns.items()
    added = [f"sum({name})" for name, of in columns if of in NUMBERS]
    return f"SELECT {', '.join(['count(*)', *added])} FROM {table}"  # noqa: S608


def difference(found: Rows, right: Rows, within: float = WITHIN) -> str:
    """What is wrong with an answer, in words; empty where it is right. Rows that the query leaves
    in no order may have any. `within`: how far apart two numbers may be, as a share.

    >>> difference([(2, 0.5), (1, "a ")], [(1, "a"), (2, 0.5)])
    ''
    >>> difference([(1, "a")], [(1, "a"), (2, "b")]), difference([(1, 0.51)], [(1, 0.5)])
    ('1 row in place of 2', 'row 1: (1.0, 0.51) in place of (1.0, 0.5)')
    """
    if len(found) != len(right):
        rows = "1 row" if len(found) == 1 else f"{len(found)} rows"
        return f"{rows} in place of {len(right)}"
    ordered = [sorted(map(plain, rows), key=_order) for rows in (found, right)]
    for number, (one, other) in enumerate(zip(*ordered, strict=True), 1):
        if not all(_same(*pair, within) for pair in zip(one, other, strict=True)):
            return f"row {number}: {one} in place of {other}"
    return ""


def _order(row: Sequence[str | float]) -> tuple[list[str], list[float]]:
    """Texts first, and numbers without their last digits, which may differ."""
    texts = [value for value in row if isinstance(value, str)]
    return texts, [round(value, 2) for value in row if isinstance(value, float)]


def _same(one: str | float, other: str | float, within: float) -> bool:
    if isinstance(one, str) or isinstance(other, str):
        return one == other
    return math.isclose(one, other, rel_tol=within, abs_tol=within)
