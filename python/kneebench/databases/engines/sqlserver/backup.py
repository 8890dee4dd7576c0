"""The base image as a backup on the server: BACKUP DATABASE once, RESTORE DATABASE before each
climb.

The description of the backup set marks the file as ours and holds the facts of the load. A file
that holds anything else is refused, never overwritten. Snapshots of databases are not used: their
copy-on-write would be part of what is measured.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kneebench.databases.engines.sqlserver import database as databases
from kneebench.databases.engines.sqlserver.address import explained
from kneebench.databases.engines.sqlserver.placement import DatabaseFile, files_of
from kneebench.databases.engines.sqlserver.server_address import SqlServerAddress
from kneebench.databases.engines.sqlserver.session import (
    SqlError,
    SqlServerSession,
    literal,
    quoted,
)
from kneebench.errors import PlanError, Refused

OURS = "made by kneebench: "
MOST_CHARACTERS = 255
"""Of a description (BACKUP, DESCRIPTION)."""
NO_FILE, NO_BACKUP, NO_COMPRESSION = 3201, 3241, 1844
"""Numbers of the errors for a file that is not there, for one that is no backup, and for an edition
that compresses none.
"""
DESCRIPTION = "BackupDescription"
KEPT = ("key", "warehouses", "bytes", "build_s", "rows", "rows_s", "keys_s")
"""The facts that a description has room for."""


class Backup(NamedTuple):
    """The backup of one database in a file on its server."""

    address: SqlServerAddress
    path: str

    def facts(self, session: SqlServerSession) -> dict[str, str]:
        """The facts of our backup; empty where there is no file. Raises Refused for a file that is
        not ours.
        """
        description = self._description(session)
        if description is None:
            return {}
        if not description.startswith(OURS):
            raise Refused(
                f"cannot read the backup {self.path}",
                seen="the file exists and is no backup of kneebench, or an incomplete one",
                do="use another file name in backup, or, if an interrupted run of kneebench left"
                " it, delete the file on the server",
            )
        found: dict[str, str] = json.loads(description.removeprefix(OURS))
        return found

    def require(self, session: SqlServerSession, key: str) -> None:
        """Raises PlanError where the file has not the backup of this key: another plan, or another
        database of the same plan, may have replaced it since.
        """
        found = self.facts(session)
        if found.get("key") != key:
            raise PlanError(
                f"cannot restore the backup {self.path}",
                seen=f"it contains {found.get('key', 'nothing')}, not {key}",
                do="use a file in backup that no other plan or database writes",
            )

    def _description(self, session: SqlServerSession) -> str | None:
        """The description of the file's last backup set; None without a file, empty where it has
        none.
        """
        try:
            columns, rows = session.table(header_statement(self.path))
        except SqlError as error:
            if error.number == NO_FILE and _absent(error.message.replace(self.path, "")):
                return None
            if error.number == NO_BACKUP:
                return ""
            with explained(f"cannot read the backup {self.path}", self.address):
                raise
        return str(rows[-1][columns.index(DESCRIPTION)] or "") if rows else ""

    def write(self, session: SqlServerSession, facts: Mapping[str, str]) -> dict[str, str]:
        """Back the database up, compressed where the edition can; the facts that the backup keeps.
        `facts` of this was asked before, so that what the file holds is ours.
        """
        name, kept = self.address.database, {name: facts[name] for name in KEPT if name in facts}
        with explained(f"cannot back up the database {name}", self.address):
            try:
                session.execute(backup_statement(name, self.path, kept))
            except SqlError as error:
                if error.number != NO_COMPRESSION:
                    raise
                kept["compressed"] = "no"
                session.execute(backup_statement(name, self.path, kept, compressed=False))
        return kept

    def restore(self, session: SqlServerSession, files: Sequence[DatabaseFile]) -> None:
        """Put the backup in place of the database of ours, with these files.

        Where they are to be elsewhere than now, the database is dropped before, which removes its
        files; else they are written over (REPLACE). No other file is. Raises Refused for a database
        that is not ours.
        """
        name = self.address.database
        with explained(f"cannot restore the database {name}", self.address):
            there = databases.require_ours(session, name, f"cannot restore the database {name}")
            placed = self._placed(session, files)
            paths = {file.path for file in files}
            in_place = there and {one.path for one in files_of(session, name)} == paths
            if in_place:
                databases.close_sessions(session, name)
            elif there:
                databases.drop(session, name)
            session.execute(restore_statement(name, self.path, placed, replace=in_place))
            session.execute(f"ALTER DATABASE {quoted(name)} SET MULTI_USER")

    def _placed(
        self, session: SqlServerSession, files: Sequence[DatabaseFile]
    ) -> list[DatabaseFile]:
        """The files that the backup contains, in their places. One that is not moved would be
        written to the path that it had.
        """
        names = [str(name) for name, *_ in session.execute(files_statement(self.path))]
        by_name = {file.name: file for file in files}
        if set(names) != set(by_name):
            raise PlanError(
                f"cannot restore the backup {self.path}",
                seen=f"it contains the files {', '.join(names)}, not {', '.join(by_name)}",
                do="use another file name in backup",
            )
        return [by_name[name] for name in names]


def _absent(message: str) -> bool:
    """Whether a backup device cannot be opened because its file is not there: error 2 of Windows
    and of Linux, in any language of the server. A directory that is not there is error 3 of
    Windows.
    """
    return bool(re.search(r"(?<!\d)2\s*[(\uff08]", message))


def header_statement(path: str) -> str:
    """What asks for the backup sets of a file."""
    return f"RESTORE HEADERONLY FROM DISK = {literal(path)}"


def files_statement(path: str) -> str:
    """What asks for the files of the database in a backup, by their logical names."""
    return f"RESTORE FILELISTONLY FROM DISK = {literal(path)}"


def backup_statement(
    database: str, path: str, facts: Mapping[str, str], *, compressed: bool = True
) -> str:
    """BACKUP DATABASE into a file that holds nothing else afterwards."""
    description = OURS + json.dumps(facts, separators=(",", ":"))
    if len(description) > MOST_CHARACTERS:
        raise ValueError(f"{len(description)} characters for a backup's description")
    compression = " COMPRESSION," if compressed else ""
    return (
        f"BACKUP DATABASE {quoted(database)} TO DISK = {literal(path)} WITH FORMAT, INIT,"
        f" COPY_ONLY,{compression} CHECKSUM, NAME = N'kneebench', DESCRIPTION ="
        f" {literal(description)}"
    )


def restore_statement(
    database: str, path: str, files: Sequence[DatabaseFile], *, replace: bool = False
) -> str:
    """RESTORE DATABASE with each of its files in its place; only with REPLACE over files that are
    there.
    """
    moved = ", ".join(file.moved for file in files)
    return (
        f"RESTORE DATABASE {quoted(database)} FROM DISK = {literal(path)} WITH"
        f"{' REPLACE,' if replace else ''} CHECKSUM, RECOVERY, {moved}"
    )
