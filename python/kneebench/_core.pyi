"""The hot path: load generator, loading, histograms.

Every call that takes long releases the interpreter lock.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypedDict, final

from kneebench.databases.engines.simulated.storage import SimulatedStorage

SESSION_SETTINGS: list[tuple[str, str]]
"""Settings of every session of the load generator on a PostgreSQL server: (name, value)."""

NO_LIMITS: str
"""The statement that lifts a PostgreSQL server's, role's or database's time limits for a session.
"""

@final
class GeneratorSpec:
    """The specification of a load generator; raises ValueError for a value out of range.

    `first_user` counts the users of other load generators on the same database before this one,
    `all_users` those of all together (0: no other one follows): each user then has the same home as
    with one load generator. `stream` is the number of the random stream, which differs between the
    rungs of one `seed`. `rate_per_s` is None for a closed loop. `drain_s` is the time that a queue
    (of an open loop, or for a connection) may take to empty after the window. `connections` are
    shared by the users; 0: one per user. Workers are pinned to `cores` in turn; empty: not pinned.
    `ledger`: keep what tells each order, for what a crash loses. Of several `databases` each has so
    many warehouses; user n is in that of number n modulo their number.
    """

    def __init__(
        self,
        *,
        users: int,
        first_user: int = 0,
        all_users: int = 0,
        warehouses: int,
        databases: int = 1,
        profile: Literal["spec", "hammerdb"],
        home: Literal["all", "one"],
        think_times: bool = False,
        retries: int = 0,
        seed: int,
        stream: int,
        rate_per_s: float | None = None,
        drain_s: float = 10.0,
        connections: int = 0,
        workers: int,
        cores: Sequence[int] = (),
        ledger: bool = False,
    ) -> None: ...
    @property
    def users(self) -> int: ...
    @property
    def first_user(self) -> int: ...
    @property
    def all_users(self) -> int: ...
    @property
    def warehouses(self) -> int: ...
    @property
    def databases(self) -> int: ...
    @property
    def profile(self) -> str: ...
    @property
    def home(self) -> str: ...
    @property
    def think_times(self) -> bool: ...
    @property
    def retries(self) -> int: ...
    @property
    def seed(self) -> int: ...
    @property
    def stream(self) -> int: ...
    @property
    def rate_per_s(self) -> float | None: ...
    @property
    def drain_s(self) -> float: ...
    @property
    def connections(self) -> int: ...
    @property
    def workers(self) -> int: ...
    @property
    def cores(self) -> list[int]: ...
    @property
    def ledger(self) -> bool: ...

@final
class Address:
    """The address of a database, by the wire protocol of its server.

    `host` may be the directory of a Unix socket.
    """

    def __init__(
        self,
        *,
        protocol: Literal["postgres", "mysql", "tds"],
        host: str,
        port: int,
        user: str,
        password: str | None = None,
        database: str,
        sslmode: str = "disable",
        sslrootcert: str = "",
    ) -> None: ...

class Counts(TypedDict):
    """The fields of records.Counts."""

    started: int
    committed: int
    rolled_back: int
    failed: int
    unknown: int

class Latency(TypedDict):
    """The fields of records.Latency."""

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
    overflow: int
    histogram: str

class Second(TypedDict):
    """The fields of records.Second."""

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
    histogram: str

class AnsweredSecond(TypedDict):
    """The fields of records.AnsweredSecond."""

    at_s: int
    answered: int
    waiting_s: list[float]

class Tick(TypedDict):
    """The fields of records.Tick; `seconds`: those that ended since the tick before."""

    now_s: float
    alive: int
    late_s: float
    seconds: list[Second]
    progress: list[AnsweredSecond]

class CountedError(TypedDict):
    """The fields of records.SeenError."""

    code: str
    count: int
    first: str

class TransactionReport(TypedDict):
    """The fields of records.TransactionTally."""

    whole: Counts
    window: Counts
    latency: Latency | None
    wait: Latency | None
    retried: dict[str, int]

class Report(TypedDict):
    """The fields of records.Tally."""

    users: int
    window_s: float
    whole_s: float
    transactions: dict[str, TransactionReport]
    latency: Latency | None
    wait: Latency | None
    delay: Latency | None
    delay_stamped: int
    errors: list[CountedError]
    unstarted: int
    lost_users: int
    edges_s: float
    load_generator_cpu_s: float
    load_generator_threads: int
    load_generator_cores: int | None

@final
class LoadGenerator:
    """Many terminals on one server, from the first connection to the last response."""

    def __init__(self, spec: GeneratorSpec, address: Address, *beside: Address) -> None:
        """`beside`: other databases by the same protocol; session n is in that of number n modulo
        their number.
        """

    def ready(self) -> None:
        """Open every connection and prepare every statement.

        Raises core_errors.ConnectError with the server's message.
        """

    def go(self) -> None:
        """Start the clock and the load, in the phase "warm_up"."""

    def tick(self) -> Tick:
        """Wait for the end of the current second; all seconds that ended since the last call."""

    def mark(self, phase: str) -> float:
        """Enter the phase "window" or "cool_down"; seconds since go."""

    def stop(self) -> Report:
        """Let every transaction that began end, close the connections; the tally."""

    def take_ledger(self) -> tuple[bytes, bytes]:
        """The orders of a load that has stopped, once: acknowledged, and without an answer.

        An order is six 32-bit integers, little-endian: warehouse, district, customer, number of
        lines, sum of the items, sum of the quantities. An acknowledged one has the nanoseconds
        since go behind them, a 64-bit integer.
        """

@final
class SimulatedServer:
    """A database and its drives as a discrete-event model with its own clock."""

    def __init__(
        self,
        *,
        storage: SimulatedStorage,
        warehouses: int,
        profile: Literal["spec", "hammerdb"],
        seed: int,
    ) -> None: ...
    def load_generator(self, spec: GeneratorSpec) -> LoadGenerator:
        """A load generator on the simulated clock: tick() returns once a second is simulated."""

    def readings(self) -> dict[str, float]:
        """Cumulative counters by "quantity|source", as of real meters."""

    def now_s(self) -> float:
        """The simulated clock."""

    def ledger(self) -> dict[str, int]:
        """Sums over the tables: next_order_ids, orders, new_orders, w_ytd_cents, committed, ..."""

    def pass_time(self, seconds: float) -> None:
        """Let simulated time pass without a load."""

    def checkpoint(self) -> None:
        """A requested checkpoint; it ends at once."""

    def ended(self) -> str:
        """The reason of the server's end; empty while it is alive."""

@final
class Dataset:
    """What shapes the rows of a database. Raises ValueError beyond what can be loaded."""

    @staticmethod
    def tproc_c(*, warehouses: int, profile: Literal["spec", "hammerdb"], seed: int) -> Dataset: ...
    @staticmethod
    def tproc_h(*, scale: float) -> Dataset:
        """Rows as dbgen makes them: the same scale gives the same rows."""

    @property
    def shape(self) -> tuple[int, str, int] | None:
        """Warehouses, profile and seed of TPROC-C; None of TPROC-H."""

    def write(self, table: str, path: Path) -> int:
        """Write a table's rows to a file; their number. A line has a row, its values separated by
        tabs; no text contains one.
        """

@final
class TableLoad:
    """One table of a load: the statements before its rows, and the one that takes the rows.

    All are in one transaction.
    """

    def __init__(self, *, name: str, before: Sequence[str], fill: str) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def before(self) -> list[str]: ...
    @property
    def fill(self) -> str: ...

@final
class Loading:
    """One load on its own threads; the tables start in the given order."""

    def __init__(
        self,
        *,
        address: Address,
        dataset: Dataset,
        streams: int,
        tables: Sequence[TableLoad],
    ) -> None: ...
    def start(self) -> None: ...
    def progress(self) -> dict[str, int]:
        """{"rows", "rows_total", "bytes"} so far."""

    def wait(self, timeout_s: float) -> bool:
        """True once all is loaded.

        Raises core_errors.LoadError with the server's message if a stream failed.
        """

    def cancel(self) -> None: ...

def merge_histograms(histograms: list[str]) -> Latency:
    """Merged statistics of base64 HDR histograms (V2); `histogram` is empty.

    Raises ValueError for one that cannot be read.
    """

def sum_histograms(histograms: list[str]) -> Latency | None:
    """The sum of base64 HDR histograms (V2), as one with its statistics; None without samples.

    Raises ValueError for one that cannot be read.
    """

def merged_quantiles(histograms: list[str], shares: list[float]) -> list[float]:
    """Quantiles, in seconds, of all samples of base64 HDR histograms (V2); a share of 0.99 is P99.

    Raises ValueError for a histogram that cannot be read.
    """

def system_roots() -> str | None:
    """The file of the machine's own root certificates; None if there is none.

    SSL_CERT_FILE, or the place where the distribution keeps them.
    """
