"""What all records have in common, and the words that several of them use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict

TRANSACTIONS = ("new_order", "payment", "order_status", "delivery", "stock_level")
Phase = Literal[
    "warm_up",
    "search",
    "bisection",
    "confirmation",
    "drift_check",
    "fixed_load",
    "final_run",
    "fixed_rate",
    "load_level",
    "query",
    "warm_query",
]
REFRESH = {23: "RF1", 24: "RF2"}
"""TPROC-H's refresh functions by the numbers that they have behind its 22 queries."""
Role = Literal["data", "log", "temporary files"]
"""What a directory of a server, or the volume under it, holds."""
Scope = Literal["wall", "dc", "cpu", "drive"]
"""What a meter of power measures: all that is plugged in at the wall, what is behind the power
supplies, processors with their memory, or drives."""
Verdict = Literal["suspected", "proved", "refuted"]
"""Of a bottleneck: seen only, or also relieved."""
FEW = "n too small"
"""Text beside a percentile that too few samples exceed (docs/method/workload.md)."""
_OF_PYDANTIC = frozenset(dir(BaseModel))


def named(phase: Phase) -> str:
    """Name of a phase for people.

    >>> named("warm_up"), named("final_run"), named("confirmation")
    ('warm-up', 'final run', 'candidate')
    """
    own = {"warm_up": "warm-up", "confirmation": "candidate"}
    return own.get(phase, phase.replace("_", " "))


if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass
else:
    ModelMetaclass = type(BaseModel)


class _RecordClass(ModelMetaclass):
    """What a record's class lists of itself: its own, so that `help` shows no page of pydantic's
    methods.
    """

    def __dir__(cls) -> list[str]:
        """Public names that pydantic does not give to every class."""
        own = {*super().__dir__()} - _OF_PYDANTIC
        return sorted(name for name in own if not name.startswith("_"))


class Record(BaseModel, metaclass=_RecordClass):
    """A frozen value; unknown fields are refused."""

    model_config = ConfigDict(frozen=True, defer_build=True, extra="forbid")

    def __dir__(self) -> list[str]:
        """Names for tab completion: the record's fields and the two ways to JSON, without those of
        pydantic.
        """
        own = {*super().__dir__()} - _OF_PYDANTIC | {"model_dump", "model_dump_json"}
        return sorted(name for name in own if not name.startswith("_"))


# A remark: what a reader must know of a rung, in words and as a number.

Severity = Literal["note", "caveat", "invalid"]
"""How bad it is. note: how it was measured. caveat: a limit was exceeded, and the figures stay.
invalid: the figures must not be used."""


class Remark(Record):
    """What was seen of a rung. Its severity is "note" for how it was measured, "caveat" where a
    limit was exceeded and the figures stay, and "invalid" if the figures must not be used.
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
