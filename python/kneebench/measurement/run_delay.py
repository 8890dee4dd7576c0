"""Run delay of a process: the time in which its threads were ready and waited for a core, from
/proc/PID/task/TID/schedstat in nanoseconds (Documentation/scheduler/sched-stats.rst).
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

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
