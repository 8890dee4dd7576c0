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
import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from typing import Any

import psycopg

from kneebench.databases.engine import finding_of
from kneebench.databases.managed.process import Process
from kneebench.databases.postgres import adopted
from kneebench.databases.postgres.address import address_of, connect, explained, parameters
from kneebench.databases.postgres.conditions import conditions
from kneebench.databases.postgres.connection_limit import too_few_connections
from kneebench.databases.postgres.image import recipe_of
from kneebench.databases.postgres.loading import load
from kneebench.databases.postgres.rights import LOGGED, rights
from kneebench.databases.postgres.server import PostgresServer
from kneebench.databases.postgres.server_address import Address
from kneebench.databases.postgres.sql_schema import facts as facts_of_load
from kneebench.databases.postgres.sql_schema import (
    install_functions,
    quiet_rollbacks,
)
from kneebench.databases.postgres.table import postgres_table
from kneebench.databases.postgres.templates import Template
from kneebench.databases.postgres.whereabouts import whereabouts
from kneebench.errors import KneebenchError, PlanError
from kneebench.lab.journal import Journal
from kneebench.lab.processes import family
from kneebench.plan import Plan
from kneebench.records import Cell, Check, Event, Finding, Watch, Whereabouts
from kneebench.secrets import redacted_output, without_passwords

Connection = psycopg.Connection[tuple[Any, ...]]
LIBPQ = {
    "host": "PGHOST",
    "port": "PGPORT",
    "user": "PGUSER",
    "dbname": "PGDATABASE",
    "sslmode": "PGSSLMODE",
    "sslrootcert": "PGSSLROOTCERT",
}
START_LIMIT_S = 60.0
"""Time limit for the server to answer again after the restore command."""


class RemotePostgres:
    """Servers that run already: one per storage, or one for all."""

    def __init__(self, plan: Plan, journal: Journal) -> None:
        self.plan, self.journal = plan, journal
        self._where: dict[str, Whereabouts] = {}
        self.table = postgres_table(plan.database)
        self.foreign = self.table.schema_from == "hammerdb"
        self.how = plan.restore
        if (requested := self.table.restore) in ("copy", "clone"):
            raise PlanError(
                "database.restore",
                seen=f"{requested!r} needs the server's files",
                do='use "template", "command" or "none" with a URL',
            )

    def _address(self, storage: str) -> Address:
        return address_of(self.plan.urls[storage])

    def findings(self) -> Sequence[Finding]:
        """Whether the servers answer, and what the role may do there; changes nothing."""
        return [finding for name in self.plan.storages for finding in self._findings(name)]

    def _findings(self, storage: str) -> Iterator[Finding]:
        subject = without_passwords(self.plan.urls[storage])
        try:
            address = self._address(storage)
            with explained("reading the role's rights", address), connect(address) as connection:
                where = whereabouts(connection)
                yield Finding(
                    level="ok",
                    subject=subject,
                    seen=f"PostgreSQL {_version(connection)}, restored by {self.how}; {where.seen}",
                )
                yield from (
                    Finding(level="note", subject=subject, seen=note) for note in where.notes
                )
                yield from rights(connection, subject, self.how)
                yield from too_few_connections(connection, subject, self.plan)
                if self.foreign:
                    yield from adopted.findings(connection, subject, self.plan)
        except KneebenchError as error:
            yield finding_of(error, subject)

    def where(self, cell: Cell) -> Whereabouts:
        """Where the server runs, by its sockets, processes and directories; determined once."""
        url, address = self.plan.urls[cell.storage], self._address(cell.storage)
        if url not in self._where:
            with explained("locating the server", address), connect(address) as connection:
                self._where[url] = whereabouts(connection)
        return self._where[url]

    def prepare(self, watch: Watch) -> dict[str, str]:
        """Load the image database (template), or the URL's own if it is empty.

        Returns the facts of the last storage's database, and how it is restored.
        """
        facts: dict[str, str] = {}
        for url, storage in {url: name for name, url in self.plan.urls.items()}.items():
            doing = f"preparing the database at {without_passwords(url)}"
            address = self._address(storage)
            with explained(doing, address):
                facts = self._prepared(address, watch)
            watch(Event(kind="end", doing=doing, share=1.0))
        return {**facts, "restored_by": self.how}

    def _prepared(self, address: Address, watch: Watch) -> dict[str, str]:
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

    def _template(self, address: Address) -> Template:
        with connect(address) as connection:
            recipe = recipe_of(_version(connection), (), self.plan.workload, self.plan.seed)
        return Template(address, "" if not self.foreign else address.database, recipe, self.journal)

    @contextlib.contextmanager
    def restored(self, cell: Cell, watch: Watch, restore: int = 0) -> Iterator[PostgresServer]:
        """The server with a fresh database; databases made for it are dropped at the end."""
        address = self._address(cell.storage)
        began = time.monotonic()
        watch(Event(kind="start", doing=f"restoring the database of {cell.storage!r} ({self.how})"))
        with contextlib.ExitStack() as stack:
            if self.how == "template":
                address = stack.enter_context(self._template(address).work(watch))
            elif self.how == "command":
                self._run_command(address)
            if self.foreign and self.how != "template":
                stack.enter_context(adopted.without_functions_after(address, self.journal, watch))
            notes = [*self._notes(), *self.where(cell).notes, *self._functions(address)]
            restore_s = time.monotonic() - began
            with explained("opening the restored database", address):
                process, before = self._process(address), self._before(address, watch)
                server = PostgresServer(
                    address, self.plan.workload.warehouses, restore_s, notes, process, before
                )
            stack.callback(server.close)
            server.checkpoint()
            yield server

    def remove_image(self, watch: Watch) -> str:
        """Drop the image databases of all servers (restore = "template")."""
        storages = {url: name for name, url in self.plan.urls.items()}.values()
        removed = [self._template(self._address(name)).remove() for name in storages]
        return f"dropped {', '.join(removed)}"

    def close(self) -> None:
        """Nothing is kept between restores."""

    def _process(self, address: Address) -> Process:
        """The server's process if it runs on this machine; located anew each time, because the
        server may have been restarted.
        """
        with connect(address) as connection:
            found = whereabouts(connection)
        return (
            Process(
                lambda: family(found.process),
                cores=found.cores,
                paths=found.paths,
                roles=found.roles,
            )
            if found.here
            else Process()
        )

    def _functions(self, address: Address) -> list[str]:
        """Install the functions, unless the database is a copy of an image that has them.

        Returns a note if their rollbacks by design appear in the server's log.
        """
        with explained("installing the functions", address), connect(address) as connection:
            if self.how != "template" or self.foreign:
                install_functions(connection)
            return [] if quiet_rollbacks(connection) else [LOGGED]

    def _before(self, address: Address, watch: Watch) -> Sequence[Check] | None:
        """The conditions of a schema that we did not load, to judge the change since."""
        if not self.foreign:
            return None
        watch(Event(kind="start", doing="checking the existing schema"))
        with connect(address) as connection:
            return conditions(connection, self.plan.workload.warehouses)

    def _notes(self) -> list[str]:
        notes = ["external server: its caches were not emptied and its settings were not changed"]
        if self.how == "none":
            notes.append(
                "the database was not restored: each climb started from the state the previous one"
                " left"
            )
        return notes

    def _run_command(self, address: Address) -> None:
        """Run the plan's command, then wait for the server.

        The command receives the address in libpq's variables, without the password.
        """
        command = self.table.restore_command
        done = subprocess.run(
            ["sh", "-c", command],
            env=_libpq_environment(address),
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        if done.returncode != 0:
            words = redacted_output(command, done.stderr or done.stdout).strip()[-400:]
            raise KneebenchError(
                "database.restore_command",
                seen=f"exit code {done.returncode}: {words}",
                do="run the command by hand and correct it",
            )
        until = time.monotonic() + START_LIMIT_S
        while True:
            try:
                return connect(address).close()
            except PlanError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.2)


def _libpq_environment(address: Address) -> dict[str, str]:
    """Our environment with the address in libpq's variables.

    It contains no password: a command reads that from a passfile.
    """
    given = parameters(address)
    variables = {variable: given[name] for name, variable in LIBPQ.items() if name in given}
    return {name: value for name, value in os.environ.items() if name != "PGPASSWORD"} | variables


def _version(connection: Connection) -> str:
    return str(connection.info.parameter_status("server_version")).split()[0]
