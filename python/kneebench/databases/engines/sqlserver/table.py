"""The table `[database]` of a plan for SQL Server: its keys and rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar
from urllib.parse import urlsplit

from pydantic import Field, model_validator

from kneebench.databases.engines.sqlserver.allowed_settings import DATABASE, fault, of_database
from kneebench.databases.engines.sqlserver.properties import password_variable
from kneebench.databases.engines.sqlserver.server_paths import Places, SqlServerStorage, folded
from kneebench.plan.database import Database, ExistingSchemaDatabase
from kneebench.plan.server_url import UrlRule
from kneebench.plan.values import Directory, Switch, Text, Whole, wrong
from kneebench.units import Bytes

if TYPE_CHECKING:
    from typing import Self

    from kneebench.plan.storage import Storage
    from kneebench.records import Configuration

PASSWORD = password_variable
"""The variable that Microsoft's own client reads the password from."""
URL = UrlRule(
    schemes=("sqlserver", "mssql"),
    example="sqlserver://user@host:1433/database",
    kept_in=f"{PASSWORD} or in password_file",
)
CACHE = "max server memory (MB)"
DATA_FILES = 4
PORT = 1433
MIB = 2**20
Growth = Annotated[Bytes | None, Field(ge=0, lt=2**44, multiple_of=MIB)]
"""Autogrow of a file."""


class SqlServerDatabase(ExistingSchemaDatabase):
    """An external SQL Server: login, placement of the files, backup and settings."""

    url_rule: ClassVar[UrlRule] = URL
    cache_setting: ClassVar[str] = CACHE
    restores: ClassVar[tuple[str, ...]] = ("auto", "backup", "load", "command", "none")
    managed_only: ClassVar[tuple[str, ...]] = ()
    url: Annotated[
        Text,
        Field(
            description=(
                "External server, sqlserver://user@host:1433/database; kneebench creates that"
                " database, unless it has HammerDB's schema. The password comes from"
                f" {PASSWORD} or password_file"
            )
        ),
    ] = ""
    password_file: Annotated[
        Directory | None, Field(description="File that contains only the password of the login")
    ] = None
    trust_server_certificate: Annotated[
        Switch,
        Field(description="Encrypt without verifying the server's certificate and host name"),
    ] = False
    root_certificates: Annotated[
        Directory | None,
        Field(
            description=(
                "PEM file of the certificates that may sign the server's; empty: those of this"
                " machine"
            )
        ),
    ] = None
    data_dirs: Annotated[
        Places,
        Field(
            description=(
                "Directories on the server for the data files, which are spread over them; empty:"
                " the server's default"
            )
        ),
    ] = ()
    data_files: Annotated[
        Whole, Field(ge=1, le=128, description="Number of data files, at least one per directory")
    ] = DATA_FILES
    log_dir: Annotated[
        Text, Field(description="Directory on the server for the log file; empty: its default")
    ] = ""
    tempdb_dirs: Annotated[
        Places,
        Field(
            description="Directories that tempdb's files must be in; verified, not changed",
        ),
    ] = ()
    tempdb_files: Annotated[
        Whole,
        Field(
            ge=0,
            le=128,
            description=(
                "Number of tempdb's data files; verified, not changed: `check` prints the"
                " statements. 0: any"
            ),
        ),
    ] = 0
    data_growth: Annotated[
        Growth,
        Field(
            description=(
                'Autogrow of each data file, set once the database is loaded; "0MiB": off. Empty:'
                " 256 MiB"
            ),
        ),
    ] = None
    log_growth: Annotated[
        Growth,
        Field(description='Autogrow of the log file, set likewise; "0MiB": off. Empty: 64 MiB'),
    ] = None
    backup: Annotated[
        Text,
        Field(
            description=(
                "File on the server for the backup that each climb is restored from; empty: the"
                " database is loaded again for each climb"
            )
        ),
    ] = ""

    @model_validator(mode="after")
    def _existing_schema_stays(self) -> Self:
        if not self.has_schema:
            return self
        if self.restore in ("backup", "load"):
            raise wrong("restore", sentence='"command" or "none" with schema_from = "hammerdb"')
        if self.backup or self.data_files != DATA_FILES:
            sentence = 'no value with schema_from = "hammerdb": its database is there already'
            raise wrong("backup" if self.backup else "data_files", sentence=sentence)
        if options := [name for name in self.settings if name in DATABASE]:
            sentence = 'no value with schema_from = "hammerdb": its database keeps its options'
            raise wrong("settings", options[0], sentence=sentence)
        return self

    @model_validator(mode="after")
    def _keys_fit_each_other(self) -> Self:
        if self.restore == "backup" and not self.backup:
            raise wrong("backup", sentence='a file on the server with restore = "backup"')
        if self.trust_server_certificate and self.root_certificates:
            sentence = "no value with trust_server_certificate = true, which verifies none"
            raise wrong("root_certificates", sentence=sentence)
        if unfit := fault(self.settings):
            raise wrong("settings", unfit[0], sentence=unfit[1])
        return self

    def files_over(self, storages: Mapping[str, Storage]) -> int:
        """The number of data files, the same on all storages, which are restored from one backup:
        at least one per directory of each.
        """
        own = [one.own_table("sqlserver") for one in storages.values()]
        given = [one.data for one in own if isinstance(one, SqlServerStorage)]
        return max(self.data_files, len(self.data_dirs), *map(len, given))

    def own_backup(self, storages: Mapping[str, Storage]) -> tuple[str, object]:
        """By server and file; the options, the number of files and their growth shape it."""
        if not self.url or self.restored_by({}) != "backup":
            return super().own_backup(storages)
        shape = (of_database(self.settings), self.files_over(storages), self.growths)
        server = urlsplit(self.url)
        place = f"{server.hostname}:{server.port or PORT}/{folded(self.backup)}"
        return place, shape

    @property
    def growths(self) -> tuple[int | None, int | None]:
        """Autogrow of data and log files in bytes; None: kneebench's own, or as it is."""
        return self.data_growth, self.log_growth

    def check_bare(self, storage: str) -> None:
        """One URL may do for all storages."""
        raise wrong("database", "url", sentence=f"the URL of a running server, {URL.example}")

    def check_constraints(
        self, constraints: Mapping[str, Configuration], urls: Mapping[str, str]
    ) -> None:
        """A server by URL has one limit that can be set: its own memory."""
        for name, one in constraints.items():
            if one.limited.keys() - {"engine_memory_bytes"}:
                sentence = f"only engine_memory with a url: it sets {CACHE}"
                raise wrong("constraints", name, sentence=sentence)
            if one.engine_memory_bytes and CACHE in self.settings:
                sentence = f"no value: the constraint {name!r} sets it"
                raise wrong("database", "settings", CACHE, sentence=sentence)

    def restored_by(self, urls: Mapping[str, str]) -> str:
        """From the backup, or else by loading again; HammerDB's schema not at all."""
        if self.restore != "auto":
            return self.restore
        if self.has_schema:
            return "none"
        return "backup" if self.backup else "load"

    def for_trial(self) -> Self:
        """Another backup too."""
        backup = f"{self.backup}.try" if self.backup else ""
        return super().for_trial().model_copy(update={"backup": backup})

    def before_backup(self) -> Self:
        """Loaded again before each climb."""
        return self.model_copy(update={"backup": ""}) if self.backup else self

    def trial_url(self, url: str) -> str:
        """The URL's database is the one that is measured, so the trial has one beside it."""
        return f"{url.rstrip('/')}_try" if url else ""

    @property
    def restored_cold(self) -> bool:
        """After a RESTORE no page is cached; after a load many are, and after a command nobody
        knows.
        """
        return self.restored_by({}) in ("backup", "command")


TABLE = SqlServerDatabase
STORAGE = SqlServerStorage


def sqlserver_table(table: Database) -> SqlServerDatabase:
    """A plan's table, which is SQL Server's."""
    assert isinstance(table, SqlServerDatabase)
    return table
