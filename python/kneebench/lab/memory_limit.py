"""A memory limit around a database: a cgroup, v2 or v1, that counts its processes' memory and the
page cache of what they read and write (cgroups(7), kernel documentation cgroup-v2 and
cgroup-v1/memory).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from kneebench.errors import KneebenchError
from kneebench.lab.control_groups import Groups, hierarchy_of

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
