"""The base image of a server: its backup, or the loaded database itself; made, found again, and put
in place of the work database.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kneebench.databases.engines.sqlserver import database as databases
from kneebench.databases.engines.sqlserver.address import explained
from kneebench.databases.engines.sqlserver.backup import Backup
from kneebench.databases.engines.sqlserver.database import drop_by_hand, exists, require_ours
from kneebench.databases.engines.sqlserver.loading import load, unused_facts
from kneebench.databases.engines.sqlserver.placement import (
    TEMPDB_SIZE,
    DatabaseFile,
    Placement,
    files_of,
    growth_statement,
    misplaced,
    misplaced_tempdb,
    other_growths,
    tempdb_statements,
    with_defaults,
)
from kneebench.databases.engines.sqlserver.server_address import SqlServerAddress
from kneebench.databases.engines.sqlserver.session import SqlError, SqlServerSession
from kneebench.databases.engines.sqlserver.sql_files import HERE
from kneebench.databases.engines.sqlserver.version import Version
from kneebench.databases.loading import Recipe, require_restored, require_shape, shape_of
from kneebench.errors import PlanError, Refused
from kneebench.lab.changes.database import MadeOnServer
from kneebench.lab.journal import Journal
from kneebench.lab.server_cleanup import report
from kneebench.plan.workload import Workload
from kneebench.records import Watch

SIZE = """
SELECT SUM(CAST(FILEPROPERTY(name, 'SpaceUsed') AS bigint)) * 8192 FROM sys.database_files
WHERE type_desc = 'ROWS'"""
"""The pages in use of the data files, in a session in the database."""
LOADING = {"RECOVERY": "SIMPLE"}
"""Options of the database until it is loaded."""
STAYS = ("command", "none")
"""Ways to restore by which the database is not dropped after a climb."""
UNPLACED = "the server has no views of its files: their placement is not verified"


class Image(NamedTuple):
    """The image for one storage, asked by a session in master.

    `how`: a climb's database is restored from the "backup", by "load", by the plan's "command", or
    it is left ("none"). `data_files`: at least one per directory.
    """

    session: SqlServerSession
    address: SqlServerAddress
    version: Version
    how: str
    path: str
    placement: Placement
    data_files: int
    options: Mapping[str, str]
    workload: Workload
    seed: int
    growths: tuple[int | None, int | None] = (None, None)

    @property
    def key(self) -> str:
        """Readable, and a hash of all that shapes the image."""
        fixed: list[object] = [*sorted(self.options.items())]
        if self.version.restores:
            fixed.append(("data files", self.data_files))
            fixed += [("growths", self.growths)] if self.growths != (None, None) else []
        major = str(self.version.major)
        return Recipe("sqlserver", major, fixed, self.workload, self.seed, HERE).key

    @property
    def backup(self) -> Backup:
        """The backup on the server."""
        return Backup(self.address, self.path)

    @property
    def files(self) -> tuple[DatabaseFile, ...]:
        """The files of the work database; none where the server has no file placement."""
        if not self.version.restores:
            return ()
        placed = self._placed
        if not (placed.data and placed.log):
            raise PlanError(
                "cannot place the database's files",
                seen="the server has no default directories for data and log",
                do="set data_dirs and log_dir",
            )
        return placed.files(self.address.database, self.data_files)

    @property
    def _placed(self) -> Placement:
        """The placement, also where the plan leaves it to the server; a database that stays may
        then be anywhere.
        """
        stays = self.how in STAYS
        return self.placement if stays else with_defaults(self.placement, self.session)

    @property
    def notes(self) -> list[str]:
        """What cannot be said of the placement."""
        return [] if self.version.restores else [UNPLACED]

    def prepare(self, watch: Watch) -> dict[str, str]:
        """Make the image unless it is there; its facts. Raises Refused for a database or a backup
        of another's.
        """
        name = self.address.database
        there = databases.require_ours(self.session, name, f"cannot prepare the database {name}")
        if self.how == "backup":
            return self._back_up(watch, there=there)
        if there and (found := self._found()):
            return {**found, "reused": "yes"}
        return {**self._load(watch), "reused": "no"}

    def _back_up(self, watch: Watch, *, there: bool) -> dict[str, str]:
        """The backup of this key, unless there is a loaded database that is not of it: the backup
        after its load failed, and is written now.
        """
        found, loaded = self.backup.facts(self.session), self._loaded() if there else {}
        same = all(loaded.get(name, value) == value for name, value in found.items())
        if found.get("key") == self.key and same:
            return {**found, "reused": "yes"}
        kept = self.backup.write(self.session, loaded or self._load(watch, try_backup=not found))
        databases.drop(self.session, self.address.database)
        return {**kept, "reused": "no"}

    def _found(self) -> dict[str, str]:
        """The facts of the database that is there; empty where it is to be replaced."""
        return self.kept() if self.how in STAYS else self._loaded()

    def _loaded(self) -> dict[str, str]:
        """The facts of the loaded database, where it is whole, unused, of this key and in its
        place; empty for any other, and for one that accepts no session: its restore was
        interrupted.
        """
        try:
            with databases.connect_to(self.address) as inside:
                found = unused_facts(inside, self.key)
        except PlanError:
            return {}
        return found if found and not self.misplaced() else {}

    def kept(self) -> dict[str, str]:
        """The facts of a database that stays, used or not; empty where its load was interrupted.

        It may be of another key: that of another version of kneebench, or with other options.
        Before a command restores it, it may also be of another load and in another place. Raises
        Refused where it would have to be replaced.
        """
        with databases.connect_to(self.address) as inside:
            found = databases.facts(inside)
        if found.pop("state", "") != "whole":
            return {}
        if self.how == "none":
            require_shape(found, self._shape, self.address.database)
            self._require_in_place()
        return found

    def _require_in_place(self) -> None:
        if wrong := self.misplaced():
            raise Refused(
                f"cannot use the database {self.address.database}",
                seen="; ".join(wrong),
                do="correct the directories in the plan, use another database, or drop this one",
            )

    @property
    def _shape(self) -> dict[str, str]:
        """The facts by which a database that stays is the plan's."""
        return shape_of(self.workload, self.seed)

    def misplaced(self) -> Sequence[str]:
        """The files that are not where the plan says, and the directories without one."""
        if not self.version.restores:
            return []
        return [*misplaced(files_of(self.session, self.address.database), self._placed)]

    def _load(self, watch: Watch, *, try_backup: bool = False) -> dict[str, str]:
        """Load the database again; with `try_backup` the empty one is backed up before, so that a
        file that cannot be written is found before the load.

        Loaded with simple recovery, whatever the plan's: full recovery logs a bulk load in full,
        and a log that grew would be filled with zeros by each restore.
        """
        name, workload = self.address.database, self.workload
        options, files = {**self.options, **LOADING}, self.files
        databases.drop(self.session, name)
        databases.create(self.session, self.address, files, workload.warehouses, options)
        if try_backup:
            self.backup.write(self.session, {})
        began = time.monotonic()
        loaded = load(self.address, workload, self.seed, watch)
        build_s = time.monotonic() - began
        facts = {
            **loaded,
            "key": self.key,
            "build_s": f"{build_s:.1f}",
            "warehouses_per_min": f"{60 * workload.warehouses / build_s:.1f}",
        }
        if files:
            own = {name: value for name, value in self.options.items() if options[name] != value}
            databases.set_options(self.session, self.address, own)
            self._set_growths(files)
        with databases.connect_to(self.address) as inside:
            facts["bytes"] = str(inside.value(SIZE) or 0) if files else "0"
            databases.note(inside, {**facts, "state": "whole"})
        return facts

    def _set_growths(self, files: Sequence[DatabaseFile]) -> None:
        """Those of the plan, after the load: keys that are made side by side may need more room
        than their tables.
        """
        what = f"cannot set how the files of {self.address.database} grow"
        with explained(what, self.address):
            for file in files:
                if (growth := self.growths[file.log]) is not None:
                    name = self.address.database
                    self.session.execute(growth_statement(name, file.name, growth))

    def restore(self, watch: Watch) -> None:
        """Put a fresh database in place, and verify where its files and those of tempdb are."""
        name = self.address.database
        there = databases.require_ours(self.session, name, f"cannot restore the database {name}")
        if self.how == "backup":
            self.backup.require(self.session, self.key)
            self.backup.restore(self.session, self.files)
        elif self.how == "command":
            with databases.connect_to(self.address) as inside:
                require_restored(databases.facts(inside), self._shape, name)
        elif not (there and self._found()):
            self._load(watch)
        self.verify()

    def verify(self) -> None:
        """Raises PlanError where files are not where the plan says."""
        wrong = [*self.misplaced(), *(seen for seen, _ in self.misplaced_tempdb())]
        if wrong:
            raise PlanError(
                "cannot verify where the files are",
                seen="; ".join(wrong),
                do="correct the directories in the plan, or move the files (tempdb: see kneebench"
                " check; ALTER DATABASE tempdb MODIFY FILE needs a restart of the server)",
            )
        self._verify_growths()

    def _verify_growths(self) -> None:
        if not self.version.restores:
            return
        found = [*other_growths(self.session, self.address.database, self.growths)]
        if found:
            raise PlanError(
                "cannot verify how the files grow",
                seen="; ".join(seen for seen, _ in found),
                do=f"{'; '.join(do for _, do in found)}, or correct data_growth and log_growth",
            )

    def misplaced_tempdb(self) -> list[tuple[str, str]]:
        """What of tempdb is not as the plan says, each with what to do."""
        wanted = self.placement
        if not (self.version.restores and (wanted.tempdb or wanted.tempdb_files)):
            return []
        there = files_of(self.session, "tempdb")
        found = [*misplaced_tempdb(there, wanted)]
        size_mb = int(self.session.value(TEMPDB_SIZE) or 8) if found else 0
        statements = tempdb_statements(there, wanted, size_mb)
        move = "ALTER DATABASE tempdb MODIFY FILE, restart the server, or correct tempdb_dirs"
        number = f"{'; '.join(statements)}, or correct tempdb_files"
        return [(seen, number if seen.startswith("it has") else move) for seen in found]


# The preparation of an image as the journal has it: after any end it is known what remains on the
# server.


def in_journal(image: Image, journal: Journal) -> MadeOnServer:
    """The entry of the image's database, with the command that drops it. Raises Refused for a
    database that is not ours.
    """
    address, name = image.address, image.address.database
    require_ours(image.session, name, f"cannot use the database {name}")
    by_hand = drop_by_hand(address, alone=image.version.restores)
    return journal.on_a_server(f"the database {name}", address.place, by_hand)


def prepare_image(image: Image, journal: Journal, watch: Watch) -> dict[str, str]:
    """The facts of the image, made where it is not there. The database stays in the journal after a
    failure, and, where it is the image itself, until a climb drops it.
    """
    noted = in_journal(image, journal)
    try:
        return image.prepare(watch)
    except BaseException as error:
        if _may_be_there(image):
            report(_left(noted), error, watch)
        raise
    finally:
        if not _may_be_there(image):
            journal.forget(noted)


def _may_be_there(image: Image) -> bool:
    """Whether the database is there; also where the server does not answer."""
    try:
        return exists(image.session, image.address.database)
    except SqlError:
        return True


def _left(noted: MadeOnServer) -> str:
    return (
        f"{noted.what} remains. The next run of this plan uses or replaces it; to remove it now:"
        f" {noted.by_hand}"
    )
