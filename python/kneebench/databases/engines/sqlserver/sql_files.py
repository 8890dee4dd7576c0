"""The SQL files beside this one, statement by statement."""

from __future__ import annotations

import re
from pathlib import Path

from kneebench.databases.engines.sqlserver.session import SqlServerSession
from kneebench.databases.sql_files import statements

HERE = Path(__file__).parent


def batches(file: str) -> list[str]:
    """The batches of a file in which lines of GO end them.

    >>> [one.split()[1] for one in batches("procedures.sql")[:2]]
    ["SCHEMA_ID('kneebench')", 'PROCEDURE']
    """
    text = re.sub(r"(?m)^--.*\n", "", (HERE / file).read_text())
    return [one.strip() for one in re.split(r"(?m)^GO\s*$", text) if one.strip()]


def making(table: str) -> str:
    """What makes a table."""
    return next(one for one in statements(HERE / "schema.sql") if _is_about(table, one))


def keys_of(table: str) -> list[str]:
    """What makes a table's keys and indexes, the clustered one first."""
    return [one for one in statements(HERE / "keys.sql") if _is_about(table, one)]


def _is_about(table: str, statement: str) -> bool:
    return bool(re.search(rf"\b(?:TABLE|ON) dbo\.{table}\b", statement))


def columns_of(table: str) -> list[tuple[str, str, bool]]:
    """Name, type and whether it may be null of each column, in their order.

    >>> columns_of("item")[3]
    ('i_price', 'decimal(5, 2)', False)
    """
    found = re.findall(r"(?m)^\s+(\w+) ([a-z0-9]+(?:\([\d, ]+\))?) (NOT )?NULL", making(table))
    return [(name, kind, not required) for name, kind, required in found]


def install_procedures(inside: SqlServerSession) -> None:
    """Put the five procedures into the schema kneebench, in place of earlier ones."""
    for batch in batches("procedures.sql"):
        inside.execute(batch)
