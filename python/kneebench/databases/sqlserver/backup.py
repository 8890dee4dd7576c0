"""The base image as a backup on the server: BACKUP DATABASE once, RESTORE DATABASE before each
climb.

The description of the backup set marks the file as ours and holds the facts of the load. A file
that holds anything else is refused, never overwritten. Snapshots of databases are not used: their
copy-on-write would be part of what is measured.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kneebench.databases.sqlserver import database as databases
from kneebench.databases.sqlserver.address import explained
from kneebench.databases.sqlserver.placement import File, master_files
from kneebench.databases.sqlserver.server_address import Address
from kneebench.databases.sqlserver.session import Session, SqlError, literal, quoted
from kneebench.errors import Refused

OURS = "made by kneebench: "
MOST_CHARACTERS = 255
"""Of a description (BACKUP, DESCRIPTION)."""
NO_FILE, NO_BACKUP = 3201, 3241
"""Numbers of the errors for a file that is not there, and for one that is no backup."""
DESCRIPTION = "BackupDescription"
KEPT = ("key", "warehouses", "bytes", "build_s", "rows", "rows_s", "keys_s")
"""The facts that a description has room for."""


class Backup(NamedTuple):
    """The backup of one database in a file on its server."""

    address: Address
    path: str

    def facts(self, session: Session) -> dict[str, str]:
        """The facts of our backup; empty where there is no file. Raises Refused for a file that is
        not ours.
        """
        description = self._description(session)
        if description is None:
            return {}
        if not description.startswith(OURS):
            raise Refused(
                f"reading the backup {self.path}",
                seen="the file exists and is no backup of kneebench",
                do="use another file name in backup",
            )
        found: dict[str, str] = json.loads(description.removeprefix(OURS))
        return found

    def _description(self, session: Session) -> str | None:
        """The description of the file's last backup set; None without a file, empty where it has
        none.
        """
        try:
            columns, rows = session.table(header_statement(self.path))
        except SqlError as error:
            if error.number == NO_FILE and _absent(error.message):
                return None
            if error.number == NO_BACKUP:
                return ""
            with explained(f"reading the backup {self.path}", self.address):
                raise
        return str(rows[-1][columns.index(DESCRIPTION)] or "") if rows else ""

    def write(self, session: Session, facts: Mapping[str, str]) -> dict[str, str]:
        """Back the database up; the facts that the backup keeps. `facts` of this was asked before,
        so that what the file holds is ours.
        """
        kept = {name: facts[name] for name in KEPT if name in facts}
        statement = backup_statement(self.address.database, self.path, kept)
        with explained(f"backing up the database {self.address.database}", self.address):
            session.execute(statement)
        return kept

    def restore(self, session: Session, files: Sequence[File]) -> None:
        """Put the backup in place of the database of ours, with these files.

        Where they are to be elsewhere than now, the database is dropped before, which removes its
        files; else they are written over. Raises Refused for a database that is not ours.
        """
        name = self.address.database
        with explained(f"restoring the database {name}", self.address):
            if databases.require_ours(session, name, f"restoring the database {name}"):
                there = {file.path for file in master_files(session, name)}
                if there == {file.path for file in files}:
                    databases.close_sessions(session, name)
                else:
                    databases.drop(session, name)
            session.execute(restore_statement(name, self.path, files))
            session.execute(f"ALTER DATABASE {quoted(name)} SET MULTI_USER")


def _absent(message: str) -> bool:
    """Whether a backup device cannot be opened because its file is not there: error 2 of Windows
    and of Linux. A directory that is not there is error 3 of Windows.
    """
    return "error 2(" in message.replace(" (", "(")


def header_statement(path: str) -> str:
    """What asks for the backup sets of a file."""
    return f"RESTORE HEADERONLY FROM DISK = {literal(path)}"


def backup_statement(database: str, path: str, facts: Mapping[str, str]) -> str:
    """BACKUP DATABASE into a file that holds nothing else afterwards."""
    description = OURS + json.dumps(facts, separators=(",", ":"))
    if len(description) > MOST_CHARACTERS:
        raise ValueError(f"{len(description)} characters for a backup's description")
    return (
        f"BACKUP DATABASE {quoted(database)} TO DISK = {literal(path)} WITH FORMAT, INIT,"
        f" COPY_ONLY, COMPRESSION, CHECKSUM, NAME = N'kneebench', DESCRIPTION ="
        f" {literal(description)}"
    )


def restore_statement(database: str, path: str, files: Sequence[File]) -> str:
    """RESTORE DATABASE with each of its files in its place."""
    moved = ", ".join(file.moved for file in files)
    return (
        f"RESTORE DATABASE {quoted(database)} FROM DISK = {literal(path)} WITH REPLACE, CHECKSUM,"
        f" RECOVERY, {moved}"
    )
