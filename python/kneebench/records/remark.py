"""A remark: what a reader must know of a rung, in words and as a number."""

from __future__ import annotations

from typing import Literal

from kneebench.records.record import Record

Severity = Literal["note", "caveat", "invalid"]
"""How bad it is. note: how it was measured. caveat: a limit was exceeded, and the figures stay.
invalid: the figures must not be used."""


class Remark(Record):
    """What was seen, of a `kind` that programs know, with its `words` for people.

    `value` and `limit` are the numbers behind the words, in `unit`; None where there is none, and
    in older files, whose remarks are of the kind "older" or "not_steady".
    """

    kind: str
    severity: Severity
    words: str
    value: float | None = None
    limit: float | None = None
    unit: str = ""


def noted(kind: str, *words: str) -> tuple[Remark, ...]:
    """Notes of a kind, one for each text.

    >>> [one.severity for one in noted("server", "restored by reflink")]
    ['note']
    """
    return tuple(Remark(kind=kind, severity="note", words=one) for one in words)
