"""The plan: frozen, validated; its fields are the plan reference and the JSON Schema.

Every field says in its description what it is; docs/plan.md is generated from them. Numbers are
strict (`true` and `"3"` are no numbers), and a rule that spans fields names the key it is about.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, JsonValue, model_validator

from kneebench.plan.allowed_settings import fault
from kneebench.plan.ladder import WAREHOUSES_PER_USER, Ladder
from kneebench.plan.simulated import SimulatedStorage as SimulatedStorage
from kneebench.plan.values import Cores, Directory, Name, Number, Sentence, Shell, Switch, Text, Whole, check_url, wrong
from kneebench.plan.values import Part as Part
from kneebench.secrets import is_kept_command


class Storage(Part):
    """One storage configuration: where the database's files go. One table per storage, with a name of your choice."""

    path: Annotated[Directory | None, Field(description="Directory for data (and log), relative to where kneebench is started")] = None
    log_path: Annotated[Directory | None, Field(description="Separate directory for the log")] = None
    url: Annotated[Text, Field(description="External server on this storage; overrides database.url")] = ""
    simulated: Annotated[SimulatedStorage | None, Field(description="Drives of the simulated engine")] = None

    @model_validator(mode="after")
    def _place_is_clear(self) -> Self:
        if self.url:
            check_url(self.url)
        if self.url and (self.path or self.log_path):
            raise wrong("url", sentence="either a path for a managed server, or the url of an external server")
        if self.log_path and not self.path:
            raise wrong("log_path", sentence="a log_path only together with a path for the data")
        return self

    @property
    def paths(self) -> tuple[Path, ...]:
        """Its directories, the data's first; none of a server by URL."""
        return tuple(path for path in (self.path, self.log_path) if path)


class Database(Part):
    """Database engine and how it is provided: the embedded server, your own build (`bin_dir`), or an external server (`url`)."""

    engine: Annotated[Name, Field(description="Database engine: postgres or simulated")] = "postgres"
    bin_dir: Annotated[Directory | None, Field(description="Binary directory of your build; without it and url, the embedded PostgreSQL 18 runs")] = None
    url: Annotated[
        Text, Field(description="External server, postgresql://user@host/database?sslmode=verify-full; the password comes from PGPASSWORD or a passfile")
    ] = ""
    settings: dict[Name, Text | Switch | Whole | Number] = Field(default={}, description="Server settings by name; they override the sizing rules")
    restore: Annotated[
        Literal["auto", "copy", "clone", "template", "command", "none"],
        Field(
            description='Source of each climb\'s fresh database. auto: copy, or template with a url; required with schema_from = "hammerdb". '
            "copy and clone (reflink; the run includes its copy-on-write) need a managed server, the others a url"
        ),
    ] = "auto"
    restore_command: Annotated[
        Shell, Field(description='Shell command that restores the database, with restore = "command". Its secrets belong in the environment or in a file')
    ] = ""
    schema_from: Annotated[
        Literal["kneebench", "hammerdb"],
        Field(description='Origin of the schema. hammerdb: the TPROC-C schema found at url; restore = "template" measures a copy, "none" changes it'),
    ] = "kneebench"
    cores: Annotated[Cores, Field(description="Cores that the server is pinned to; empty: all")] = ()
    base_image_path: Annotated[Directory, Field(description="Directory for the base image (the loaded database), kept for the next run")] = Path(
        ".kneebench/images"
    )

    @model_validator(mode="after")
    def _way_is_clear(self) -> Self:
        if self.url:
            check_url(self.url)
        if self.url and self.bin_dir:
            raise wrong("bin_dir", sentence="either bin_dir for a managed server, or the url of an external server")
        if (self.restore == "command") != bool(self.restore_command):
            raise wrong("restore_command", sentence='restore = "command" and restore_command, both or neither')
        if unfit := fault(self.settings):
            raise wrong("settings", unfit[0], sentence=unfit[1])
        return self


class Workload(Part):
    """TPROC-C: data size, profile and behaviour of the users."""

    warehouses: Annotated[
        Whole, Field(ge=1, le=100_000, description=f"Number of warehouses, about 100 MB each; at least {WAREHOUSES_PER_USER} per user at the knee")
    ] = 20
    profile: Annotated[
        Literal["spec", "hammerdb"],
        Field(description="Transaction mix. spec: 45/43/4/4/4 from a deck of 100, NURand picks; hammerdb: 10/10/1/1/1 in 23, uniform picks"),
    ] = "spec"
    home: Annotated[Literal["all", "one"], Field(description="Home warehouses. all: users use all warehouses; one: each user has one")] = "all"
    think_times: Annotated[Switch, Field(description="Use the keying and think times of the workload")] = False
    connections: Annotated[
        Whole, Field(ge=0, le=100_000, description="Connections shared by the users; the wait for a free one counts as latency; 0: one per user")
    ] = 0
    retries: Annotated[Whole, Field(ge=0, le=100, description="Retries after a serialization failure or deadlock, with the same inputs")] = 10
    load_generator_threads: Annotated[Whole, Field(ge=0, le=256, description="Threads of the load generator; 0: chosen for the machine")] = 0
    load_generator_cores: Annotated[Cores, Field(description="Cores that the load generator is pinned to; empty: not pinned")] = ()


_STORAGES_OR_URL: list[JsonValue] = [{"required": ["storages"]}, {"required": ["database"], "properties": {"database": {"required": ["url"]}}}]


class Plan(Part):
    """One campaign: storages, one database, one workload, one ladder."""

    model_config = ConfigDict(json_schema_extra={"required": [], "anyOf": _STORAGES_OR_URL})

    question: Annotated[Sentence, Field(description="Question that the brief answers")] = "What does this storage buy my database?"
    seed: Annotated[Whole, Field(ge=0, lt=2**63, description="Seed for all random streams")] = 9300
    baseline: Annotated[Name, Field(description="Storage that the others are compared with; empty: the first")] = ""
    database: Database = Database()
    workload: Workload = Workload()
    meters: Annotated[tuple[Name, ...], Field(max_length=100, description="Meters to read (`kneebench components` lists them)")] = (
        "cores",
        "devices",
        "log_writes",
        "checkpoints",
        "tables",
        "waits",
        "pressure",
        "processes",
    )
    ladder: Ladder = Ladder()
    storages: Annotated[dict[Name, Storage], Field(min_length=1, max_length=100, description="Storage configurations by name")]

    @model_validator(mode="before")
    @classmethod
    def _one_server_is_one_storage(cls, given: Any) -> Any:
        """Without storages the server at database.url is the only one."""
        database = given.get("database") if isinstance(given, dict) else None
        if isinstance(database, dict) and database.get("url") and "storages" not in given:
            return {**given, "storages": {"server": {}}}
        return given

    @model_validator(mode="after")
    def _baseline_is_a_storage(self) -> Self:
        if self.baseline and self.baseline not in self.storages:
            raise wrong("baseline", sentence=f"a storage, one of: {', '.join(self.storages)}")
        return self

    @model_validator(mode="after")
    def _every_storage_has_a_place(self) -> Self:
        if not self.simulated and not self.database.url:
            for name, storage in self.storages.items():
                if not storage.path and not storage.url:
                    raise wrong("storages", name, sentence="a path for the database's files, or the url of a server on that storage")
        return self

    @model_validator(mode="after")
    def _database_fits_its_servers(self) -> Self:
        """What only a server that kneebench starts can do, or only one by URL."""
        if self.simulated:
            return self
        if not any(self.urls.values()):
            return self._served_by_us()
        if bare := next((name for name, url in self.urls.items() if not url), ""):
            raise wrong("storages", bare, sentence="a url for every storage, or for none")
        if ours := next((name for name in ("settings", "cores", "bin_dir") if getattr(self.database, name)), ""):
            raise wrong("database", ours, sentence="no value together with a url: only a managed server uses it")
        return self

    def _served_by_us(self) -> Self:
        if self.restore not in ("copy", "clone"):
            raise wrong("database", "restore", sentence=f'"copy" or "clone": "{self.database.restore}" needs a url')
        if self.database.schema_from == "hammerdb":
            raise wrong("database", "schema_from", sentence='"kneebench": "hammerdb" needs a url')
        return self

    @property
    def base(self) -> str:
        """The name of the storage that the others are compared with."""
        return self.baseline or next(iter(self.storages))

    @property
    def urls(self) -> dict[str, str]:
        """The server's URL by storage; empty where kneebench starts the server."""
        return {name: storage.url or self.database.url for name, storage in self.storages.items()}

    @property
    def restore(self) -> str:
        """How a climb gets its database, "auto" resolved. Plans of old results say "copy" with a url, where that was the default's name."""
        requested = self.database.restore
        if self.simulated or not any(self.urls.values()):
            return "copy" if requested == "auto" else requested
        if requested not in ("auto", "copy"):
            return requested
        return "none" if self.database.schema_from == "hammerdb" else "template"

    @property
    def kept_commands(self) -> tuple[tuple[str, ...], ...]:
        """Keys that hold only what results keep of a command: such a plan can be read, not run."""
        found: dict[tuple[str, ...], str] = {("database", "restore_command"): self.database.restore_command}
        found |= {("database", "settings", name): str(value) for name, value in self.database.settings.items()}
        return tuple(key for key, value in found.items() if is_kept_command(value))

    @property
    def paths(self) -> tuple[Path, ...]:
        """The directories of all storages."""
        return tuple(path for storage in self.storages.values() for path in storage.paths)

    @property
    def simulated(self) -> bool:
        """Measured on the simulated engine: every page says so."""
        return self.database.engine == "simulated"
