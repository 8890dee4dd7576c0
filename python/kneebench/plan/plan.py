"""The plan: frozen, validated; its fields are the plan reference and the JSON Schema.

Every field says in its description what it is; docs/plan.md is generated from them. Numbers are
strict (`true` and `"3"` are no numbers), and a rule that spans fields names the key it is about.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import AfterValidator, ConfigDict, Field, JsonValue, model_validator
from pydantic_core import PydanticCustomError

from kneebench import units
from kneebench.engine_properties import engine_properties
from kneebench.plan.acceptance import Accept
from kneebench.plan.authors_words import AuthorsWords
from kneebench.plan.constraints import Constraints, wrong_sizes
from kneebench.plan.database import Database, existing_schema_table, kept_commands
from kneebench.plan.durability import Durability
from kneebench.plan.engine_table import EngineStorage, EngineTable, default_database
from kneebench.plan.hosts import Hosts
from kneebench.plan.kernel import Kernel
from kneebench.plan.ladder import Ladder
from kneebench.plan.power import Power
from kneebench.plan.server_url import server_of
from kneebench.plan.stops import with_keys_of_ladder
from kneebench.plan.storage import Storage
from kneebench.plan.values import (
    Directory,
    FolderName,
    Name,
    Note,
    Part,
    Sentence,
    Switch,
    Whole,
    wrong,
)
from kneebench.plan.volume import Volume
from kneebench.plan.workload import Workload
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
    durability: Durability = Durability()
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
        reached = self.databases_by_name.values() if self.workload.type == "tproc-c" else ()
        self.hosts.check(self.storages, reached)
        return self

    @model_validator(mode="after")
    def _storages_fit_the_engines(self) -> Self:
        if self.databases:
            check_databases(self.databases, self.storages, both="database" in self.model_fields_set)
        for name, database in self.databases_by_name.items():
            with about(name):
                database.check(self.storages)
                if database.has_schema:
                    existing_schema_table(database).check_schema(self.workload.type)
        return self

    @model_validator(mode="after")
    def _rounds_have_servers_and_drives_of_their_own(self) -> Self:
        of_queries = self.workload.type == "tproc-h"
        if not of_queries and self.ladder.rounds != "short":
            return self
        clash = clashing(self.storages, self.servers, self._configurations_per_storage)
        if clash and of_queries:
            raise wrong("storages", sentence=f"a server and drives of their own: {clash}")
        if clash:
            raise wrong("ladder", "rounds", sentence=f'"long": {clash}')
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
    def _several_databases_are_on_servers_that_are_started_here(self) -> Self:
        if self.loaded.databases == 1:
            return self
        given = "databases" in self.workload.model_fields_set
        key = ("workload" if given else "constraints", "databases")
        if self.workload.type == "tproc-h":
            raise wrong(*key, sentence='no value with type = "tproc-h"')
        if self.hosts.apart:
            raise wrong(*key, sentence="no value with users on other machines")
        if self.constraints.databases and self.constraints.cores == "saturating":
            raise wrong(*key, sentence='no value with cores = "saturating"')
        for one in self.databases_by_name.values():
            if any(one.urls(self.storages).values()) or one.engine == "simulated":
                raise wrong(*key, sentence="no value, unless kneebench starts the server")
        return self

    @model_validator(mode="after")
    def _brief_is_of_the_plan(self) -> Self:
        self.brief.check(self.storages, self.base, self.constraint_names)
        return self

    def _repr_html_(self) -> str:
        """What is compared, on which databases and under which load."""
        return html_table((), _facts(self), self.question)

    @property
    def loaded(self) -> Workload:
        """The workload with as many databases as a server has: the most that a constraint asks
        for.
        """
        databases = max(self.workload.databases, self.constraints.most_databases)
        return self.workload.model_copy(update={"databases": databases})

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

    @property
    def constraint_names(self) -> dict[str, None]:
        """The names of the constraints of all databases, each once."""
        every = self.databases_by_name.values()
        return dict.fromkeys(name for one in every for name in self.constraints_of(one))

    def _data_bytes(self, database: Database) -> int:
        """0 for an engine that does not exist, which the reader reports."""
        if database.engine not in ENGINES.names():
            return 0
        return engine_properties(database.engine).footprint.data_bytes(self.loaded.sized_as)

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


# The facts of a plan that people look for first, as rows of a table.


def _facts(plan: Plan) -> Iterator[tuple[str, str]]:
    """What is compared, on which databases, under which load, and for how long each is measured."""
    databases, ladder = plan.databases_by_name, plan.ladder
    for name, storage in plan.storages.items():
        places = ", ".join(_places(storage))
        yield "Storage", f"{name} ({places})" if places else name
    for name, database in databases.items():
        yield "Database", f"{name} ({database.engine})" if name else database.engine
    yield "Warehouses", f"{plan.loaded.all_warehouses:,}"
    if names := plan.constraint_names:
        yield "Constraints", ", ".join(names)
    first = ladder.first or "the number of cores"
    yield "Users", str(first) if ladder.fixed else f"{first} to {ladder.last}"
    runs = f"{ladder.fewest_repeats} to {ladder.most_repeats}"
    if ladder.fewest_repeats == ladder.most_repeats:
        runs = str(ladder.most_repeats)
    yield "Final runs", f"{runs} of {units.time(ladder.final_window)} on each storage"


def _places(storage: Storage) -> Iterator[str]:
    """Its directories, or its drives."""
    yield from map(str, storage.paths)
    for volume in storage.volumes:
        yield from volume.named_drives
        yield from ["emulated drives"] if volume.emulated_drives else []


# Rules for a plan of several databases, and for configurations that are measured side by side.


@contextlib.contextmanager
def about(name: str) -> Iterator[None]:
    """Rules of `[database]` in the block are about the database of this name; empty for a plan
    with only one.
    """
    try:
        yield
    except PydanticCustomError as error:
        context = error.context or {}
        table, *key = context.get("key") or ("",)
        if not name or table != "database":
            raise
        raise wrong("databases", name, *key, sentence=context["sentence"]) from None


def check_databases(
    databases: Mapping[str, Database], storages: Mapping[str, Storage], *, both: bool
) -> None:
    """Raise the rule's error for several databases that no campaign can have; `both`: the plan has
    a table `[database]` too.
    """
    if both:
        sentence = "either [database] for one database, or [databases.NAME] for several"
        raise wrong("database", sentence=sentence)
    if "" in databases:
        raise wrong("databases", "", sentence="a name")
    for name, one in storages.items():
        if one.url:
            sentence = "no value together with [databases]: each of them has its own url"
            raise wrong("storages", name, "url", sentence=sentence)
    real = {
        name: engine_properties(one.engine).measures_real_hardware
        for name, one in databases.items()
        if one.engine in ENGINES.names()
    }
    first = next(iter(real.values()), True)
    if other := next((name for name, one in real.items() if one != first), ""):
        sentence = "models only, or none: a simulated database compares with no real one"
        raise wrong("databases", other, "engine", sentence=sentence)
    _check_backups(databases, storages)


def _check_backups(databases: Mapping[str, Database], storages: Mapping[str, Storage]) -> None:
    """Databases may share a backup only if each would write the same one."""
    known: dict[str, tuple[str, object]] = {}
    for name, one in databases.items():
        place, shape = one.own_backup(storages)
        first, first_shape = known.setdefault(place, (name, shape))
        if shape != first_shape:
            sentence = f"another file than that of {first!r}, which is of other options or files"
            raise wrong("databases", name, "backup", sentence=sentence)


def clashing(
    storages: Mapping[str, Storage], urls: Sequence[str], configurations_per_storage: int
) -> str:
    """Why the configurations of a plan cannot be up side by side, as short rounds and queries need
    them: on one server, or on the same drives; empty if they can. `urls`: of external servers, one
    per configuration.
    """
    servers = [server_of(url) for url in urls]
    if len(set(servers)) < len(servers):
        return "storages on one external server cannot be measured side by side"
    volumes = [one.volumes for one in storages.values()]
    names = [
        name for some in volumes for name in {name for one in some for name in one.named_drives}
    ]
    if len(set(names)) < len(names):
        return "storages that share drives cannot be measured side by side"
    if any(volumes) and configurations_per_storage > 1:
        return "two configurations on the same drives cannot be measured side by side"
    return ""
