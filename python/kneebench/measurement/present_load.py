"""The load on this machine before anything is measured: how busy its cores and the plan's drives
are, what a hypervisor takes, which processes use most.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from statistics import fmean
from typing import NamedTuple

import psutil

from kneebench import units
from kneebench.analysis.disturbance import OTHERS_BUSY, STEAL
from kneebench.measurement.meters.cores import Cores
from kneebench.measurement.meters.devices import Devices
from kneebench.measurement.meters.meter import Meter
from kneebench.records import Finding

LOOK_S = 1.0
LARGEST = 3
WORTH_NAMING = 0.02
"""Of one core: /proc counts in steps of 1% per second."""
IO_WORTH_NAMING = 1e5
"""Bytes per second."""


class PresentLoad(NamedTuple):
    """`busy` and `stolen` are shares of the cores' time; `largest` are processes by name, each with
    the cores that it keeps busy. `drives`: the share of time that each drive is busy; `largest_io`:
    processes by name, with bytes read and written per second on all drives.
    """

    busy: float
    stolen: float
    largest: tuple[tuple[str, float], ...]
    drives: tuple[tuple[str, float], ...] = ()
    largest_io: tuple[tuple[str, float], ...] = ()


def present_load(
    cores: Collection[int], drives: Collection[str] = (), look_s: float = LOOK_S
) -> PresentLoad:
    """Look twice at these cores, these drives and all processes, so many seconds apart.

    This process is not among the largest.
    """
    meters, began_s = (Cores(), Devices(sorted(drives))), time.monotonic()
    times, used = _readings(meters), _used()
    time.sleep(look_s)
    later, used_later, took_s = _readings(meters), _used(), time.monotonic() - began_s
    shares = {key: (later[key] - times[key]) / took_s for key in times.keys() & later.keys()}

    def mean(quantity: str) -> float:
        found = [shares[key] for core in cores if (key := f"{quantity}|{core}") in shares]
        return fmean(found) if found else 0.0

    stolen = mean("cores.steal")
    return PresentLoad(
        max(0.0, mean("cores.busy") - stolen),
        stolen,
        _largest(_rates(used, used_later, lambda one: one.cpu_s, took_s), WORTH_NAMING),
        tuple(
            (name, min(1.0, shares[key]))
            for name in sorted(drives)
            if (key := f"device.busy|{name}") in shares
        ),
        _largest(_rates(used, used_later, lambda one: one.io_bytes, took_s), IO_WORTH_NAMING),
    )


def _readings(meters: Iterable[Meter]) -> dict[str, float]:
    return {key: value for meter in meters for key, value in meter.read().items()}


class _Used(NamedTuple):
    """A process's name at this moment (kernel threads change theirs with their work), and its CPU
    seconds and bytes of I/O since it began. Only root sees the I/O of other users' processes.
    """

    name: str
    cpu_s: float
    io_bytes: float


def _used() -> dict[tuple[int, float], _Used]:
    """By process and its start, because a PID may be reused.

    Processes of other users may be gone or unreadable.
    """
    found = psutil.process_iter(["name", "cpu_times", "create_time", "io_counters"])
    others = [(p.pid, p.info) for p in found if p.info["cpu_times"] and p.pid != os.getpid()]
    return {
        (pid, info["create_time"]): _Used(
            info["name"] or "unnamed",
            info["cpu_times"].user + info["cpu_times"].system,
            info["io_counters"].read_bytes + info["io_counters"].write_bytes
            if info["io_counters"]
            else 0.0,
        )
        for pid, info in others
    }


def _rates(
    before: Mapping[tuple[int, float], _Used],
    after: Mapping[tuple[int, float], _Used],
    pick: Callable[[_Used], float],
    took_s: float,
) -> dict[str, float]:
    """A figure's growth per second, by name: a server or a compiler is many processes.

    What follows a slash is a kernel thread's number or work.
    """
    found: defaultdict[str, float] = defaultdict(float)
    for process, used in after.items():
        already = pick(before[process]) if process in before else 0.0
        grown = max(0.0, pick(used) - already)
        found[_printable(used.name.partition("/")[0])] += grown / took_s
    return found


def _largest(rates: Mapping[str, float], least: float) -> tuple[tuple[str, float], ...]:
    largest = sorted(rates.items(), key=lambda one: -one[1])[:LARGEST]
    return tuple((name, rate) for name, rate in largest if rate >= least)


def _printable(name: str) -> str:
    """A process may call itself anything, an escape sequence too."""
    return "".join(letter if letter.isprintable() else "?" for letter in name)


# Findings on the present load of a machine: who would be measured too if a run began now.

QUIETER = "stop these processes or run at a quieter time: a run now would measure them too"


def load_findings(seen: PresentLoad, cores: int) -> tuple[Finding, ...]:
    """On so many cores, and on each drive that was looked at."""
    return (machine_load(seen, cores), *drive_loads(seen))


def drive_loads(seen: PresentLoad) -> Iterator[Finding]:
    """On each drive: a warning if it is busy, with the processes that cause most I/O."""
    by = ", ".join(f"{name} {units.rate(rate)}" for name, rate in seen.largest_io)
    whose = "processes" if os.geteuid() == 0 else "this user's processes"
    for name, busy in seen.drives:
        sentence = f"{name} is busy {100 * busy:.0f}% of the time now"
        sentence += f" ({whose} on all drives: {by})" if by else ""
        if busy <= OTHERS_BUSY:
            yield Finding(level="ok", subject="drive load", seen=sentence)
        else:
            limit = f"{sentence}; limit {100 * OTHERS_BUSY:.0f}%"
            yield Finding(level="warning", subject="drive load", seen=limit, do=QUIETER)


def machine_load(seen: PresentLoad, cores: int) -> Finding:
    """On the cores: a warning if others, or the hypervisor, use more than a rung allows."""
    names = ", ".join(f"{name} {100 * used:.0f}% of one" for name, used in seen.largest)
    sentence = (
        f"processes use {100 * seen.busy:.0f}% of {cores} core{'' if cores == 1 else 's'} now"
        + (f" ({names})" if names else "")
    )
    sentence += f"; the hypervisor takes {100 * seen.stolen:.0f}%"
    if seen.busy <= OTHERS_BUSY and seen.stolen <= STEAL:
        return Finding(level="ok", subject="load", seen=sentence)
    limits = f"limits {100 * OTHERS_BUSY:.0f}% and {100 * STEAL:.0f}%"
    return Finding(level="warning", subject="load", seen=f"{sentence} ({limits})", do=QUIETER)
