"""The busiest threads by name and core, from /proc/PID/stat and /proc/PID/task/TID/stat.

They name what ran on a saturated core: a software RAID, a daemon pinned to it, the database.
Threads of one name on one core are added up, because many may fill a core together. A thread's time
between two looks counts for the core that it ran on last (`processor`, proc_pid_stat(5)): rough for
a thread that moves, exact for one that stays. Time in interrupts is in `cores.irq`.

A look opens a file per process. The first is after a second, so that short windows have figures
too, then one every 2 s. Single threads are read only of the load generator, the server, and
processes that have used a tenth of a core. Kept are the busiest of the machine and of its busiest
core; what was once among them is kept through the rung, so that its mean is one. Names are those of
the kernel (`comm`, 15 bytes); all kernel workers are "kworker".
"""

from __future__ import annotations

import contextlib
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from kneebench.measurement.meters.cores import TICK_S, Cores
from kneebench.measurement.meters.meter import Meter, MeterContext, elsewhere
from kneebench.measurement.meters.processes import OWN, stat_fields
from kneebench.records import Remark

QUANTITIES = ("threads.cpu",)
MOST_OF_MACHINE, MOST_OF_CORE = 4, 4
"""Names that one look adds: of all cores, and of the busiest core."""
MOST_KEPT = 32
BETWEEN_LOOKS_S = 2.0
JITTER_S = 0.5
"""A look may be so much early: the clock of the readings is not exact."""
LEAST_SHARE = 0.02
"""Of a core: what uses less is never among the busiest."""
LOOK_INSIDE = 0.1
"""Cores that a process has used between two looks when its threads begin to be read."""
THREADS, BEGAN, PROCESSOR = 17, 19, 36
"""Fields of a stat file after the name: num_threads, starttime, processor."""
WORKER = "kworker"
MOST_BYTES = 4096
Id = tuple[int, bytes]
"""A process or thread: its number, and when it began, because numbers are given again."""
Key = tuple[str, str]
"""A name and the number of a core."""


class Task(NamedTuple):
    """A process, or one thread of it, as its stat file has it."""

    id: Id
    name: str
    core: str
    ticks: int
    threads: int

    @property
    def key(self) -> Key:
        """Its name, and the core that it ran on last."""
        return self.name, self.core


class Threads:
    """Shares of a core by "NAME@CORE" between the last two looks."""

    name = "threads"
    quantities = QUANTITIES
    notes: tuple[Remark, ...] = ()
    every_s = 1.0

    def __init__(
        self,
        closely: frozenset[int],
        proc: Path = Path("/proc"),
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """`closely`: processes whose threads are read from the start."""
        self._closely, self._proc, self._now_s = closely, proc, now_s
        self._cores = Cores(proc / "stat")
        self._at_s: float | None = None
        self._busy_s: dict[str, float] = {}
        self._processes: dict[Id, int] = {}
        """Ticks of each at the last look; the same for the threads of those looked inside."""
        self._threads: dict[Id, dict[Id, int]] = {}
        self._kept: list[Key] = []
        self._latest: dict[str, float] = {}

    def read(self) -> dict[str, float]:
        """Shares of the kept names; nothing the first time."""
        elapsed_s = self._now_s() - self._at_s if self._at_s is not None else 0.0
        if not self._latest or elapsed_s >= BETWEEN_LOOKS_S - JITTER_S:
            self._at_s = self._now_s()
            self._latest = self._look(elapsed_s)
        return self._latest

    def _look(self, elapsed_s: float) -> dict[str, float]:
        busy_s = self._cores.read()
        busiest_core, self._busy_s = _busiest_core(self._busy_s, busy_s), busy_s
        ticks: Counter[Key] = Counter()
        for key, used in self._used(elapsed_s):
            ticks[key] += used
        if not elapsed_s:
            return {}
        shares = {key: min(1.0, used * TICK_S / elapsed_s) for key, used in ticks.items()}
        return {
            f"threads.cpu|{name}@{core}": shares.get((name, core), 0.0)
            for name, core in self._kept_with(_busiest(shares, busiest_core))
        }

    def _kept_with(self, busiest: Iterable[Key]) -> list[Key]:
        """What is kept and the busiest now, which are kept from now on where there is room."""
        shown = [*dict.fromkeys([*self._kept, *busiest])]
        self._kept = shown[:MOST_KEPT]
        return shown

    def _used(self, elapsed_s: float) -> Iterator[tuple[Key, int]]:
        """What each process, or each thread of it, has used since the last look."""
        before, inside = self._processes, self._threads
        self._processes, self._threads = {}, {}
        for task in self._tasks(self._proc):
            used = task.ticks - before.get(task.id, 0 if elapsed_s else task.ticks)
            self._processes[task.id] = task.ticks
            threads = inside.get(task.id)
            if threads is None:
                yield task.key, used
                if not self._looks_inside(task, used * TICK_S, elapsed_s):
                    continue
            now = [*self._tasks(self._proc / f"{task.id[0]}" / "task")]
            self._threads[task.id] = {one.id: one.ticks for one in now}
            if threads is not None:
                yield from ((one.key, one.ticks - threads.get(one.id, 0)) for one in now)

    def _looks_inside(self, task: Task, used_s: float, elapsed_s: float) -> bool:
        busy = elapsed_s > 0 and used_s >= LOOK_INSIDE * elapsed_s
        return task.threads > 1 and (busy or task.id[0] in self._closely)

    def _tasks(self, folder: Path) -> Iterator[Task]:
        try:
            names = [one.name for one in os.scandir(folder) if one.name.isdigit()]
        except OSError:  # ended meanwhile
            return
        for name in names:
            with contextlib.suppress(OSError):
                yield _task(int(name), _contents(f"{folder}/{name}/stat"))


def _task(number: int, stat: bytes) -> Task:
    fields = stat_fields(stat)
    called = stat[stat.index(b"(") + 1 : stat.rindex(b")")].decode(errors="replace")
    name = "".join(letter if letter.isprintable() else "?" for letter in called)
    return Task(
        (number, fields[BEGAN]),
        WORKER if name.startswith(WORKER) else name,
        fields[PROCESSOR].decode(),
        sum(map(int, fields[OWN])),
        int(fields[THREADS]),
    )


def _contents(path: str) -> bytes:
    """A stat file, by the fewest calls: there may be thousands of them."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(file, MOST_BYTES)
    finally:
        os.close(file)


def _busiest_core(before: Mapping[str, float], after: Mapping[str, float]) -> str:
    """The number of the core that was busy longest between two readings of all; empty before the
    second.
    """
    grown = {
        key.partition("|")[2]: after[key] - before[key]
        for key in before.keys() & after.keys()
        if key.startswith("cores.busy|")
    }
    return max(grown, key=lambda core: grown[core], default="")


def _busiest(shares: Mapping[Key, float], core: str) -> list[Key]:
    """The keys that a look adds to the kept ones."""
    ranked = sorted(shares, key=lambda key: -shares[key])
    enough = [key for key in ranked if shares[key] >= LEAST_SHARE]
    on_core = [key for key in enough if key[1] == core]
    return [*on_core[:MOST_OF_CORE], *enough[:MOST_OF_MACHINE]]


def open_meter(context: MeterContext) -> Meter:
    """All processes of this machine, if the server is on it."""
    if not context.server.cores:
        return elsewhere("threads", QUANTITIES, "threads on the busiest core")
    return Threads(frozenset((os.getpid(), *context.server.processes())))
