"""The plan: frozen, validated; its fields are the plan reference and the JSON Schema.

Every field says in its description what it is; docs/plan.md is generated from them. Numbers are
strict (`true` and `"3"` are no numbers), and a rule that spans fields names the key it is about.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import AfterValidator, ConfigDict, Field, JsonValue, model_validator

from kneebench.engine_properties import engine_properties
from kneebench.plan.acceptance import Accept
from kneebench.plan.authors_words import AuthorsWords
from kneebench.plan.constraints import Constraints, wrong_sizes
from kneebench.plan.database import Database as Database
from kneebench.plan.database import kept_commands
from kneebench.plan.database_rules import about, check_databases, check_rounds
from kneebench.plan.engine_table import EngineStorage, EngineTable, default_database
from kneebench.plan.facts import plan_facts
from kneebench.plan.hosts import Hosts
from kneebench.plan.kernel import Kernel
from kneebench.plan.ladder import Ladder
from kneebench.plan.power import Power
from kneebench.plan.stops import with_keys_of_ladder
from kneebench.plan.storage import Storage as Storage
from kneebench.plan.values import Directory, FolderName, Name, Note, Sentence, Switch, Whole, wrong
from kneebench.plan.values import Part as Part
from kneebench.plan.volume import Volume
from kneebench.plan.workload import Workload as Workload
from kneebench.records import Configuration
from kneebench.records.markup import html_table
from kneebench.shelf import ENGINES

# The plan's key `erase`: drives whose contents may be erased.

WWID = "WWIDs in quotes, as `kneebench drives` prints them"


def _each_is_one_drive(given: tuple[str, ...]) -> tuple[str, ...]:
    """None of them by accident, nor all by a pattern."""
    for name in given:
        if not name.strip() or name != name.strip() or re.search(r"[*?]", name):
            raise wrong(sentence=f"{WWID}: no empty text, no pattern, no space around it")
    if len(set(given)) < len(given):
        raise wrong(sentence="each drive once")
    return given


Erasable = Annotated[
    tuple[Name, ...],
    Field(
        max_length=100,
        description=(
            "Drives whose contents may be erased, by WWID (loop devices: by file); `run --erase`"
            " confirms it"
        ),
    ),
    AfterValidator(_each_is_one_drive),
]


MOST_TAGS = 20
_STORAGES_OR_URL: list[JsonValue] = [
    {"required": ["storages"]},
    {"required": ["database"], "properties": {"database": {"required": ["url"]}}},
    {
        "required": ["databases"],
        "properties": {"databases": {"additionalProperties": {"required": ["url"]}}},
    },
]


def _first(given: dict[str, Any]) -> Database:
    """What `database` is where the plan does not name it: the first of several, or the default."""
    return next(iter(given.get("databases", {}).values()), None) or default_database()


class Plan(Part):
    """One campaign: storages, one database or several, one workload, one ladder."""

    # With several databases, `database` is the first of them, or the one that `alone` chose.

    model_config = ConfigDict(
        json_schema_extra={
            "required": [],
            "anyOf": _STORAGES_OR_URL,
            "not": {"required": ["database", "databases"]},
        }
    )

    question: Annotated[Sentence, Field(description="Question that the brief answers")] = (
        "What does this storage buy my database?"
    )
    name: Annotated[
        FolderName,
        Field(description="Name of the campaigns, which their folders have; may be empty"),
    ] = ""
    tags: dict[Name, Note] = Field(
        default={},
        max_length=MOST_TAGS,
        description=f'Tags of the campaigns by name, up to {MOST_TAGS}, such as `firmware = "1.2"`',
    )
    seed: Annotated[Whole, Field(ge=0, lt=2**63, description="Seed for all random streams")] = 9300
    baseline: Annotated[
        Name, Field(description="Storage that the others are compared with; empty: the first")
    ] = ""
    databases: dict[Name, EngineTable] = Field(
        default={},
        max_length=20,
        description=(
            "Several databases by name, in place of `[database]`, with the same keys: each storage"
            " is measured with each of them"
        ),
    )
    database: EngineTable = Field(default_factory=_first)
    workload: Workload = Workload()
    constraints: Constraints = Constraints()
    kernel: Kernel = Kernel()
    hosts: Hosts = Hosts()
    power: Power = Power()
    brief: AuthorsWords = AuthorsWords()
    erase: Erasable = ()
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
    def _servers_are_one_storage(cls, given: Any) -> Any:
        """Without storages the server at database.url, or those of all databases, are one."""
        if not isinstance(given, dict) or "storages" in given:
            return given
        several = given.get("databases") or {}
        tables = [*several.values()] if isinstance(several, dict) else []
        tables = tables or [given.get("database")]
        if all(isinstance(one, dict) and one.get("url") for one in tables):
            return {**given, "storages": {"server": {}}}
        return given

    @model_validator(mode="before")
    @classmethod
    def _own_stops_begin_as_the_ladders(cls, given: Any) -> Any:
        return with_keys_of_ladder(given) if isinstance(given, dict) else given

    @model_validator(mode="after")
    def _baseline_is_a_storage(self) -> Self:
        if self.baseline and self.baseline not in self.storages:
            raise wrong("baseline", sentence=f"a storage, one of: {', '.join(self.storages)}")
        self.hosts.check(self.storages, self.databases_by_name.values())
        return self

    @model_validator(mode="after")
    def _storages_fit_the_engines(self) -> Self:
        if self.databases:
            check_databases(self.databases, self.storages, both="database" in self.model_fields_set)
        for name, database in self.databases_by_name.items():
            with about(name):
                database.check(self.storages)
        return self

    @model_validator(mode="after")
    def _rounds_have_servers_and_drives_of_their_own(self) -> Self:
        if self.ladder.rounds == "short":
            check_rounds(self.storages, self.servers, self._configurations_per_storage)
        return self

    @model_validator(mode="after")
    def _constraints_fit_the_engines(self) -> Self:
        for name, database in self.databases_by_name.items() if self.has_constraints else ():
            with about(name):
                constraints = self.constraints_of(database)
                database.check_constraints(constraints, database.urls(self.storages))
            limit = getattr(database, "memory", None)
            for error in wrong_sizes(self.constraints, self._data_bytes(database), limit):
                raise error
        if self.constraints.cores == "saturating" and not self.ladder.fixed:
            sentence = 'numbers, or "saturating" with ladder.users as one number'
            raise wrong("constraints", "cores", sentence=sentence)
        return self

    @model_validator(mode="after")
    def _brief_is_of_the_plan(self) -> Self:
        databases = self.databases_by_name.values()
        names = dict.fromkeys(name for one in databases for name in self.constraints_of(one))
        self.brief.check(self.storages, self.base, names)
        return self

    def _repr_html_(self) -> str:
        """What is compared, on which databases and under which load."""
        databases = self.databases_by_name
        names = {name: None for one in databases.values() for name in self.constraints_of(one)}
        rows = plan_facts(self.storages, databases, self.workload, names, self.ladder)
        return html_table((), rows, self.question)

    @property
    def databases_by_name(self) -> dict[str, Database]:
        """Its databases by name; that of a plan with one by ""."""
        return dict(self.databases) or {"": self.database}

    def alone(self, name: str) -> Plan:
        """The plan with one of its databases, by the name that `tables` has."""
        return self.model_copy(update={"database": self.databases_by_name[name], "databases": {}})

    def ladder_on(self, storage: str) -> Ladder:
        """The ladder with the stop conditions of a storage, or without for a name it has not."""
        found = self.storages.get(storage)
        return self.ladder.on(found.stops) if found else self.ladder

    @property
    def has_constraints(self) -> bool:
        """Whether it limits its databases to less than they could have."""
        return bool(self.constraints.named or self.constraints.sweeps)

    def constraints_of(self, database: Database) -> dict[str, Configuration]:
        """Those of a database by name (`Constraints.by_name`), as shares are of its data; empty for
        a plan without any.
        """
        if not self.has_constraints:
            return {}
        return self.constraints.by_name(self._data_bytes(database))

    def _data_bytes(self, database: Database) -> int:
        """0 for an engine that does not exist, which the reader reports."""
        if database.engine not in ENGINES.names():
            return 0
        return engine_properties(database.engine).footprint.data_bytes(self.workload.warehouses)

    @property
    def most_restores(self) -> int:
        """Most restores on one storage, of all databases under all constraints."""
        return self.ladder.most_restores * self._configurations_per_storage

    @property
    def _configurations_per_storage(self) -> int:
        return sum(max(1, len(self.constraints_of(one))) for one in self.databases_by_name.values())

    @property
    def base(self) -> str:
        """The name of the storage that the others are compared with."""
        return self.baseline or next(iter(self.storages))

    @property
    def servers(self) -> tuple[str, ...]:
        """The URLs of external servers, of each database on each storage; none where kneebench
        starts them all.
        """
        urls = (one.urls(self.storages).values() for one in self.databases_by_name.values())
        return tuple(url for some in urls for url in some if url)

    @property
    def kept_commands(self) -> tuple[tuple[str, ...], ...]:
        """Keys that hold only what results keep of a command: such a plan can be read, not run."""
        return kept_commands(self.databases_by_name)

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
    def measures_real_hardware(self) -> bool:
        """Whether its databases are no models: all of them are, or none. Raises UnknownPart where
        there is no such engine.
        """
        first = next(iter(self.databases_by_name.values()))
        return engine_properties(first.engine).measures_real_hardware
