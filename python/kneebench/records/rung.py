"""One rung: what was ordered, and what was measured."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from kneebench.records.load_hosts import HostTally, utilization
from kneebench.records.machine import CountedDevice
from kneebench.records.power import PowerWindow
from kneebench.records.record import Phase, Record
from kneebench.records.remark import Remark


class Order(Record):
    """The order of one rung.

    `rate_per_s` is None for a closed loop, else the open loop's total rate.
    """

    configuration: str
    phase: Phase
    users: int
    repeat: int = 0
    rate_per_s: float | None = None
    restore: int = 0
    """Short rounds: number of the restore that this rung shares with others, from 1."""

    @property
    def key(self) -> str:
        """Name of the rung within its campaign, and of its files."""
        return f"{self.configuration}.{self.phase}-{self.users}" + (
            f"-{self.repeat}" if self.repeat else ""
        )


class Counts(Record):
    """Counts of transactions: started = committed + rolled_back + failed + unknown, when idle."""

    started: int = 0
    committed: int = 0
    rolled_back: int = 0
    failed: int = 0
    unknown: int = 0

    @property
    def completed(self) -> int:
        """Transactions that ended as the workload intends: committed, or rolled back by design."""
        return self.committed + self.rolled_back

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            **{name: getattr(self, name) + getattr(other, name) for name in type(self).model_fields}
        )


class Latency(Record):
    """A merged HDR histogram (3 digits, 1 µs to 1 h) in seconds; `histogram` is it, base64 V2."""

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
        """True if at least 100 samples exceed it (docs/method/workload.md)."""
        return self.n >= 100_000


class TransactionTally(Record):
    """One transaction type: `whole` is idle to idle; `window` counts completions in the window;
    `latency` (from the intended start) and `wait` (queue wait: open loop, shared connections) are
    of those that began in it.
    """

    whole: Counts
    window: Counts
    latency: Latency | None = None
    wait: Latency | None = None
    retried: dict[str, int] = Field(default_factory=dict)


class SeenError(Record):
    """Errors of one class (the database's own code, or "connection"), with the first message."""

    code: str
    count: int
    first: str


class Tally(Record):
    """Counts and latencies of one rung, from the load generator."""

    users: int
    window_s: float
    whole_s: float
    transactions: dict[str, TransactionTally]
    latency: Latency | None
    wait: Latency | None = None
    delay: Latency | None = None
    """The load generator's own delay per transaction, which is in no latency. None: not measured.
    """
    delay_stamped: int = 0
    """Number of these delays from the kernel's receive time stamps; the others come from its
    scheduler's counts."""
    errors: tuple[SeenError, ...] = ()
    unstarted: int = 0
    lost_users: int = 0
    edges_s: float | None = None
    """Users' time at the window's edges: of transactions that began before it, their part in it,
    less the part after it of those whose latencies count. None: not counted (old results)."""
    load_generator_cpu_s: float = 0.0
    load_generator_threads: int = 1
    load_generator_cores: int | None = None
    """Cores that the workers shared; None: unknown."""
    hosts: tuple[HostTally, ...] = ()

    def _sum(self, scope: Literal["whole", "window"]) -> Counts:
        counts = [getattr(one, scope) for one in self.transactions.values()]
        return Counts(
            **{name: sum(getattr(one, name) for one in counts) for name in Counts.model_fields}
        )

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
    def load_generator_busy(self) -> float:
        """Utilization of the load generator's cores, on the busiest host; workers that share a core
        cannot use more than one. 0 without a window.
        """
        if self.hosts:
            return max(one.busy for one in self.hosts)
        cores = min(
            self.load_generator_threads, self.load_generator_cores or self.load_generator_threads
        )
        return utilization(self.load_generator_cpu_s, cores, self.window_s)


class Summary(Record):
    """A quantity over the window: `sources` by source (device, core), `value` over all of them.

    `high`: the highest second's; None where an old format did not keep it.
    """

    unit: str
    value: float
    high: float | None
    sources: dict[str, float] = Field(default_factory=dict)


class Check(Record):
    """A self-check: the sentence contains the value seen and the limit.

    `value` is the number behind `seen` (a count, or a share: 0.01 is 1%), `limit_value` the largest
    that passes, in either direction; None where a check has no single number, and in older files.
    """

    name: str
    passed: bool
    seen: str
    limit: str
    sentence: str
    value: float | None = None
    limit_value: float | None = None


class LogHistogram(Record):
    """Flushes of the database's log in a window, each a sync and the writes before it, as the
    kernel timed their system calls.

    `counts`: by bucket (analysis/log_histogram.py). `difference`: of the mean from that of the
    database's own statistics, as a share, over the whole rung from idle to idle: within it their
    counts lag. None: they report none.
    """

    n: int
    mean_s: float
    p50_s: float
    p90_s: float
    p99_s: float
    p999_s: float
    difference: float | None = None
    counts: dict[int, int] = Field(default_factory=dict, repr=False)


class Counted(Record):
    """The database's own counts over a rung, idle to idle: the rise of sum D_NEXT_O_ID, commits and
    rollbacks; None where it does not count the workload's apart from others."""

    next_order_ids: int
    commits: int | None = None
    rollbacks: int | None = None


class Moved(Record):
    """How far a load still moved across its window: a straight line from the first second to the
    last, as a share of the mean; 0 within twice its standard error. Across whole checkpoint cycles
    only what also moved before the window counts.

    `reads`: of the device; None if no device was measured, or if hardly any time went into reads.
    """

    nopm: float
    reads: float | None = None


class Rung(Record):
    """One number of users (or a fixed rate), measured.

    `quantities`: summaries over the window by quantity name; `tpm`: from the database's counts over
    the window;
    `remarks`: what a reader must know of it; `counted` is None in files from before it was saved.
    """

    order: Order
    started_at: str
    warm_up_s: float
    steady: bool
    tally: Tally
    tpm: float
    counted: Counted | None = None
    quantities: dict[str, Summary] = Field(default_factory=dict)
    log_histogram: LogHistogram | None = None
    """None: not measured."""
    checks: tuple[Check, ...] = ()
    remarks: tuple[Remark, ...] = ()
    restore_s: float | None = None
    age_s: float | None = None
    """Seconds under load since the restore when the window began; None in older files."""
    age_transactions: int | None = None
    """Transactions since the restore, or since a checkpoint on all servers of a round, when the
    window began; None in older files."""
    devices: tuple[CountedDevice, ...] = ()
    """Those under the server's files; empty in older files, and where there are none."""
    discarded: int | None = None
    """Transactions completed in the warm-up: they are in no figure. None in older files."""
    moved: Moved | None = None
    """Of a rung that is not steady; None if it is, and in older files."""
    power: PowerWindow | None = None
    """Of the window; None without meters of power."""

    def __repr_args__(self) -> Iterator[tuple[str, object]]:
        """The order and the main figures; not the histograms, quantities and checks."""
        yield "key", self.order.key
        yield "nopm", round(self.tally.nopm)
        yield "mean_s", self.tally.latency and float(f"{self.tally.latency.mean_s:.3g}")
        yield "steady", self.steady
        yield "invalid", self.invalid

    @property
    def users(self) -> int:
        """Virtual users, as ordered."""
        return self.order.users

    @property
    def invalid(self) -> str:
        """Why the rung must not be used, such as a saturated load generator; empty where it may."""
        return "; ".join(one.words for one in self.remarks if one.severity == "invalid")

    @property
    def notes(self) -> tuple[str, ...]:
        """The other remarks, in words."""
        return tuple(one.words for one in self.remarks if one.severity != "invalid")

    def with_remarks(self, *more: Remark) -> Rung:
        """The rung with more remarks, which follow its own."""
        return self.model_copy(update={"remarks": (*self.remarks, *more)})

    def quantity(self, name: str) -> float | None:
        """The window's value of a quantity; None if it was not measured."""
        return self.quantities[name].value if name in self.quantities else None
