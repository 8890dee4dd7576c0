"""A remark: what a reader must know of a rung, in words and as a number."""

from __future__ import annotations

from typing import Literal

from kneebench.records.record import Record

Severity = Literal["note", "caveat", "invalid"]
"""How bad it is. note: how it was measured. caveat: a limit was exceeded, and the figures stay.
invalid: the figures must not be used."""


class Remark(Record):
    """What was seen of a rung. Its severity is "note" for how it was measured, "caveat" where a
    limit was exceeded and the figures stay, and "invalid" if the figures must not be used.

    Remarks of older files have no numbers, and the kind "older", "not_steady" or "memory_backed".
    """

    kind: str
    """Kind of remark, as programs know it."""
    severity: Severity
    """Consequence for the figures of the rung."""
    words: str
    """Description for people."""
    value: float | None = None
    """Number behind the words, in `unit`; None where there is none."""
    limit: float | None = None
    """Limit of that number, in `unit`; None where there is none."""
    unit: str = ""
    """Unit of both numbers, such as share or s; empty for a count."""


def noted(kind: str, *words: str) -> tuple[Remark, ...]:
    """Notes of a kind, one for each text.

    >>> [one.severity for one in noted("server", "restored by reflink")]
    ['note']
    """
    return tuple(Remark(kind=kind, severity="note", words=one) for one in words)
