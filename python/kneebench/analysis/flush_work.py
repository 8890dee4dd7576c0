"""What a flush of the log is in two configurations: the commits that share it, and the writes and
flushes of the devices under the log.

A transaction waits for a flush, so throughput is flushes per second times the commits that share
one. A device flush that a log flush does not need (file system, RAID, checkpoint) makes it slower.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean

from kneebench.analysis.comparison import called
from kneebench.analysis.final_estimates import estimate_of
from kneebench.analysis.knee import final_rungs
from kneebench.analysis.wording import capital, listed
from kneebench.records import Climb, Comparison, Rung
from kneebench.units import significant

APART = 1.5
"""Own: how many times one configuration has of the other, to be said: half as much again is more
than a difference in load makes of it, and enough to explain a ratio that is worth a brief."""


def _commits(rung: Rung) -> float | None:
    return rung.quantity("log.commits_per_flush")


def _device_writes(rung: Rung) -> float | None:
    return _per_flush(rung, "device.writes")


def _device_flushes(rung: Rung) -> float | None:
    return _per_flush(rung, "device.flushes")


WORK: dict[str, Callable[[Rung], float | None]] = {
    "commits per flush": _commits,
    "device writes per log flush": _device_writes,
    "device flushes per log flush": _device_flushes,
}


def flush_work(climb: Climb, against: Climb, compared: Comparison) -> str:
    """A sentence on what differs by half or more between two configurations whose NOPM differs;
    empty where nothing does, or it was not measured on both.
    """
    if compared.quantity != "nopm" or not compared.differs:
        return ""
    both = (final_rungs(against), final_rungs(climb))
    found = {}
    for what, pick in WORK.items():
        base, other = (_mean(rungs, pick) for rungs in both)
        if base is not None and other is not None and _apart(base, other):
            found[what] = (base, other)
    if not found:
        return ""
    first = listed([f"{significant(values[0], 2)} {what}" for what, values in found.items()])
    second = listed([significant(values[1], 2) for values in found.values()])
    return f"{capital(called(against))}: {first}; {called(climb)}: {second}."


def _apart(one: float, other: float) -> bool:
    return max(one, other) >= APART * min(one, other) and max(one, other) > 0


def _mean(rungs: Sequence[Rung], pick: Callable[[Rung], float | None]) -> float | None:
    """Over the knee's runs, estimated as throughput is; None if none of them measured it."""
    found = [value for rung in rungs if (value := pick(rung)) is not None]
    if not found or min(found) <= 0:
        return fmean(found) if found else None
    measured = [rung for rung in rungs if pick(rung) is not None]
    return estimate_of(measured, lambda rung: pick(rung) or 0.0).value


def _per_flush(rung: Rung, quantity: str) -> float | None:
    """Of the devices under the log, or of all where nobody knows which have it."""
    flushes, found = rung.quantity("log.flushes"), rung.quantities.get(quantity)
    if not flushes or found is None:
        return None
    under_log = {one.name for one in rung.devices if "log" in one.roles}
    sources = [value for name, value in found.sources.items() if name in under_log]
    return (sum(sources) if sources else found.value) / flushes
