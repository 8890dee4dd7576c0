"""The machine that is measured, and its server: devices, memory, settings."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from kneebench.records.record import Record, Role


class Drive(Record):
    """The block device of a path, and those below it."""

    name: str
    """Kernel name of the device of the file system."""
    stack: tuple[str, ...] = ()
    """Devices below it, downwards."""
    real: tuple[str, ...] = ()
    """Whole devices at the bottom, counted once, never with the device above."""
    model: str = ""
    """Model, else maker, of the first device at the bottom; empty: unknown."""
    size_bytes: int = 0
    """Size of the devices of the file system, together."""
    scheduler: str = ""
    """I/O scheduler of the first device at the bottom; empty: unknown."""
    rotational: bool | None = None
    """Whether the kernel calls it rotational, as it does virtual and loop devices."""


class CountedDevice(Record):
    """A whole device under a server's files. Whether a virtual or loop device is `rotational`, the
    kernel does not know.
    """

    name: str
    """Kernel name, which is its source in the device quantities."""
    drive: str = ""
    """Name that it keeps: WWID or a loop device's backing file; empty without one."""
    directories: tuple[int, ...] = ()
    """Numbers of the server's directories on it; 0 has the data."""
    roles: tuple[Role, ...] = ()
    """Content of these directories, each kind once; empty if unknown."""
    rotational: bool | None = None
    """Whether it serves one request at a time; None: unknown."""


class MemoryModule(Record):
    """A memory module, as the firmware reports it. Empty or None: it does not."""

    size_bytes: int
    """Size of the module."""
    kind: str = ""
    """Kind of memory, such as DDR5."""
    rated_mt_s: int | None = None
    """Million transfers per second that it is made for."""
    configured_mt_s: int | None = None
    """Million transfers per second that it runs at."""
    maker: str = ""
    """Name of its maker."""
    part: str = ""
    """Maker's name of the model."""


class SystemDrive(Record):
    """A drive that the machine runs from. Empty: unknown."""

    name: str
    """Kernel name of the drive."""
    model: str = ""
    """Model, as the drive reports it."""
    size_bytes: int = 0
    """Size of the whole drive."""
    transport: str = ""
    """Transport such as nvme or sata, else its bus."""


class Host(Record):
    """The measured machine, which the databases run on.

    From `sockets` on, None or empty: not reported, or not read for a simulated campaign.
    """

    cpu: str
    """Model of the processor; its architecture where it names none."""
    cores: int
    """Number of cores that kneebench may use, SMT siblings included."""
    memory_bytes: int
    """Memory of the machine, as the kernel counts it."""
    kernel: str
    """Release of the kernel."""
    system: str
    """Name and version of the operating system."""
    virtualisation: str = ""
    """Hypervisor below it, "hypervisor" if it has no name; empty without one."""
    governor: str = ""
    """Frequency governor of the first core; empty without one."""
    settings: dict[str, str] = Field(default_factory=dict)
    """Settings of kernel and firmware, by name; those that cannot be read are missing."""
    drives: tuple[Drive, ...] = ()
    """Block devices under the servers' directories, each once."""
    places: dict[str, str] = Field(default_factory=dict)
    """Mount and drive behind each directory, by path, to detect another one there."""
    sockets: int | None = None
    """Number of processor sockets."""
    threads_per_core: int | None = None
    """Threads per core; the most, where cores differ."""
    clock_hz: float | None = None
    """Mean clock of a processor without frequency scaling, such as a virtual one."""
    clock_base_hz: float | None = None
    """Base clock; the highest, where cores differ."""
    clock_most_hz: float | None = None
    """Highest clock that the processor allows."""
    clock_limit_hz: float | None = None
    """Limit of the clock, if it is below the highest."""
    memory_modules: tuple[MemoryModule, ...] = ()
    """Memory modules in its slots."""
    memory_slots: int | None = None
    """Number of memory slots, with empty ones."""
    firmware: dict[str, str] = Field(default_factory=dict)
    """Profiles that the firmware reports, by name."""
    system_drives: tuple[SystemDrive, ...] = ()
    """Drives that the machine runs from."""
    unknown: tuple[str, ...] = ()
    """Facts that could not be read, and why, in sentences."""


class Whereabouts(Record):
    """Location of a server. `cores`, `paths` and `roles` are empty if unknown."""

    here: bool = False
    """Whether it runs on the measured machine."""
    seen: str = ""
    """Location in words."""
    process: int = 0
    """PID of its first process here; 0: unknown, or started by kneebench."""
    cores: tuple[int, ...] = ()
    """Numbers of the cores that it may use."""
    paths: tuple[Path, ...] = ()
    """Directories of the server, the data's first."""
    roles: tuple[Role, ...] = ()
    """Content of each directory, in the order of `paths`."""
    notes: tuple[str, ...] = ()
    """Facts about its location that are unknown, in words."""


class Setting(Record):
    """A setting in force on a configuration: of the server, of the kernel, or a limit of the
    constraint.
    """

    name: str
    """Name as the server or the kernel has it; of a limit in words."""
    value: str
    """Value in force, with its unit if the server prints one."""
    source: str = ""
    """Origin of the value, such as default, configuration file, plan or constraint."""
    matters: bool = False
    """Whether it affects storage I/O, so that it is printed."""
