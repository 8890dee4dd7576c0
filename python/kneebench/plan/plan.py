"""The plan: frozen, validated; its fields are the plan reference and the JSON Schema.

Every field says in its description what it is; docs/plan.md is generated from them. Numbers are
strict (`true` and `"3"` are no numbers), and a rule that spans fields names the key it is about.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, JsonValue, model_validator

from kneebench.engines import EngineProperties, engine_properties
from kneebench.plan.database import Database as Database
from kneebench.plan.engine_table import EngineTable, default_database
from kneebench.plan.simulated import SimulatedStorage as SimulatedStorage
from kneebench.plan.storage import Storage as Storage
from kneebench.plan.values import MONTH_S, WEEK_S, Cores, Name, Number, Sentence, Switch, WhileSeconds, Whole, wrong
from kneebench.plan.values import Part as Part
from kneebench.secrets import is_kept_command
from kneebench.units import Seconds


class Workload(Part):
    """TPROC-C: data size, profile and behaviour of the users."""

    warehouses: Annotated[Whole, Field(ge=1, le=100_000, description="Number of warehouses, about 100 MB each; at least 4 per user at the knee")] = 20
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


class Plateau(Part):
    """Stop when throughput no longer grows with users."""

    elasticity: Annotated[Number, Field(gt=0, lt=1, description="Elasticity of throughput, ln(X2/X1) / ln(N2/N1), between neighbouring rungs")] = 0.07
    steps: Annotated[Whole, Field(ge=1, le=5, description="Consecutive steps below that elasticity")] = 2


class LogLatency(Part):
    """Stop when the database waits too long for its log."""

    limit: Annotated[
        WhileSeconds,
        Field(description="Limit for the mean of write plus sync over 10 s, exceeded in two of three windows; over the whole window if it is below 15 s"),
    ] = 0.005


class Saturation(Part):
    """Stop when the database's cores are saturated and throughput has nearly stopped growing."""

    busy: Annotated[Number, Field(gt=0, le=1, description="Utilization that every database core must reach")] = 0.97
    elasticity: Annotated[Number, Field(gt=0, lt=1, description="Elasticity of throughput below which the climb ends")] = 0.10


class Errors(Part):
    """Stop when transactions fail."""

    share: Annotated[Number, Field(ge=0, lt=1, description="Failed or unknown transactions as a fraction of all started")] = 0.01


class Stops(Part):
    """Stop conditions: one table each; the first that fires ends the climb."""

    plateau: Plateau = Plateau()
    log_latency: LogLatency = LogLatency()
    saturation: Saturation = Saturation()
    errors: Errors = Errors()


class Ladder(Part):
    """Search for the knee, and the final runs that measure it."""

    users: Annotated[
        tuple[Whole, Whole] | Whole,
        Field(description="[first, last] users of the climb (first = 0: the number of database cores), or one number for a fixed load"),
    ] = (0, 512)
    step: Annotated[Number, Field(gt=1.05, le=4, description="Factor between rungs; 1.33, or 1.5 in quick plans")] = 1.33
    warm_up: Annotated[Literal["auto"] | Annotated[Seconds, Field(le=WEEK_S)], Field(description='Time, or "auto": until the steady state')] = "auto"
    warm_up_limit: Annotated[
        Seconds,
        Field(le=WEEK_S, description="Longest automatic warm-up of a rung; three times as long for the first rung on a restored (cold) database"),
    ] = 120.0
    window: Annotated[WhileSeconds, Field(description="Window of a search rung")] = 30.0
    final_window: Annotated[WhileSeconds, Field(description="Window of a final run")] = 300.0
    checkpoints: Annotated[Whole, Field(ge=0, le=10, description="Whole checkpoint cycles that the window of a final run must contain; 0: none")] = 2
    repeats: Annotated[Whole, Field(ge=0, le=50, description="Final runs per storage, each on a freshly restored database; 0, with a fixed load: one run")] = 3
    fixed_rate_share: Annotated[
        Number, Field(gt=0, lt=1, description="Fixed rate for the latency comparison, as a fraction of the slowest storage's knee throughput")
    ] = 0.7
    budget: Annotated[Seconds, Field(gt=0, le=MONTH_S, description="Longest time of one climb, without its warm-up rung")] = 14_400.0
    climb_again: Annotated[Switch, Field(description="If the repeat is more than 25% faster, the database was still warming; the climb is run again")] = True
    stops: Stops = Stops()

    @property
    def cold_warm_up_limit(self) -> float:
        """Longest automatic warm-up, in seconds, of what is measured first on a restored database: it starts cold."""
        return 3 * self.warm_up_limit

    @property
    def quick(self) -> bool:
        """Too short for whole checkpoint cycles: the brief says what such windows cannot show."""
        return self.checkpoints == 0 or self.final_window < 120

    @model_validator(mode="after")
    def _users_in_order(self) -> Self:
        first, last = self.users if isinstance(self.users, tuple) else (self.users, self.users)
        if first < 0 or last < 1 or last > 100_000:
            raise wrong("users", sentence="1 to 100000 users, as [first, last] or as one number; first = 0: the number of database cores")
        if first > last:
            raise wrong("users", sentence="[first, last], the smaller number first")
        if not self.repeats and isinstance(self.users, tuple):
            raise wrong("repeats", sentence="at least 1, or 0 with `users` as one number: search rungs are not quoted")
        return self

    def once(self, users: int, window_s: float) -> Ladder:
        """The same, but so many users for so long, measured once on each storage; no final runs."""
        window = {"window": window_s, "final_window": window_s, "checkpoints": 0}
        return self.model_copy(update={"users": users, "repeats": 0, **window})


_STORAGES_OR_URL: list[JsonValue] = [{"required": ["storages"]}, {"required": ["database"], "properties": {"database": {"required": ["url"]}}}]


class Plan(Part):
    """One campaign: storages, one database, one workload, one ladder."""

    model_config = ConfigDict(json_schema_extra={"required": [], "anyOf": _STORAGES_OR_URL})

    question: Annotated[Sentence, Field(description="Question that the brief answers")] = "What does this storage buy my database?"
    seed: Annotated[Whole, Field(ge=0, lt=2**63, description="Seed for all random streams")] = 9300
    baseline: Annotated[Name, Field(description="Storage that the others are compared with; empty: the first")] = ""
    database: EngineTable = Field(default_factory=default_database)
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
    def _storages_fit_the_engine(self) -> Self:
        self.database.check(self.storages)
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
    def engine(self) -> EngineProperties:
        """The properties of the plan's engine. Raises UnknownPart where there is no such engine."""
        return engine_properties(self.database.engine)
