"""A memory limit around a database: a cgroup, v2 or v1, that counts its processes' memory and the
page cache of what they read and write (cgroups(7), kernel documentation cgroup-v2 and
cgroup-v1/memory).
"""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from kneebench.errors import KneebenchError
from kneebench.lab.changes.group import MadeGroup
from kneebench.lab.drives import mounts
from kneebench.lab.journal import Journal

V2 = ("memory.max", "memory.swap.max", "memory.events", "max")
V1 = ("memory.limit_in_bytes", "memory.swappiness", "memory.oom_control", "-1")


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

    def add(self, process: int) -> None:
        """Put a process in it. Raises OSError for one that has ended."""
        (self.path / "cgroup.procs").write_text(str(process))

    @contextlib.contextmanager
    def lifted(self) -> Iterator[None]:
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
    for mount in mounts(os.fsdecode(Path("/proc/self/mountinfo").read_bytes())):
        control = mount.point / "cgroup.subtree_control"
        if mount.type == "cgroup2" and control.exists() and "memory" in control.read_text().split():
            found = Controller(mount.point, *V2)
        elif mount.type == "cgroup" and (mount.point / V1[0]).exists():
            found = Controller(mount.point, *V1)
        else:
            continue
        if os.access(found.root, os.W_OK):
            return found
    return None


@contextlib.contextmanager
def memory_limit(journal: Journal, limit_bytes: int) -> Iterator[MemoryGroup]:
    """A cgroup with this limit, without swap; removed at the end. Raises KneebenchError where it
    cannot be had, or the kernel set another limit.
    """
    doing, there = "limiting the database's memory", controller()
    if there is None:
        do = "run as root on a kernel with memory cgroups, or remove database.memory"
        raise KneebenchError(doing, seen="there is no memory cgroup controller to use", do=do)
    path = there.root / f"kneebench-{uuid.uuid4().hex[:12]}"
    with journal.made(MadeGroup, "a memory limit", path=str(path)):
        path.mkdir()
        (path / there.limit).write_text(str(limit_bytes))
        with contextlib.suppress(OSError):  # a kernel without swap refuses it
            (path / there.swap).write_text("0")
        got = int((path / there.limit).read_text())
        if not limit_bytes - 2**21 < got <= limit_bytes:
            seen = f"the kernel set {got:,} bytes in place of {limit_bytes:,}"
            raise KneebenchError(doing, seen=seen, do="correct database.memory")
        yield MemoryGroup(path, limit_bytes, there)
