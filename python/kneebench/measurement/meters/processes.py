"""CPU time of the load generator and of the server, from /proc/PID/stat.

The load generator is this process, all its threads. Its programs are its children when the meter is
opened, the server apart: they emulate drives and trace log writes. The server is its first process
and that one's children: those that run, and those that have ended, whose time the kernel adds to
the parent that reaped them (cutime and cstime, proc_pid_stat(5)). Steps of 10 ms.

The run delay of the server is the time in which its processes, and all threads of the first one,
were ready and waited for a core, from /proc/PID/schedstat in nanoseconds
(Documentation/scheduler/sched-stats.rst); kernels without scheduler statistics do not have it. It
is also that of all threads of the programs that serve emulated drives, by their names: what waits
for such a drive waits for them.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from kneebench.lab.processes import NAME_LENGTH, OWN_PROGRAMS
from kneebench.measurement.meters.meter import KernelFile, Meter, MeterContext
from kneebench.records import Remark

QUANTITIES = ("processes.cpu", "processes.run_delay")
TICK_S = 1 / os.sysconf("SC_CLK_TCK")
PARENT, OWN, ENDED = 1, slice(11, 13), slice(13, 15)
"""Fields of /proc/PID/stat after the name in brackets (which may hold spaces): ppid; utime, stime;
cutime, cstime."""
RUN_DELAY = 1
"""Field of /proc/PID/schedstat."""


def children_of_this_process() -> set[int]:
    """The PIDs of its children; none where the kernel does not list them."""
    lists = Path("/proc/self/task").glob("*/children")
    with contextlib.suppress(OSError):
        return {int(pid) for one in lists for pid in one.read_text().split()}
    return set()


def stat_fields(stat: bytes) -> list[bytes]:
    """The fields of /proc/PID/stat after the name in brackets, which may hold spaces."""
    return stat.rpartition(b")")[2].split()


def _cpu_s(fields: list[bytes], which: slice) -> float:
    return sum(int(f) for f in fields[which]) * TICK_S


class Processes:
    """CPU seconds by "load_generator", its "programs", and "server"."""

    name = "processes"
    quantities = QUANTITIES
    notes: tuple[Remark, ...] = ()

    def __init__(self, server_processes: Sequence[int] = ()) -> None:
        self._load_generator = KernelFile(Path("/proc/self/stat"))
        self._first = _first_of(server_processes)
        self._children = (
            _open(Path(f"/proc/{self._first}/task/{self._first}/children")) if self._first else None
        )
        self._known = tuple(server_processes)
        programs = children_of_this_process() - {*server_processes}
        self._programs = [file for pid in programs if (file := _open(Path(f"/proc/{pid}/stat")))]
        self._drives = [(name, RunDelay(pid)) for pid in programs if (name := _drive_program(pid))]
        self._programs_s = 0.0
        self._files: dict[int, KernelFile] = {}
        self._first_delay = RunDelay(self._first) if self._first else None
        self._delays: dict[int, KernelFile] = {}
        self._delay_s: dict[int, float] = {}
        self._server_s = 0.0

    def read(self) -> dict[str, float]:
        """Cumulative seconds; the server's only where it runs on this machine."""
        own = stat_fields(self._load_generator.read())
        found = {"processes.cpu|load_generator": _cpu_s(own, OWN)}
        if self._programs:
            programs = (_cpu_s(fields, OWN) for f in self._programs if (fields := _read_stat(f)))
            self._programs_s = max(self._programs_s, sum(programs))
            found["processes.cpu|programs"] = self._programs_s
        for name, delay in self._drives:
            if delay_s := delay.read():
                key = f"processes.run_delay|{name}"
                found[key] = found.get(key, 0.0) + delay_s
        if self._first is not None:
            # a process that ended is missing until its parent has reaped it: never count backwards
            self._server_s = max(self._server_s, self._server_cpu_s(self._first))
            found["processes.cpu|server"] = self._server_s
            if self._delayed(self._files):
                found["processes.run_delay|server"] = sum(self._delay_s.values())
        return found

    def _delayed(self, family: Iterable[int]) -> bool:
        """Read the run delay of these processes, and keep that of those that have ended; False
        where the kernel does not count it. A server that serves its users by threads has them in
        its first process.
        """
        if self._first and self._first_delay:
            self._delay_s[self._first] = self._first_delay.read()
        self._delays = {
            pid: file
            for pid in family
            if pid != self._first
            and (file := self._delays.get(pid) or _open(Path(f"/proc/{pid}/schedstat")))
        }
        for pid, file in self._delays.items():
            with contextlib.suppress(OSError):
                self._delay_s[pid] = int(file.read().split()[RUN_DELAY]) * 1e-9
        return any(self._delay_s.values())

    def _server_cpu_s(self, first: int) -> float:
        """Of the first process, its children now, and those it has reaped."""
        family = (first, *self._children_now())
        self._files = {
            pid: file
            for pid in family
            if (file := self._files.get(pid) or _open(Path(f"/proc/{pid}/stat")))
        }
        stats = {pid: fields for pid, file in self._files.items() if (fields := _read_stat(file))}
        ended_s = _cpu_s(stats[first], ENDED) if first in stats else 0.0
        return ended_s + sum(_cpu_s(fields, OWN) for fields in stats.values())

    def _children_now(self) -> Sequence[int]:
        """By /proc/PID/task/PID/children, which needs no look at all other processes; without it,
        those known at the start.
        """
        if self._children is None:
            return self._known
        try:
            return [int(child) for child in self._children.read().split()]
        except OSError:
            return ()


def _drive_program(pid: int) -> str:
    """The name of a program that serves an emulated drive; empty for any other."""
    try:
        name = Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""
    return next((one for one in OWN_PROGRAMS if one[:NAME_LENGTH] == name), "")


def _open(path: Path) -> KernelFile | None:
    try:
        return KernelFile(path)
    except OSError:
        return None


def _read_stat(file: KernelFile) -> list[bytes]:
    """The fields of a stat file; none for a process that is gone (ESRCH)."""
    try:
        return stat_fields(file.read())
    except OSError:
        return []


def _first_of(pids: Sequence[int]) -> int | None:
    """The process above the others: the one whose parent is not among them."""
    files = {pid: file for pid in pids if (file := _open(Path(f"/proc/{pid}/stat")))}
    parents = {
        pid: int(fields[PARENT]) for pid, file in files.items() if (fields := _read_stat(file))
    }
    return next((pid for pid, parent in parents.items() if parent not in parents), None)


def open_meter(context: MeterContext) -> Meter:
    """The load generator, and the server where it runs on this machine."""
    return Processes(context.server.processes())


# Run delay of a process: the time in which its threads were ready and waited for a core, from
# /proc/PID/task/TID/schedstat in nanoseconds (Documentation/scheduler/sched-stats.rst).

DELAY = 1
"""Field of a schedstat file; /proc/PID/schedstat has it of the first thread alone."""


class RunDelay:
    """The run delay of all threads of a process, of those that have ended up to their last look."""

    def __init__(self, pid: int, proc: Path = Path("/proc")) -> None:
        self._tasks = proc / str(pid) / "task"
        self._of_threads: dict[str, float] = {}
        self._of_ended_s = 0.0

    def read(self) -> float:
        """Cumulative seconds; 0 where the kernel does not count them."""
        with contextlib.suppress(OSError):  # ended meanwhile
            for thread in os.scandir(self._tasks):
                self._look(thread.name)
        return self._of_ended_s + sum(self._of_threads.values())

    def _look(self, thread: str) -> None:
        try:
            fields = (self._tasks / thread / "schedstat").read_bytes().split()
        except OSError:
            return
        delay_s, before_s = int(fields[DELAY]) * 1e-9, self._of_threads.get(thread, 0.0)
        if delay_s < before_s:  # its number was given to another thread
            self._of_ended_s += before_s
        self._of_threads[thread] = delay_s
