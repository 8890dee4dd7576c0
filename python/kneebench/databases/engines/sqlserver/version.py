"""Which server answers: SQL Server 2017 to 2022, or Babelfish, which is PostgreSQL that speaks
SQL Server's protocol.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kneebench.databases.engines.sqlserver.properties import VERSIONS
from kneebench.databases.engines.sqlserver.session import SqlServerSession
from kneebench.records import Finding

OLDEST, NEWEST = 14, 16
VERSION = """
SELECT CAST(SERVERPROPERTY('ProductVersion') AS nvarchar(60)),
    CAST(SERVERPROPERTY('Edition') AS nvarchar(120)),
    CAST(SERVERPROPERTY('EngineEdition') AS int),
    CAST(SERVERPROPERTY('Babelfish') AS int), @@VERSION"""
AZURE = {5: "Azure SQL Database", 6: "Azure Synapse Analytics", 8: "Azure SQL Managed Instance"}
"""By EngineEdition; their files and backups are not the user's."""
NOT_TRIED = (
    "kneebench has not been tried on SQL Server itself, only on Babelfish: run `kneebench check"
    " --try` first"
)
BABELFISH = (
    "a server of Babelfish, which is PostgreSQL: its figures do not apply to SQL Server. It has no"
    " BACKUP, no file placement and no dm_ views"
)


class Version(NamedTuple):
    """What SERVERPROPERTY returns for a server."""

    product: str
    edition: str
    engine_edition: int = 0
    babelfish: bool = False
    text: str = ""

    @property
    def major(self) -> int:
        """14 of 14.0.3456.2; 0 where it has none."""
        head = self.product.partition(".")[0]
        return int(head) if head.isdigit() else 0

    @property
    def name(self) -> str:
        """What people call it.

        >>> Version("15.0.4153.1", "Developer Edition (64-bit)").name
        'SQL Server 2019 (15.0.4153.1, Developer Edition (64-bit))'
        """
        if self.babelfish:
            return self.text.rstrip().rpartition("(")[2].rstrip(")") or "Babelfish"
        year = VERSIONS.get(str(self.major), "")
        return " ".join(filter(None, ("SQL Server", year, f"({self.product}, {self.edition})")))

    @property
    def restores(self) -> bool:
        """Whether it has BACKUP and RESTORE."""
        return not self.babelfish

    def findings(self, subject: str) -> Iterator[Finding]:
        """Whether kneebench can use it."""
        if self.babelfish:
            yield Finding(level="ok", subject=subject, seen=self.name)
            yield Finding(level="warning", subject=subject, seen=BABELFISH)
            return
        if azure := AZURE.get(self.engine_edition):
            seen = f"{azure}: its files and backups are managed elsewhere"
            yield Finding(level="error", subject=subject, seen=seen, do="use SQL Server 2017-2022")
        elif self.major < OLDEST:
            do = "use SQL Server 2017 or later"
            yield Finding(level="error", subject=subject, seen=f"{self.name} is too old", do=do)
        else:
            yield Finding(level="ok", subject=subject, seen=self.name)
            yield Finding(level="note", subject=subject, seen=NOT_TRIED)
            if self.major > NEWEST:
                seen = "newer than the versions that kneebench was written for (2017 to 2022)"
                yield Finding(level="note", subject=subject, seen=seen)


def version_of(session: SqlServerSession) -> Version:
    """The server's version. An unknown property is NULL: SQL Server has none called Babelfish."""
    product, edition, engine, babelfish, text = session.execute(VERSION)[0]
    return Version(product or "", edition or "", engine or 0, bool(babelfish), text or "")
