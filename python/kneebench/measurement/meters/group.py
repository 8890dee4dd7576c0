"""The database's cgroup: its memory, how often it hit its limit, and its pressure.

From memory.current, memory.stat, memory.events and *.pressure of cgroup v2, or
memory.usage_in_bytes, memory.stat and memory.failcnt of v1, whose controllers know no pressure
(Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/memory.rst). Page cache is without shared memory
and files in tmpfs, which are memory of the cgroup too. A v1 machine often has a v2 tree beside it,
for pressure alone. Unlike the machine's pressure, that of a cgroup contains nothing of the load
generator.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import NamedTuple

from kneebench.databases.engine import Server
from kneebench.lab.drives import Mount, visible_mounts
from kneebench.measurement.meters.meter import Absent, KernelFile, Meter, MeterContext, elsewhere
from kneebench.measurement.meters.pressure import stalled_s
from kneebench.records import Remark

MEMORY = ("group.memory", "group.page_cache", "group.limit_hits")
PRESSURE = ("group_pressure.cpu", "group_pressure.io", "group_pressure.memory")
QUANTITIES = (*MEMORY, *PRESSURE)
NO_CONTROLLER = "its cgroup has no memory controller"
NO_PRESSURE = "cgroup v1 has none"
KERNEL_WITHOUT = "this kernel has none"
CALLED = ("cgroup memory", "cgroup pressure")
SOURCE = "database"


class MemoryNames(NamedTuple):
    """Names in a version's memory cgroup: the files of its usage and of the times its limit was
    hit, the latter's key (empty: the file is the number); the keys of files and of shared memory in
    memory.stat.
    """

    usage: str
    hits: str
    hits_key: str
    cache: str
    shared: str


V2 = MemoryNames("memory.current", "memory.events", "max", "file", "shmem")
V1 = MemoryNames("memory.usage_in_bytes", "memory.failcnt", "", "total_cache", "total_shmem")


class GroupMemory:
    """Files of a memory cgroup."""

    def __init__(self, group: Path, names: MemoryNames) -> None:
        self._names = names
        self._usage, self._hits, self._stat = (
            KernelFile(group / name) for name in (names.usage, names.hits, "memory.stat")
        )

    def read(self) -> dict[str, float]:
        """Bytes now, and times the limit was hit so far."""
        names, hits = self._names, self._hits.read()
        stat = _counts(self._stat.read())
        found = {f"group.memory|{SOURCE}": float(self._usage.read())}
        if names.cache in stat and names.shared in stat:
            cache = max(0, stat[names.cache] - stat[names.shared])
            found[f"group.page_cache|{SOURCE}"] = cache
        hit = _counts(hits)[names.hits_key] if names.hits_key else int(hits)
        return found | {f"group.limit_hits|{SOURCE}": hit}


class GroupPressure:
    """Files of a cgroup in the v2 tree."""

    def __init__(self, group: Path) -> None:
        self._files = {
            quantity: KernelFile(group / f"{quantity.partition('.')[2]}.pressure")
            for quantity in PRESSURE
        }

    def read(self) -> dict[str, float]:
        """Seconds stalled so far, by "some" and "full"."""
        found: dict[str, float] = {}
        for quantity, file in self._files.items():
            found |= stalled_s(quantity, file.read())
        return found


class Group:
    """What there is of the two; else why not."""

    name = "group"
    quantities = QUANTITIES
    notes: tuple[Remark, ...] = ()

    def __init__(self, memory: GroupMemory | str, pressure: GroupPressure | str) -> None:
        self._parts = [one for one in (memory, pressure) if not isinstance(one, str)]
        reasons = dict(zip(CALLED, (memory, pressure), strict=True))
        self.absent = tuple(
            Absent(what, why) for what, why in reasons.items() if isinstance(why, str)
        )

    def read(self) -> dict[str, float]:
        """All readings; nothing once the cgroup is removed, because its server has ended."""
        found: dict[str, float] = {}
        with contextlib.suppress(OSError):
            for part in self._parts:
                found |= part.read()
        return found


def _counts(text: bytes) -> dict[str, int]:
    """A file of lines "key number"."""
    return {key.decode(): int(n) for key, n in (line.split() for line in text.splitlines())}


def open_group(server: Server, proc: Path = Path("/proc")) -> Group:
    """The meter of a server's cgroup: memory from v1 where its tree has the controller, else from
    v2; pressure from v2.
    """
    v1, v2 = (database_group(server, tree, proc) for tree in ("memory", UNIFIED))
    memory = _memory(v2, V2) if v1 == NO_TREE else _memory(v1, V1)
    without = NO_PRESSURE if isinstance(v1, Path) else v2
    return Group(memory, _pressure(v2) if isinstance(v2, Path) else f"{without}")


def _memory(group: Path | str, names: MemoryNames) -> GroupMemory | str:
    if isinstance(group, str):
        return group
    try:
        return GroupMemory(group, names)
    except OSError:
        return NO_CONTROLLER


def _pressure(group: Path) -> GroupPressure | str:
    """Read once: a kernel without it may have the files."""
    try:
        (found := GroupPressure(group)).read()
    except OSError:
        return KERNEL_WITHOUT
    return found


def open_meter(context: MeterContext) -> Meter:
    """The cgroup of the server, if it is on this machine."""
    if not context.server.cores:
        return elsewhere("group", QUANTITIES, *CALLED)
    return open_group(context.server)


# The cgroups of the database: their directories, from the /proc/PID/cgroup of its first process
# and the mounts of the cgroup trees (cgroups(7)).
#
# A cgroup that kneebench itself is in is not the database's: its figures would be those of both.

UNIFIED = ""
"""The controllers of the cgroup v2 tree in /proc/PID/cgroup: its line names none."""
UNSEEN = "the server's processes are not visible here"
SHARED = "the database has no cgroup of its own"
OUTSIDE = "its cgroup is not visible here"
NO_TREE = "no such cgroup tree is mounted"


def database_group(server: Server, controller: str, proc: Path = Path("/proc")) -> Path | str:
    """The directory of the server's cgroup with this v1 controller ("memory"), or of its cgroup in
    the v2 tree (UNIFIED); or why there is none.
    """
    if not (processes := server.processes()):
        return UNSEEN
    try:
        its, own = (_path(proc / f"{one}/cgroup", controller) for one in (processes[0], "self"))
        seen = visible_mounts(proc / "self")
    except OSError as error:  # such as a server that has just ended
        return str(error)
    tree = _tree(seen, controller)
    if its is None or tree is None:
        return NO_TREE
    if its in (own, Path("/")):
        return SHARED
    if not its.is_relative_to(tree.root) or ".." in its.parts:
        return OUTSIDE
    return tree.point / its.relative_to(tree.root)


def _path(file: Path, controller: str) -> Path | None:
    """A process's cgroup, as a path from the root of its tree."""
    lines = (line.split(":", 2) for line in os.fsdecode(file.read_bytes()).splitlines())
    return next((Path(path) for _, names, path in lines if controller in names.split(",")), None)


def _tree(there: list[Mount], controller: str) -> Mount | None:
    """The mounted tree of a controller."""
    if controller == UNIFIED:
        return next((one for one in there if one.type == "cgroup2"), None)
    trees = (one for one in there if one.type == "cgroup")
    return next((one for one in trees if controller in one.options), None)
