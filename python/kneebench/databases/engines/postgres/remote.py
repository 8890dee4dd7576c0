"""A running server by URL: never started, never stopped, its settings not changed.

What is the same on MariaDB is in external/image.py: start reading there.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

import psycopg

from kneebench.databases.engine import LogCalls
from kneebench.databases.engines.postgres.address import address_of, connect, parameters
from kneebench.databases.engines.postgres.image import recipe_of
from kneebench.databases.engines.postgres.rights import (
    LOGGED,
    obstacles,
    rights,
    standbys,
    too_few_connections,
)
from kneebench.databases.engines.postgres.server import PostgresServer
from kneebench.databases.engines.postgres.server_address import PostgresAddress
from kneebench.databases.engines.postgres.settings_in_force import (
    SYNCED_BY_SETTINGS,
    log_calls,
    values,
)
from kneebench.databases.engines.postgres.sql_schema import quiet_rollbacks
from kneebench.databases.engines.postgres.table import PASSWORD
from kneebench.databases.engines.postgres.templates import Template
from kneebench.databases.engines.postgres.whereabouts import whereabouts
from kneebench.databases.external.image import ImageServers
from kneebench.databases.loading import Recipe
from kneebench.records import Finding, Whereabouts

Connection = psycopg.Connection[tuple[Any, ...]]
LIBPQ = {
    "host": "PGHOST",
    "port": "PGPORT",
    "user": "PGUSER",
    "dbname": "PGDATABASE",
    "sslmode": "PGSSLMODE",
    "sslrootcert": "PGSSLROOTCERT",
}


class RemotePostgres(ImageServers[PostgresAddress, Connection, PostgresServer]):
    """Servers that run already: one per storage, or one for all."""

    password_variable = PASSWORD
    image, server = Template, PostgresServer

    def address(self, storage: str) -> PostgresAddress:
        return address_of(self.plan.urls[storage])

    def connected(
        self, address: PostgresAddress, limit_s: float | None = None
    ) -> AbstractContextManager[Connection]:
        return connect(address, limit_s=limit_s)

    def variables(self, address: PostgresAddress) -> dict[str, str]:
        """As libpq reads them; a password comes from a passfile."""
        given = parameters(address)
        return {variable: given[name] for name, variable in LIBPQ.items() if name in given}

    def removal(self, database: str) -> str:
        tables = ", ".join(f"public.{name}" for name in self.schema.loaded)
        return f"DROP SCHEMA kneebench CASCADE; DROP TABLE {tables}"

    def recipe(self, session: Connection) -> Recipe:
        return recipe_of(_version(session), (), self.plan.workload, self.plan.seed)

    def name_of(self, session: Connection) -> str:
        return f"PostgreSQL {_version(session)}"

    def place_of(self, session: Connection) -> str:
        return values(session, "data_directory").get("data_directory", "the server's directory")

    def whereabouts(self, session: Connection) -> Whereabouts:
        return whereabouts(session)

    def log_calls(self, session: Connection, found: Whereabouts) -> LogCalls | str:
        return log_calls(values(session, *SYNCED_BY_SETTINGS), found.process)

    def obstacles(
        self, session: Connection, address: PostgresAddress, subject: str
    ) -> Iterator[Finding]:
        yield from obstacles(session, subject)
        adds, quiet = self.schema.installs or not self.foreign, not self.schema.rolls_back
        yield from rights(session, subject, self.how, adds=adds, quiet=quiet)
        yield from too_few_connections(session, subject, self.plan)

    def reported(self, session: Connection, address: PostgresAddress) -> dict[str, str]:
        """As they are for the role's sessions."""
        return values(session, *(one.name for one in self.plan.engine.safety_settings))

    def remarks(self, session: Connection) -> list[str]:
        """Where rollbacks by design appear in the server's log; and standbys."""
        logged = self.schema.rolls_back and not quiet_rollbacks(session)
        return [*([LOGGED] if logged else []), *standbys(session)]


def _version(connection: Connection) -> str:
    return str(connection.info.parameter_status("server_version")).split()[0]
