"""The table `[database]` of a plan for a database that kneebench does not know."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field

from kneebench.databases.odbc.table import OdbcDatabase
from kneebench.plan.values import Directory


class UnknownDatabase(OdbcDatabase):
    """A database by the driver of its maker, and a dialect that the user wrote (docs/odbc.md)."""

    dialect: Annotated[
        Directory,
        Field(description="Folder of the dialect: what kneebench must know of the database"),
    ]

    @property
    def dialect_folder(self) -> Path:
        return self.dialect

    @property
    def paths(self) -> tuple[Path, ...]:
        """That of the dialect."""
        return (self.dialect,)


TABLE = UnknownDatabase
