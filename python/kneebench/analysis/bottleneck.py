"""The bottleneck at the knee: which resource had too little, with the evidence for and against.

resources.py has the resources with their limits, resource_evidence.py judges each. The result is a
suspicion. What proves it is a cheap intervention (log in memory, more cores, more memory) that
gains at least 5%.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kneebench.analysis.drive_programs import drives_without_a_core
from kneebench.analysis.evidence import CLASSES, busy, share, time_split
from kneebench.analysis.knee import final_rungs, place
from kneebench.analysis.knee_readings import KneeReadings
from kneebench.analysis.resource_evidence import EVALUATORS, load_generator
from kneebench.analysis.resources import (
    DATA_READS,
    DATA_WRITES,
    DEVICE,
    IDLE_DEVICE,
    LOAD_GENERATOR,
    LOG,
    MEMORY,
    RESOURCES,
    STORAGE,
    Resource,
)
from kneebench.analysis.wording import capital, number_of_users
from kneebench.records import Bottleneck, Climb, ResourceEvidence, Rung
from kneebench.units import time

LOAD_GENERATOR_BUSY = LOAD_GENERATOR.limit
WORTH_SAYING = 0.25
OPTIONAL = ("device", "network", "lightweight locks", "memory", "other waits", "data writes")
"""Resources that a sentence does not list when they were not measured: few campaigns have them."""
PROBABLY = ("is probably limited by", "is limited by")
"""Said of a suspicion, and of one that was proved."""
WAITS = {
    LOG.key: "waits.log",
    DATA_READS.key: "waits.data_read",
    DATA_WRITES.key: "waits.data_write",
}
"""Waits for the storage, of which the one that takes most of the users' time is named."""
BY_KEY = {resource.key: resource for resource in RESOURCES}


def bottleneck(climb: Climb) -> Bottleneck:
    """Judge the knee's rungs (the final runs', or else the climb's own) resource by resource.

    `resource` is the first one in the order of RESOURCES that has too little: busy cores make every
    wait longer, so they are judged before the waits. Of log, reads and writes it is the one that
    takes most of the users' time. "unknown" when none of those that were measured has, or nothing
    was measured. Where the load generator ended the climb, it is the bottleneck, whatever the knee
    before shows.
    """
    rungs, readings = final_rungs(climb), KneeReadings(final_rungs(climb))
    rows = [EVALUATORS[one.key](readings, climb) for one in RESOURCES] if rungs else []
    ended = _ended_by_the_load_generator(climb)
    if ended:
        rows = [ended, *rows[1:]]
    short = _short(rows, readings)
    resource = BY_KEY.get(short[0].resource) if short else None
    return Bottleneck(
        configuration=climb.id,
        resource=resource.key if resource else "unknown",
        evidence=tuple(_evidence_lines(rows)),
        sentence=_sentence(climb, readings, resource, rows, short),
        rows=tuple(rows),
        time_split=time_split(readings) if rungs else {},
        relief=resource.reliefs[0] if resource and resource.reliefs else "",
        called=short[0].called if short else "",
    )


def _short(rows: Sequence[ResourceEvidence], readings: KneeReadings) -> list[ResourceEvidence]:
    """The rows with too little, in the order in which they are named: storage waits by the time
    that they take.
    """
    short = [row for row in rows if row.short]
    waits = [row for row in short if row.resource in WAITS]
    longest = iter(sorted(waits, key=lambda row: -_waited(row.resource, readings)))
    return [next(longest) if row.resource in WAITS else row for row in short]


def _waited(resource: str, readings: KneeReadings) -> float:
    """The share of the users' time that a storage wait takes; 0 where that was not measured."""
    return readings.waiting(WAITS[resource]) or 0.0


def _ended_by_the_load_generator(climb: Climb) -> ResourceEvidence | None:
    """The evidence of the rung that the load generator made invalid, if that ended the climb."""
    if not (last := generator_bound_rung(climb)):
        return None
    found = load_generator(KneeReadings([last]), climb)
    at = number_of_users(last.users)
    why = found.why if at == place(climb) else f"at {at}, {found.why}"
    return found.model_copy(update={"why": why})


def generator_bound_rung(climb: Climb) -> Rung | None:
    """The rung that ended the climb, if it is invalid because the load generator was short."""
    last: Rung | None = climb.rungs[-1] if climb.rungs else None
    searched = climb.of("search", "bisection", "fixed_load")
    if climb.stopped_by in ("load_generator", "invalid") and searched:
        last = searched[-1]
    short = last and last.invalid and load_generator(KneeReadings([last]), climb).short
    return last if short else None


def _evidence_lines(rows: Sequence[ResourceEvidence]) -> Iterator[str]:
    words = {True: "for", False: "against", None: "unknown"}
    return (
        f"{words[row.short]} {row.name}: {row.why}"
        for row in sorted(rows, key=lambda row: (row.short is None, not row.short))
    )


def _sentence(
    climb: Climb,
    readings: KneeReadings,
    resource: Resource | None,
    rows: Sequence[ResourceEvidence],
    short: Sequence[ResourceEvidence],
) -> str:
    if not resource:
        return _none_found(climb, readings, rows)
    same = DEVICE.key if short[0].resource in (DATA_READS.key, DATA_WRITES.key) else ""
    rest = ", ".join(row.name for row in short[1:] if row.resource != same)
    also = f" (also over its limit: {rest})" if rest else ""
    return (
        f"{capital(climb.configuration.unlimited_name)} {PROBABLY[0]}"
        f" {short[0].called or resource.called} at {place(climb)}: {short[0].why}{also}."
        f"{_longer_wait(resource, readings)}"
        f"{_not_the_storage(climb, readings, short)}"
    )


def _longer_wait(resource: Resource, readings: KneeReadings) -> str:
    """A sentence where users waited longer for other storage, which is within its limit."""
    if resource.key not in WAITS:
        return ""
    longest = max(WAITS, key=lambda key: _waited(key, readings))
    own_s, longest_s = _waited(resource.key, readings), _waited(longest, readings)
    if longest_s <= max(own_s, WORTH_SAYING) or share(longest_s) == share(own_s):
        return ""
    seen = f"{share(longest_s)} of their time (limit {share(BY_KEY[longest].limit)})"
    return f" Users waited longer for {BY_KEY[longest].called}: {seen}."


def _not_the_storage(
    climb: Climb, readings: KneeReadings, short: Sequence[ResourceEvidence]
) -> str:
    """A sentence where the storage had time left: by its devices, by the kernel's pressure, which
    sees waits above them, and by the database's own waits.
    """
    used = readings.value("device.busy") if readings.rungs else None
    if used is None or used > IDLE_DEVICE:
        return ""
    if {row.resource for row in short} & {*(one.key for one in STORAGE), MEMORY.key}:
        return ""
    if drives_without_a_core(readings, climb):
        return ""
    read_s, write_s = readings.value("device.read_await"), readings.value("device.write_await")
    waits = readings.waiting("waits.log", "waits.data_read", "waits.data_write")
    stalled = readings.sources("pressure.io").get("full")
    if (waits or 0.0) > IDLE_DEVICE or (stalled or 0.0) > IDLE_DEVICE:
        return ""
    said = [busy(used)]
    said += [f"read await {time(read_s)}"] if read_s is not None else []
    said += [f"write await {time(write_s)}"] if read_s is None and write_s is not None else []
    said += [f"I/O pressure {share(stalled)}"] if stalled is not None else []
    return f" Not the storage: {', '.join(said)}."


def _none_found(climb: Climb, readings: KneeReadings, rows: Sequence[ResourceEvidence]) -> str:
    spent = _longest_waits(readings)
    unmeasured = ", ".join(
        row.resource for row in rows if row.short is None and row.resource not in OPTIONAL
    )
    return (
        f"No single bottleneck was found for {climb.configuration.unlimited_name} at {place(climb)}"
        + (f"; of their time users spent {spent}" if spent else "")
        + (f" (not judged: {unmeasured})." if unmeasured else ".")
    )


def _longest_waits(readings: KneeReadings) -> str:
    """The waits that took a part worth saying, the longest first."""
    if not readings.rungs:
        return ""
    shares = {
        words: found
        for name, words in CLASSES.items()
        if name not in ("cpu", "other", "queue", "rest")
        and (found := readings.waiting(f"waits.{name}")) is not None
        and found >= WORTH_SAYING
    }
    return " and ".join(
        f"{share(found)} waiting for {words}"
        for words, found in sorted(shares.items(), key=lambda s: -s[1])
    )
