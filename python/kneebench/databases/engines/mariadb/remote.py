"""A running server by URL: never started, never stopped, its settings not changed.

How a climb gets its fresh database (`restore`):

- template (the default): the base image is a database of ours on that server, and the work database
  is a copy of it, table by table. HammerDB's database is copied in place of the image.
- command: the plan's shell command restores the URL's database.
- none: the URL's database is used as the last climb left it.

Only databases that we made are ever dropped: a table with our mark identifies them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path

from kneebench import units
from kneebench.databases.engines.mariadb import adopted
from kneebench.databases.engines.mariadb.address import address_of, client_command
from kneebench.databases.engines.mariadb.conditions import conditions
from kneebench.databases.engines.mariadb.copies import Copies
from kneebench.databases.engines.mariadb.footprint import data_bytes
from kneebench.databases.engines.mariadb.image import recipe_of
from kneebench.databases.engines.mariadb.loading import load, require_loadable
from kneebench.databases.engines.mariadb.rights import obstacles, rights, too_few_connections
from kneebench.databases.engines.mariadb.server import MariadbServer
from kneebench.databases.engines.mariadb.server_address import MariadbAddress
from kneebench.databases.engines.mariadb.session import (
    LONGEST_S,
    MariadbSession,
    connect,
    explained,
)
from kneebench.databases.engines.mariadb.settings_in_force import log_calls, values
from kneebench.databases.engines.mariadb.sql_schema import facts as facts_of_load
from kneebench.databases.engines.mariadb.sql_schema import install_procedures, is_whole, size_bytes
from kneebench.databases.engines.mariadb.table import PASSWORD
from kneebench.databases.engines.mariadb.versions import Product, number, require_product, series
from kneebench.databases.engines.mariadb.whereabouts import log_directory, whereabouts
from kneebench.databases.external.engine import (
    LEFT,
    UNTOUCHED,
    ExternalRestore,
    ExternalServers,
    KeptDatabase,
    process_at,
)
from kneebench.databases.managed.server_process import Process
from kneebench.errors import KneebenchError, PlanError
from kneebench.lab.journal import Journal
from kneebench.plan.database import ExistingSchemaDatabase, existing_schema_table
from kneebench.plan.database_plan import DatabasePlan
from kneebench.records import Check, Event, Finding, Watch, Whereabouts
from kneebench.secrets import without_passwords

SHARED = (
    "the server's counters count all its databases: what others do meanwhile is among log writes,"
    " commits and page reads. While others are connected, TPM is the load generator's"
)


class RemoteMariadb(
    ExternalServers[ExistingSchemaDatabase, MariadbAddress, MariadbSession, MariadbServer]
):
    """Servers that run already: one per storage, or one for all."""

    password_variable = PASSWORD

    def __init__(
        self, plan: DatabasePlan, journal: Journal, product: Product = Product.MARIADB
    ) -> None:
        super().__init__(plan, journal, existing_schema_table(plan.database))
        self.product = product

    def address(self, storage: str) -> MariadbAddress:
        """That of the URL; without a database where all databases are ours."""
        url = self.plan.urls[storage]
        address = address_of(url).model_copy(update={"client": self.product.engine})
        if not self.foreign and self.how == "template":
            return _without_database(address)
        if not address.database:
            use = f'restore = "{self.how}" measures'
            purpose = "contains HammerDB's schema" if self.foreign else use
            raise PlanError(
                f"cannot read the URL {without_passwords(url)}",
                seen=f"it names no database, which {purpose}",
                do=f"write it as {self.table.url_rule.example}",
            )
        return address

    def connected(self, address: MariadbAddress, limit_s: float | None = None) -> MariadbSession:
        """A session with a server of the right product and a version that is not too old."""
        session = connect(address, limit_s=limit_s or LONGEST_S)
        try:
            require_product(self.product, session.version, address.place)
        except KneebenchError:
            session.close()
            raise
        return session

    def explained(self, what: str, address: MariadbAddress) -> AbstractContextManager[None]:
        return explained(what, address)

    def variables(self, address: MariadbAddress) -> dict[str, str]:
        """As the clients read host, port and socket; they read no user and no database."""
        place = (
            {"MYSQL_UNIX_PORT": address.socket}
            if address.socket
            else {"MYSQL_HOST": address.host, "MYSQL_TCP_PORT": str(address.port)}
        )
        return {**place, "MYSQL_USER": address.user, "MYSQL_DATABASE": address.database}

    def found(
        self, session: MariadbSession, storage: str, address: MariadbAddress, subject: str
    ) -> Iterator[Finding]:
        """Where it runs, the user's rights, what else the server does, HammerDB's tables."""
        settings = values(session)
        where = whereabouts(session, settings, address.host)
        yield Finding(
            level="ok",
            subject=subject,
            seen=f"{series(session.version)}, restored by {self.how}; {where.seen}",
        )
        if untried := self.product.caveat:
            yield Finding(level="warning", subject=subject, seen=untried)
        yield from (Finding(level="note", subject=subject, seen=note) for note in where.notes)
        copied, literally = self.how == "template", settings.get("partial_revokes") == "ON"
        ours = self._copies(address, session).databases if copied else (address.database,)
        yield from rights(session, subject, ours, literally=literally)
        makes = copied or not self.foreign
        loads = not self.foreign and not self._loaded(session, address)
        yield from obstacles(session, settings, subject, loads=loads, makes=makes)
        if makes:
            warehouses = self.plan.workload.warehouses
            yield from binary_log(settings, subject, warehouses, copied=copied)
        yield from too_few_connections(session, settings, subject, self.plan)
        if copied:
            yield from self._copies(address, session).findings(session, subject)
        if self.foreign:
            yield from adopted.findings(session, address.database, subject, self.plan)
        elif self.how == "none" or (
            self.how == "command" and not is_whole(session, address.database)
        ):
            require_loadable(session, address.database, self.plan.workload, self.plan.seed)

    def _loaded(self, session: MariadbSession, address: MariadbAddress) -> bool:
        """Whether what climbs begin with is there; one that was run on is loaded again."""
        if self.how == "template":
            return is_whole(session, self._copies(address, session).image)
        return self.how == "command" and is_whole(session, address.database)

    def kept(
        self, session: MariadbSession, storage: str, address: MariadbAddress
    ) -> KeptDatabase | None:
        """The image database; the tables in the URL's; nothing beside a schema of another's."""
        if self.foreign:
            return None
        place = str(session.value("SELECT @@GLOBAL.datadir"))
        copied = self.how == "template"
        name = self._copies(address, session).image if copied else address.database
        there = size_bytes(session, name) if is_whole(session, name) else 0
        drop = client_command(_without_database(address), f"DROP DATABASE {name}")
        return KeptDatabase(name if copied else f"nine tables of {name}", there, place, drop)

    def reported(self, session: MariadbSession, address: MariadbAddress) -> dict[str, str]:
        return values(session)

    def log_untraced(self, session: MariadbSession, address: MariadbAddress) -> str:
        """By where it runs, and how it writes its log."""
        settings = values(session)
        where = whereabouts(session, settings, address.host)
        calls = log_calls(settings, where.process, self._log_apart(settings))
        return calls if isinstance(calls, str) else ""

    @staticmethod
    def _log_apart(settings: Mapping[str, str]) -> Path | None:
        """The log's directory where it has one of its own."""
        log = log_directory(settings)
        return None if log == Path(settings["datadir"]).resolve() else log

    def locate(self, address: MariadbAddress) -> Whereabouts:
        with self.connected(address) as session:
            return whereabouts(session, values(session), address.host)

    def load(self, storage: str, address: MariadbAddress, watch: Watch) -> dict[str, str]:
        """The image database (template), or the URL's own if it is empty."""
        workload, seed = self.plan.workload, self.plan.seed
        if self.foreign:
            with self.connected(address) as session:
                return adopted.facts(session, address.database, workload.warehouses)
        if self.how == "template":
            return self._copies(address).prepare(workload, seed, watch)
        with self.connected(address) as session:
            loaded = facts_of_load(session)
        if self.how == "command" and loaded.get("state") == "whole":  # it restores it, used or not
            return {**loaded, "reused": "yes"}
        return {"reused": "no", **load(address, workload, seed, watch)}

    def remove(self, storage: str, address: MariadbAddress) -> str:
        return f"dropped {self._copies(address).remove()}"

    def _copies(self, address: MariadbAddress, session: MariadbSession | None = None) -> Copies:
        server = _without_database(address)
        with nullcontext(session) if session else self.connected(server) as asked:
            version = number(asked.version)
        recipe = recipe_of(version, {}, self.plan.workload, self.plan.seed)
        return Copies(server, address.database if self.foreign else "", recipe, self.journal)

    def open(self, restore: ExternalRestore[MariadbAddress], stack: ExitStack) -> MariadbServer:
        """A copy of the image, dropped with the stack; or the URL's database."""
        address, watch = restore.address, restore.watch
        if self.how == "template":
            address = stack.enter_context(self._copies(address).work(watch))
        elif self.foreign:
            stack.enter_context(adopted.with_procedures(address, self.journal, watch))
        elif self.how == "command":
            with explained("cannot install the procedures", address), connect(address) as session:
                self.require_plans(facts_of_load(session), address.database)
                install_procedures(session)
        notes = [UNTOUCHED, SHARED, *([LEFT] if self.how == "none" else [])]
        notes += [*self.where(restore.configuration).notes, *filter(None, [self.product.caveat])]
        restore_s = restore.seconds
        with explained("cannot open the restored database", address):
            process, before = self._process(address), self._before(address, watch)
            warehouses = self.plan.workload.warehouses
            server = MariadbServer(address, warehouses, restore_s, notes, process, before)
        stack.callback(server.close)
        return server

    def _before(self, address: MariadbAddress, watch: Watch) -> Sequence[Check] | None:
        """The conditions of a schema that we did not load, to judge the change since."""
        if not self.foreign:
            return None
        watch(Event(kind="start", doing="checking the existing schema"))
        with connect(address) as session:
            return conditions(session, self.plan.workload.warehouses)

    def _process(self, address: MariadbAddress) -> Process:
        """Located again each time: it may have been restarted."""
        with connect(address) as session:
            settings = values(session)
            found = whereabouts(session, settings, address.host)
        if not found.here:
            return Process()
        return process_at(found, self._log_apart(settings))


def _without_database(address: MariadbAddress) -> MariadbAddress:
    return address.model_copy(update={"database": ""})


# What a run writes to the binary log of a server, which is on by default in MySQL.

EXPIRES = "binlog_expire_logs_seconds"


def binary_log(
    settings: Mapping[str, str], subject: str, warehouses: int, *, copied: bool
) -> Iterator[Finding]:
    """A warning where all that is loaded is written a second time; `copied`: before each climb.

    >>> on = {"log_bin": "ON", "binlog_expire_logs_seconds": "2592000"}
    >>> [finding] = binary_log(on, "db", 10, copied=True)
    >>> print(finding.seen)
    the binary log is on: the load and each copy (963 MiB) are written to it, and kept for 30 days
    """
    if settings.get("log_bin") != "ON":
        return
    kept_s = float(settings.get(EXPIRES, 0))
    kept = f"kept for {kept_s / 86_400:.3g} days" if kept_s else "kept for ever"
    written = "the load and each copy" if copied else "the load"
    size = units.size(data_bytes(warehouses))
    yield Finding(
        level="warning",
        subject=subject,
        seen=f"the binary log is on: {written} ({size}) are written to it, and {kept}",
        do=f"leave room for that, lower {EXPIRES}, or start the server with skip_log_bin",
    )
