"""Records that flow between the rooms: frozen, in SI units, with a field's unit in its name.

Every record is written to JSON by ``model_dump_json`` and read by ``model_validate_json``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    from kneebench.analysis.sweep_rows import SweepRow

TRANSACTIONS = ("new_order", "payment", "order_status", "delivery", "stock_level")
Phase = Literal[
    "warm_up", "search", "bisection", "drift_check", "fixed_load", "final_run", "fixed_rate"
]
Role = Literal["data", "log", "temporary files"]
"""What a directory of a server, or the volume under it, holds."""
Verdict = Literal["suspected", "proved", "refuted"]
"""Of a resource that was short: seen only, or also relieved."""


class Record(BaseModel):
    """A frozen value; unknown fields are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def __dir__(self) -> list[str]:
        """Names for tab completion: the record's fields and the two ways to JSON, without those of
        pydantic.
        """
        own = {*super().__dir__()} - {*dir(BaseModel)} | {"model_dump", "model_dump_json"}
        return sorted(name for name in own if not name.startswith("_"))


# --- the machine and the server -------------------------------------------------------------------


class Drive(Record):
    """The block device of a path. `name`: the device of the file system; `stack`: the devices below
    it, downwards; `real`: the whole devices at the bottom, which meters count (once, never with the
    device above).
    """

    name: str
    stack: tuple[str, ...] = ()
    real: tuple[str, ...] = ()
    model: str = ""
    size_bytes: int = 0
    scheduler: str = ""
    rotational: bool | None = None


class CountedDevice(Record):
    """A whole device under a server's files: `name` is its source in the device quantities.

    `drive`: the name that it keeps, its WWID or the backing file of a loop device; empty without
    one. `directories`: which of the server's directories are on it; 0 has the data. `roles`: what
    these directories hold; empty in older files. `rotational`: a drive that serves one request at
    a time; None if the kernel does not know it (virtual and loop devices), and in older files.
    """

    name: str
    drive: str = ""
    directories: tuple[int, ...] = ()
    roles: tuple[Role, ...] = ()
    rotational: bool | None = None


class DriveHealth(Record):
    """What a drive reports about its own state, since it was made. None: the drive does not report
    it, or it cannot be read here.

    `source`: the program or kernel file that it comes from. `too_hot_min`: minutes above its
    warning or critical temperature; `throttled`: times that it slowed down because of its
    temperature; `percentage_used`: of its rated endurance, can exceed 100, and stays at 255.
    `critical_warning`: it reports itself at risk.
    """

    source: str = ""
    temperature_c: float | None = None
    too_hot_min: int | None = None
    throttled: int | None = None
    media_errors: int | None = None
    percentage_used: float | None = None
    available_spare: float | None = None
    critical_warning: bool | None = None
    written_bytes: int | None = None
    powered_on_h: int | None = None


class Holder(Record):
    """What uses a drive, or a device on it, so that nobody else may write to it."""

    kind: Literal[
        "mount", "swap", "array", "file system", "loop", "process", "export", "kernel", "file"
    ]
    device: str
    by: str


class LoopFile(Record):
    """The file behind a loop device, whatever its path leads to by now: its file system's device
    number, its inode, and the first byte that is used. `block`: the number of the device that the
    file is, if it is one ("major:minor").
    """

    device: int
    inode: int
    offset_bytes: int = 0
    block: str = ""


class DeviceIdentity(Record):
    """What distinguishes a block device from any other that has its name, before or after it.

    `number`: "major:minor"; `sequence`: the kernel's count of disks when it was plugged in or
    attached (None before Linux 5.15), valid in one boot; `file`: that of a loop device.
    """

    number: str
    sequence: int | None = None
    size_bytes: int = 0
    file: LoopFile | None = None


class WriteCount(Record):
    """How much was written to a device, to see whether more was written since: the kernel's count
    of bytes and, of a loop device, when its file was changed last (nanoseconds since 1970) or the
    count of the device `below` it, as those can be written to directly. None: unknown.
    """

    device_bytes: int | None = None
    file_changed_ns: int | None = None
    below: WriteCount | None = None


class Obstacle(Record):
    """Why a drive may not be written to, whatever is on it, and what to do about it."""

    seen: str
    do: str


class Signature(Record):
    """What was found on a drive: a file system, partition table, RAID or volume group, or "data"
    that is none of them. `offset`: in bytes from the start of `device`. Control characters of a
    label are escaped.
    """

    device: str
    type: str
    offset: int
    label: str = ""
    uuid: str = ""


class WholeDrive(Record):
    """A drive of this machine as a whole, with what it is, how it is, and what is on it.

    Empty or None: unknown. `wwid`: the name that it keeps; the backing file of a loop device, with
    its control characters escaped. `link`, `link_most`: the PCIe link as it is and as the drive
    allows; of a drive on a network its address. `signatures` is None if the drive cannot be read,
    for the reason in `unreadable`, or was not; `system`: this machine runs from it.
    `boot_written_bytes`: written since the boot `boot`, as the kernel counts; `writes`: the same
    when its content was read; `uncounted`: why that is unknown. `samples`: checksum of both ends
    and of blocks between them; `read_whole`: every block was read; `as_left`: nothing was written
    to it since kneebench left it. `accepts_trim`: the kernel can trim it; `trims`: what is known to
    trim it, or to have done so.
    """

    name: str
    path: str
    kind: str = ""
    wwid: str = ""
    by_id: tuple[str, ...] = ()
    model: str = ""
    serial: str = ""
    firmware: str = ""
    size_bytes: int = 0
    logical_block_bytes: int | None = None
    physical_block_bytes: int | None = None
    transport: str = ""
    link: str = ""
    link_most: str = ""
    numa_node: int | None = None
    scheduler: str = ""
    read_ahead_bytes: int | None = None
    write_cache: str = ""
    volatile_write_cache: bool | None = None
    read_only: bool = False
    system: bool = False
    boot: str = ""
    boot_written_bytes: int | None = None
    health: DriveHealth = DriveHealth()
    holders: tuple[Holder, ...] = ()
    signatures: tuple[Signature, ...] | None = None
    samples: str = ""
    read_whole: bool = False
    as_left: bool = False
    writes: WriteCount = WriteCount()
    uncounted: Obstacle | None = None
    identity: DeviceIdentity | None = None
    unreadable: str = ""
    accepts_trim: bool | None = None
    trims: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """The WWID; the kernel's name of a drive without one."""
        return self.wwid or self.name


class DriveFill(Record):
    """How full the file systems are that are on a drive and mounted here, all together. `drive`:
    its key (WholeDrive).
    """

    drive: str
    size_bytes: int
    used_bytes: int

    @property
    def share(self) -> float:
        """Used share of the file systems, not of the drive."""
        return self.used_bytes / self.size_bytes


class MemoryModule(Record):
    """A memory module, as the firmware reports it. Empty or None: it does not.

    `kind`: such as DDR5; `rated_mt_s`, `configured_mt_s`: million transfers per second that it is
    made for, and that it runs at; `part`: the maker's name of the model.
    """

    size_bytes: int
    kind: str = ""
    rated_mt_s: int | None = None
    configured_mt_s: int | None = None
    maker: str = ""
    part: str = ""


class SystemDrive(Record):
    """A drive that the machine runs from. Empty: unknown."""

    name: str
    model: str = ""
    size_bytes: int = 0
    transport: str = ""


class Host(Record):
    """The measured machine.

    `places`: the mount and directory behind each path of the plan, to detect that a path names
    another one.

    Of the rest, None or empty: not reported, or in older files. `threads_per_core`, `clock_*`:
    lab/processor.py; `memory_slots`: with empty ones; `firmware`: profiles that it reports;
    `unknown`: what could not be read, and why, in sentences.
    """

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
    sockets: int | None = None
    threads_per_core: int | None = None
    clock_hz: float | None = None
    clock_base_hz: float | None = None
    clock_most_hz: float | None = None
    clock_limit_hz: float | None = None
    memory_modules: tuple[MemoryModule, ...] = ()
    memory_slots: int | None = None
    firmware: dict[str, str] = Field(default_factory=dict)
    system_drives: tuple[SystemDrive, ...] = ()
    unknown: tuple[str, ...] = ()


def cell_name(storage: str, constraint: str, database: str = "") -> str:
    """What people read of a cell: the storage, the database where the plan has several, and the
    constraint if there is one.

    >>> cell_name("disk", "2 cores", "mariadb")
    'disk, mariadb (2 cores)'
    """
    place = f"{storage}, {database}" if database else storage
    return f"{place} ({constraint})" if constraint else place


class Cell(Record):
    """One storage with one database under one constraint, called configuration in user-facing text:
    the subject of a climb. `id` is a valid file name; `database` is empty where the plan has one.

    What the constraint allows the database: `cores` (a number of them), `memory_bytes` with the
    page cache, `engine_memory_bytes` by the database's own setting; None: not limited by it.
    `reference`: a cell without a constraint, shown apart from a sweep. `other_limits`: what else
    its constraint limits, in words.
    """

    id: str
    storage: str
    constraint: str = ""
    cores: int | None = None
    memory_bytes: int | None = None
    engine_memory_bytes: int | None = None
    reference: bool = False
    other_limits: str = ""
    database: str = ""

    @property
    def name(self) -> str:
        """What people read."""
        return cell_name(self.storage, self.constraint, self.database)

    @property
    def unlimited_name(self) -> str:
        """The same without the constraint."""
        return cell_name(self.storage, "", self.database)


class Finding(Record):
    """One line of `kneebench check`: the subject, the value seen, and the fix.

    `writes_bytes`: the most that a cell writes to a disk (or to memory) and removes again, into the
    directory `writes_to` where it is one; `keeps_bytes`: the part that stays; `takes_s`: the
    duration of the campaign, for the finding on the duration.
    """

    level: Literal["ok", "note", "warning", "error", "refused"]
    subject: str
    seen: str
    do: str = ""
    writes_bytes: int = 0
    writes_to: str = ""
    keeps_bytes: int = 0
    takes_s: float | None = None


class Whereabouts(Record):
    """Location of a server. `cores`: cores that it may use; `paths`: its directories, the data's
    first, and `roles` what each holds; all empty if unknown. `seen`: the location in words;
    `notes`: what is unknown; `process`: the PID of its first process on this machine.
    """

    here: bool = False
    seen: str = ""
    process: int = 0
    cores: tuple[int, ...] = ()
    paths: tuple[Path, ...] = ()
    roles: tuple[Role, ...] = ()
    notes: tuple[str, ...] = ()


class Setting(Record):
    """A server setting in force. `matters`: it affects storage I/O, so it is printed."""

    name: str
    value: str
    source: str = ""
    matters: bool = False


class Preconditioned(Record):
    """What was written to a drive before its volume was made.

    `speed`: (seconds, bytes per second) points of all its writes. `rounds_iops`: of random writes,
    a round each; `steady`: whether the last five met the rule (analysis/steady_state.py), None
    without rounds. `remembered`: an earlier run did it, and nobody else has written since.
    """

    device: str
    drive: str
    how: str
    took_s: float = 0.0
    written_bytes: int = 0
    speed: tuple[tuple[float, float], ...] = ()
    rounds_iops: tuple[float, ...] = ()
    steady: bool | None = None
    remembered: bool = False


class LoadInterval(Record):
    """What a drive did in one interval of a long load: I/Os per second, the mean seconds of each,
    and its temperature at the end, None if unknown.
    """

    read_iops: float
    write_iops: float
    read_s: float
    write_s: float
    temperature_c: float | None = None

    @property
    def iops(self) -> float:
        """Reads and writes."""
        return self.read_iops + self.write_iops


class DriveLoad(Record):
    """A long load on a drive before its volume was made. `throttled`, `media_errors`: by how much
    the drive's own counters grew meanwhile; None where it has none. `remembered`: an earlier run
    did it.
    """

    device: str
    drive: str
    kind: Literal["burn-in", "drain"]
    interval_s: float = 0.0
    intervals: tuple[LoadInterval, ...] = ()
    throttled: int | None = None
    media_errors: int | None = None
    remembered: bool = False

    @property
    def took_s(self) -> float:
        """The time under load."""
        return self.interval_s * len(self.intervals)


class RawRow(Record):
    """What a storage did without a database. `kind`: read, write (at random) or log (a write with a
    sync); `mean_s` of an I/O, of a log write with its sync.
    """

    name: str
    kind: Literal["read", "write", "log"]
    block_bytes: int
    depth: int
    iops: float
    mean_s: float
    invalid: str = ""


class RawProfile(Record):
    """The rows of one storage, each measured for `seconds` on a file of that size."""

    rows: tuple[RawRow, ...]
    seconds: int
    file_bytes: int


class Event(Record):
    """An event for a watcher. `share`: completed part of `doing`; `left_s`: its remaining time."""

    kind: Literal["start", "progress", "end", "rung", "round", "stop", "warning", "result"]
    doing: str
    share: float | None = None
    left_s: float | None = None
    data: dict[str, object] = Field(default_factory=dict)


Watch = Callable[[Event], None]


def unwatched(event: Event) -> None:
    """A watcher that does nothing."""


# --- one rung -------------------------------------------------------------------------------------


class Order(Record):
    """The order of one rung.

    `rate_per_s` is None for a closed loop, else the open loop's total rate.
    """

    cell: str
    phase: Phase
    users: int
    repeat: int = 0
    rate_per_s: float | None = None
    restore: int = 0
    """Short rounds: number of the restore that this rung shares with others, from 1."""

    @property
    def key(self) -> str:
        """Name of the rung within its campaign, and of its files."""
        return f"{self.cell}.{self.phase}-{self.users}" + (f"-{self.repeat}" if self.repeat else "")


class Counts(Record):
    """Counts of transactions: started = committed + rolled_back + failed + unknown, once none is in
    flight.
    """

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
        """True if at least 100 samples exceed it (docs/method.md, latency)."""
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
    """Users' time at the window's edges: of transactions that began before the window, their part
    in it, less the part after it of those whose latencies count. None: not counted (old results).
    """
    load_generator_cpu_s: float = 0.0
    load_generator_threads: int = 1
    load_generator_cores: int | None = None
    """Cores that the workers shared; None: unknown."""

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
        """Utilization of the load generator's cores; workers that share a core cannot use more than
        one. 0 without a window.
        """
        cores = min(
            self.load_generator_threads, self.load_generator_cores or self.load_generator_threads
        )
        return self.load_generator_cpu_s / (cores * self.window_s) if self.window_s > 0 else 0.0


class Summary(Record):
    """A quantity over the window: `sources` by source (device, core), `value` over all of them.

    `high`: the highest second's; None where an old format did not keep it.
    """

    unit: str
    value: float
    high: float | None
    sources: dict[str, float] = Field(default_factory=dict)


class Check(Record):
    """A self-check: the sentence contains the value seen and the limit."""

    name: str
    passed: bool
    seen: str
    limit: str
    sentence: str


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
    """The database's own counts over a rung, from idle to idle: the rise of sum D_NEXT_O_ID,
    commits and rollbacks; None where it does not count the workload's apart from others.
    """

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
    """One number of users (or one rate), measured.

    `quantities`: summaries over the window by quantity name; `tpm`: from the database's counts over
    the window;
    `notes`: remarks for the reader ("not steady"); `invalid`: why the rung must not be used, such
    as a saturated load generator; `counted` is None in files from before it was saved.
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
    notes: tuple[str, ...] = ()
    invalid: str = ""
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


class Tick(Record):
    """The load generator's report of one second.

    `late_s`: the longest delay of its threads since the last report.
    """

    now_s: float
    alive: int
    seconds: tuple[Second, ...]
    late_s: float = 0.0


# --- stop conditions and what the analysis gives --------------------------------------------------


class StopResult(Record):
    """The result of a stop condition on a climb.

    `flag` is True if the limit was exceeded without ending the climb.
    """

    stop: str
    fired: bool
    seen: str
    limit: str
    sentence: str
    flag: bool = False


class RawStorage(Record):
    """What the analysis compares a cell's I/O with: `profile` of its storage without a database;
    `copies` of each block, as its devices count them; `log_apart`: the log is on a storage of its
    own; `shared`: one with the same limits.
    """

    profile: RawProfile
    copies: int = 1
    log_apart: bool = False
    shared: bool = False


class Limits(Record):
    """Limits of the plan's stop conditions, which the analysis uses too; the defaults are those of
    the plan.

    `elasticity`: of throughput to users, on a plateau; `log_write_s`: the longest mean log write;
    `cores_busy`: the share from which the database's cores are busy.
    """

    elasticity: float = 0.07
    log_write_s: float = 0.005
    cores_busy: float = 0.97


class NoiseFloor(Record):
    """What A/A pairs differ by on a machine: the same storage, measured twice under two names.

    `shares`: by the name of the compared quantity; 0.04 is 4%. `pairs`: number of pairs behind it;
    `measured_at`: start of the newest one.
    """

    shares: dict[str, float]
    pairs: int
    measured_at: str


class Climb(Record):
    """Rungs of one cell in the order measured, and the stop reason.

    `bracket`: the numbers of users between which the knee is.

    `checks`: the consistency conditions after the climb; `final_checks`: those after each final
    run, by the key of its last rung. `limits` come from the plan, `noise_floor` and `raw` from the
    head when a campaign is read; they are not stored here. Nor is `superseded`: final runs at loads
    beyond the limit on log writes, and runs at a fixed rate that waited for users or had another
    rate (analysis/quoted_load.py). They are in no figure.
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
    noise_floor: NoiseFloor | None = Field(default=None, exclude=True)
    raw: RawStorage | None = Field(default=None, exclude=True)
    superseded: tuple[Rung, ...] = Field(default=(), exclude=True)

    def __repr_args__(self) -> Iterator[tuple[str, object]]:
        """The main fields; of the rungs only their number."""
        yield "storage", self.cell.storage
        yield "rungs", len(self.rungs)
        yield "knee_users", self.knee_users
        yield "stopped_by", self.stopped_by

    def of(self, *phases: Phase) -> tuple[Rung, ...]:
        """The rungs of these phases, as measured."""
        return tuple(r for r in self.rungs if r.order.phase in phases)

    def repeats(self, phase: Phase) -> frozenset[int]:
        """The repeats of a phase's rungs, valid or not; those of a fixed load are its final runs if
        it has no others.
        """
        rungs = self.of(phase) or (self.of("fixed_load") if phase == "final_run" else ())
        return frozenset(rung.order.repeat for rung in rungs)

    @property
    def stepped_down(self) -> bool:
        """Whether final runs at more users exceeded the limit on log writes, so that the quoted
        ones have fewer than the knee that the climb found.
        """
        return any(rung.order.phase == "final_run" for rung in self.superseded)


class Estimate(Record):
    """A number that may leave the analysis: value, 95% CI, number of runs, method."""

    value: float
    low: float
    high: float
    n: int
    method: str = ""

    def __str__(self) -> str:
        return f"{self.value:,.4g} ({self.low:,.4g} to {self.high:,.4g}, n={self.n})"


class ExceededLoad(Record):
    """A load whose final runs exceeded the limit on log writes: they are not quoted."""

    users: int
    log_write_s: Estimate | None
    runs: int


class QuotedLoad(Record):
    """The load of the quoted final runs, with their mean log write and its limit; `within`: None if
    it was not measured. `exceeded`: the loads above it that were measured before.
    """

    users: int
    limit_s: float
    log_write_s: Estimate | None
    within: bool | None
    exceeded: tuple[ExceededLoad, ...] = ()


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
    """`cell` against `baseline`: ratio > 1 is more of the quantity.

    `differs` only beyond the noise floor and interval.
    """

    quantity: str
    baseline: str
    cell: str
    ratio: Estimate
    differs: bool
    noise_floor: float
    sentence: str


class ResourceEvidence(Record):
    """What one resource showed at the knee: utilization, saturation and errors in words with their
    numbers, "not measured" where nothing read them.

    `short`: it had too little; None: not measured, or hidden by other processes. `why`: the
    readings that decided, with their limits. `called`: its name where these readings are of more
    than the resource; empty otherwise.
    """

    resource: str
    utilization: str
    saturation: str
    errors: str
    short: bool | None
    why: str
    called: str = ""

    @property
    def name(self) -> str:
        """What people read."""
        return self.called or self.resource


class TimeShare(Record):
    """A part of a transaction's mean time: as a share of it, and in seconds."""

    share: float
    seconds: float


class Bottleneck(Record):
    """The bottleneck at the knee, and the evidence for it.

    `resource`: the key of a resource (analysis/resources.py), or "unknown"; `called`: as of its
    evidence. `evidence`: lines "for log: ...". `rows`: every resource. `time_split`: where a
    transaction's time went, by class (analysis/time_split.py); empty without waits.

    `verdict`: "suspected" until an intervention relieved the resource; `relief` names the one that
    would prove it, empty where there is none. `gain`: throughput with the relief over that without;
    `next_limit`: what would stop it then, in a sentence.
    """

    cell: str
    resource: str
    evidence: tuple[str, ...]
    sentence: str
    rows: tuple[ResourceEvidence, ...] = ()
    time_split: dict[str, TimeShare] = Field(default_factory=dict)
    verdict: Verdict = "suspected"
    relief: str = ""
    gain: Estimate | None = None
    next_limit: str = ""
    called: str = ""

    @property
    def name(self) -> str:
        """What people read."""
        return self.called or self.resource


class Relieved(Record):
    """A knee measured again with one resource relieved, in turn with the knee as it was.

    `gain`: NOPM against the knee as it was; None without valid runs. `next_resource`: what was
    short then.
    """

    relief: str
    cell: Cell
    gain: Estimate | None
    verdict: Verdict
    next_resource: str
    sentence: str


class Proof(Record):
    """The reliefs that were tried on one cell at its knee, and why others were impossible."""

    cell: str
    users: int
    relieved: tuple[Relieved, ...]
    impossible: dict[str, str] = Field(default_factory=dict)

    @property
    def tried(self) -> tuple[str, ...]:
        """Names of the reliefs, also of impossible ones."""
        return (*(one.relief for one in self.relieved), *self.impossible)

    def and_before(self, kept: Proof | None) -> Proof:
        """This proof with what an earlier one of the same cell tried."""
        if not kept:
            return self
        relieved = (*kept.relieved, *self.relieved)
        impossible = {**kept.impossible, **self.impossible}
        return self.model_copy(update={"relieved": relieved, "impossible": impossible})


class Campaign(Record):
    """Head of a results folder: everything except the rungs.

    `plan` is the plan's JSON with all defaults filled in.
    """

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
    """By cell, in older campaigns by storage; empty in campaigns of old."""
    noise_floor: NoiseFloor | None = None
    """That of the machine when the campaign was measured; None if no A/A pair had been measured."""
    drives_before: tuple[WholeDrive, ...] = ()
    """Those under the plan's paths, with their health, when the campaign began."""
    drives_after: tuple[WholeDrive, ...] = ()
    """The same when it was finished; empty until then."""
    raw_profiles: dict[str, RawProfile] = Field(default_factory=dict)
    """By cell: what its storage did without a database."""
    unprofiled: dict[str, str] = Field(default_factory=dict)
    """By cell: why its storage has no raw profile, though the plan asked for one."""
    preconditioned: tuple[Preconditioned, ...] = ()
    """Each drive of a volume, by its last preconditioning."""
    drive_loads: tuple[DriveLoad, ...] = ()
    """Each drive's latest burn-in, and all its drains in their order; in older files the last."""
    drive_fills: tuple[DriveFill, ...] = ()
    """The fullest that each drive was at the end of a climb, with the database on it; empty in
    older files."""
    proofs: dict[str, Proof] = Field(default_factory=dict)
    """By cell: what relieving a resource gained; empty unless the run was to prove its verdicts."""
    joined: dict[str, str] = Field(default_factory=dict)
    """When a cell was added to a campaign that had been measured without it, by cell id."""
    fixed_rate: Order | None = None
    """Where cells were added: the fixed rate that those before them were measured at."""
    saturation: dict[int, float] = Field(default_factory=dict)
    """The search for saturating cores: how busy the least busy one was, by their number."""
    command: str = ""
    notes: tuple[str, ...] = ()

    def interleaved(self, one: str, other: str) -> bool:
        """Whether the final runs of two cells, by id, were measured in turn."""
        return self.joined.get(one) == self.joined.get(other)

    @property
    def engines(self) -> dict[str, str]:
        """The engine by the database's name; of a plan with one database by ""."""
        several, one = (self.plan.get(key) for key in ("databases", "database"))
        tables = several if isinstance(several, dict) and several else {"": one}
        return {
            name: str(table.get("engine"))
            for name, table in tables.items()
            if isinstance(table, dict)
        }

    def image_of(self, database: str) -> dict[str, str]:
        """The facts about a database's base image."""
        start = f"{database}: " if database else ""
        facts = self.base_image.items()
        return {name.removeprefix(start): fact for name, fact in facts if name.startswith(start)}

    @property
    def emulated(self) -> bool:
        """Whether a volume is made of emulated drives."""
        storages = self.plan.get("storages")
        tables = list(storages.values()) if isinstance(storages, dict) else []
        inner = [
            one.get(key) for one in tables if isinstance(one, dict) for key in ("log", "temporary")
        ]
        volumes = [one for one in (*tables, *inner) if isinstance(one, dict)]
        drives = [one.get("drives") for one in volumes]
        return any(
            isinstance(one, dict) for some in drives if isinstance(some, list) for one in some
        )

    @property
    def label(self) -> str:
        """What a reader must know before any figure; empty where all is real."""
        return "Simulated" if self.simulated else "Emulated drives" if self.emulated else ""


class Results(Record):
    """A whole campaign as the store gives it back: the only thing that analysis, brief and compare
    read.
    """

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

    def sweep(self) -> list[SweepRow]:
        """The cells of its sweeps, the smallest first, as flat rows for a notebook: storage,
        memory, cores, NOPM with its interval, NOPM relative to the largest cell, reads. Empty
        without a sweep.
        """
        from kneebench.analysis.sweep_rows import sweep_rows

        return sweep_rows(self)

    def _repr_html_(self) -> str:
        """The answer table, in a notebook."""
        from kneebench.analysis.configuration_summary import as_html

        return as_html(self)
