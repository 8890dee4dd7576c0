"""The tally of a rung: what the load generator counted and timed."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from kneebench.records.load_hosts import HostTally, utilization
from kneebench.records.record import Record


class Counts(Record):
    """Counts of transactions: started = committed + rolled_back + failed + unknown, when idle."""

    started: int = 0
    """Transactions that began; in a window, those that ended in it."""
    committed: int = 0
    """Transactions whose commit was acknowledged."""
    rolled_back: int = 0
    """Transactions rolled back by design: orders for an item that does not exist."""
    failed: int = 0
    """Transactions that ended with an error, after any retries."""
    unknown: int = 0
    """Transactions without a reply, as the connection was lost before."""

    @property
    def completed(self) -> int:
        """Transactions that ended as the workload intends: committed, or rolled back by design."""
        return self.committed + self.rolled_back

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            **{name: getattr(self, name) + getattr(other, name) for name in type(self).model_fields}
        )


class Latency(Record):
    """A merged HDR histogram (3 digits, 1 µs to 1 h) of latencies, waits or delays, in seconds."""

    n: int
    """Number of transactions that were timed."""
    mean_s: float
    """Mean of all times."""
    p50_s: float
    """Median of all times."""
    p90_s: float
    """90th percentile of all times."""
    p95_s: float
    """95th percentile of all times."""
    p99_s: float
    """99th percentile of all times."""
    p999_s: float
    """99.9th percentile of all times."""
    p999_low_s: float
    """Lower end of the 95% interval of `p999_s`, by order statistics."""
    p999_high_s: float
    """Upper end of the same interval."""
    max_s: float
    """Longest of all times."""
    overflow: int = 0
    """Number of times of 1 h or more, which count as 1 h."""
    histogram: str = Field(default="", repr=False)
    """Histogram of all times, in HDR's encoding V2, compressed, base64."""

    @property
    def p999_is_certain(self) -> bool:
        """True if at least 100 samples exceed it (docs/method/workload.md)."""
        return self.n >= 100_000


class TransactionTally(Record):
    """One transaction type. Its times are of those that began in the window and completed."""

    whole: Counts
    """Counts from idle to idle, with the warm-up."""
    window: Counts
    """Counts of transactions that ended in the window."""
    latency: Latency | None = None
    """Time from the intended start to the response; None: none was timed."""
    wait: Latency | None = None
    """Queue wait for a user (open loop) or shared connection; None without a queue."""
    retried: dict[str, int] = Field(default_factory=dict)
    """Number of retries, idle to idle, by the code of the error."""


class SeenError(Record):
    """Errors of one class, with the first message."""

    code: str
    """Code of the database, `connection`, or `other` for codes beyond the first 32."""
    count: int
    """Number of transactions that ended with it, idle to idle."""
    first: str
    """First message, at most 500 characters."""


class Tally(Record):
    """Counts and latencies of one rung, from the load generator (all load hosts together)."""

    users: int
    """Virtual users of the load."""
    window_s: float
    """Length of the window; with load hosts the mean of theirs."""
    whole_s: float
    """Time from the start of the load until its last response."""
    transactions: dict[str, TransactionTally]
    """Counts and latencies by transaction type."""
    latency: Latency | None
    """Latency of all types together; None: no transaction was timed."""
    wait: Latency | None = None
    """Queue wait of all types together; None without a queue."""
    delay: Latency | None = None
    """Delay of the load generator per transaction, which is in no latency. None: not measured."""
    delay_stamped: int = 0
    """Number of these delays from the kernel's receive time stamps; the others come from its
    scheduler's counts."""
    errors: tuple[SeenError, ...] = ()
    """Errors by their code, idle to idle."""
    unstarted: int = 0
    """Transactions due in the window that were never started."""
    lost_users: int = 0
    """Users who lost their connection."""
    edges_s: float | None = None
    """Time of the users at the window's edges: of transactions that began before it, their part in
    it, less the part after it of those whose latencies count. None: not counted."""
    load_generator_cpu_s: float = 0.0
    """CPU time of the users' threads in the window."""
    load_generator_threads: int = 1
    """Number of threads that the users ran in."""
    load_generator_cores: int | None = None
    """Cores that these threads shared; None: unknown."""
    hosts: tuple[HostTally, ...] = ()
    """Part of each load host; empty without load hosts."""

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
        """New-Orders per minute: committed ones completed in the window; 0 of another workload."""
        of = self.transactions.get("new_order")
        return 60 * of.window.committed / self.window_s if of else 0.0

    @property
    def throughput_per_s(self) -> float:
        """Transactions completed per second of the window, rolled back ones included."""
        done = sum(one.window.completed for one in self.transactions.values())
        return done / self.window_s

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
