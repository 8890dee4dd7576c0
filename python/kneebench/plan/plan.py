"""The plan: frozen, validated; its fields are the plan reference and the JSON Schema.

Every field says in its description what it is; docs/plan.md is generated from them. Numbers are
strict (`true` and `"3"` are no numbers), and a rule that spans fields names the key it is about.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, Strict, model_validator
from pydantic_core import PydanticCustomError

from kneebench.plan.settings import fault
from kneebench.secrets import without_passwords
from kneebench.units import Seconds

Whole = Annotated[int, Strict()]
Number = Annotated[float, Strict()]
Switch = Annotated[bool, Strict()]


def _wrong(*key: str, sentence: str) -> PydanticCustomError:
    """An error of a rule that spans fields: `key` is the path of the key that the reader points at, `sentence` what is allowed."""
    return PydanticCustomError("rule", "{sentence}", {"key": key, "sentence": sentence})


def _check_url(url: str) -> None:
    """A server's address without a password: plans are kept with the results."""
    if not url.startswith(("postgresql://", "postgres://")):
        raise _wrong("url", sentence="a server's address, postgresql://user@host:port/database?sslmode=verify-full")
    if without_passwords(url) != url:
        raise _wrong("url", sentence="no password in the plan, which is kept with the results: put it in PGPASSWORD or in a passfile")


class Part(BaseModel):
    """A table of the plan; unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class SimulatedStorage(Part):
    """Drives of the simulated engine: a model, not a device."""

    cores: Annotated[Whole, Field(ge=1, description="cores of the simulated database")] = 4
    cpu_per_transaction: Annotated[Seconds, Field(gt=0, description="core time of one transaction")] = 0.0005
    reads_per_transaction: Annotated[Number, Field(ge=0, description="buffer misses of one transaction")] = 2.0
    read_latency: Annotated[Seconds, Field(description="one read, at queue depth 1")] = 0.0001
    read_channels: Annotated[Whole, Field(ge=1, description="reads that the data device serves at once")] = 16
    log_latency: Annotated[Seconds, Field(description="one flush of the log")] = 0.0005
    noise: Annotated[Number, Field(ge=0, le=0.5, description="relative scatter of service times from second to second")] = 0.01
    restore_noise: Annotated[Number, Field(ge=0, le=0.5, description="relative scatter of service times from restore to restore")] = 0.005
    contention: Annotated[
        Number, Field(ge=0, le=1, description="core time that each transaction beyond the cores adds to all, as a share: above 0, throughput peaks")
    ] = 0.0
    cold_reads_per_transaction: Annotated[Number, Field(ge=0, description="buffer misses of one transaction more, right after a restore")] = 4.0
    warm_after: Annotated[Whole, Field(ge=1, description="transactions after which those have fallen to 1/e")] = 2000
    log_time_per_commit: Annotated[Seconds, Field(description="what each commit in a flush adds to it")] = 0.00001
    checkpoint_every: Annotated[Seconds, Field(description='time between checkpoints; "0s": none')] = 30.0
    full_after_users: Annotated[Whole, Field(ge=0, description="transactions that may run at once, more are refused; 0: any number")] = 0
    deadlocks: Annotated[Number, Field(ge=0, lt=1, description="share of transactions that end in a deadlock and are tried again")] = 0.0
    dies_after: Annotated[Seconds, Field(description='time from a restore to the sudden end of the server; "0s": never')] = 0.0


class Storage(Part):
    """One storage configuration: where the database's files go. One table for each, named as you like."""

    path: Annotated[Path | None, Field(description="directory for data (and log); relative to where kneebench is started")] = None
    log_path: Annotated[Path | None, Field(description="directory for the log, where it has a place of its own")] = None
    url: Annotated[str, Field(description="a running server that lives on this storage; overrides database.url")] = ""
    simulated: Annotated[SimulatedStorage | None, Field(description="drives of the simulated engine")] = None

    @model_validator(mode="after")
    def _place_is_clear(self) -> Self:
        if self.url:
            _check_url(self.url)
        if self.url and (self.path or self.log_path):
            raise _wrong("url", sentence="either a path, where kneebench runs a server of its own, or the url of a running one")
        if self.log_path and not self.path:
            raise _wrong("log_path", sentence="a log_path together with the path that the data go to")
        return self

    @property
    def paths(self) -> tuple[Path, ...]:
        """Its directories, the data's first; none of a server by URL."""
        return tuple(path for path in (self.path, self.log_path) if path)


class Database(Part):
    """The engine, and which of its ways: the embedded server, your own build (`bin_dir`), or a running server (`url`)."""

    engine: Annotated[str, Field(description="postgres or simulated")] = "postgres"
    bin_dir: Annotated[Path | None, Field(description="your own build's bin directory; without it and url the embedded PostgreSQL 18 runs")] = None
    url: Annotated[
        str, Field(description="a running server, postgresql://user@host/database?sslmode=verify-full; the password comes from PGPASSWORD or a passfile")
    ] = ""
    settings: Annotated[
        dict[str, str | Switch | Whole | Number], Field(description="server settings by name; they override the rules that size the server")
    ] = {}
    restore: Annotated[
        Literal["copy", "clone", "template", "command", "none"],
        Field(description="how a climb gets its fresh database: copy, clone (reflink: its copy-on-write is charged to the run), template or command (url)"),
    ] = "copy"
    restore_command: Annotated[str, Field(description='with restore = "command": the shell command that puts the database back')] = ""
    schema_from: Annotated[Literal["kneebench", "hammerdb"], Field(description="hammerdb: use the TPROC-C schema found at url as it stands")] = "kneebench"
    cores: Annotated[tuple[Whole, ...], Field(description="cores that the server is pinned to; all when empty")] = ()
    image_path: Annotated[Path, Field(description="directory for the image of the loaded database, kept for the next run")] = Path(".kneebench/images")

    @model_validator(mode="after")
    def _way_is_clear(self) -> Self:
        if self.url:
            _check_url(self.url)
        if self.url and self.bin_dir:
            raise _wrong("bin_dir", sentence="either bin_dir, where kneebench runs the server, or the url of a running one")
        if (self.restore == "command") != bool(self.restore_command):
            raise _wrong("restore_command", sentence='restore = "command" and a restore_command, both or neither')
        if wrong := fault(self.settings):
            raise _wrong("settings", wrong[0], sentence=wrong[1])
        return self


class Workload(Part):
    """TPROC-C: how much data, which profile, how the users behave."""

    warehouses: Annotated[Whole, Field(ge=1, le=100_000, description="about 100 MB each; at least 4 for each user of the knee")] = 20
    profile: Annotated[
        Literal["spec", "hammerdb"], Field(description="spec: 45/43/4/4/4 from a deck of 100, NURand picks; hammerdb: 10/10/1/1/1 in 23, uniform picks")
    ] = "spec"
    home: Annotated[Literal["all", "one"], Field(description="all: users spread over all warehouses; one: each user keeps a home warehouse")] = "all"
    think_times: Annotated[Switch, Field(description="keying and think times of the workload")] = False
    connections: Annotated[
        Whole, Field(ge=0, le=100_000, description="connections that the users share; the wait for a free one is latency; 0: one for each user")
    ] = 0
    retries: Annotated[Whole, Field(ge=0, le=100, description="tries again after a serialization failure or deadlock, with the same inputs")] = 10
    client_workers: Annotated[Whole, Field(ge=0, le=256, description="threads of the load generator; 0: by the machine")] = 0
    client_cores: Annotated[tuple[Whole, ...], Field(description="cores that the load generator is pinned to; none when empty")] = ()


class Plateau(Part):
    """Stop when throughput no longer grows with users."""

    elasticity: Annotated[Number, Field(gt=0, lt=1, description="of throughput to users, ln(X2/X1) / ln(N2/N1), between neighbouring rungs")] = 0.07
    steps: Annotated[Whole, Field(ge=1, le=5, description="steps running that lie below it")] = 2


class LogLatency(Part):
    """Stop when the database waits too long for its log."""

    limit: Annotated[
        Seconds, Field(gt=0, description="mean of write plus sync over 10 s, exceeded in two of three windows; over the whole window where that is below 15 s")
    ] = 0.005


class Saturation(Part):
    """Stop when the database's cores are flat out and throughput has nearly stopped growing."""

    busy: Annotated[Number, Field(gt=0, le=1, description="share that every core of the database must reach")] = 0.97
    elasticity: Annotated[Number, Field(gt=0, lt=1, description="of throughput to users, below which the climb ends")] = 0.10


class Errors(Part):
    """Stop when transactions fail."""

    share: Annotated[Number, Field(ge=0, lt=1, description="failed or unknown, of all started")] = 0.01


class Stops(Part):
    """When a climb ends: each stop is a table of its own, and the first that fires ends the climb."""

    plateau: Plateau = Plateau()
    log_latency: LogLatency = LogLatency()
    saturation: Saturation = Saturation()
    errors: Errors = Errors()


class Ladder(Part):
    """How the knee is searched (the scout) and measured (the report)."""

    users: Annotated[
        tuple[Whole, Whole] | Whole, Field(description="[first, last] of the climb (first = 0: the database's cores), or one number for a fixed load")
    ] = (0, 512)
    step: Annotated[Number, Field(gt=1.05, le=4, description="factor from rung to rung; 1.33, or 1.5 in quick plans")] = 1.33
    warm_up: Annotated[Literal["auto"] | Seconds, Field(description='"auto" waits for the steady state; or a time')] = "auto"
    warm_up_limit: Annotated[
        Seconds, Field(description="longest automatic warm-up of a rung; three times as long for the first one on a restored database, which starts cold")
    ] = 120.0
    window: Annotated[Seconds, Field(gt=0, description="a scouting rung's window")] = 30.0
    report_window: Annotated[Seconds, Field(gt=0, description="the window of a rung of the report")] = 300.0
    checkpoints: Annotated[Whole, Field(ge=0, le=10, description="whole checkpoint cycles that a window of the report must hold; 0: none")] = 2
    repeats: Annotated[Whole, Field(ge=1, le=50, description="times the knee is measured, each from its own restore")] = 3
    latency_share: Annotated[Number, Field(gt=0, lt=1, description="of the lowest knee's rate as its climb saw it, for the latency at one rate")] = 0.7
    budget: Annotated[Seconds, Field(gt=0, description="longest time of one climb, its warm-up rung not counted")] = 14_400.0
    climb_again: Annotated[
        Switch, Field(description="climb once more where the first rung, repeated last, does a quarter more than at first: the database was still warming")
    ] = True
    stops: Stops = Stops()

    @property
    def cold_warm_up_limit(self) -> float:
        """Longest automatic warm-up, in seconds, of what is measured first on a restored database: it starts cold."""
        return 3 * self.warm_up_limit

    @property
    def quick(self) -> bool:
        """Too short for whole checkpoint cycles: the brief says what such windows cannot show."""
        return self.checkpoints == 0 or self.report_window < 120

    @model_validator(mode="after")
    def _users_in_order(self) -> Self:
        first, last = self.users if isinstance(self.users, tuple) else (self.users, self.users)
        if first < 0 or last < 1 or last > 100_000:
            raise _wrong("users", sentence="1 to 100000 users, as [first, last] or as one number; first = 0 stands for the database's cores")
        if first > last:
            raise _wrong("users", sentence="[first, last], the smaller number first")
        return self


class Plan(Part):
    """A whole campaign: its storages, one database, one workload, one ladder."""

    question: Annotated[str, Field(description="what the brief shall answer")] = "What does this storage buy my database?"
    seed: Annotated[Whole, Field(ge=0, lt=2**63, description="of every random stream")] = 9300
    baseline: Annotated[str, Field(description="the storage that others are compared with; the first when empty")] = ""
    database: Database = Database()
    workload: Workload = Workload()
    meters: Annotated[tuple[str, ...], Field(description="names from the shelf of meters (`kneebench parts`)")] = (
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
    storages: Annotated[dict[str, Storage], Field(min_length=1, description="storage configurations by name")]

    @model_validator(mode="after")
    def _baseline_is_a_storage(self) -> Self:
        if self.baseline and self.baseline not in self.storages:
            raise _wrong("baseline", sentence=f"the name of a storage, one of: {', '.join(self.storages)}")
        return self

    @model_validator(mode="after")
    def _every_storage_has_a_place(self) -> Self:
        if not self.simulated and not self.database.url:
            for name, storage in self.storages.items():
                if not storage.path and not storage.url:
                    raise _wrong("storages", name, sentence="a path for the database's files, or the url of a server that lives there")
        return self

    @model_validator(mode="after")
    def _database_fits_its_servers(self) -> Self:
        """What only a server that kneebench starts can do, or only one by URL."""
        if self.simulated:
            return self
        if not any(self.urls.values()):
            return self._served_by_us()
        if bare := next((name for name, url in self.urls.items() if not url), ""):
            raise _wrong("storages", bare, sentence="a url for every storage, or for none")
        if ours := next((name for name in ("settings", "cores", "bin_dir") if getattr(self.database, name)), ""):
            raise _wrong("database", ours, sentence="nothing, beside a url: it is for a server that kneebench starts, a running one keeps its own")
        return self

    def _served_by_us(self) -> Self:
        if self.database.restore not in ("copy", "clone"):
            raise _wrong("database", "restore", sentence=f'"copy" or "clone": "{self.database.restore}" is for a server by url')
        if self.database.schema_from == "hammerdb":
            raise _wrong("database", "schema_from", sentence='"kneebench": "hammerdb" is for a server by url')
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
    def paths(self) -> tuple[Path, ...]:
        """The directories of all storages."""
        return tuple(path for storage in self.storages.values() for path in storage.paths)

    @property
    def simulated(self) -> bool:
        """Measured on the simulated engine: every page says so."""
        return self.database.engine == "simulated"
