"""The plan: frozen, validated; its fields are the plan reference and the JSON Schema.

Every field says in its description what it is; docs/plan.md is generated from them. Numbers are
strict (`true` and `"3"` are no numbers), and a rule that spans fields names the key it is about.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, JsonValue, model_validator

from kneebench.engine_properties import EngineProperties, engine_properties
from kneebench.plan.acceptance import Accept
from kneebench.plan.constraints import Constraint, Constraints, too_small
from kneebench.plan.database import Database as Database
from kneebench.plan.engine_table import EngineStorage, EngineTable, default_database
from kneebench.plan.kernel import Kernel
from kneebench.plan.ladder import WAREHOUSES_PER_USER, Ladder
from kneebench.plan.server_url import server_of
from kneebench.plan.storage import Storage as Storage
from kneebench.plan.values import Cores, Directory, Name, Sentence, Switch, Whole, wrong
from kneebench.plan.values import Part as Part
from kneebench.plan.volume import Volume
from kneebench.secrets import is_kept_command
from kneebench.shelf import ENGINES


class Workload(Part):
    """TPROC-C: data size, profile and behaviour of the users."""

    warehouses: Annotated[
        Whole,
        Field(
            ge=1,
            le=100_000,
            description=(
                f"Number of warehouses, about 100 MB each; at least {WAREHOUSES_PER_USER} per user"
                " at the knee"
            ),
        ),
    ] = 20
    profile: Annotated[
        Literal["spec", "hammerdb"],
        Field(
            description=(
                "Transaction mix. spec: 45/43/4/4/4 from a deck of 100, NURand picks; hammerdb:"
                " 10/10/1/1/1 in 23, uniform picks"
            )
        ),
    ] = "spec"
    home: Annotated[
        Literal["all", "one"],
        Field(description="Home warehouses. all: users use all warehouses; one: each user has one"),
    ] = "all"
    think_times: Annotated[
        Switch, Field(description="Use the keying and think times of the workload")
    ] = False
    connections: Annotated[
        Whole,
        Field(
            ge=0,
            le=100_000,
            description=(
                "Connections shared by the users; the wait for a free one counts as latency; 0: one"
                " per user"
            ),
        ),
    ] = 0
    retries: Annotated[
        Whole,
        Field(
            ge=0,
            le=100,
            description="Retries after a serialization failure or deadlock, with the same inputs",
        ),
    ] = 10
    load_generator_threads: Annotated[
        Whole,
        Field(ge=0, le=256, description="Threads of the load generator; 0: chosen for the machine"),
    ] = 0
    load_generator_cores: Annotated[
        Cores, Field(description="Cores that the load generator is pinned to; empty: not pinned")
    ] = ()


_STORAGES_OR_URL: list[JsonValue] = [
    {"required": ["storages"]},
    {"required": ["database"], "properties": {"database": {"required": ["url"]}}},
]


class Plan(Part):
    """One campaign: storages, one database, one workload, one ladder."""

    model_config = ConfigDict(json_schema_extra={"required": [], "anyOf": _STORAGES_OR_URL})

    question: Annotated[Sentence, Field(description="Question that the brief answers")] = (
        "What does this storage buy my database?"
    )
    seed: Annotated[Whole, Field(ge=0, lt=2**63, description="Seed for all random streams")] = 9300
    baseline: Annotated[
        Name, Field(description="Storage that the others are compared with; empty: the first")
    ] = ""
    database: EngineTable = Field(default_factory=default_database)
    workload: Workload = Workload()
    constraints: Constraints = Constraints()
    kernel: Kernel = Kernel()
    erase: Annotated[
        tuple[Name, ...],
        Field(
            max_length=100,
            description=(
                "Drives whose contents may be erased, by WWID (loop devices: by file); `run"
                " --erase` confirms it"
            ),
        ),
    ] = ()
    emulated_path: Annotated[
        Directory, Field(description="Directory for the files of emulated drives")
    ] = Path(".kneebench/drives")
    raw_profile: Annotated[
        Switch,
        Field(
            description=(
                "Measure each storage without its database after the climb (fio, about 30 s), for"
                " the share that the database uses"
            )
        ),
    ] = False
    meters: Annotated[
        tuple[Name, ...],
        Field(max_length=100, description="Meters to read (`kneebench components` lists them)"),
    ] = (
        "cores",
        "devices",
        "log_writes",
        "log_histogram",
        "checkpoints",
        "tables",
        "waits",
        "pressure",
        "processes",
        "process_io",
        "threads",
        "scheduler",
        "network",
        "group",
        "thermal",
    )
    ladder: Ladder = Ladder()
    accept: Accept = Accept()
    storages: Annotated[
        dict[Name, EngineStorage],
        Field(min_length=1, max_length=100, description="Storage configurations by name"),
    ]

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
    def _storages_fit_the_engine(self) -> Self:
        self.database.check(self.storages)
        return self

    @model_validator(mode="after")
    def _rounds_have_servers_side_by_side(self) -> Self:
        servers = [server_of(url) for url in self.urls.values() if url]
        if self.ladder.rounds == "short" and len(set(servers)) < len(servers):
            sentence = '"long": storages on one external server cannot be measured side by side'
            raise wrong("ladder", "rounds", sentence=sentence)
        return self

    @model_validator(mode="after")
    def _rounds_have_drives_of_their_own(self) -> Self:
        names = [
            name
            for storage in self.storages.values()
            for name in {name for volume in storage.volumes for name in volume.named_drives}
        ]
        if self.ladder.rounds == "short" and len(set(names)) < len(names):
            sentence = '"long": storages that share drives cannot be measured side by side'
            raise wrong("ladder", "rounds", sentence=sentence)
        if self.ladder.rounds == "short" and self.volumes and len(self.constraints_by_name) > 1:
            sentence = '"long": two cells on the same drives cannot be measured side by side'
            raise wrong("ladder", "rounds", sentence=sentence)
        return self

    @model_validator(mode="after")
    def _constraints_fit_the_engine(self) -> Self:
        if self.constraints_by_name:
            self.database.check_constraints(self.constraints_by_name, self.urls)
            if error := too_small(self.constraints, self.data_bytes):
                raise error
            if self.constraints.cores == "saturating" and not self.ladder.fixed:
                sentence = 'numbers, or "saturating" with ladder.users as one number'
                raise wrong("constraints", "cores", sentence=sentence)
        return self

    @property
    def constraints_by_name(self) -> dict[str, Constraint]:
        """The flat list of constraints (`Constraints.by_name`); empty for a plan without any."""
        there = self.constraints.named or self.constraints.sweeps
        return self.constraints.by_name(self.data_bytes) if there else {}

    @property
    def data_bytes(self) -> int:
        """Expected size of the data; 0 for an engine that does not exist, which the reader
        reports.
        """
        known = self.database.engine in ENGINES.names()
        return self.engine.footprint.data_bytes(self.workload.warehouses) if known else 0

    @property
    def most_restores(self) -> int:
        """Most restores on one storage, under all constraints."""
        return self.ladder.most_restores * max(1, len(self.constraints_by_name))

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
        """How a climb gets its database, "auto" resolved.

        Plans of old results say "copy" with a url, where that was the default's name.
        """
        return self.database.restored_by(self.urls)

    @property
    def kept_commands(self) -> tuple[tuple[str, ...], ...]:
        """Keys that hold only what results keep of a command: such a plan can be read, not run."""
        found = self.database.commands.items()
        return tuple(("database", *key) for key, value in found if is_kept_command(value))

    @property
    def paths(self) -> tuple[Path, ...]:
        """The directories of all storages."""
        return tuple(path for storage in self.storages.values() for path in storage.paths)

    @property
    def volumes(self) -> tuple[Volume, ...]:
        """The volumes of all storages; none where all are directories or servers."""
        return tuple(volume for storage in self.storages.values() for volume in storage.volumes)

    @property
    def drives(self) -> tuple[str, ...]:
        """The drives of this machine that volumes are made of, as the plan names them."""
        return tuple(dict.fromkeys(name for one in self.volumes for name in one.named_drives))

    @property
    def has_emulated_drives(self) -> bool:
        """Whether a volume is made of any."""
        return any(volume.emulated_drives for volume in self.volumes)

    @property
    def engine(self) -> EngineProperties:
        """The properties of the plan's engine. Raises UnknownPart where there is no such engine."""
        return engine_properties(self.database.engine)
