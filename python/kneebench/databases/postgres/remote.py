"""A running server by URL: never started, never stopped, its settings taken as they are.

How a climb gets its fresh database (`restore`):

- template (when nothing is said): the image is a database of ours on that server, the work database its copy.
- command: the plan's shell command puts the URL's database back; it may also be what fills it.
- none: the URL's database is used as the last climb left it.

Only databases that we made are ever dropped: their comment says so.
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
from kneebench.databases.postgres.address import address_of, connect, explained, parameters
from kneebench.databases.postgres.allowance import too_few_connections
from kneebench.databases.postgres.conditions import conditions
from kneebench.databases.postgres.image import Recipe
from kneebench.databases.postgres.loading import load
from kneebench.databases.postgres.schema import facts as facts_of_load
from kneebench.databases.postgres.schema import install_functions, tables_there
from kneebench.databases.postgres.server import PostgresServer
from kneebench.databases.postgres.templates import Template
from kneebench.errors import KneebenchError, PlanError
from kneebench.lab.journal import Journal
from kneebench.plan import Plan
from kneebench.records import Address, Cell, Check, Event, Finding, Watch
from kneebench.secrets import without_passwords

Connection = psycopg.Connection[tuple[Any, ...]]
LIBPQ = {"host": "PGHOST", "port": "PGPORT", "user": "PGUSER", "dbname": "PGDATABASE", "sslmode": "PGSSLMODE", "sslrootcert": "PGSSLROOTCERT"}
START_LIMIT_S = 60.0
"""How long a server may take to answer again after the restore command."""


class RemotePostgres:
    """Servers that run already, one a storage or one for all."""

    def __init__(self, plan: Plan, journal: Journal) -> None:
        self.plan, self.journal = plan, journal
        self.foreign = plan.database.schema_from == "hammerdb"
        self.how = plan.database.restore if "restore" in plan.database.model_fields_set else "none" if self.foreign else "template"
        if self.how in ("copy", "clone"):
            raise PlanError("reading database.restore", seen=f"{self.how!r} needs the server's files", do='use "template", "command" or "none" with a URL')

    def _address(self, storage: str) -> Address:
        return address_of(self.plan.urls[storage])

    def findings(self) -> Sequence[Finding]:
        """Whether the servers answer, and what the role may do there; changes nothing."""
        return [finding for name in self.plan.storages for finding in self._findings(name)]

    def _findings(self, storage: str) -> Iterator[Finding]:
        subject = without_passwords(self.plan.urls[storage])
        try:
            address = self._address(storage)
            with explained("asking for the role's rights", address), connect(address) as connection:
                yield Finding(level="ok", subject=subject, seen=f"PostgreSQL {_version(connection)}, restored by {self.how}")
                yield from _rights(connection, subject, self.how)
                yield from too_few_connections(connection, subject, self.plan)
        except KneebenchError as error:
            yield finding_of(error, subject)

    def prepare(self, watch: Watch) -> dict[str, str]:
        """Load the image database (template) or the URL's own where it is empty; facts of the last storage's, and how it is restored."""
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
            return self._adopted(address)
        if self.how == "template":
            return self._template(address).prepare(self.plan.workload, self.plan.seed, watch)
        if self.how == "command":
            with connect(address) as connection:
                loaded = facts_of_load(connection)
            if loaded.get("state") == "whole":  # the command puts it back, run on or not
                return {**loaded, "reused": "yes"}
        return {"reused": "no", **load(address, self.plan.workload, self.plan.seed, watch)}

    def _adopted(self, address: Address) -> dict[str, str]:
        """HammerDB's schema as it stands: our functions are put beside it, in a schema of their own."""
        with connect(address) as connection:
            if "order_line" not in tables_there(connection):
                raise PlanError(
                    f"looking for HammerDB's schema in {address.database}", seen="there is no table order_line", do="build it with HammerDB, or correct the URL"
                )
            install_functions(connection)
            warehouses = (connection.execute("SELECT count(*) FROM public.warehouse").fetchone() or (0,))[0]
        if warehouses != self.plan.workload.warehouses:
            raise PlanError(
                f"looking at HammerDB's schema in {address.database}", seen=f"it has {warehouses} warehouses", do=f"set workload.warehouses = {warehouses}"
            )
        return {"reused": "yes", "schema_from": "hammerdb", "warehouses": str(warehouses)}

    def _template(self, address: Address) -> Template:
        with connect(address) as connection:
            recipe = Recipe(_version(connection), (), self.plan.workload, self.plan.seed)
        return Template(address, "" if not self.foreign else address.database, recipe, self.journal)

    @contextlib.contextmanager
    def restored(self, cell: Cell, watch: Watch, repeat: int = 0) -> Iterator[PostgresServer]:
        """The server with a fresh database; what we made for it is dropped at the end."""
        address = self._address(cell.storage)
        began = time.monotonic()
        watch(Event(kind="start", doing=f"restoring the database of {cell.storage!r} by {self.how}"))
        with contextlib.ExitStack() as stack:
            if self.how == "template":
                address = stack.enter_context(self._template(address).work())
            elif self.how == "command":
                self._run_command(address)
                with explained("installing the functions", address), connect(address) as connection:
                    install_functions(connection)
            restore_s = time.monotonic() - began
            with explained("opening the restored database", address):
                server = PostgresServer(address, self.plan.workload.warehouses, restore_s, self._notes(), before=self._before(address, watch))
            stack.callback(server.close)
            server.checkpoint()
            yield server

    def _before(self, address: Address, watch: Watch) -> Sequence[Check] | None:
        """The conditions of a schema that we did not fill, to judge the change since."""
        if not self.foreign:
            return None
        watch(Event(kind="start", doing="checking the schema as it stands"))
        with connect(address) as connection:
            return conditions(connection, self.plan.workload.warehouses)

    def _notes(self) -> list[str]:
        notes = ["the server was running: its caches were not emptied, its settings are its own"]
        if self.how == "none":
            notes.append("the database was not restored: each climb began with what the last one left")
        return notes

    def _run_command(self, address: Address) -> None:
        """Run the plan's command, then wait for the server; it is told the address by libpq's variables, not the password."""
        command = self.plan.database.restore_command
        done = subprocess.run(["sh", "-c", command], env=_told(address), capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            words = (done.stderr or done.stdout).strip()[-400:]
            raise KneebenchError("restoring by database.restore_command", seen=f"it ended with {done.returncode}: {words}", do="run it by hand and correct it")
        until = time.monotonic() + START_LIMIT_S
        while True:
            try:
                return connect(address).close()
            except PlanError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.2)


def _told(address: Address) -> dict[str, str]:
    """Our environment with the address in libpq's variables. Of the password a command knows what a passfile tells it."""
    given = parameters(address)
    told = {variable: given[name] for name, variable in LIBPQ.items() if name in given}
    return {name: value for name, value in os.environ.items() if name != "PGPASSWORD"} | told


def _version(connection: Connection) -> str:
    return str(connection.info.parameter_status("server_version")).split()[0]


def _rights(connection: Connection, subject: str, how: str) -> Iterator[Finding]:
    query = """SELECT rolsuper OR rolcreatedb, rolsuper OR pg_has_role(current_user, 'pg_monitor', 'usage'), current_setting('track_wal_io_timing') = 'on',
               has_database_privilege(current_database(), 'CREATE') FROM pg_roles WHERE rolname = current_user"""
    may_create, may_monitor, timed, may_add = connection.execute(query).fetchone() or (False, False, False, False)
    if how == "template" and not may_create:
        yield Finding(level="error", subject=subject, seen="the role may not create databases", do='grant CREATEDB, or set restore = "command" or "none"')
    if how != "template" and not may_add:
        seen, do = "the role may not create schemas in the database", f"GRANT CREATE ON DATABASE {connection.info.dbname} TO {connection.info.user}"
        yield Finding(level="error", subject=subject, seen=seen, do=do)
    if not may_monitor:
        yield Finding(level="warning", subject=subject, seen="the role may not see other sessions", do="grant pg_monitor")
    if not timed:
        yield Finding(level="warning", subject=subject, seen="track_wal_io_timing is off: the log write latency will not be measured", do="turn it on")
