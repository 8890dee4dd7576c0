"""Bytes that processes read from and write to drives, from /proc/PID/io: the server's, and those of
all others, but for this process and its children (the programs of emulated drives).

A write counts when a process makes a page dirty, not when the kernel writes it out, and on whatever
drive it is; memory-backed files do not count (proc_pid_io(5)). So the figures tell who causes I/O,
and the device's own counters how much there is. Kernel threads have none of their own. Only root
may read those of other users' processes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from kneebench.measurement.meters.meter import Meter, MeterContext
from kneebench.measurement.meters.processes import PARENT, stat_fields
from kneebench.records import Remark, noted

QUANTITIES = ("processes.io",)
KERNEL = 2
"""The PID of kthreadd, parent of all kernel threads."""
BYTES = (b"read_bytes", b"write_bytes")
BEGAN = 19
"""A process's starttime among the fields of /proc/PID/stat (processes.stat_fields)."""
NOT_ROOT = "I/O of other users' processes not measured: only root may read it"


class ProcessIo:
    """Bytes by "server" and "others"; neither has this process."""

    name = "process_io"
    quantities = QUANTITIES
    every_s = 1.0

    def __init__(self, server: frozenset[int], proc: Path = Path("/proc")) -> None:
        self._server, self._proc = server, proc
        self.notes: tuple[Remark, ...] = (
            () if os.geteuid() == 0 else noted("not_measured", NOT_ROOT)
        )
        self._last: dict[tuple[int, bytes], int] = {}
        """Bytes so far, by PID and when the process began: a PID may be given again."""
        self._whose: dict[tuple[int, bytes], str] = {}
        self._sums = {"server": 0, "others": 0}

    def read(self) -> dict[str, float]:
        """Cumulative bytes since the meter was opened; of a process that ends, up to the last
        reading.
        """
        now = dict(self._processes())
        for process, seen in now.items():
            if self._last:
                self._sums[self._whose[process]] += max(0, seen - self._last.get(process, 0))
        self._last = now
        self._whose = {process: self._whose[process] for process in now}
        return {f"processes.io|{whose}": float(sum_) for whose, sum_ in self._sums.items()}

    def _processes(self) -> Iterator[tuple[tuple[int, bytes], int]]:
        for name in filter(str.isdigit, (entry.name for entry in os.scandir(self._proc))):
            of, pid = self._proc / name, int(name)
            if pid == os.getpid():
                continue
            try:
                stat = stat_fields((of / "stat").read_bytes())
                parent, process = int(stat[PARENT]), (pid, stat[BEGAN])
                if parent == KERNEL:
                    continue
                seen = _bytes((of / "io").read_bytes())
            except OSError:  # ended meanwhile, or another user's
                continue
            ours = pid in self._server or parent in self._server
            if parent == os.getpid() and not ours:
                continue
            self._whose.setdefault(process, "server" if ours else "others")
            yield process, seen


def _bytes(io: bytes) -> int:
    fields = dict(line.split(b": ") for line in io.splitlines())
    return sum(int(fields[name]) for name in BYTES)


def open_meter(context: MeterContext) -> Meter:
    """All processes of this machine; the server's are its first one and that one's children."""
    return ProcessIo(frozenset(context.server.processes()))
