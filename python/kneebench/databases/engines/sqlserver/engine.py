"""The SQL Server engine: a running server by URL, never started, never stopped.

The URL names a database that kneebench creates and drops. Before each climb it is restored from a
backup on the server, or, where the plan names none or the server has no BACKUP (Babelfish), dropped
and loaded again. With restore = "command" or "none" it stays, and so does a database in which
HammerDB built its schema. Start reading here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from functools import partial

from kneebench.databases.engine import Engine
from kneebench.databases.engines.sqlserver import adopted
from kneebench.databases.engines.sqlserver.address import address_of, explained
from kneebench.databases.engines.sqlserver.allowed_settings import of_database, of_instance
from kneebench.databases.engines.sqlserver.conditions import Conditions, of_existing
from kneebench.databases.engines.sqlserver.database import connect_to, drop, require_options, whose
from kneebench.databases.engines.sqlserver.image import STAYS, Image, in_journal, prepare_image
from kneebench.databases.engines.sqlserver.placement import placement_of
from kneebench.databases.engines.sqlserver.server import SqlServer
from kneebench.databases.engines.sqlserver.server_address import SqlServerAddress
from kneebench.databases.engines.sqlserver.server_findings import (
    image_findings,
    placement_findings,
    server_findings,
)
from kneebench.databases.engines.sqlserver.server_settings import PlansSettings, in_force
from kneebench.databases.engines.sqlserver.session import (
    SqlError,
    SqlServerSession,
    connect,
    quoted,
)
from kneebench.databases.engines.sqlserver.sql_files import install_procedures
from kneebench.databases.engines.sqlserver.table import (
    CACHE,
    PASSWORD,
    SqlServerDatabase,
    sqlserver_table,
)
from kneebench.databases.engines.sqlserver.version import version_of
from kneebench.databases.external.engine import LEFT, ExternalRestore, ExternalServers, KeptDatabase
from kneebench.lab.journal import Journal
from kneebench.lab.server_cleanup import undone_after
from kneebench.plan.database_plan import DatabasePlan
from kneebench.records import Configuration, Event, Finding, Setting, Watch, Whereabouts

NOTES = {
    "backup": "restored from a backup on the server: what was cached of the old database is lost",
    "load": "loaded again before this climb, because there is no backup to restore",
    "command": "restored by the plan's command: what is cached after it is not known",
    "none": LEFT,
}
WITHOUT_BACKUP = "Babelfish has no BACKUP and RESTORE: the plan's backup was not used"


def open_engine(plan: DatabasePlan, journal: Journal) -> Engine:
    """The engine of a plan; changes nothing."""
    return RemoteSqlServer(plan, journal)


class RemoteSqlServer(
    ExternalServers[SqlServerDatabase, SqlServerAddress, SqlServerSession, SqlServer]
):
    """Servers that run already: one per storage, or one for all."""

    password_variable = PASSWORD

    def __init__(self, plan: DatabasePlan, journal: Journal) -> None:
        super().__init__(plan, journal, sqlserver_table(plan.database))

    def address(self, storage: str) -> SqlServerAddress:
        return address_of(self.plan.urls[storage], self.table)

    def connected(
        self, address: SqlServerAddress, limit_s: float | None = None
    ) -> SqlServerSession:
        """A session in master: the workload's database may not be there yet."""
        return connect(address, limit_s=limit_s)

    def explained(self, what: str, address: SqlServerAddress) -> AbstractContextManager[None]:
        return explained(what, address)

    def variables(self, address: SqlServerAddress) -> dict[str, str]:
        """As sqlcmd reads them; a command reads the password elsewhere."""
        return {
            "SQLCMDSERVER": f"{address.host},{address.port}",
            "SQLCMDUSER": address.user,
            "SQLCMDDBNAME": address.database,
        }

    def require_database(self, address: SqlServerAddress) -> None:
        """A session in the workload's database: it may be in recovery."""
        connect_to(address).close()

    def _image(self, session: SqlServerSession, storage: str) -> Image:
        version = version_of(session)
        return Image(
            session,
            session.address,
            version,
            self.how if version.restores or self.how in STAYS else "load",
            self.table.backup,
            placement_of(self.table, self.plan.storages[storage]),
            self.table.files_over(self.plan.storages),
            of_database(self.table.settings),
            self.plan.workload,
            self.plan.seed,
            self.table.growths,
        )

    def found(
        self, session: SqlServerSession, storage: str, address: SqlServerAddress, subject: str
    ) -> Iterator[Finding]:
        """Which server it is, whose the database is, the login's rights, what else it does."""
        image = self._image(session, storage)
        yield from image.version.findings(subject)
        if self.foreign:
            yield from adopted.findings(address, subject, self.plan)
            if self.how == "none":
                yield from placement_findings(image, subject)
        else:
            yield from image_findings(session, image, subject)
        yield from server_findings(session, image, subject, self.plan)
        if not self.foreign and image.how in STAYS and whose(session, address.database) == "ours":
            image.kept()

    def kept(
        self, session: SqlServerSession, storage: str, address: SqlServerAddress
    ) -> KeptDatabase | None:
        """The backup's file, or the database where it stays; nothing where each climb loads it."""
        image = self._image(session, storage)
        if self.foreign or image.how == "load":
            return None
        if image.how == "backup":
            found = image.backup.facts(session)
            there = int(found.get("bytes", 0)) if found.get("key") == image.key else 0
            return KeptDatabase("a backup", there, image.path, "delete the file on the server")
        there = whose(session, address.database) == "ours"
        data = self.plan.data_bytes if there else 0
        drop = f"DROP DATABASE {quoted(address.database)}"
        return KeptDatabase(
            f"nine tables of {address.database}", data, "the plan's directories", drop
        )

    def reported(self, session: SqlServerSession, address: SqlServerAddress) -> dict[str, str]:
        """Those of a database that is there; a restored one has the plan's options, or defaults."""
        if self.how not in STAYS or whose(session, address.database) == "nobody's":
            return {}
        settings = in_force(session, address.database, version_of(session))
        return {setting.name: setting.value for setting in settings}

    def locate(self, address: SqlServerAddress) -> Whereabouts:
        """Taken for another machine: neither its processes nor its files are to be seen."""
        return Whereabouts(seen=f"by its own views only ({address.host})")

    def load(self, storage: str, address: SqlServerAddress, watch: Watch) -> dict[str, str]:
        """The backup, or the loaded database."""
        if self.foreign:
            with connect_to(address) as inside:
                return adopted.facts(inside, self.plan.workload.warehouses)
        with connect(address) as session:
            image = self._image(session, storage)
            stays = image.how in STAYS
            facts = image.prepare(watch) if stays else prepare_image(image, self.journal, watch)
            return {**facts, "restored_by": image.how}

    def open(self, restore: ExternalRestore[SqlServerAddress], stack: ExitStack) -> SqlServer:
        """The restored database, with the plan's settings; put back, and dropped unless it stays,
        with the stack.
        """
        configuration, address, watch = restore.configuration, restore.address, restore.watch
        session = stack.enter_context(connect(address))
        settings = PlansSettings(session, self._settings(configuration), self.journal)
        changed = stack.enter_context(settings.in_force(watch))
        image = self._image(session, configuration.storage)
        with explained(f"cannot restore the database of {configuration.storage!r}", address):
            if self.foreign:
                self._existing(image, restore, stack)
            else:
                self._of_ours(image, restore, stack)
        restore_s = restore.seconds
        with explained("cannot open the restored database", address):
            conditions = self._conditions(address, watch)
            server = SqlServer(address, conditions, restore_s, self._notes(image))
        stack.callback(server.close)
        if image.how in STAYS and image.version.restores and not self.foreign:
            found = {one.name: one.value for one in server.settings}
            require_options(address.database, found, image.options)
        server.settings = (*_without(server.settings, changed), *changed)
        server.checkpoint()
        return server

    def _of_ours(
        self, image: Image, restore: ExternalRestore[SqlServerAddress], stack: ExitStack
    ) -> None:
        address = restore.address
        if image.how not in STAYS:
            noted, undo = in_journal(image, self.journal), partial(self._drop, address)
            stack.enter_context(undone_after(undo, noted, self.journal, restore.watch, SqlError))
        image.restore(restore.watch)
        with connect_to(address) as inside:
            install_procedures(inside)

    def _existing(
        self, image: Image, restore: ExternalRestore[SqlServerAddress], stack: ExitStack
    ) -> None:
        """HammerDB's tables, with our procedures for as long as the stack."""
        image.verify()
        stack.enter_context(adopted.with_procedures(restore.address, self.journal, restore.watch))

    def _conditions(self, address: SqlServerAddress, watch: Watch) -> Conditions:
        warehouses = self.plan.workload.warehouses
        if not self.foreign:
            return Conditions(warehouses)
        watch(Event(kind="start", doing="checking the existing schema"))
        with connect_to(address) as inside:
            return of_existing(inside, warehouses)

    def _notes(self, image: Image) -> list[str]:
        notes = [NOTES[image.how], *image.notes]
        if self.table.backup and not image.version.restores:
            notes.append(WITHOUT_BACKUP)
        return notes

    def _settings(self, configuration: Configuration) -> dict[str, int]:
        """Settings of the instance that the plan sets for this configuration."""
        wanted = of_instance(self.table.settings)
        if configuration.engine_memory_bytes:
            wanted[CACHE] = max(128, configuration.engine_memory_bytes >> 20)
        return wanted

    def _drop(self, address: SqlServerAddress) -> None:
        with connect(address) as session:
            drop(session, address.database)

    def remove(self, storage: str, address: SqlServerAddress) -> str:
        """Drop the database of ours. T-SQL has no statement that removes a backup's file."""
        with connect(address) as session:
            image = self._image(session, storage)
            with explained("cannot drop the database", address):
                noted = in_journal(image, self.journal)
                drop(session, address.database)
            self.journal.forget(noted)
            kept = image.how == "backup"
        dropped = f"dropped {address.database}"
        return f"{dropped}; remove the file {self.table.backup} on the server" if kept else dropped


def _without(settings: Sequence[Setting], changed: Sequence[Setting]) -> Iterator[Setting]:
    names = {setting.name for setting in changed}
    return (setting for setting in settings if setting.name not in names)
