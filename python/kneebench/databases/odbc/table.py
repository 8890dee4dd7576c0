"""What the table `[database]` of a plan has for databases that a driver reaches."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field

from kneebench.databases.odbc.dialect import Dialect, dialect_in
from kneebench.databases.odbc.properties import PASSWORD
from kneebench.databases.odbc.url import EXAMPLE, DriverUrl
from kneebench.plan.database import Database, ServerDatabase
from kneebench.plan.server_url import UrlRule
from kneebench.plan.values import Text

if TYPE_CHECKING:
    from kneebench.plan.storage import Storage


class OdbcDatabase(ServerDatabase):
    """A running database that a driver of unixODBC reaches."""

    url_rule: ClassVar[UrlRule] = DriverUrl(("odbc",), EXAMPLE, PASSWORD)
    folder: ClassVar[Path]
    """That of the dialect, where the engine has its own."""
    restores: ClassVar[tuple[str, ...]] = ("auto", "load", "command", "none")
    users_elsewhere: ClassVar[bool] = False
    url: Annotated[
        Text,
        Field(
            description=(
                f"The driver's connection string, {EXAMPLE}; the password comes from {PASSWORD}"
            )
        ),
    ] = ""

    def found_dialect(self) -> Dialect:
        """What kneebench knows of the database; raises PlanError where it cannot be read."""
        return dialect_in(self.dialect_folder)

    @property
    def dialect_folder(self) -> Path:
        """Where that is written."""
        return self.folder

    def restored_by(self, urls: Mapping[str, str]) -> str:
        return "load" if self.restore == "auto" else self.restore

    def trial_url(self, url: str) -> str:
        """The same: a trial is refused where tables of another size are."""
        return url

    def check_temporary(self, storages: Mapping[str, Storage]) -> None:
        """Nothing: a driver says nothing of files."""


def odbc_table(table: Database) -> OdbcDatabase:
    """A plan's table, which is that of such a database."""
    assert isinstance(table, OdbcDatabase)
    return table
