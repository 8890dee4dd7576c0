"""Evidence for and against each resource at the knee: utilization, saturation, errors (the USE
method: Gregg, "Thinking Methodically about Performance", CACM 56, 2013).

One function judges one resource of resources.py; those of the cores are in core_evidence.py, those
of the storage in io_evidence.py. "Not measured" is never 0.
"""

from __future__ import annotations

from collections.abc import Callable

from kneebench.analysis import resources
from kneebench.analysis.core_evidence import cpu, one_core
from kneebench.analysis.cpu_utilization import cpu_utilization
from kneebench.analysis.evidence import Decided, beside, busy, evidence, of_the_time, share, waited
from kneebench.analysis.io_evidence import data_reads, data_writes, device, log
from kneebench.analysis.knee_readings import KneeReadings
from kneebench.analysis.resources import (
    LIGHTWEIGHT_LOCKS,
    LOAD_GENERATOR,
    LOAD_GENERATOR_DELAY,
    LOCKS,
    MEMORY,
    NEARLY_BUSY,
    NETWORK,
    OTHER_WAITS,
    Resource,
)
from kneebench.records import Climb, ResourceEvidence
from kneebench.units import count, rounded, size, time

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
        f"{rounded(value / 1e6)} MB/s {way}"
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
