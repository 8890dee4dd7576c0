"""What flows between the rooms: frozen records, SI units, a field's unit in its name.

Every record goes to JSON with ``model_dump_json`` and comes back with ``model_validate_json``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr

TRANSACTIONS = ("new_order", "payment", "order_status", "delivery", "stock_level")
Phase = Literal["warm_up", "search", "bisection", "drift_check", "fixed_load", "final_run", "fixed_rate"]


class Record(BaseModel):
    """A frozen value; unknown fields are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def __dir__(self) -> list[str]:
        """Its own names and the two ways to JSON: tab completion shows what was measured, not the library below."""
        own = {*super().__dir__()} - {*dir(BaseModel)} | {"model_dump", "model_dump_json"}
        return sorted(name for name in own if not name.startswith("_"))


# --- the machine and what is asked of it ---------------------------------------------------------


class Drive(Record):
    """The block device that holds a path. `name`: the leaf that the file system sits on; `stack`: what that
    stands on, downwards; `real`: the whole devices at the bottom, which meters count (once, never with the leaf)."""

    name: str
    stack: tuple[str, ...] = ()
    real: tuple[str, ...] = ()
    model: str = ""
    size_bytes: int = 0
    scheduler: str = ""
    rotational: bool | None = None


class Host(Record):
    """The machine that was measured. `places`: what lay under each path as it was named, so that a path is not taken for another of its name."""

    cpu: str
    cores: int
    memory_bytes: int
    kernel: str
    system: str
    virtualisation: str = ""
    governor: str = ""
    settings: dict[str, str] = Field(default_factory=dict)
    drives: tuple[Drive, ...] = ()
    places: dict[str, str] = Field(default_factory=dict)


class Cell(Record):
    """One storage under one constraint: what a climb is made on. `id` is fit for a file name."""

    id: str
    storage: str
    constraint: str = ""


class Finding(Record):
    """One line of `kneebench check`: what was looked at, what was seen, what to do.

    `writes_bytes` is the most that it puts on a disk (or in memory) and removes again, `keeps_bytes`
    what stays there; `takes_s` is how long the campaign takes, where the finding is about that.
    """

    level: Literal["ok", "note", "warning", "error", "refused"]
    subject: str
    seen: str
    do: str = ""
    writes_bytes: int = 0
    keeps_bytes: int = 0
    takes_s: float | None = None


class Address(Record):
    """Where a server answers. Never stored: results keep the engine's settings only."""

    host: str
    port: int = 5432
    user: str = "kneebench"
    password: SecretStr | None = None
    database: str = "kneebench"
    sslmode: Literal["disable", "prefer", "require", "verify-ca", "verify-full"] = "disable"
    sslrootcert: str = ""


class Whereabouts(Record):
    """Where a server runs. `cores` are those that it may use and `paths` its directories (data, log), both empty where they are not known;
    `seen` says in words where it is, `notes` what of it is not known, `process` the number of its first process on this machine."""

    here: bool = False
    seen: str = ""
    process: int = 0
    cores: tuple[int, ...] = ()
    paths: tuple[Path, ...] = ()
    notes: tuple[str, ...] = ()


class Setting(Record):
    """A server setting that was in force. `matters`: it changes what storage sees, so it is printed."""

    name: str
    value: str
    source: str = ""
    matters: bool = False


class Event(Record):
    """Something that a watcher may show: `share` is how much of `doing` is done, `left_s` the time it still takes."""

    kind: Literal["start", "progress", "end", "rung", "stop", "warning", "result"]
    doing: str
    share: float | None = None
    left_s: float | None = None
    data: dict[str, object] = Field(default_factory=dict)


Watch = Callable[[Event], None]


# --- one rung --------------------------------------------------------------------------------------


class Order(Record):
    """What one rung shall measure. `rate_per_s` is None for a closed loop, else the open loop's total rate."""

    cell: str
    phase: Phase
    users: int
    repeat: int = 0
    rate_per_s: float | None = None

    @property
    def key(self) -> str:
        """The rung's name within its campaign, also its file's."""
        return f"{self.cell}.{self.phase}-{self.users}" + (f"-{self.repeat}" if self.repeat else "")


class Counts(Record):
    """started = committed + rolled_back + failed + unknown, when nothing is under way any more."""

    started: int = 0
    committed: int = 0
    rolled_back: int = 0
    failed: int = 0
    unknown: int = 0

    @property
    def completed(self) -> int:
        """Answered one way or the other as the workload means it: committed or rolled back by design."""
        return self.committed + self.rolled_back

    def __add__(self, other: Counts) -> Counts:
        return Counts(**{name: getattr(self, name) + getattr(other, name) for name in type(self).model_fields})


class Latency(Record):
    """A merged HDR histogram (3 digits, 1 us to 1 h) in seconds; `histogram` is it, base64 V2."""

    n: int
    mean_s: float
    p50_s: float
    p90_s: float
    p95_s: float
    p99_s: float
    p999_s: float
    p999_low_s: float
    p999_high_s: float
    max_s: float
    overflow: int = 0
    histogram: str = Field(default="", repr=False)

    @property
    def p999_is_certain(self) -> bool:
        """At least 100 samples lie beyond it (methods: latency)."""
        return self.n >= 100_000


class TransactionTally(Record):
    """One transaction type: `whole` is idle to idle; `window` counts completions in the window;
    `latency` (from the intended start) and `wait` (queue wait: open loop, shared connections) are of those that began in it."""

    whole: Counts
    window: Counts
    latency: Latency | None = None
    wait: Latency | None = None
    retried: dict[str, int] = Field(default_factory=dict)


class SeenError(Record):
    """Errors of one class (SQLSTATE, or "connection"), with the first message."""

    code: str
    count: int
    first: str


class Tally(Record):
    """What the virtual users did in one rung."""

    users: int
    window_s: float
    whole_s: float
    transactions: dict[str, TransactionTally]
    latency: Latency | None
    wait: Latency | None = None
    delay: Latency | None = None
    """The load generator's own, per transaction: it is in no latency. None: not measured."""
    delay_stamped: int = 0
    """How many of these rest on the kernel's receive stamps; the others on its scheduler's counts."""
    errors: tuple[SeenError, ...] = ()
    unstarted: int = 0
    lost_users: int = 0
    client_cpu_s: float = 0.0
    client_workers: int = 1
    client_cores: int | None = None
    """Cores that the workers shared; None: not told."""

    def _sum(self, scope: Literal["whole", "window"]) -> Counts:
        counts = [getattr(one, scope) for one in self.transactions.values()]
        return Counts(**{name: sum(getattr(one, name) for one in counts) for name in Counts.model_fields})

    @property
    def whole(self) -> Counts:
        """All types, idle to idle."""
        return self._sum("whole")

    @property
    def window(self) -> Counts:
        """All types, completions in the window."""
        return self._sum("window")

    @property
    def nopm(self) -> float:
        """New-Orders per minute: committed ones completed in the window."""
        return 60 * self.transactions["new_order"].window.committed / self.window_s

    @property
    def throughput_per_s(self) -> float:
        """Transactions completed per second of the window, rolled back ones included."""
        return self.window.completed / self.window_s

    @property
    def client_busy(self) -> float:
        """The load generator's share of the time of its cores: workers that share one cannot use more than it has. 0 without a window."""
        cores = min(self.client_workers, self.client_cores or self.client_workers)
        return self.client_cpu_s / (cores * self.window_s) if self.window_s > 0 else 0.0


class Summary(Record):
    """A quantity over the window: `sources` by where it was read (device, core), `value` over all."""

    unit: str
    value: float
    high: float
    sources: dict[str, float] = Field(default_factory=dict)


class Check(Record):
    """A self-check: the sentence says what was seen and the limit."""

    name: str
    passed: bool
    seen: str
    limit: str
    sentence: str


class Counted(Record):
    """What the database counted over a rung, from idle to idle: the rise of sum D_NEXT_O_ID, its commits and rollbacks."""

    next_order_ids: int
    commits: int
    rollbacks: int


class Rung(Record):
    """One number of users (or one rate), measured.

    `quantities` are summaries over the window by quantity name; `nopm_server`, `tpm` are as the
    database counts them over the window; `notes` say what the reader must know ("not steady");
    `invalid` says why the rung must not be used (the client was measured, not the database); `counted` is None in files of before
    it was kept.
    """

    order: Order
    started_at: str
    warm_up_s: float
    steady: bool
    tally: Tally
    tpm: float
    counted: Counted | None = None
    quantities: dict[str, Summary] = Field(default_factory=dict)
    checks: tuple[Check, ...] = ()
    notes: tuple[str, ...] = ()
    invalid: str = ""
    restore_s: float | None = None

    def __repr_args__(self) -> Iterator[tuple[str, object]]:
        """What was ordered and what came of it; not the histograms, quantities and checks."""
        yield "key", self.order.key
        yield "nopm", round(self.tally.nopm)
        yield "mean_s", self.tally.latency and float(f"{self.tally.latency.mean_s:.3g}")
        yield "steady", self.steady
        yield "invalid", self.invalid

    @property
    def users(self) -> int:
        """Virtual users, as ordered."""
        return self.order.users

    def quantity(self, name: str) -> float | None:
        """The window's value of a quantity, None where it was not measured."""
        return self.quantities[name].value if name in self.quantities else None


class Series(Record):
    """One quantity from one source, one value a second; `at_s` counts from the rung's start."""

    quantity: str
    source: str
    unit: str
    at_s: tuple[float, ...]
    value: tuple[float, ...]


class Second(Record):
    """One second of one transaction type: completions in it, and their latency. `at_s` counts from go."""

    at_s: int
    transaction: str
    committed: int
    rolled_back: int
    failed: int
    unknown: int
    mean_s: float
    p50_s: float
    p99_s: float
    p999_s: float
    max_s: float
    histogram: str = Field(default="", repr=False)


class Tick(Record):
    """What the crew tells once a second. `late_s`: the longest time since the last one that its threads did not run when they were due."""

    now_s: float
    alive: int
    seconds: tuple[Second, ...]
    late_s: float = 0.0


# --- stop conditions and what the analysis gives --------------------------------------------------


class StopResult(Record):
    """The result of a stop condition on a climb. `flag` is True if the limit was exceeded without ending the climb."""

    stop: str
    fired: bool
    seen: str
    limit: str
    sentence: str
    flag: bool = False


class Limits(Record):
    """The plan's stop limits, by which the analysis judges too; the defaults are those of a plan that names none.

    `elasticity`: of throughput to users, on a plateau; `log_write_s`: the longest mean log write; `cores_busy`: the share from which
    the database's cores are busy.
    """

    elasticity: float = 0.07
    log_write_s: float = 0.005
    cores_busy: float = 0.97


class Climb(Record):
    """One cell's rungs in the order measured, and why it ended. `bracket` are the users between which the knee lies.

    `checks` are the consistency conditions after the climb, `final_checks` those after each final run, by the key of its last rung.
    `limits` are the plan's: they are read from it with the campaign, not stored here a second time.
    """

    cell: Cell
    rungs: tuple[Rung, ...]
    stop_results: tuple[StopResult, ...] = ()
    stopped_by: str = ""
    knee_users: int | None = None
    bracket: tuple[int, int] | None = None
    checks: tuple[Check, ...] = ()
    final_checks: dict[str, tuple[Check, ...]] = Field(default_factory=dict)
    limits: Limits = Field(default=Limits(), exclude=True)

    def __repr_args__(self) -> Iterator[tuple[str, object]]:
        """Of the rungs only how many: each holds histograms."""
        yield "storage", self.cell.storage
        yield "rungs", len(self.rungs)
        yield "knee_users", self.knee_users
        yield "stopped_by", self.stopped_by

    def of(self, *phases: Phase) -> tuple[Rung, ...]:
        """The rungs of these phases, as measured."""
        return tuple(r for r in self.rungs if r.order.phase in phases)


class Estimate(Record):
    """A number that may leave the analysis: value, 95% interval, how many runs it rests on, how it was made."""

    value: float
    low: float
    high: float
    n: int
    method: str = ""

    def __str__(self) -> str:
        return f"{self.value:,.4g} ({self.low:,.4g} to {self.high:,.4g}, n={self.n})"


class Knee(Record):
    """A cell's knee as the final runs measured it (search rungs are never quoted).

    `latency_s` and `p999_s` are closed-loop at the knee, widened by the interval of `users`.
    """

    cell: Cell
    users: Estimate
    nopm: Estimate
    tpm: Estimate
    latency_s: Estimate
    p999_s: Estimate
    latency: Latency | None = None
    peak: bool = False


class Comparison(Record):
    """`cell` against `baseline`: ratio > 1 is more of the quantity. `differs` only beyond the noise floor and interval."""

    quantity: str
    baseline: str
    cell: str
    ratio: Estimate
    differs: bool
    noise_floor: float
    sentence: str


class Bottleneck(Record):
    """What was short at the knee, and the evidence for it."""

    cell: str
    resource: str
    evidence: tuple[str, ...]
    sentence: str


class Campaign(Record):
    """The head of a results folder: everything but the rungs. `plan` is the plan's JSON with all defaults filled in."""

    format: int = 2
    id: str
    kneebench: str
    started_at: str
    plan: dict[str, object]
    host: Host
    simulated: bool
    settings: dict[str, tuple[Setting, ...]] = Field(default_factory=dict)
    base_image: dict[str, str] = Field(default_factory=dict)
    servers: dict[str, Whereabouts] = Field(default_factory=dict)
    """By storage; empty in campaigns of old."""
    command: str = ""
    notes: tuple[str, ...] = ()


class Results(Record):
    """A whole campaign as the store gives it back: the only thing that analysis, brief and compare read."""

    campaign: Campaign
    climbs: tuple[Climb, ...]
    folder: Path | None = None
    finished: bool = False

    def __repr_args__(self) -> Iterator[tuple[str, object]]:
        """What fits one screen; `model_dump_json` has all."""
        yield "id", self.campaign.id
        yield "simulated", self.campaign.simulated
        yield "finished", self.finished
        yield "climbs", self.climbs

    def _repr_html_(self) -> str:
        """The answer table, in a notebook."""
        from kneebench.analysis.configuration_summary import as_html

        return as_html(self)
