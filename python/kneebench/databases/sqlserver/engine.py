"""The SQL Server engine: a running server by URL, never started, never stopped.

The URL names a database that kneebench creates and drops. Before each climb it is restored from a
backup on the server, or, where the plan names none or the server has no BACKUP (Babelfish), dropped
and loaded again. Start reading here.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence

from kneebench.databases.engine import Engine, finding_of
from kneebench.databases.sqlserver.address import address_of, explained
from kneebench.databases.sqlserver.allowed_settings import of_database, of_instance
from kneebench.databases.sqlserver.database import connect_to, drop
from kneebench.databases.sqlserver.image import Image
from kneebench.databases.sqlserver.placement import Placement, placement_of
from kneebench.databases.sqlserver.server import SqlServer
from kneebench.databases.sqlserver.server_address import Address
from kneebench.databases.sqlserver.server_findings import server_findings
from kneebench.databases.sqlserver.server_settings import PlansSettings
from kneebench.databases.sqlserver.session import Session, SqlError, connect
from kneebench.databases.sqlserver.sql_files import install_procedures
from kneebench.databases.sqlserver.table import CACHE, sqlserver_table
from kneebench.databases.sqlserver.version import version_of
from kneebench.errors import KneebenchError
from kneebench.lab.journal import Journal
from kneebench.plan import Plan
from kneebench.records import Cell, Event, Finding, Setting, Watch, Whereabouts
from kneebench.secrets import without_passwords

NOTES = {
    "backup": "restored from a backup on the server: what was cached of the old database is lost",
    "load": "loaded again before this climb, because there is no backup to restore",
    "none": (
        "the database was not restored: each climb started from the state the previous one left"
    ),
}
WITHOUT_BACKUP = "Babelfish has no BACKUP and RESTORE: the plan's backup was not used"


def open_engine(plan: Plan, journal: Journal) -> Engine:
    """The engine of a plan; changes nothing."""
    return RemoteSqlServer(plan, journal)


class RemoteSqlServer:
    """Servers that run already: one per storage, or one for all."""

    def __init__(self, plan: Plan, journal: Journal) -> None:
        self.plan, self.journal = plan, journal
        self.table = sqlserver_table(plan.database)

    def _address(self, storage: str) -> Address:
        return address_of(self.plan.urls[storage], self.table)

    def _placement(self, storage: str) -> Placement:
        return placement_of(self.table, self.plan.storages[storage])

    def _image(self, session: Session, storage: str) -> Image:
        version = version_of(session)
        how = self.plan.restore if version.restores or self.plan.restore == "none" else "load"
        return Image(
            session,
            session.address,
            version,
            how,
            self.table.backup,
            self._placement(storage),
            self.table.data_files,
            of_database(self.table.settings),
            self.plan.workload,
            self.plan.seed,
        )

    def findings(self) -> Sequence[Finding]:
        """Whether the servers answer, and what the login may do there, each thing once; changes
        nothing.
        """
        found = (finding for name in self.plan.storages for finding in self._findings(name))
        return list(dict.fromkeys(found))

    def _findings(self, storage: str) -> Iterator[Finding]:
        subject = without_passwords(self.plan.urls[storage])
        try:
            address = self._address(storage)
            with explained("reading the login's rights", address), connect(address) as session:
                image = self._image(session, storage)
                yield from image.version.findings(subject)
                yield from server_findings(session, image, subject, self.plan)
        except KneebenchError as error:
            yield finding_of(error, subject)

    def where(self, cell: Cell) -> Whereabouts:
        """Taken for another machine: neither its processes nor its files are to be seen."""
        host = self._address(cell.storage).host
        return Whereabouts(seen=f"by its own views only ({host})")

    def prepare(self, watch: Watch) -> dict[str, str]:
        """Make the backup, or load the database, on each server where it is not there yet.

        Returns the facts of the last one, and how it is restored.
        """
        facts: dict[str, str] = {}
        for url, storage in {url: name for name, url in self.plan.urls.items()}.items():
            doing = f"preparing the database at {without_passwords(url)}"
            address = self._address(storage)
            with explained(doing, address), connect(address) as session:
                image = self._image(session, storage)
                facts = {**image.prepare(watch), "restored_by": image.how}
            watch(Event(kind="end", doing=doing, share=1.0))
        return facts

    @contextlib.contextmanager
    def restored(self, cell: Cell, watch: Watch, restore: int = 0) -> Iterator[SqlServer]:
        """The server with a fresh database, dropped at the end, and with the plan's settings, put
        back at the end.
        """
        address = self._address(cell.storage)
        watch(Event(kind="start", doing=f"restoring the database of {cell.storage!r}"))
        with contextlib.ExitStack() as stack:
            session = stack.enter_context(connect(address))
            settings = PlansSettings(session, self._settings(cell), self.journal)
            changed = stack.enter_context(settings.in_force(watch))
            began, image = time.monotonic(), self._image(session, cell.storage)
            if image.how != "none":
                stack.enter_context(self._dropped_after(address, watch))
            with explained(f"restoring the database of {cell.storage!r}", address):
                image.restore(watch)
                with connect_to(address) as inside:
                    install_procedures(inside)
            restore_s = time.monotonic() - began
            with explained("opening the restored database", address):
                warehouses = self.plan.workload.warehouses
                server = SqlServer(address, warehouses, restore_s, self._notes(image))
            stack.callback(server.close)
            server.settings = (*_without(server.settings, changed), *changed)
            server.checkpoint()
            yield server

    def _notes(self, image: Image) -> list[str]:
        notes = [NOTES[image.how], *image.notes]
        if self.table.backup and not image.version.restores:
            notes.append(WITHOUT_BACKUP)
        return notes

    def _settings(self, cell: Cell) -> dict[str, int]:
        """Settings of the instance that the plan sets for this cell."""
        wanted = of_instance(self.table.settings)
        if cell.engine_memory_bytes:
            wanted[CACHE] = max(128, cell.engine_memory_bytes >> 20)
        return wanted

    @contextlib.contextmanager
    def _dropped_after(self, address: Address, watch: Watch) -> Iterator[None]:
        """The work database is dropped at the end; if that fails, the failure is reported with the
        command that does it.
        """
        what = f"the database {address.database}"
        by_hand = (
            f"sqlcmd -S {address.host},{address.port} -U {address.user} -Q"
            f" 'DROP DATABASE [{address.database}]'"
        )
        noted = self.journal.on_a_server(what, address.server, by_hand)
        try:
            yield
        finally:
            try:
                with connect(address) as session:
                    drop(session, address.database)
            except (KneebenchError, SqlError) as error:
                left = (
                    f"{noted.what} could not be removed ({error}). The next run of this plan"
                    f" removes it; to remove it now: {by_hand}"
                )
                watch(Event(kind="warning", doing=left))
            else:
                self.journal.forget(noted)

    def remove_image(self, watch: Watch) -> str:
        """Drop the databases of ours. T-SQL has no statement that removes a backup's file."""
        removed = []
        for storage in {url: name for name, url in self.plan.urls.items()}.values():
            address = self._address(storage)
            with explained("dropping the database", address), connect(address) as session:
                drop(session, address.database)
                kept = self._image(session, storage).how == "backup"
            removed.append(f"dropped {address.database}")
            removed += [f"remove the file {self.table.backup} on the server"] if kept else []
        return "; ".join(removed)

    def close(self) -> None:
        """Nothing is kept between restores."""


def _without(settings: Sequence[Setting], changed: Sequence[Setting]) -> Iterator[Setting]:
    names = {setting.name for setting in changed}
    return (setting for setting in settings if setting.name not in names)
