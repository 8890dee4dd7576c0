"""The bottleneck at the knee: utilisation, saturation and errors of each resource.

The USE method (Gregg, "Thinking Methodically about Performance", CACM 56, 2013). Each resource has
one rule; its evidence is printed for and against. This names a suspect. What proves it is a cheap
intervention (log in memory, more cores, more memory) that gains at least 5%.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from statistics import fmean
from typing import NamedTuple

from kneebench.analysis.disturbance import OTHERS_BUSY, taken
from kneebench.analysis.knee import final_rungs, metered, place
from kneebench.analysis.wording import capital
from kneebench.records import Bottleneck, Climb, Limits, Rung
from kneebench.units import time

LOAD_GENERATOR_BUSY, ONE_CORE_BUSY, OTHERS_IDLE = 0.80, 0.95, 0.60
LOG_WAIT_SHARE = 0.50
READ_WAIT_SHARE, LOCK_WAIT_SHARE = 0.50, 0.20
WORTH_SAYING = 0.25


class Evidence(NamedTuple):
    """What one rule saw: `short` None where it was not measured or other programs hide it; `share`
    of the users' time, where that is what it looks at.
    """

    resource: str
    short: bool | None
    finding: str
    share: float = 0.0


Rule = Callable[[Sequence[Rung], Limits], Evidence]


def bottleneck(climb: Climb) -> Bottleneck:
    """Judge the knee's rungs (the final runs', or else the climb's own) resource by resource.

    `resource` is the first that is short in the order load generator, cpu, one core, log, data
    reads, locks: busy cores make every wait longer, so they are asked first. "unknown" when nothing
    that was measured is short, or nothing was measured.
    """
    rungs = final_rungs(climb)
    found = [rule(rungs, climb.limits) for rule in RULES] if rungs else []
    short = [e for e in found if e.short]
    resource = short[0].resource if short else "unknown"
    return Bottleneck(
        cell=climb.cell.id,
        resource=resource,
        evidence=tuple(_evidence_lines(found)),
        sentence=_sentence(climb, short, found),
    )


def _evidence_lines(found: Sequence[Evidence]) -> Iterator[str]:
    words = {True: "for", False: "against", None: "unknown"}
    return (
        f"{words[e.short]} {e.resource}: {e.finding}"
        for e in sorted(found, key=lambda e: (e.short is None, not e.short))
    )


def _sentence(climb: Climb, short: Sequence[Evidence], found: Sequence[Evidence]) -> str:
    if short:
        also = (
            f" (also over its limit: {', '.join(e.resource for e in short[1:])})"
            if short[1:]
            else ""
        )
        return (
            f"{capital(climb.cell.storage)} is limited by {CALLED[short[0].resource]} at"
            f" {place(climb)}: {short[0].finding}{also}."
        )
    unmeasured = ", ".join(e.resource for e in found if e.short is None)
    spent = " and ".join(
        f"{e.resource} ({_share(e.share)})"
        for e in sorted(found, key=lambda e: -e.share)
        if e.share >= WORTH_SAYING
    )
    return (
        f"No single bottleneck was found for {climb.cell.storage} at {place(climb)}"
        + (f"; users spent most of their time waiting for {spent}" if spent else "")
        + (f" (not judged: {unmeasured})." if unmeasured else ".")
    )


CALLED = {
    "load generator": "the load generator",
    "cpu": "CPU",
    "one core": "a single core",
    "log": "log writes",
    "data reads": "data reads",
    "locks": "locks",
}


def _load_generator(rungs: Sequence[Rung], limits: Limits) -> Evidence:
    busy = _value(rungs, "load_generator.busy")
    finding = f"load generator threads were {_busy(busy)} (limit {_share(LOAD_GENERATOR_BUSY)})"
    return Evidence("load generator", None if busy is None else busy > LOAD_GENERATOR_BUSY, finding)


def _cpu(rungs: Sequence[Rung], limits: Limits) -> Evidence:
    """Not judged where other programs, or a hypervisor, kept the cores busy."""
    busy, (others, who) = _value(rungs, "database.busy"), taken(rungs)
    finding = f"the least busy database core was {_busy(busy)} (limit {_share(limits.cores_busy)})"
    if busy is not None and busy >= limits.cores_busy and others > OTHERS_BUSY:
        return Evidence(
            "cpu",
            None,
            f"{finding}, but {who} used {_share(others)} of the database's cores (limit"
            f" {_share(OTHERS_BUSY)})",
        )
    return Evidence("cpu", None if busy is None else busy >= limits.cores_busy, finding)


def _one_core(rungs: Sequence[Rung], limits: Limits) -> Evidence:
    """One core flat out while the others idle: a single thread (software RAID, interrupts) that all
    the work goes through.

    Not judged where other programs used enough to lift one core from idle to flat out, nor where it
    is not known which cores are the database's: those that were read may be another machine's.
    """
    if _value(rungs, "database.busy") is None:
        return Evidence("one core", None, "the database's cores were not measured")
    cores = _sources(rungs, "cores.busy") or _sources(rungs, "database.busy")
    if len(cores) < 2:
        return Evidence("one core", None, "single cores were not measured")
    core, most = max(cores.items(), key=lambda item: item[1])
    others = fmean(busy for name, busy in cores.items() if name != core)
    rest = "others" if len(cores) > 2 else "other"
    finding = (
        f"core {core} was {_share(most)} busy and the {rest} {_share(others)} (limits"
        f" {_share(ONE_CORE_BUSY)} and {_share(OTHERS_IDLE)})"
    )
    share, who = taken(rungs)
    foreign = share * len(_sources(rungs, "database.busy"))
    if most > ONE_CORE_BUSY and others < OTHERS_IDLE and foreign > ONE_CORE_BUSY - OTHERS_IDLE:
        return Evidence(
            "one core", None, f"{finding}, but {who} used as much as {foreign:.1f} cores"
        )
    return Evidence("one core", most > ONE_CORE_BUSY and others < OTHERS_IDLE, finding)


def _log(rungs: Sequence[Rung], limits: Limits) -> Evidence:
    """A write takes longer than the plan's limit, or more than half of the users' time spent in
    waits for the log.
    """
    latency, waits = metered(rungs, "log.write_latency"), _waiting(rungs, "waits.log")
    if latency is None and waits is None:
        return Evidence("log", None, "log write time and log waits were not measured")
    parts = (
        [
            f"a log write took {time(latency.value)} (mean of the window, limit"
            f" {time(limits.log_write_s)})"
        ]
        if latency is not None
        else []
    )
    parts += (
        [
            f"users spent {_share(waits)} of their time waiting for the log (limit"
            f" {_share(LOG_WAIT_SHARE)})"
        ]
        if waits is not None
        else []
    )
    short = (latency is not None and latency.value > limits.log_write_s) or (
        waits or 0.0
    ) > LOG_WAIT_SHARE
    return Evidence("log", short, ", ".join(parts), waits or 0.0)


def _reads(rungs: Sequence[Rung], limits: Limits) -> Evidence:
    """The share of the users' time in reads.

    The drive's own curve at that queue depth, the better rule, has to be measured first.
    """
    waits = _waiting(rungs, "waits.data_read")
    reads = _value(rungs, "device.reads_per_transaction")
    await_s = _value(rungs, "device.read_await")
    share = waits
    if share is None and reads is not None and await_s is not None:
        share = min(1.0, reads * await_s / _latency_s(rungs)) if _latency_s(rungs) else None
    if share is None:
        return Evidence("data reads", None, "device reads and read waits were not measured")
    each = f", {reads:.2g} device reads per transaction" if reads is not None else ""
    each += f", {time(await_s)} each" if reads is not None and await_s is not None else ""
    return Evidence(
        "data reads",
        share > READ_WAIT_SHARE,
        f"users spent {_share(share)} of their time waiting for reads (limit"
        f" {_share(READ_WAIT_SHARE)}){each}",
        share,
    )


def _locks(rungs: Sequence[Rung], limits: Limits) -> Evidence:
    waits = _waiting(rungs, "waits.lock")
    finding = (
        f"users spent {_share(waits)} of their time waiting for locks (limit"
        f" {_share(LOCK_WAIT_SHARE)})"
        if waits is not None
        else "waits were not measured"
    )
    return Evidence(
        "locks", None if waits is None else waits > LOCK_WAIT_SHARE, finding, waits or 0.0
    )


RULES: tuple[Rule, ...] = (_load_generator, _cpu, _one_core, _log, _reads, _locks)


def _value(rungs: Sequence[Rung], quantity: str) -> float | None:
    """The mean over the rungs that measured it."""
    seen = [value for r in rungs if (value := r.quantity(quantity)) is not None]
    return fmean(seen) if seen else None


def _sources(rungs: Sequence[Rung], quantity: str) -> dict[str, float]:
    """The mean by source over the rungs that measured it."""
    found = [r.quantities[quantity].sources for r in rungs if quantity in r.quantities]
    names = sorted({name for sources in found for name in sources})
    return {name: fmean(sources.get(name, 0.0) for sources in found) for name in names}


def _waiting(rungs: Sequence[Rung], quantity: str) -> float | None:
    """The share of the users found in waits of a class; None where no waits were measured."""
    measured = [r for r in rungs if any(name.startswith("waits.") for name in r.quantities)]
    if not measured:
        return None
    seen = fmean(found.value if (found := r.quantities.get(quantity)) else 0.0 for r in measured)
    return min(1.0, seen / fmean(r.users for r in rungs))


def _latency_s(rungs: Sequence[Rung]) -> float:
    return fmean(r.tally.latency.mean_s if r.tally.latency else 0.0 for r in rungs)


def _busy(value: float | None) -> str:
    return "not measured" if value is None else f"{_share(value)} busy"


def _share(value: float | None) -> str:
    return "not measured" if value is None else f"{100 * value:.0f}%"
