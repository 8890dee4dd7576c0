"""One rung: what was ordered, and what was measured."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import Field

from kneebench.records.machine import CountedDevice
from kneebench.records.power import PowerWindow
from kneebench.records.record import REFRESH, Phase, Record, Remark
from kneebench.records.tally import Tally


class Order(Record):
    """The order of one rung."""

    configuration: str
    """Id of the configuration that is measured."""
    phase: Phase
    """Phase of the campaign that the rung belongs to."""
    users: int
    """Virtual users of the load."""
    repeat: int = 0
    """Number of a final run or one at the fixed rate, from 1; percent of a load level; 1 in a climb
    made again; else 0."""
    rate_per_s: float | None = None
    """Rate of all users' transactions in an open loop; None: a closed loop."""
    query: int = 0
    """Number of the query of TPROC-H that is run alone, 23 and 24 for RF1 and RF2; 0: none."""
    restore: int = 0
    """Number of the restore that short rounds share, from 1; 0 without rounds."""

    @property
    def nth(self) -> str:
        """Which of its phase it is, behind the phase's name; empty where there is one alone.

        >>> Order(configuration="disk", phase="load_level", users=8, repeat=50).nth
        ' 50%'
        """
        if self.phase == "load_level":
            return f" {self.repeat}%"
        counted = self.repeat and self.phase in ("final_run", "fixed_rate")
        return f" {self.repeat}" if counted else ""

    @property
    def of_query(self) -> str:
        """The query or refresh function that is run alone, for people; empty where none is.

        >>> Order(configuration="disk", phase="warm_query", users=1, query=6).of_query
        'query 6 again'
        """
        if not self.query:
            return ""
        again = " again" if self.phase == "warm_query" else ""
        return f"{REFRESH.get(self.query) or f'query {self.query}'}{again}"

    @property
    def key(self) -> str:
        """Name of the rung within its campaign, and of its files."""
        number = self.query or self.users
        return f"{self.configuration}.{self.phase}-{number}" + (
            f"-{self.repeat}" if self.repeat else ""
        )


class Summary(Record):
    """A quantity over the window.

    Where single seconds are not known, `high` is `value` itself, the highest of the parts of the
    window that are the sources (`log.write_latency_10s`), or the P99.9 (`load_generator.delay`).
    """

    unit: str
    """Unit of all its values, such as s, share or 1/s."""
    value: float
    """Value over the whole window and all sources."""
    high: float | None
    """Value of the highest second; None if not known."""
    sources: dict[str, float] = Field(default_factory=dict)
    """Value over the window by source, such as a device or a core."""


class Check(Record):
    """A self-check. `value` and `limit_value` are None where a check has no single number."""

    name: str
    """Name of the check, such as `little` or `condition 1`."""
    passed: bool
    """Whether the value that was seen is within the limit."""
    seen: str
    """Value that was seen, in words."""
    limit: str
    """Limit of this value, in words."""
    sentence: str
    """Result as a sentence, with the value seen and the limit."""
    value: float | None = None
    """Number behind `seen`: a count, or a share (0.01 is 1%)."""
    limit_value: float | None = None
    """Largest `value` that passes; of a share in either direction."""


class LogHistogram(Record):
    """Flushes of the database's log in a window, each a sync and the writes before it, as the
    kernel timed their system calls.

    The mean is compared with that of the database's own statistics over the whole rung, from idle
    to idle: within it their counts lag. Where they do not time the log, the numbers of flushes are
    compared.

    Bucket b below 64 has the flushes of b ns. From 64 on, with s = b // 32 - 1, it begins at (b -
    32 s) 2^s ns and is 2^s ns wide.
    """

    n: int
    """Number of flushes in the window."""
    mean_s: float
    """Mean time of a flush."""
    p50_s: float
    """Median time of a flush."""
    p90_s: float
    """90th percentile of the times of the flushes."""
    p99_s: float
    """99th percentile of the times of the flushes."""
    p999_s: float
    """99.9th percentile of the times of the flushes."""
    difference: float | None = None
    """Share by which the mean exceeds that of the database; None: it reports none."""
    counts: dict[int, int] = Field(default_factory=dict, repr=False)
    """Number of flushes by bucket."""


class Counted(Record):
    """The database's own counts over a rung, idle to idle. None where it does not count the
    workload's transactions apart from others.
    """

    next_order_ids: int
    """Rise of sum D_NEXT_O_ID: its number of New-Orders."""
    commits: int | None = None
    """Rise of its count of commits."""
    rollbacks: int | None = None
    """Rise of its count of rollbacks, those before a retry included."""
    by_database: tuple[int, ...] = ()
    """New-Orders of each database of the server; empty where it has one."""


class Moved(Record):
    """How far a load still moved across its window: a straight line from the first second to the
    last, as a share of the mean; 0 within twice its standard error. Across whole checkpoint cycles
    only what also moved before the window counts.
    """

    nopm: float
    """Move of NOPM; below 0 it fell."""
    reads: float | None = None
    """Move of the device's reads; None if no device was measured, or if hardly any time went into
    reads."""


class QueryRun(Record):
    """One query of TPROC-H as a stream ran it."""

    stream: int
    """Number of the stream, from 1; the one behind the last is that of the refresh functions."""
    query: int
    """Number of the query; 23 is RF1, 24 is RF2."""
    began_s: float
    """Time from the start of the window to its statement."""
    took_s: float
    """Time from the statement to the last row, or until it was cancelled."""
    answered: bool = True
    """Whether it was answered within the plan's limit."""


class Rung(Record):
    """One number of users (or a fixed rate), measured."""

    order: Order
    """Order that it was measured by."""
    started_at: str
    """Time of day before its first user connected."""
    warm_up_s: float
    """Time under load before the window."""
    steady: bool
    """Whether the load was steady before the window; true where not judged."""
    tally: Tally
    """Counts and latencies from the load generator."""
    tpm: float
    """Transactions per minute of the window, by the database's counts if it has them."""
    counted: Counted | None = None
    """Counts of the database itself; None: not kept."""
    quantities: dict[str, Summary] = Field(default_factory=dict)
    """Summaries over the window by the name of the quantity."""
    log_histogram: LogHistogram | None = None
    """Log write histogram of the window; None: not measured."""
    checks: tuple[Check, ...] = ()
    """Self-checks of the counts and latencies."""
    remarks: tuple[Remark, ...] = ()
    """Remarks on what a reader must know of it."""
    restore_s: float | None = None
    """Duration of the restore before it; None if an earlier rung used the restore."""
    age_s: float | None = None
    """Seconds under load since the restore when the window began; None: not kept."""
    age_transactions: int | None = None
    """Transactions since the restore, or since a checkpoint on all servers of a round, when the
    window began; None: not kept."""
    devices: tuple[CountedDevice, ...] = ()
    """Devices under the server's files; empty where there are none."""
    discarded: int | None = None
    """Transactions completed in the warm-up: they are in no figure. None: not kept."""
    moved: Moved | None = None
    """Move of a load that was not steady; None if it was."""
    power: PowerWindow | None = None
    """Power in the window; None without meters of power."""
    queries: tuple[QueryRun, ...] = ()
    """Queries of TPROC-H that were run in the window."""

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


class Series(Record):
    """One quantity from one source, one value per second; `at_s` counts from the rung's start."""

    quantity: str
    source: str
    unit: str
    at_s: tuple[float, ...]
    value: tuple[float, ...]


class Second(Record):
    """One second of one transaction type: completions in it, and their latency.

    `at_s` counts from go.
    """

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


class LiveSecond(Record):
    """What is known of a second of a rung when it ends, for a watcher; None where it was not
    measured.

    `mean_s`, `p999_s`: of all transactions; `failed`: of them; `late_s`: the longest delay of the
    load generator's clock; `log_write_s`, `read_await_s`, `write_await_s`: means of the log's
    writes and of the devices' reads and writes; `read_bytes_per_s`, `write_bytes_per_s`: of all
    these devices together; `cores`: how busy each of the database's is, as a share.
    """

    nopm: float = 0.0
    mean_s: float | None = None
    p999_s: float | None = None
    failed: int = 0
    late_s: float = 0.0
    log_write_s: float | None = None
    read_await_s: float | None = None
    write_await_s: float | None = None
    read_bytes_per_s: float | None = None
    write_bytes_per_s: float | None = None
    cores: dict[str, float] = Field(default_factory=dict)


class AnsweredSecond(Record):
    """What the database answered in one second, on one load host if there are any.

    `waiting_s`: ages, at its end, of the transactions that had been without a response for 4 s.
    """

    at_s: int
    answered: int
    waiting_s: tuple[float, ...] = ()
    host: str = ""


class Tick(Record):
    """The load generator's report of one second.

    `late_s`: the longest delay of its threads since the last report; `progress`: of each second
    that ended since then; `network`: what the interfaces of load hosts have carried, by
    "quantity|source".
    """

    now_s: float
    alive: int
    seconds: tuple[Second, ...]
    late_s: float = 0.0
    progress: tuple[AnsweredSecond, ...] = ()
    network: dict[str, float] = Field(default_factory=dict)
