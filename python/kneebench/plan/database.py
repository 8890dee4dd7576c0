"""The plan's table of the database: what the tables of all engines have in common.

An engine's own table is in its folder (`databases/engines/<engine>/table.py`) and adds keys and
rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from kneebench.plan.server_url import UrlRule
from kneebench.plan.storage import Storage
from kneebench.plan.values import Name, Number, Part, Shell, Switch, Text, Whole, wrong
from kneebench.secrets import is_kept_command

if TYPE_CHECKING:
    from kneebench.records import Configuration

DEFAULT = "postgres"
"""The engine of a plan that names none."""


class Database(Part):
    """Database engine and how it is provided."""

    temporary_setting: ClassVar[str] = ""
    """The server setting by which temporary files have a place of their own; empty: they cannot."""
    cache_setting: ClassVar[str] = ""
    """The server setting for the size of the database's own cache; empty: it has none."""
    sized_settings: ClassVar[tuple[str, ...]] = ()
    """Server settings that the sizing rules set by machine, storages and ladder."""
    restores: ClassVar[tuple[str, ...]] = ("auto", "copy", "clone", "template", "command", "none")
    """The values of `restore` that the engine has."""
    users_elsewhere: ClassVar[bool] = True
    """Whether users on other machines can reach its servers."""
    cannot_limit: ClassVar[tuple[str, ...]] = ("siblings", "numa_node", "io")
    """Keys of a constraint that the engine has no use for."""
    engine: Annotated[
        Name, Field(description="Database engine (`kneebench components` lists them)")
    ] = DEFAULT
    settings: dict[Name, Text | Switch | Whole | Number] = Field(
        default={}, description="Server settings by name; they override the sizing rules"
    )
    restore: Annotated[
        Literal["auto", "copy", "clone", "template", "backup", "load", "command", "none"],
        Field(
            description=(
                "Source of each climb's fresh database. auto: copy, or template with a url;"
                ' required with schema_from = "hammerdb". copy and clone (reflink; the run includes'
                " its copy-on-write) need a managed server, the others a url. SQL Server: backup,"
                " load (again), command or none. By a driver (oracle, db2, odbc): load (auto),"
                " command or none"
            )
        ),
    ] = "auto"

    @model_validator(mode="after")
    def _restore_is_the_engines(self) -> Self:
        if self.restore not in self.restores:
            raise wrong("restore", sentence=f"one of: {', '.join(self.restores)}")
        return self

    def check(self, storages: Mapping[str, Storage]) -> None:
        """Raise the rule's error where the storages do not fit the engine."""
        self.check_temporary(storages)
        for name, one in storages.items():
            if one.url:
                sentence = "no value: this engine has no external servers"
                raise wrong("storages", name, "url", sentence=sentence)

    def check_temporary(self, storages: Mapping[str, Storage]) -> None:
        """Raise the rule's error for a place of temporary files that the engine cannot use."""
        for name, one in storages.items():
            key = "temporary" if one.temporary else "temporary_path" if one.temporary_path else ""
            if key and not self.temporary_setting:
                sentence = "no value: this engine keeps temporary files with the data"
                raise wrong("storages", name, key, sentence=sentence)
            if key and self.temporary_setting in self.settings:
                sentence = f"no value: storage {name!r} has a place for temporary files"
                raise wrong("database", "settings", self.temporary_setting, sentence=sentence)

    def check_constraints(
        self, constraints: Mapping[str, Configuration], urls: Mapping[str, str]
    ) -> None:
        """Raise the rule's error where constraints do not fit the engine; `urls` by storage."""
        for name, one in constraints.items():
            if key := next((key for key in self.cannot_limit if key in one.limited), ""):
                raise wrong("constraints", name, key, sentence="no value: a model has none")
        if not self.cache_setting and any(one.engine_memory_bytes for one in constraints.values()):
            sentence = "no engine_memory: this engine has no setting for its cache"
            raise wrong("constraints", sentence=sentence)

    @property
    def server_url(self) -> str:
        """The URL of the table's external server; empty without one."""
        return ""

    @property
    def server_cores(self) -> tuple[int, ...]:
        """The cores that the table pins its servers to; empty: all."""
        return ()

    @property
    def bundle(self) -> str:
        """The package whose binaries a server that is started runs; empty: the user's own."""
        return ""

    def urls(self, storages: Mapping[str, Storage]) -> dict[str, str]:
        """The server's URL by storage; an empty text where kneebench starts the server."""
        return {name: storage.url or self.server_url for name, storage in storages.items()}

    def restored_by(self, urls: Mapping[str, str]) -> str:
        """How a climb gets its database, "auto" resolved; `urls` by storage."""
        return "copy" if self.restore == "auto" else self.restore

    def own_backup(self, storages: Mapping[str, Storage]) -> tuple[str, object]:
        """Where the table's `backup` is (empty: it has none), and what of the table shapes it."""
        return "", None

    def for_trial(self) -> Self:
        """The table by which `check --try` works in a database of its own."""
        return self

    def before_backup(self) -> Self:
        """The trial's table until its backup is written; the same where it has none."""
        return self

    def trial_url(self, url: str) -> str:
        """The URL of a server as the trial uses it: of a database of its own where the URL's is the
        one that is measured.
        """
        return url

    @property
    def restored_cold(self) -> bool:
        """Whether nothing of a restored database is cached."""
        return True

    @property
    def has_schema(self) -> bool:
        """Whether the tables are there already, made by another tool."""
        return False

    @property
    def paths(self) -> tuple[Path, ...]:
        """The directories that the table names."""
        return ()

    @property
    def commands(self) -> dict[tuple[str, ...], str]:
        """The values that may be commands, by key within the table."""
        return {("settings", name): str(value) for name, value in self.settings.items()}


def kept_commands(databases: Mapping[str, Database]) -> tuple[tuple[str, ...], ...]:
    """Keys that hold only what results keep of a command: such a plan can be read, not run."""
    return tuple(
        (*(("databases", name) if name else ("database",)), *key)
        for name, one in databases.items()
        for key, value in one.commands.items()
        if is_kept_command(value)
    )


class ServerDatabase(Database):
    """A database with servers, which are reached by URL."""

    url_rule: ClassVar[UrlRule]
    """How the URL of an external server is written; a table says it."""
    cannot_limit: ClassVar[tuple[str, ...]] = ()
    managed_only: ClassVar[tuple[str, ...]] = ("settings",)
    """Keys that only a managed server uses."""
    url: Annotated[Text, Field(description="URL of an external server")] = ""
    restore_command: Annotated[
        Shell,
        Field(
            description=(
                'Shell command that restores the database at url, with restore = "command". It'
                " inherits the environment, except for the variable of the server's password: its"
                " secrets belong there or in a file"
            )
        ),
    ] = ""

    cut_command: Annotated[
        Shell,
        Field(
            description=(
                "Shell command that cuts the power of the machine of the server at url, such as a"
                ' PDU\'s outlet off and on, for durability.level = "cut"; its environment is as'
                " restore_command's"
            )
        ),
    ] = ""

    @property
    def commands(self) -> dict[tuple[str, ...], str]:
        """Those of the server too."""
        own: dict[tuple[str, ...], str] = {
            ("restore_command",): self.restore_command,
            ("cut_command",): self.cut_command,
        }
        return {**own, **super().commands}

    def for_trial(self) -> Self:
        """Nothing of the plan's commands: they are for the user's own databases and machines."""
        none = {"restore_command": "", "cut_command": ""}
        update = {"url": self.trial_url(self.url), "restore": "auto", **none}
        return super().for_trial().model_copy(update=update)

    @property
    def server_url(self) -> str:
        """As `url` says."""
        return self.url

    @model_validator(mode="after")
    def _command_restores(self) -> Self:
        if (self.restore == "command") != bool(self.restore_command):
            sentence = 'restore = "command" and restore_command, both or neither'
            raise wrong("restore_command", sentence=sentence)
        return self

    @model_validator(mode="after")
    def _url_is_an_address(self) -> Self:
        if self.url:
            self.url_rule.check(self.url, "url")
        return self

    def check(self, storages: Mapping[str, Storage]) -> None:
        """Every storage has a URL; the keys are those of external servers."""
        self.check_temporary(storages)
        for name, one in storages.items():
            if one.url:
                self.url_rule.check(one.url, "storages", name, "url")
        if bare := next((name for name, one in storages.items() if not self._url_of(one)), ""):
            self.check_bare(bare)
        if given := next((name for name in self.managed_only if getattr(self, name)), ""):
            sentence = "no value together with a url: only a managed server uses it"
            raise wrong("database", given, sentence=sentence)

    def check_bare(self, storage: str) -> None:
        """Raise the rule's error for a storage without a URL."""
        raise wrong("storages", storage, sentence="a url: this engine has no managed servers")

    def _url_of(self, storage: Storage) -> str:
        return storage.url or self.url

    def check_constraints(
        self, constraints: Mapping[str, Configuration], urls: Mapping[str, str]
    ) -> None:
        """An external server cannot be limited."""
        super().check_constraints(constraints, urls)
        if any(urls.values()):
            sentence = "no value together with a url: only a managed server is limited"
            raise wrong("constraints", sentence=sentence)


class ExistingSchemaDatabase(ServerDatabase):
    """A database with servers; by URL also with a schema that is there already."""

    schema_from: Annotated[
        Literal["kneebench", "hammerdb", "own"],
        Field(
            description=(
                "Origin of the schema. hammerdb: the TPROC-C schema found at url; restore ="
                ' "template" measures a copy, "none" changes it. SQL Server: "command" or "none".'
                " own: the TPROC-H tables found at url, whoever made them"
            )
        ),
    ] = "kneebench"

    @property
    def has_schema(self) -> bool:
        """Whether another tool or the user made the tables."""
        return self.schema_from != "kneebench"

    def check_schema(self, workload: str) -> None:
        """Raise the rule's error where tables that are there are not said to be those of the
        workload.
        """
        wanted = "own" if workload == "tproc-h" else "hammerdb"
        if self.schema_from not in ("kneebench", wanted):
            sentence = f'"kneebench" or "{wanted}" with type = "{workload}"'
            raise wrong("database", "schema_from", sentence=sentence)

    def restored_by(self, urls: Mapping[str, str]) -> str:
        """By URL "auto" is a template, or nothing over HammerDB's schema."""
        if not any(urls.values()) or self.restore != "auto":
            return super().restored_by(urls)
        return "none" if self.has_schema else "template"

    def for_trial(self) -> Self:
        """A database of its own, whatever the plan measures."""
        return super().for_trial().model_copy(update={"schema_from": "kneebench"})


def existing_schema_table(table: Database) -> ExistingSchemaDatabase:
    """A plan's table, which is that of an engine with servers and other tools' schemas."""
    assert isinstance(table, ExistingSchemaDatabase)
    return table
