"""A running server by URL: never started, never stopped, its settings not changed.

How a climb gets its fresh database (`restore`):

- template (the default): the base image is a database of ours on that server, and the work database
  is a copy of it.
- command: the plan's shell command restores the URL's database; it may also load it.
- none: the URL's database is used as the last climb left it.

Only databases that we made are ever dropped: their comment identifies them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import Any

import psycopg

from kneebench.databases.engines.postgres import adopted
from kneebench.databases.engines.postgres.address import address_of, connect, explained, parameters
from kneebench.databases.engines.postgres.conditions import conditions
from kneebench.databases.engines.postgres.image import recipe_of
from kneebench.databases.engines.postgres.loading import load, require_loadable
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
from kneebench.databases.engines.postgres.sql_schema import facts as facts_of_load
from kneebench.databases.engines.postgres.sql_schema import (
    install_functions,
    quiet_rollbacks,
)
from kneebench.databases.engines.postgres.table import PASSWORD, PostgresDatabase, postgres_table
from kneebench.databases.engines.postgres.templates import Template, psql_command
from kneebench.databases.engines.postgres.whereabouts import whereabouts
from kneebench.databases.external.engine import (
    LEFT,
    UNTOUCHED,
    ExternalRestore,
    ExternalServers,
    KeptDatabase,
    process_at,
)
from kneebench.databases.tproc_c.loading import LARGEST_FIRST
from kneebench.lab.journal import Journal
from kneebench.plan.database_plan import DatabasePlan
from kneebench.records import Check, Event, Finding, Watch, Whereabouts

Connection = psycopg.Connection[tuple[Any, ...]]
DROP_TABLES = f"DROP TABLE {', '.join(f'public.{name}' for name in LARGEST_FIRST)}"
LIBPQ = {
    "host": "PGHOST",
    "port": "PGPORT",
    "user": "PGUSER",
    "dbname": "PGDATABASE",
    "sslmode": "PGSSLMODE",
    "sslrootcert": "PGSSLROOTCERT",
}


class RemotePostgres(
    ExternalServers[PostgresDatabase, PostgresAddress, Connection, PostgresServer]
):
    """Servers that run already: one per storage, or one for all."""

    password_variable = PASSWORD

    def __init__(self, plan: DatabasePlan, journal: Journal) -> None:
        super().__init__(plan, journal, postgres_table(plan.database))

    def address(self, storage: str) -> PostgresAddress:
        return address_of(self.plan.urls[storage])

    def connected(
        self, address: PostgresAddress, limit_s: float | None = None
    ) -> AbstractContextManager[Connection]:
        return connect(address, limit_s=limit_s)

    def explained(self, what: str, address: PostgresAddress) -> AbstractContextManager[None]:
        return explained(what, address)

    def variables(self, address: PostgresAddress) -> dict[str, str]:
        """As libpq reads them; a password comes from a passfile."""
        given = parameters(address)
        return {variable: given[name] for name, variable in LIBPQ.items() if name in given}

    def found(
        self, session: Connection, storage: str, address: PostgresAddress, subject: str
    ) -> Iterator[Finding]:
        """Where it runs, the role's rights, the free connections, HammerDB's tables."""
        where = whereabouts(session)
        yield Finding(
            level="ok",
            subject=subject,
            seen=f"PostgreSQL {_version(session)}, restored by {self.how}; {where.seen}",
        )
        yield from (Finding(level="note", subject=subject, seen=note) for note in where.notes)
        yield from obstacles(session, subject)
        yield from rights(session, subject, self.how)
        yield from too_few_connections(session, subject, self.plan)
        if self.how == "template":
            yield from self._template(address, session).findings(session, subject)
        if self.foreign:
            yield from adopted.findings(session, subject, self.plan)
        elif self.how == "none" or (self.how == "command" and not _is_whole(session)):
            require_loadable(session, self.plan.workload, self.plan.seed)

    def kept(
        self, session: Connection, storage: str, address: PostgresAddress
    ) -> KeptDatabase | None:
        """The image database; the tables in the URL's; nothing beside a schema of another's."""
        if self.foreign:
            return None
        place = values(session, "data_directory").get("data_directory", "the server's directory")
        if self.how == "template":
            template = self._template(address, session)
            drop = psql_command(address, f"DROP DATABASE {template.image}")
            return KeptDatabase(template.image, template.image_bytes(session), place, drop)
        size = "SELECT pg_database_size(current_database())"
        there = (session.execute(size).fetchone() or (0,))[0] if _is_whole(session) else 0
        drop = psql_command(address, f"DROP SCHEMA kneebench CASCADE; {DROP_TABLES}")
        return KeptDatabase(f"nine tables of {address.database}", there, place, drop)

    def reported(self, session: Connection, address: PostgresAddress) -> dict[str, str]:
        """As they are for the role's sessions."""
        return values(session, *(one.name for one in self.plan.engine.safety_settings))

    def log_untraced(self, session: Connection, address: PostgresAddress) -> str:
        """By where it runs, and how it syncs."""
        calls = log_calls(values(session, *SYNCED_BY_SETTINGS), whereabouts(session).process)
        return calls if isinstance(calls, str) else ""

    def locate(self, address: PostgresAddress) -> Whereabouts:
        with connect(address) as connection:
            return whereabouts(connection)

    def load(self, storage: str, address: PostgresAddress, watch: Watch) -> dict[str, str]:
        """The image database (template), or the URL's own if it is empty."""
        if self.foreign:
            with connect(address) as connection:
                return adopted.facts(connection, self.plan.workload.warehouses)
        if self.how == "template":
            return self._template(address).prepare(self.plan.workload, self.plan.seed, watch)
        if self.how == "command":
            with connect(address) as connection:
                loaded = facts_of_load(connection)
            if loaded.get("state") == "whole":  # the command restores it, used or not
                return {**loaded, "reused": "yes"}
        return {"reused": "no", **load(address, self.plan.workload, self.plan.seed, watch)}

    def remove(self, storage: str, address: PostgresAddress) -> str:
        return f"dropped {self._template(address).remove()}"

    def _template(self, address: PostgresAddress, session: Connection | None = None) -> Template:
        with contextlib.nullcontext(session) if session else connect(address) as asked:
            recipe = recipe_of(_version(asked), (), self.plan.workload, self.plan.seed)
        return Template(address, "" if not self.foreign else address.database, recipe, self.journal)

    def open(self, restore: ExternalRestore[PostgresAddress], stack: ExitStack) -> PostgresServer:
        """A copy of the template, dropped with the stack; or the URL's database."""
        address, watch = restore.address, restore.watch
        if self.how == "template":
            address = stack.enter_context(self._template(address).work(watch))
        elif self.foreign:
            stack.enter_context(adopted.without_functions_after(address, self.journal, watch))
        elif self.how == "command":
            with connect(address) as connection:
                self.require_plans(facts_of_load(connection), address.database)
        notes = [UNTOUCHED, *([LEFT] if self.how == "none" else [])]
        notes += [*self.where(restore.configuration).notes, *self._functions(address)]
        restore_s = restore.seconds
        with explained("cannot open the restored database", address):
            notes += self._standbys(address)
            process = process_at(self.locate(address))  # again: it may have been restarted
            before = self._before(address, watch)
            warehouses = self.plan.workload.warehouses
            server = PostgresServer(address, warehouses, restore_s, notes, process, before)
        stack.callback(server.close)
        server.checkpoint()
        return server

    def _standbys(self, address: PostgresAddress) -> list[str]:
        with connect(address) as connection:
            return standbys(connection)

    def _functions(self, address: PostgresAddress) -> list[str]:
        """Install the functions, unless the database is a copy of an image that has them.

        Returns a note if their rollbacks by design appear in the server's log.
        """
        with explained("cannot install the functions", address), connect(address) as connection:
            if self.how != "template" or self.foreign:
                install_functions(connection)
            return [] if quiet_rollbacks(connection) else [LOGGED]

    def _before(self, address: PostgresAddress, watch: Watch) -> Sequence[Check] | None:
        """The conditions of a schema that we did not load, to judge the change since."""
        if not self.foreign:
            return None
        watch(Event(kind="start", doing="checking the existing schema"))
        with connect(address) as connection:
            return conditions(connection, self.plan.workload.warehouses)


def _is_whole(connection: Connection) -> bool:
    """Whether the plan's command finds a loaded database, used or not."""
    return facts_of_load(connection).get("state") == "whole"


def _version(connection: Connection) -> str:
    return str(connection.info.parameter_status("server_version")).split()[0]
