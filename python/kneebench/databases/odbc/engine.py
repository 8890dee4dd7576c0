"""A running database that a driver reaches: never started, never stopped, its settings not changed.

The URL names a database, or a schema of one, in which kneebench makes its nine tables. How a climb
gets a fresh database (`restore`):

- load (the default): the tables are dropped and loaded again, unless nothing was run on them
- command: the plan's shell command restores them
- none: they are used as the last climb left them
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack

from kneebench.databases.external.engine import (
    LEFT,
    UNTOUCHED,
    ExternalRestore,
    ExternalServers,
    KeptDatabase,
)
from kneebench.databases.odbc.dialect import Dialect
from kneebench.databases.odbc.properties import PASSWORD
from kneebench.databases.odbc.schema import OdbcSchema
from kneebench.databases.odbc.server import OdbcServer, in_force
from kneebench.databases.odbc.session import CLIENT, OdbcAddress, OdbcSession, connect
from kneebench.databases.odbc.table import OdbcDatabase, odbc_table
from kneebench.databases.odbc.url import SCHEME
from kneebench.lab.journal import Journal
from kneebench.plan.database_plan import DatabasePlan
from kneebench.records import Finding, Watch, Whereabouts

AGAIN = "loaded again before this climb: what was cached of the old tables is lost"
NOT_TRIED = (
    "not tried: what kneebench has for {} is written from its documentation, and no such server has"
    " run it"
)


class RemoteOdbc(ExternalServers[OdbcDatabase, OdbcAddress, OdbcSession, OdbcServer]):
    """Databases that drivers reach: one per storage, or one for all."""

    password_variable = PASSWORD

    def __init__(self, plan: DatabasePlan, journal: Journal) -> None:
        super().__init__(plan, journal, odbc_table(plan.database))
        self.dialect: Dialect = self.table.found_dialect()

    def address(self, storage: str) -> OdbcAddress:
        string = self.plan.urls[storage].removeprefix(SCHEME)
        return OdbcAddress(string=string, dialect=self.dialect)

    def connected(self, address: OdbcAddress, limit_s: float | None = None) -> OdbcSession:
        return connect(address, limit_s=limit_s)

    def explained(self, what: str, address: OdbcAddress) -> AbstractContextManager[None]:
        return CLIENT.explained(what, address)

    def variables(self, address: OdbcAddress) -> Mapping[str, str]:
        return {"KNEEBENCH_ODBC": address.string}

    def found(
        self, session: OdbcSession, storage: str, address: OdbcAddress, subject: str
    ) -> Iterator[Finding]:
        version = session.value(self.dialect.version)
        seen = f"{self.dialect.label}, version {version}, restored by {self.how}"
        yield Finding(level="ok", subject=subject, seen=seen)
        if not self.dialect.tried:
            do = "run `kneebench check --try` first: it reports what differs from the documentation"
            words = NOT_TRIED.format(self.dialect.label)
            yield Finding(level="warning", subject=subject, seen=words, do=do)
        if places := _placed(session):
            yield Finding(level="ok", subject=f"{subject}: files", seen=places)
        schema = OdbcSchema(session)
        if not (self.how == "command" and schema.is_whole()):
            schema.require_loadable(self.plan.workload, self.plan.seed)

    def kept(self, session: OdbcSession, storage: str, address: OdbcAddress) -> KeptDatabase:
        schema = OdbcSchema(session)
        there = (schema.size_bytes() or self.plan.data_bytes) if schema.is_whole() else 0
        drops = [*self.dialect.removal, *(f"DROP TABLE {name}" for name in schema.own)]
        command = CLIENT.command(address, "\n".join(drops))
        return KeptDatabase("nine tables", there, address.place, command)

    def reported(self, session: OdbcSession, address: OdbcAddress) -> dict[str, str]:
        return {setting.name: setting.value for setting in in_force(session)}

    def log_untraced(self, session: OdbcSession, address: OdbcAddress) -> str:
        return "a driver does not show where the server writes its log"

    def locate(self, address: OdbcAddress) -> Whereabouts:
        """Taken for another machine: neither its processes nor its files are to be seen."""
        return Whereabouts(seen="by its own views only")

    def load(self, storage: str, address: OdbcAddress, watch: Watch) -> dict[str, str]:
        with self.connected(address) as session:
            found = OdbcSchema(session).facts()
        if self.how == "command" and found.get("state") == "whole":  # it restores it, used or not
            return {**found, "reused": "yes"}
        loaded = OdbcSchema.load(address, self.plan.workload, self.plan.seed, watch)
        return {"reused": "no", **loaded}

    def open(self, restore: ExternalRestore[OdbcAddress], stack: ExitStack) -> OdbcServer:
        address = restore.address
        how = {"none": LEFT, "command": UNTOUCHED}.get(self.how, "")
        if self.how == "load":
            loaded = OdbcSchema.load(address, self.plan.workload, self.plan.seed, restore.watch)
            how = UNTOUCHED if loaded.get("reused") else AGAIN
        with self.explained("cannot open the restored database", address):
            with self.connected(address) as session:
                places = _placed(session)
                schema = OdbcSchema(session)
                if self.how == "command":
                    self.require_plans(schema.facts(), address.place)
                schema.install_routines()
            warehouses = self.plan.workload.warehouses
            server = OdbcServer(address, warehouses, restore.seconds, self._notes(how, places))
        stack.callback(server.close)
        server.checkpoint()
        return server

    def _notes(self, how: str, places: str) -> list[str]:
        tried = [] if self.dialect.tried else [NOT_TRIED.format(self.dialect.label)]
        return [*tried, how, *([f"the database's files: {places}"] if places else [])]

    def remove(self, storage: str, address: OdbcAddress) -> str:
        """Drop our tables and procedures."""
        explained = self.explained("cannot drop the tables", address)
        with explained, self.connected(address) as session:
            schema = OdbcSchema(session)
            schema.drop_tables(schema.require_ours())
        return f"dropped the tables at {address.place}"


def _placed(session: OdbcSession) -> str:
    """Where the server keeps its files, by what they hold; empty where the dialect cannot tell."""
    query, held = session.dialect.placement, dict[str, list[str]]()
    for role, path in session.rows(query) if query else []:
        held.setdefault(str(role), []).append(str(path))
    return "; ".join(f"{role} in {', '.join(paths)}" for role, paths in held.items())


def open_engine(plan: DatabasePlan, journal: Journal) -> RemoteOdbc:
    """The engine of a plan; changes nothing."""
    return RemoteOdbc(plan, journal)
