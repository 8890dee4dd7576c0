"""Parts of a resource's evidence: its record, and how readings are written in it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from kneebench.analysis.resources import Resource
from kneebench.records import ResourceEvidence

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
