"""A drive: what it is, who holds it, what is on it, and what was written to it."""

from __future__ import annotations

from typing import Literal

from kneebench.records.record import Record


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
    """What uses a drive, or a device on it, so that nothing else may write to it."""

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


class Preconditioned(Record):
    """What was written to a drive before its volume was made.

    `speed`: (seconds, bytes per second) points of all its writes. `rounds_iops`: of random writes,
    a round each; `steady`: whether the last five met the rule (analysis/steady_state.py), None
    without rounds. `remembered`: an earlier run did it, and nothing has written since.
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
