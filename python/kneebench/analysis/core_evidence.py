"""Evidence on the database's cores: all of them, and a single one that the others wait for."""

from __future__ import annotations

import re
from statistics import fmean
from typing import NamedTuple

from kneebench.analysis.cpu_utilization import cpu_utilization
from kneebench.analysis.disturbance import OTHERS_BUSY, taken
from kneebench.analysis.drive_programs import drives_without_a_core
from kneebench.analysis.evidence import NOT_MEASURED, Decided, busy, evidence, of_the_time, share
from kneebench.analysis.knee_readings import KneeReadings
from kneebench.analysis.resources import (
    CPU,
    CPU_TIME,
    DRIVE_THREADS,
    NEARLY_BUSY,
    ONE_CORE,
    OTHERS_IDLE,
    OWN_WORK,
)
from kneebench.analysis.time_split import time_split
from kneebench.analysis.wording import percent
from kneebench.records import Climb, ResourceEvidence
from kneebench.units import count, rounded

OWN_COUNT, HOST = "server.core_busy", "server.host_busy"
"""What a server counts of its cores (its own work on each), and of its whole machine."""


def cpu(readings: KneeReadings, climb: Climb) -> ResourceEvidence:
    """Every core of the database is busy, or nearly so while users spend most of their time on a
    core or ready for one.

    Also where users wait for a storage whose programs wait for a core, unless these share a single
    core that is full. Else not judged where other processes, a hypervisor or the programs of
    emulated drives kept the cores busy. Of a server on another machine its own count of its cores
    is judged.
    """
    used, stolen = cpu_utilization(readings.rungs), readings.value("database.steal")
    others, _ = taken(readings.rungs)
    spent = _time_for_cores(readings)
    queue, throttled = _runnable(readings), readings.sources("cpu.throttled")
    own, host = readings.sources(OWN_COUNT), readings.value(HOST)
    whose, pressure = readings.pressure("cpu")
    short, says, by = _all_busy(readings, climb.limits.cores_busy)
    served = drives_without_a_core(readings, climb)
    if served and not one_core(readings, climb).short:
        short, says = True, f"{served}; {says}"
    return evidence(
        CPU,
        short,
        says,
        by=by,
        utilization=(
            used.words if used else NOT_MEASURED,
            f"others {share(others)}" if used and not own else "",
            _drive_programs(readings),
            f"the server's machine {busy(host)}" if host is not None else "",
        ),
        saturation=(
            f"{count(queue)} runnable tasks" if queue is not None else "",
            f"CPU pressure on {whose} {share(pressure)}" if pressure is not None else "",
            f"users on a core or ready for one {of_the_time(spent)}" if spent is not None else "",
        ),
        errors=(
            f"{share(stolen)} stolen" if stolen is not None else "",
            f"{count(sum(throttled.values()))}/s throttled" if throttled else "",
        ),
    )


def _all_busy(readings: KneeReadings, limit: float) -> tuple[bool | None, str, Decided | None]:
    """Whether the cores are the bottleneck, and what decided, in words and as a number."""
    cores, spent = cpu_utilization(readings.rungs), _time_for_cores(readings) or 0.0
    by = ", as the server counts its own work" if readings.sources(OWN_COUNT) else ""
    if cores is None:
        return None, "the database's cores were not measured", None
    used = cores.least_busy.value
    decided = Decided(used, limit)
    least = f"the least busy database core was {percent(used)} busy"
    says = f"{least} (limit {percent(limit)}){by}"
    short = used >= limit
    if not short and used >= NEARLY_BUSY and spent > CPU_TIME:
        short, decided = True, Decided(spent, CPU_TIME)
        says = (
            f"users spent {share(spent)} of their time on a core or ready for one (limit"
            f" {share(CPU_TIME)}), and {least} (limit {share(NEARLY_BUSY)}){by}"
        )
    others, who = taken(readings.rungs)
    own = _own_work(readings)
    if short and others > OTHERS_BUSY:
        limit_of_others = share(OTHERS_BUSY)
        but = f"{who} used {share(others)} of the database's cores (limit {limit_of_others})"
        return None, f"{says}, but {but}", decided
    if short and own is not None and own < OWN_WORK:
        but = f"the database used {share(own)} of their busy time (limit {share(OWN_WORK)})"
        return None, f"{says}, but {but}", decided
    host = readings.value(HOST)
    if not short and host is not None and host >= limit:
        return None, f"{says}, but its machine was {busy(host)}", decided
    return short, says, decided


class _Core(NamedTuple):
    """The busiest core: its name and utilization, the mean of the others and their number."""

    name: str
    busy: float
    others: float
    other_cores: int

    @property
    def rest(self) -> str:
        return "others" if self.other_cores > 1 else "other"


def one_core(readings: KneeReadings, climb: Climb) -> ResourceEvidence:
    """One core is saturated while the others idle: a single thread (software RAID, interrupts, a
    drive's program) that all the work goes through.

    Not judged where other processes used enough to lift one core from idle to saturated, unless the
    busiest thread on it serves drives; nor where it is not known which cores are the database's:
    those that were read may be another machine's.
    """
    if readings.value("database.busy") is None:
        return evidence(ONE_CORE, None, "the database's cores were not measured")
    own = readings.sources(OWN_COUNT)
    cores = own or readings.sources("cores.busy") or readings.sources("database.busy")
    if len(cores) < 2:
        return evidence(ONE_CORE, None, "single cores were not measured")
    name, most = max(cores.items(), key=lambda item: item[1])
    others = [used for other, used in cores.items() if other != name]
    core = _Core(name, most, fmean(others), len(others))
    threads = [] if own else _threads_on(readings, name)
    named = ", ".join(f"{thread} {share(used)}" for thread, used in threads)
    short, says = _one_busy(readings, core, threads)
    return evidence(
        ONE_CORE,
        short,
        f"{says}; on it: {named}" if short and named else says,
        by=Decided(core.busy, ONE_CORE.limit),
        utilization=(f"core {name} {busy(most)}", f"the {core.rest} {share(core.others)}"),
        saturation=(f"threads on it: {named}",) if named else (),
    )


def _one_busy(
    readings: KneeReadings, core: _Core, threads: list[tuple[str, float]]
) -> tuple[bool | None, str]:
    """Whether the core is the bottleneck, and what decided."""
    says = (
        f"core {core.name} was {share(core.busy)} busy and the {core.rest} {share(core.others)}"
        f" (limits {share(ONE_CORE.limit)} and {share(OTHERS_IDLE)})"
    )
    short = core.busy > ONE_CORE.limit and core.others < OTHERS_IDLE
    foreign_share, who = taken(readings.rungs)
    foreign = foreign_share * len(readings.sources("database.busy"))
    for_drives = bool(threads and re.match(DRIVE_THREADS, threads[0][0]))
    if short and foreign > ONE_CORE.limit - OTHERS_IDLE and not for_drives:
        return None, f"{says}, but {who} used as much as {foreign:.1f} cores"
    return short, says


def _time_for_cores(readings: KneeReadings) -> float | None:
    """The share of a transaction's time on a core or ready for one."""
    part = time_split(readings).get("cpu")
    return part.share if part else None


def _own_work(readings: KneeReadings) -> float | None:
    """The share of its cores' busy time that the server's processes used; None if unknown."""
    server = readings.sources("processes.cpu").get("server")
    spent = sum(readings.sources("database.busy").values())
    return min(1.0, server / spent) if server is not None and spent else None


def _runnable(readings: KneeReadings) -> float | None:
    """Tasks that are ready for a core: this machine's, or those that the server counts."""
    queue = readings.value("run_queue.length")
    return queue if queue is not None else readings.value("server.runnable")


def _drive_programs(readings: KneeReadings) -> str:
    """What the programs of emulated drives used of the machine; empty where there are none."""
    used = readings.sources("processes.cpu").get("programs")
    return f"programs of emulated drives {rounded(used, 2)} cores" if used else ""


def _threads_on(readings: KneeReadings, core: str) -> list[tuple[str, float]]:
    """The three busiest threads on a core, most first: name and share of the core."""
    found = (
        (name.rpartition("@")[0], used)
        for name, used in readings.sources("threads.cpu").items()
        if name.rpartition("@")[2] == core
    )
    return sorted(found, key=lambda one: -one[1])[:3]
