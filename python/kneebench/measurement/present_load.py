"""The load on this machine before anything is measured: how busy its cores are, what a hypervisor
takes, which processes use most.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Collection
from typing import NamedTuple

import psutil

from kneebench.measurement.meters.cores import Cores

LOOK_S = 1.0
LARGEST = 3
WORTH_NAMING = 0.02
"""Of one core: /proc counts in steps of 1% per second."""


class PresentLoad(NamedTuple):
    """`busy` and `stolen` are shares of the cores' time; `largest` are processes by name, each with
    the cores that it keeps busy.
    """

    busy: float
    stolen: float
    largest: tuple[tuple[str, float], ...]


def present_load(cores: Collection[int], look_s: float = LOOK_S) -> PresentLoad:
    """Look twice at these cores and at all processes, so many seconds apart.

    This process is not among the largest.
    """
    meter, began_s = Cores(), time.monotonic()
    times, used = meter.read(), _used()
    time.sleep(look_s)
    later, used_later, took_s = meter.read(), _used(), time.monotonic() - began_s

    def share(quantity: str) -> float:
        keys = [
            key for core in cores if (key := f"{quantity}|{core}") in times.keys() & later.keys()
        ]
        return sum(later[key] - times[key] for key in keys) / (took_s * len(keys)) if keys else 0.0

    stolen = share("cores.steal")
    return PresentLoad(
        max(0.0, share("cores.busy") - stolen), stolen, _largest(used, used_later, took_s)
    )


class _Used(NamedTuple):
    """A process's name at this moment (kernel threads change theirs with their work), and the CPU
    seconds since it began.
    """

    name: str
    cpu_s: float


def _used() -> dict[tuple[int, float], _Used]:
    """By process and its start, because a PID may be reused.

    Processes of other users may be gone or unreadable.
    """
    found = psutil.process_iter(["name", "cpu_times", "create_time"])
    others = [(p.pid, p.info) for p in found if p.info["cpu_times"] and p.pid != os.getpid()]
    return {
        (pid, info["create_time"]): _Used(
            info["name"] or "unnamed", info["cpu_times"].user + info["cpu_times"].system
        )
        for pid, info in others
    }


def _largest(
    before: dict[tuple[int, float], _Used], after: dict[tuple[int, float], _Used], took_s: float
) -> tuple[tuple[str, float], ...]:
    """By name: a server or a compiler is many processes.

    What follows a slash is a kernel thread's number or work.
    """
    cores: defaultdict[str, float] = defaultdict(float)
    for process, used in after.items():
        already_s = before[process].cpu_s if process in before else 0.0
        cores[_printable(used.name.partition("/")[0])] += max(0.0, used.cpu_s - already_s) / took_s
    largest = sorted(cores.items(), key=lambda one: -one[1])[:LARGEST]
    return tuple((name, used) for name, used in largest if used >= WORTH_NAMING)


def _printable(name: str) -> str:
    """A process may call itself anything, an escape sequence too."""
    return "".join(letter if letter.isprintable() else "?" for letter in name)
