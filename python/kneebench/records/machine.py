"""The machine that is measured, and its server: devices, memory, settings."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from kneebench.records.record import Record, Role


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
