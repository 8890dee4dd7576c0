"""A drive: what it is, who holds it, what is on it, how full it is, and what it does by itself."""

from __future__ import annotations

from typing import Literal

from kneebench.records.record import Record


class DriveHealth(Record):
    """What a drive reports about its own state, since it was made. None: the drive does not report
    it, or it cannot be read here.
    """

    source: str = ""
    """Program or kernel file that the values come from; empty without any."""
    temperature_c: float | None = None
    """Temperature when it was read."""
    too_hot_min: int | None = None
    """Minutes above its warning or critical temperature."""
    throttled: int | None = None
    """Times that it slowed down because of its temperature."""
    media_errors: int | None = None
    """Errors of the medium that the drive could not correct."""
    percentage_used: float | None = None
    """Percentage used of its rated endurance; can exceed 100, and stays at 255."""
    available_spare: float | None = None
    """Spare capacity that remains, in percent; NVMe drives only."""
    critical_warning: bool | None = None
    """Whether it reports itself at risk."""
    written_bytes: int | None = None
    """Bytes that were written to it, by its own count."""
    powered_on_h: int | None = None
    """Hours for which it was switched on."""


class Holder(Record):
    """What uses a drive, or a device on it, so that nothing else may write to it.

    Of `kind`, "file system" is one mounted where this process cannot see it, "file" another use of
    the file behind a loop device, "path" another device of the same WWID, and "kernel" a use that
    only a refused exclusive open shows.
    """

    kind: Literal[
        "mount",
        "swap",
        "array",
        "file system",
        "loop",
        "process",
        "export",
        "kernel",
        "file",
        "path",
    ]
    """Kind of use; arrays include volumes, exports are targets on a network."""
    device: str
    """Kernel name of the drive, or of the device on it."""
    by: str
    """Name of what uses it, such as a mount point or a process."""


class LoopFile(Record):
    """The file behind a loop device, whatever its path leads to by now."""

    device: int
    """Device number of its file system."""
    inode: int
    """Number of its inode."""
    offset_bytes: int = 0
    """Offset of the first byte that is used."""
    block: str = ""
    """Number of the block device that it is, "major:minor"; empty for a file."""


class DeviceIdentity(Record):
    """What distinguishes a block device from any other that has its name, before or after it."""

    number: str
    """Number of the device, "major:minor"."""
    sequence: int | None = None
    """Kernel's disk count when attached, valid in one boot; None before Linux 5.15."""
    size_bytes: int = 0
    """Size of the device."""
    file: LoopFile | None = None
    """File of a loop device; None for any other."""


class WriteCount(Record):
    """How much was written to a device, to see whether more was written since. What is behind a
    loop device can be written to directly, so that is counted too. None: unknown.
    """

    device_bytes: int | None = None
    """Bytes written to it, by the kernel's count."""
    file_changed_ns: int | None = None
    """Last change of a loop device's file, in nanoseconds since 1970."""
    below: WriteCount | None = None
    """Count of the device below a loop device."""


class Obstacle(Record):
    """Why a drive may not be written to, whatever is on it, and what to do about it."""

    seen: str
    """Reason that was seen, in words."""
    do: str
    """Remedy, such as a command or another drive."""


class Signature(Record):
    """What was found on a drive: a file system, partition table, RAID or volume group, data that is
    none of them, or the mark of kneebench, which it leaves on a drive that it wrote to.
    """

    device: str
    """Kernel name of the drive or partition."""
    type: str
    """Type as wipefs(8) names it; "data" without a signature; "mark": kneebench's."""
    offset: int
    """Offset in bytes from the start of `device`."""
    label: str = ""
    """Label of a file system, with control characters escaped; empty without one."""
    uuid: str = ""
    """UUID of what was found; empty without one."""


class WholeDrive(Record):
    """A drive of this machine as a whole, with what it is, how it is, and what is on it.

    Empty or None: unknown. What uses a drive and what is on it is not looked at for the head of a
    campaign: there `system`, `holders` and all from `signatures` to `unreadable` say nothing.
    """

    name: str
    """Kernel name of the drive, such as nvme0n1."""
    path: str
    """Path of its device, such as /dev/nvme0n1."""
    kind: str = ""
    """Type as lsblk(8) names it, such as disk or loop."""
    wwid: str = ""
    """Name that it keeps; of a loop device its backing file, control characters escaped."""
    by_id: tuple[str, ...] = ()
    """Links to it in /dev/disk/by-id."""
    model: str = ""
    """Model, as the drive reports it."""
    serial: str = ""
    """Serial number that it reports."""
    firmware: str = ""
    """Firmware version that it runs."""
    size_bytes: int = 0
    """Size of the whole drive."""
    logical_block_bytes: int | None = None
    """Smallest block that it is read and written in."""
    physical_block_bytes: int | None = None
    """Smallest block that it writes atomically, as it reports."""
    transport: str = ""
    """Transport such as nvme or sata, else its bus; loop devices have none."""
    link: str = ""
    """PCIe link of an NVMe drive as it is; on a network its address."""
    link_most: str = ""
    """PCIe link that an NVMe drive allows; empty on a network."""
    numa_node: int | None = None
    """NUMA node of its controller; None if the kernel reports none."""
    scheduler: str = ""
    """I/O scheduler in use, as lsblk names it."""
    read_ahead_bytes: int | None = None
    """Most bytes that the kernel reads ahead."""
    write_cache: str = ""
    """Mode of its cache by the kernel: "write back" or "write through"."""
    volatile_write_cache: bool | None = None
    """Whether a power loss can empty its write cache; NVMe drives only."""
    read_only: bool = False
    """Whether the kernel refuses writes to it."""
    system: bool = False
    """Whether this machine runs from it."""
    boot: str = ""
    """Boot id of the machine when it was looked at."""
    boot_written_bytes: int | None = None
    """Bytes written to it since that boot, as the kernel counts."""
    health: DriveHealth = DriveHealth()
    """State that the drive reports."""
    holders: tuple[Holder, ...] = ()
    """Mounts, arrays, processes and others that use it."""
    signatures: tuple[Signature, ...] | None = None
    """Signatures on it and its partitions; None if its content was not read."""
    samples: str = ""
    """Checksum of both ends and of blocks between them."""
    read_whole: bool = False
    """Whether every block was read."""
    as_left: bool = False
    """Whether nothing was written to it since kneebench left it."""
    writes: WriteCount = WriteCount()
    """Count of what was written since that boot, when its content was read."""
    uncounted: Obstacle | None = None
    """Reason why `writes` is unknown; None without one."""
    identity: DeviceIdentity | None = None
    """Identity of its device when its content was read."""
    unreadable: str = ""
    """Reason why its content cannot be read; empty without one."""
    accepts_trim: bool | None = None
    """Whether the kernel can trim it."""
    trims: tuple[str, ...] = ()
    """Mount options and timers known to trim it, or to have done so."""

    @property
    def is_unflushed(self) -> bool:
        """Whether a power loss can empty its write cache and the kernel sends it no flushes."""
        return self.volatile_write_cache is True and self.write_cache == "write through"

    @property
    def key(self) -> str:
        """The WWID; the kernel's name of a drive without one."""
        return self.wwid or self.name


class DriveFill(Record):
    """How full the file systems are that are on a drive and mounted here, all together."""

    drive: str
    """Key of the drive: its WWID, or its kernel name without one."""
    size_bytes: int
    """Size of these file systems."""
    used_bytes: int
    """Bytes that are used on them."""

    @property
    def share(self) -> float:
        """Used share of the file systems, not of the drive."""
        return self.used_bytes / self.size_bytes


class RawRow(Record):
    """What a storage did without a database, with one kind of I/O."""

    name: str
    """Pattern, block size and depth, in words."""
    kind: Literal["read", "write", "log", "scan"]
    """Kind of I/O: random reads, random writes, log writes, each with a sync, or a sequential
    read."""
    block_bytes: int
    """Size of each I/O."""
    depth: int
    """Number of I/Os outstanding at a time."""
    iops: float
    """Reads or writes per second."""
    mean_s: float
    """Mean time of an I/O; of a log write with its sync."""
    invalid: str = ""
    """Reason why the row must not be used; empty if it may."""


class RawProfile(Record):
    """What one storage did without a database."""

    rows: tuple[RawRow, ...]
    """Rows of its reads, its writes, then its log writes."""
    seconds: int
    """Time for which each row was measured."""
    file_bytes: int
    """Size of the file that was read and written, in the data directory."""


# What was written to a drive before its volume was made: preconditioning, and long loads.


class Preconditioned(Record):
    """What was written to a drive before its volume was made, so that it is as fast as it will
    stay. Of what an earlier run did, the figures are not repeated here.

    The rule for steady rounds is that of SNIA's Performance Test Specification 2.0
    (analysis/steady.py).
    """

    device: str
    """Path of its device, such as /dev/nvme0n1."""
    drive: str
    """Key of the drive: its WWID, or its kernel name without one."""
    how: str
    """Preconditioning in the plan's words, such as "sequential 1, random 2"."""
    took_s: float = 0.0
    """Time until all drives were done that were written together."""
    written_bytes: int = 0
    """Bytes written to the drive."""
    speed: tuple[tuple[float, float], ...] = ()
    """Points (seconds, bytes per second) of all its writes."""
    rounds_iops: tuple[float, ...] = ()
    """Random writes per second, in each round."""
    steady: bool | None = None
    """Whether the last five rounds met the rule; None without rounds."""
    remembered: bool = False
    """Whether an earlier run did it, and nothing has written since."""


class LoadInterval(Record):
    """What a drive did in one interval of a long load."""

    read_iops: float
    """Reads per second."""
    write_iops: float
    """Writes per second."""
    read_s: float
    """Mean time of a read."""
    write_s: float
    """Mean time of a write."""
    temperature_c: float | None = None
    """Temperature at its end; None if unknown."""

    @property
    def iops(self) -> float:
        """Reads and writes."""
        return self.read_iops + self.write_iops


class DriveLoad(Record):
    """A long load of random reads and writes on a drive before its volume was made. Of what an
    earlier run did, the figures are not repeated here.
    """

    device: str
    """Path of its device, such as /dev/nvme0n1."""
    drive: str
    """Key of the drive: its WWID, or its kernel name without one."""
    kind: Literal["burn-in", "drain"]
    """Purpose: burn-in of a new drive, or drain of its burst credits."""
    interval_s: float = 0.0
    """Length of each interval."""
    intervals: tuple[LoadInterval, ...] = ()
    """Intervals of the load, in their order."""
    throttled: int | None = None
    """Growth of the drive's own count of throttling meanwhile; None without one."""
    media_errors: int | None = None
    """Growth of the drive's own count of media errors meanwhile; None without one."""
    remembered: bool = False
    """Whether an earlier run did it."""

    @property
    def took_s(self) -> float:
        """The time under load."""
        return self.interval_s * len(self.intervals)
