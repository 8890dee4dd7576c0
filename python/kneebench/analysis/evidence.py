"""Parts of a resource's evidence: its record, and how readings are written in it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from kneebench.analysis.knee_readings import SAMPLED, KneeReadings
from kneebench.analysis.resources import Resource
from kneebench.records import ResourceEvidence, TimeShare

NOT_MEASURED = "not measured"
FEW_SAMPLES = 30
"""Of the sessions: with fewer, a share of the time is a rough one."""


class Decided(NamedTuple):
    """The reading that decided, with its limit; `value` is None where it was not measured."""

    value: float | None
    limit: float
    unit: str = "share"


def evidence(
    resource: Resource,
    short: bool | None,
    why: str,
    *,
    utilization: Iterable[str] = (),
    saturation: Iterable[str] = (),
    errors: Iterable[str] = (),
    called: str = "",
    by: Decided | None = None,
) -> ResourceEvidence:
    """The evidence on a resource; empty texts are left out, and without any it was not measured.
    `by`: what decided.
    """
    known = by is not None and by.value is not None
    return ResourceEvidence(
        resource=resource.key,
        utilization=joined(utilization),
        saturation=joined(saturation),
        errors=joined(errors),
        short=short,
        why=why,
        called=called,
        **(by._asdict() if by and known else {}),
    )


def joined(texts: Iterable[str]) -> str:
    """Readings in one text.

    >>> joined(["31% busy", "", "queue 2"]), joined([])
    ('31% busy, queue 2', 'not measured')
    """
    return ", ".join(filter(None, texts)) or NOT_MEASURED


def share(value: float | None) -> str:
    """A share as a whole percentage.

    >>> share(0.314), share(None)
    ('31%', 'not measured')
    """
    return NOT_MEASURED if value is None else f"{100 * value:.0f}%"


def busy(value: float | None) -> str:
    """A utilization.

    >>> busy(0.314), busy(None)
    ('31% busy', 'not measured')
    """
    return NOT_MEASURED if value is None else f"{share(value)} busy"


def waited(
    value: float | None, what: str, limit: float | None = None, samples: int | None = None
) -> str:
    """The share of the users' time in waits; empty where it was not measured. `samples`: how often
    the sessions were looked at, which is said where they are few.

    >>> waited(0.69, "the log", 0.5)
    'users spent 69% of their time waiting for the log (limit 50%)'
    >>> waited(0.4998, "reads", 0.5)
    'users spent 49.98% of their time waiting for reads (limit 50%)'
    >>> waited(0.503, "reads", 0.5, samples=9)
    'users spent 50.3% of their time waiting for reads (limit 50%; only 9 samples)'
    """
    if value is None:
        return ""
    if limit is None:
        return f"users spent {share(value)} of their time waiting for {what}"
    shown = beside(value, limit)
    few = f"; only {samples} samples" if samples is not None and samples < FEW_SAMPLES else ""
    return f"users spent {shown} of their time waiting for {what} (limit {share(limit)}{few})"


def beside(value: float, limit: float) -> str:
    """A share with as many digits as show on which side of its limit it is, at most two.

    >>> beside(0.314, 0.5), beside(0.4998, 0.5), beside(0.504, 0.5)
    ('31%', '49.98%', '50.4%')
    """
    for digits in (0, 1, 2):
        shown = f"{100 * value:.{digits}f}"
        if float(shown) != 100 * limit:
            break
    return f"{shown}%"


def of_the_time(value: float | None) -> str:
    """The same for a table, in short.

    >>> of_the_time(0.69), of_the_time(None)
    ('69% of the time', '')
    """
    return "" if value is None else f"{share(value)} of the time"


# Where a transaction's time goes: its mean latency, divided among the classes of waits in which
# its session was found.
#
# By Little's law the sessions in a class, divided by the throughput, are the seconds that a
# transaction spends in it. What is left of the latency is the rest: the network and the load
# generator.
#
# A session that has not yet read its request counts as idle in the database, however long it waits
# for a core. So the CPU's part is at least what the kernel counted for the server's processes:
# their time on a core and their time ready for one. Its background work is in it, and a session
# that is ready again may still be seen in its wait: so the CPU gets no more than the waits leave.

CLASSES = {
    "cpu": "CPU",
    "log": "log writes",
    "data_read": "data reads",
    "data_write": "data writes",
    "lock": "row locks",
    "lightweight_lock": "lightweight locks",
    "queue": "queue for a connection",
    "other": "other waits",
    "rest": "rest",
}
"""In the order in which they are drawn, and what people read. "cpu": a session runs, or waits for a
core."""


def counted_cpu_share(readings: KneeReadings) -> float | None:
    """What the kernel counted for the server's processes, on a core or ready for one, as a share of
    the transactions' time. Background work is in it. None if it was not measured.
    """
    counted = readings.on_or_ready_for_a_core
    return None if counted is None else counted / readings.at_once


def time_split(readings: KneeReadings) -> dict[str, TimeShare]:
    """The parts of a transaction's mean time in the order of CLASSES; empty without waits or
    transactions.

    Where sampled waits exceed the latency by chance, they are all of it, and no more.
    """
    if not readings.waits_measured or not readings.latency_s or not readings.throughput_per_s:
        return {}
    seconds = {
        name: readings.sessions(f"waits.{name}") / readings.throughput_per_s for name in SAMPLED
    }
    seconds["queue"] = readings.queue_s
    left = readings.latency_s - sum(seconds.values())
    ready = readings.on_or_ready_for_a_core
    if ready is not None and left > 0:
        counted = ready / readings.throughput_per_s
        seconds["cpu"] += min(left, max(0.0, counted - seconds["cpu"]))
    whole = readings.at_once / readings.throughput_per_s
    seconds["rest"] = max(0.0, whole - sum(seconds.values()))
    shares = {name: seconds[name] / whole for name in CLASSES if seconds[name] > 0}
    return {
        name: TimeShare(share=share, seconds=share * readings.latency_s)
        for name, share in shares.items()
    }
