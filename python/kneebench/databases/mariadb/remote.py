"""A running server by URL: never started, never stopped, its settings not changed.

How a climb gets its fresh database (`restore`):

- template (the default): the base image is a database of ours on that server, and the work database
  is a copy of it, table by table. HammerDB's database is copied in place of the image.
- none: the URL's database is used as the last climb left it.

Only databases that we made are ever dropped: a table with our mark identifies them.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence

from kneebench.databases.engine import finding_of
from kneebench.databases.managed.process import Process
from kneebench.databases.mariadb import adopted
from kneebench.databases.mariadb.address import address_of
from kneebench.databases.mariadb.conditions import conditions
from kneebench.databases.mariadb.copies import Copies
from kneebench.databases.mariadb.image import recipe_of
from kneebench.databases.mariadb.loading import load
from kneebench.databases.mariadb.rights import obstacles, rights, too_few_connections
from kneebench.databases.mariadb.server import MariadbServer
from kneebench.databases.mariadb.server_address import Address
from kneebench.databases.mariadb.session import Session, connect, explained
from kneebench.databases.mariadb.settings_in_force import values
from kneebench.databases.mariadb.table import mariadb_table
from kneebench.databases.mariadb.versions import Product, require_product, series
from kneebench.databases.mariadb.whereabouts import log_directory, whereabouts
from kneebench.errors import KneebenchError, PlanError
from kneebench.lab.journal import Journal
from kneebench.lab.processes import family
from kneebench.plan import Plan
from kneebench.records import Cell, Check, Event, Finding, Watch, Whereabouts
from kneebench.secrets import without_passwords

UNTOUCHED = "external server: its caches were not emptied and its settings were not changed"
LEFT = "the database was not restored: each climb started from the state the previous one left"
SHARED = (
    "the server's counters count all its databases: what others do meanwhile is among log writes,"
    " commits and page reads"
)


class RemoteMariadb:
    """Servers that run already: one per storage, or one for all."""

    def __init__(self, plan: Plan, journal: Journal, product: Product = Product.MARIADB) -> None:
        self.plan, self.journal, self.product = plan, journal, product
        self._where: dict[str, Whereabouts] = {}
        self.table, self.how = mariadb_table(plan.database), plan.restore
        self.foreign = self.table.schema_from == "hammerdb"
        if (requested := self.table.restore) in ("copy", "clone"):
            raise PlanError(
                "database.restore",
                seen=f"{requested!r} needs the server's files",
                do='use "template" or "none" with a URL',
            )

    def _address(self, storage: str) -> Address:
        """That of the URL; without a database where all databases are ours."""
        url = self.plan.urls[storage]
        address = address_of(url)
        if not self.foreign and self.how != "none":
            return _without_database(address)
        if not address.database:
            purpose = "contains HammerDB's schema" if self.foreign else 'restore = "none" measures'
            raise PlanError(
                f"reading the URL {without_passwords(url)}",
                seen=f"it names no database, which {purpose}",
                do=f"write it as {self.table.url_rule.example}",
            )
        return address

    def _connected(self, address: Address) -> Session:
        """A session with a server of the right product and a version that is not too old."""
        session = connect(address)
        try:
            require_product(self.product, session.version, address.place)
        except KneebenchError:
            session.close()
            raise
        return session

    def findings(self) -> Sequence[Finding]:
        """Whether the servers answer, and what the user may do there; changes nothing."""
        return [finding for name in self.plan.storages for finding in self._findings(name)]

    def _findings(self, storage: str) -> Iterator[Finding]:
        subject = without_passwords(self.plan.urls[storage])
        try:
            address = self._address(storage)
            doing = "reading the user's rights"
            with explained(doing, address), self._connected(address) as session:
                settings = values(session)
                where = whereabouts(session, settings, address.host)
                yield Finding(
                    level="ok",
                    subject=subject,
                    seen=f"{series(session.version)}, restored by {self.how}; {where.seen}",
                )
                if untried := self.product.caveat:
                    yield Finding(level="warning", subject=subject, seen=untried)
                notes = (Finding(level="note", subject=subject, seen=n) for n in where.notes)
                yield from notes
                changed = address.database if self.how == "none" else ""
                yield from rights(session, subject, changed)
                yield from obstacles(session, settings, subject, loads=not self.foreign)
                yield from too_few_connections(session, settings, subject, self.plan)
                if self.foreign:
                    yield from adopted.findings(session, address.database, subject, self.plan)
        except KneebenchError as error:
            yield finding_of(error, subject)

    def where(self, cell: Cell) -> Whereabouts:
        """Where the server runs, by its sockets, processes and directories; determined once."""
        url, address = self.plan.urls[cell.storage], self._address(cell.storage)
        if url not in self._where:
            with explained("locating the server", address), self._connected(address) as session:
                self._where[url] = whereabouts(session, values(session), address.host)
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
        workload, seed = self.plan.workload, self.plan.seed
        if self.foreign:
            with self._connected(address) as session:
                return adopted.facts(session, address.database, workload.warehouses)
        if self.how == "template":
            return self._copies(address).prepare(workload, seed, watch)
        self._connected(address).close()
        return {"reused": "no", **load(address, workload, seed, watch)}

    def _copies(self, address: Address) -> Copies:
        server = _without_database(address)
        with self._connected(server) as session:
            version = session.version.partition("-")[0]
        recipe = recipe_of(version, {}, self.plan.workload, self.plan.seed)
        return Copies(server, address.database if self.foreign else "", recipe, self.journal)

    @contextlib.contextmanager
    def restored(self, cell: Cell, watch: Watch, restore: int = 0) -> Iterator[MariadbServer]:
        """The server with a fresh database; a database made for it is dropped at the end."""
        address = self._address(cell.storage)
        began = time.monotonic()
        watch(Event(kind="start", doing=f"restoring the database of {cell.storage!r} ({self.how})"))
        with contextlib.ExitStack() as stack:
            if self.how == "template":
                address = stack.enter_context(self._copies(address).work(watch))
            elif self.foreign:
                stack.enter_context(adopted.with_procedures(address, self.journal, watch))
            notes = [UNTOUCHED, SHARED, *([LEFT] if self.how == "none" else [])]
            notes += [*self.where(cell).notes, *filter(None, [self.product.caveat])]
            restore_s = time.monotonic() - began
            with explained("opening the restored database", address):
                process, before = self._process(address), self._before(address, watch)
                server = MariadbServer(
                    address, self.plan.workload.warehouses, restore_s, notes, process, before
                )
            stack.callback(server.close)
            yield server

    def _before(self, address: Address, watch: Watch) -> Sequence[Check] | None:
        """The conditions of a schema that we did not load, to judge the change since."""
        if not self.foreign:
            return None
        watch(Event(kind="start", doing="checking the existing schema"))
        with connect(address) as session:
            return conditions(session, self.plan.workload.warehouses)

    def close(self) -> None:
        """Nothing is kept between restores."""

    def _process(self, address: Address) -> Process:
        """The server's process if it runs on this machine; located anew each time, because the
        server may have been restarted.
        """
        with connect(address) as session:
            settings = values(session)
            found = whereabouts(session, settings, address.host)
        if not found.here:
            return Process()
        log = log_directory(settings)
        return Process(
            lambda: family(found.process),
            cores=found.cores,
            paths=found.paths,
            roles=found.roles,
            log=None if log.samefile(settings["datadir"]) else log,
        )


def _without_database(address: Address) -> Address:
    return address.model_copy(update={"database": ""})
