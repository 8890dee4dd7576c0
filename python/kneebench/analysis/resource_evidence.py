"""Evidence for and against each resource at the knee: utilization, saturation, errors (the USE
method: Gregg, "Thinking Methodically about Performance", CACM 56, 2013).

One function judges one resource of resources.py; those of the cores are in core_evidence.py, those
of the storage in io_evidence.py. "Not measured" is never 0.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from statistics import fmean
from typing import NamedTuple

from kneebench.analysis import resources
from kneebench.analysis.cpu_utilization import cpu_utilization
from kneebench.analysis.disturbance import OTHERS_BUSY, taken
from kneebench.analysis.drive_programs import drives_without_a_core
from kneebench.analysis.evidence import (
    NOT_MEASURED,
    Decided,
    beside,
    busy,
    evidence,
    of_the_time,
    share,
    time_split,
    waited,
)
from kneebench.analysis.io_evidence import data_reads, data_writes, device, log
from kneebench.analysis.knee_readings import KneeReadings
from kneebench.analysis.resources import (
    CPU,
    CPU_TIME,
    DRIVE_THREADS,
    LIGHTWEIGHT_LOCKS,
    LOAD_GENERATOR,
    LOAD_GENERATOR_DELAY,
    LOCKS,
    MEMORY,
    NEARLY_BUSY,
    NETWORK,
    ONE_CORE,
    OTHER_WAITS,
    OTHERS_IDLE,
    OWN_WORK,
    Resource,
)
from kneebench.analysis.wording import percent
from kneebench.records import Climb, ResourceEvidence
from kneebench.units import count, rate, rounded, size, time

# Evidence on the database's cores: all of them, and a single one that the others wait for.

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


Evaluator = Callable[[KneeReadings, Climb], ResourceEvidence]


def load_generator(readings: KneeReadings, climb: Climb) -> ResourceEvidence:
    """Its threads are busy, or they get no core when a response is there. Such a delay costs no
    throughput where the database's cores are busy all the same.
    """
    used, delay_s = readings.value("load_generator.busy"), readings.value("load_generator.delay")
    delayed = delayed_share(readings)
    cores = cpu_utilization(readings.rungs)
    idle = not cores or cores.least_busy.value < NEARLY_BUSY
    late = delayed > LOAD_GENERATOR_DELAY and idle
    says = f"load generator threads were {busy(used)} (limit {share(LOAD_GENERATOR.limit)})"
    if late:
        says = (
            f"the load generator delayed each transaction by {share(delayed)} of its latency (limit"
            f" {share(LOAD_GENERATOR_DELAY)}), and {says.removeprefix('load generator ')}"
        )
    lost = sum(rung.tally.lost_users for rung in readings.rungs)
    return evidence(
        LOAD_GENERATOR,
        None if used is None else used > LOAD_GENERATOR.limit or late,
        says,
        by=Decided(delayed, LOAD_GENERATOR_DELAY) if late else Decided(used, LOAD_GENERATOR.limit),
        utilization=(busy(used),),
        saturation=(f"{time(delay_s)} delay per transaction",) if delay_s is not None else (),
        errors=(f"{lost} lost connections",),
    )


def delayed_share(readings: KneeReadings) -> float:
    """The load generator's delay as a share of the latency; 0 if it was not measured."""
    delay_s = readings.value("load_generator.delay")
    return delay_s / readings.latency_s if delay_s and readings.latency_s else 0.0


def network(readings: KneeReadings, climb: Climb) -> ResourceEvidence:
    """The busiest interface whose line rate is known."""
    rates = readings.sources("network.busy")
    interface, most = max(rates.items(), key=lambda item: item[1], default=("", None))
    bytes_per_s = [
        f"{rate(value)} {way}"
        for way in ("received", "sent")
        if (value := readings.value(f"network.{way}")) is not None
    ]
    lost, resent = readings.value("network.errors"), readings.value("network.retransmitted")
    errors = (
        *([f"{rounded(lost)} errors and drops/s"] if lost is not None else []),
        *([f"{rounded(resent)} segments sent again/s"] if resent is not None else []),
    )
    if most is None:
        unknown, used = "the line rate is not known", tuple(bytes_per_s)
        return evidence(NETWORK, None, unknown, utilization=used, errors=errors)
    return evidence(
        NETWORK,
        most > NETWORK.limit,
        f"{interface} was {busy(most)} (limit {share(NETWORK.limit)} of what the link carries)",
        by=Decided(most, NETWORK.limit),
        utilization=(f"{interface} {busy(most)}", *bytes_per_s),
        errors=errors,
    )


def locks(readings: KneeReadings, climb: Climb) -> ResourceEvidence:
    """Waits for rows that another transaction has locked."""
    retried = sum(
        sum(one.retried.values()) for r in readings.rungs for one in r.tally.transactions.values()
    )
    return _waits(readings, LOCKS, "locks", errors=f"{retried} retries")


def lightweight_locks(readings: KneeReadings, climb: Climb) -> ResourceEvidence:
    """Waits for structures in the database's memory."""
    if readings.waits_measured and not readings.waits_split:
        return evidence(LIGHTWEIGHT_LOCKS, None, "lightweight locks are among the other waits")
    return _waits(readings, LIGHTWEIGHT_LOCKS, "lightweight locks")


def other_waits(readings: KneeReadings, climb: Climb) -> ResourceEvidence:
    """All else that sessions waited for, with the most frequent one; never too little of
    anything.
    """
    waits = readings.waiting("waits.other")
    events = readings.sources("waits.other")
    most = max(events, key=lambda name: events[name], default="")
    return evidence(
        OTHER_WAITS,
        None if waits is None else False,
        waited(waits, "all else") or "waits were not measured",
        saturation=(
            of_the_time(waits),
            f"mostly {most}" if most and waits and waits >= 0.01 else "",
        ),
    )


def memory(readings: KneeReadings, climb: Climb) -> ResourceEvidence:
    """Stalls of the database's tasks for memory, by the pressure of its group; the machine's speaks
    against a shortage only, as it counts every process.
    """
    group, stalled = readings.pressure("memory")
    if stalled is None:
        return evidence(MEMORY, None, "memory pressure was not measured")
    own = group == "the database"
    whose = "the database's tasks" if own else "tasks on the machine"
    hits, used = readings.value("group.limit_hits"), readings.value("group.memory")
    over, shown = stalled > MEMORY.limit, beside(stalled, MEMORY.limit)
    return evidence(
        MEMORY,
        None if over and not own else over,
        f"{whose} stalled for memory {shown} of the time (limit {share(MEMORY.limit)})",
        by=Decided(stalled, MEMORY.limit),
        utilization=(size(used),) if used is not None else (),
        saturation=(f"memory pressure on {group} {shown}",),
        errors=(f"{count(hits)}/s at the limit",) if hits is not None else (),
    )


EVALUATORS: dict[str, Evaluator] = {
    resources.LOAD_GENERATOR.key: load_generator,
    resources.CPU.key: cpu,
    resources.ONE_CORE.key: one_core,
    resources.LOG.key: log,
    resources.DATA_READS.key: data_reads,
    resources.DATA_WRITES.key: data_writes,
    resources.DEVICE.key: device,
    resources.NETWORK.key: network,
    resources.LOCKS.key: locks,
    resources.LIGHTWEIGHT_LOCKS.key: lightweight_locks,
    resources.MEMORY.key: memory,
    resources.OTHER_WAITS.key: other_waits,
}


def _waits(
    readings: KneeReadings, resource: Resource, what: str, errors: str = ""
) -> ResourceEvidence:
    waits = readings.waiting(*resource.quantities)
    return evidence(
        resource,
        None if waits is None else waits > resource.limit,
        waited(waits, what, resource.limit, readings.samples) or "waits were not measured",
        by=Decided(waits, resource.limit),
        saturation=(of_the_time(waits),),
        errors=(errors,),
    )
