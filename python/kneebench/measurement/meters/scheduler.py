"""Run queue and context switches of this machine, from /proc/stat.

The run queue is the number of tasks that run or could run when the file is read (`procs_running`),
without the thread that reads it: a length above the number of cores means that tasks wait for one.
A sample per second says little alone; over a window the mean is good. Context switches are all that
the kernel has made since boot (`ctxt`).
"""

from __future__ import annotations

from pathlib import Path

from kneebench.measurement.meters.meter import KernelFile, Meter, MeterContext, elsewhere
from kneebench.records import Remark

QUANTITIES = ("run_queue.length", "context_switches.rate")
READER = 1
"""The thread that reads the file is running."""


class Scheduler:
    """Runnable tasks now, and context switches so far."""

    name = "scheduler"
    quantities = QUANTITIES
    notes: tuple[Remark, ...] = ()

    def __init__(self, file: Path = Path("/proc/stat")) -> None:
        self._file = KernelFile(file)

    def read(self) -> dict[str, float]:
        """Tasks and cumulative switches by "machine"."""
        text = self._file.read()
        return {
            "run_queue.length|machine": max(0.0, _after(b"\nprocs_running ", text) - READER),
            "context_switches.rate|machine": _after(b"\nctxt ", text),
        }


def _after(name: bytes, text: bytes) -> float:
    return float(text[text.index(name) + len(name) :].split(b"\n", 1)[0])


def open_meter(context: MeterContext) -> Meter:
    """The scheduler of this machine, if the server is on it."""
    if not context.server.cores:
        return elsewhere("scheduler", QUANTITIES, "run queue", "context switches")
    return Scheduler()
