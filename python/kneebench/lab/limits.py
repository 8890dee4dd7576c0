"""The limits around one database: cores, memory, reads and writes; set, read back, described.

Cores are limited by a cpuset where this process may make one, else by affinity alone, which needs
no rights. All groups are in the journal, so that none remains after a killed run.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from kneebench.errors import KneebenchError
from kneebench.lab.control_groups import Groups, hierarchy_of, unified
from kneebench.lab.drives import whole_devices
from kneebench.lab.journal import Journal
from kneebench.lab.topology import as_list, listed
from kneebench.records import IoLimits, Setting
from kneebench.units import exact_size

SYS_BLOCK = Path("/sys/class/block")
IO_KEYS = {
    "read_bytes": "rbps",
    "write_bytes": "wbps",
    "read_iops": "riops",
    "write_iops": "wiops",
}
"""Names in io.max (kernel documentation cgroup-v2) by the plan's keys."""
UNDONE = "remove the constraint, or see `kneebench check`"


class Resources(NamedTuple):
    """A share of this machine: the numbers of its cores, and bytes of memory.

    `pinned`: what runs with it must stay on these cores; `limited`: it must not get more memory,
    page cache included. `cache_bytes`: size of the database's own cache, None by the sizing rules;
    `memory_node`: NUMA node of its memory; `io`: limits of its reads and writes.
    """

    cores: tuple[int, ...]
    memory_bytes: int
    pinned: bool = False
    limited: bool = False
    cache_bytes: int | None = None
    memory_node: int | None = None
    io: IoLimits | None = None

    @property
    def pinned_cores(self) -> tuple[int, ...]:
        """The cores to pin a process to; none where the scheduler may choose."""
        return self.cores if self.pinned else ()


class DatabaseLimits:
    """The limits of one database to its resources, in force until the stack ends; those of reads
    and writes on the drives under `paths`.
    """

    def __init__(
        self,
        allowed: Resources,
        paths: Sequence[Path],
        journal: Journal,
        until: contextlib.ExitStack,
    ) -> None:
        self._cores, self._groups = allowed.pinned_cores, Groups(journal, until)
        self.memory: MemoryGroup | None = None
        self._described: list[Setting] = []
        if self._cores:
            self._limit_cores(self._cores, allowed.memory_node)
        if allowed.limited:
            self.memory = limit_memory(self._groups, allowed.memory_bytes)
            self._describe("memory limit", exact_size(allowed.memory_bytes), "cgroup")
        if allowed.io:
            self._limit_io(allowed.io, paths)
        if self._groups.paths and (root := unified()):
            self._groups.path(root)  # v1 groups do not count their pressure

    @property
    def settings(self) -> tuple[Setting, ...]:
        """What was set and read back, for the results."""
        return tuple(self._described)

    def add(self, process: int) -> None:
        """Limit a process and its later children. Raises OSError for one that has ended."""
        self._groups.add(process)

    @contextlib.contextmanager
    def lift(self) -> Iterator[None]:
        """Without the memory limit, until the end of the block."""
        with self.memory.lift() if self.memory else contextlib.nullcontext():
            yield

    @property
    def out_of_memory(self) -> str:
        """What the kernel did because the memory limit was reached; empty for nothing."""
        return self.memory.out_of_memory if self.memory else ""

    def verify(self, processes: Sequence[int]) -> None:
        """Read back from the running processes that the limits hold: their cores, their groups, and
        no huge pages, which memory cgroups do not count. Raises KneebenchError where one does not.
        """
        for process in processes:
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended
                if seen := self._escaped(process):
                    what = "cannot verify the limits of the database"
                    raise KneebenchError(what, seen=f"process {process} {seen}", do=UNDONE)
        if self.memory:
            self._describe("huge pages outside the memory limit", "0 B", "read back")

    def _escaped(self, process: int) -> str:
        if self._groups.without(process):  # started before its parent was put in
            self.add(process)
        cores = os.sched_getaffinity(process)
        if self._cores and not cores <= {*self._cores}:
            return f"may run on cores {as_list(cores)}"
        if others := self._groups.without(process):
            return f"is not in {others[0]}"
        huge = huge_page_bytes(process) if self.memory else 0
        return f"uses {exact_size(huge)} of huge pages outside the memory limit" if huge else ""

    def _limit_cores(self, cores: Sequence[int], node: int | None) -> None:
        there = hierarchy_of("cpuset")
        if there is None:
            self._describe("cores", as_list(cores), "affinity")
            return
        path, mems = self._groups.path(there.root), "" if node is None else str(node)
        if there.version == 1 and not mems:  # empty at first: nothing can be put in it
            mems = (there.root / "cpuset.mems").read_text().strip()
        if mems:
            _write(path / "cpuset.mems", mems)
        _write(path / "cpuset.cpus", as_list(cores))
        back = path / ("cpuset.cpus.effective" if there.version == 2 else "cpuset.cpus")
        if listed(back.read_text()) != tuple(sorted(cores)):
            what, seen = (
                "cannot limit the database's cores",
                f"{back} reads {back.read_text().strip()}",
            )
            raise KneebenchError(what, seen=seen, do=UNDONE)
        self._describe("cores", as_list(cores), "cpuset")
        if node is not None:
            self._describe("memory of NUMA node", str(node), "cpuset")

    def _limit_io(self, limits: IoLimits, paths: Sequence[Path]) -> None:
        there = hierarchy_of("io")
        if there is None:
            what, seen = (
                "cannot limit the database's reads and writes",
                "no io controller of cgroup v2",
            )
            raise KneebenchError(what, seen=seen, do=UNDONE)
        file = self._groups.path(there.root) / "io.max"
        words = [
            f"{name}={value}" for key, name in IO_KEYS.items() if (value := getattr(limits, key))
        ]
        devices = whole_devices(paths)
        if not devices:
            what, seen = (
                "cannot limit the database's reads and writes",
                "its files are on no device",
            )
            raise KneebenchError(what, seen=seen, do=UNDONE)
        for device in devices:
            number = (SYS_BLOCK / device / "dev").read_text().strip()
            _write(file, f"{number} {' '.join(words)}")
            back = next(
                (one for one in file.read_text().split("\n") if one.startswith(f"{number} ")), ""
            )
            if not {*words} <= {*back.split()}:
                what, seen = f"cannot limit the I/O of {device}", f"{file} reads {back!r}"
                raise KneebenchError(what, seen=seen, do=UNDONE)
            self._describe(f"I/O limit of {device}", " ".join(words), "cgroup v2")

    def _describe(self, name: str, value: str, how: str) -> None:
        self._described.append(
            Setting(name=name, value=value, source=f"constraint ({how})", matters=True)
        )


def huge_page_bytes(process: int) -> int:
    """Memory of a process in huge pages of hugetlbfs (proc(5), HugetlbPages). Raises
    FileNotFoundError for one that has ended.
    """
    lines = Path(f"/proc/{process}/status").read_text().split("\n")
    found = (line.split()[1] for line in lines if line.startswith("HugetlbPages:"))
    return int(next(found, "0")) * 1024


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text)
    except OSError as error:
        what, seen = f"cannot write {text} to {file}", error.strerror or str(error)
        raise KneebenchError(what, seen=seen, do=UNDONE) from error


# A memory limit around a database: a cgroup, v2 or v1, that counts its processes' memory and the
# page cache of what they read and write (cgroups(7), kernel documentation cgroup-v2 and
# cgroup-v1/memory).

V2 = ("memory.max", "memory.swap.max", "memory.events", "max")
V1 = ("memory.limit_in_bytes", "memory.swappiness", "memory.oom_control", "-1")
WHAT = "cannot limit the database's memory"
CORRECT = "correct database.memory, or the constraint"


class Controller(NamedTuple):
    """Where memory cgroups are made, and their files: the limit, the one whose 0 means no swap, the
    OOM count; how no limit is written.
    """

    root: Path
    limit: str
    swap: str
    oom: str
    unlimited: str


class MemoryGroup(NamedTuple):
    """A cgroup with a limit; what is put in it stays in it, with its children."""

    path: Path
    limit_bytes: int
    files: Controller

    @contextlib.contextmanager
    def lift(self) -> Iterator[None]:
        """Without its limit, until the end of the block; then with it again, which empties the page
        cache as far as necessary.
        """
        limit = self.path / self.files.limit
        limit.write_text(self.files.unlimited)
        try:
            yield
        finally:
            with contextlib.suppress(OSError):  # it cannot shrink so far, and is about to end
                limit.write_text(str(self.limit_bytes))

    @property
    def out_of_memory(self) -> str:
        """What the kernel did because the limit was reached, in words; empty for nothing."""
        lines = (self.path / self.files.oom).read_text().split("\n")
        kills = sum(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))
        limit = f"its memory limit of {self.limit_bytes // 2**20} MiB"
        return f"the kernel killed {kills} of its processes at {limit}" if kills else ""


def controller() -> Controller | None:
    """The memory controller of this machine; None where it has none, or this process may not use
    it.
    """
    found = hierarchy_of("memory")
    return found and Controller(found.root, *(V2 if found.version == 2 else V1))


def limit_memory(groups: Groups, limit_bytes: int) -> MemoryGroup:
    """Limit the memory of a database's groups, without swap. Raises KneebenchError where there is
    no controller, or the kernel set another limit.
    """
    if (there := controller()) is None:
        do = "run as root on a kernel with memory cgroups, or remove database.memory"
        raise KneebenchError(WHAT, seen="there is no memory cgroup controller to use", do=do)
    path = groups.path(there.root)
    (path / there.limit).write_text(str(limit_bytes))
    with contextlib.suppress(OSError):  # a kernel without swap refuses it
        (path / there.swap).write_text("0")
    got = int((path / there.limit).read_text())
    if not limit_bytes - 2**21 < got <= limit_bytes:
        seen = f"the kernel set {got:,} bytes in place of {limit_bytes:,}"
        raise KneebenchError(WHAT, seen=seen, do=CORRECT)
    return MemoryGroup(path, limit_bytes, there)
