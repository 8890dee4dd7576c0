"""A load that a drive was put under for a long time: whether it became slower, and from when on.

A drive with a cache, a hot drive, and a cloud volume with burst credits are fast at first. After
the fall they are at the level that a database meets.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean, median
from typing import NamedTuple

from kneebench.analysis.steady import ROUNDS, steadiness
from kneebench.records import DriveLoad

FIRST = 3
"""Intervals that give the level at the start: one may be disturbed."""
FALL = 0.20
"""A lower level is one that is lower by more than the range of a steady state."""


def change(iops: Sequence[float]) -> float | None:
    """The last level of some intervals, relative to the first: -0.4 is 40% less. None for fewer
    than eight, or without any I/O.

    >>> round(change([100, 101, 99, 100, 60, 60, 61, 59, 60]), 2)
    -0.4
    """
    if len(iops) < FIRST + ROUNDS or not (first := median(iops[:FIRST])):
        return None
    return fmean(iops[-ROUNDS:]) / first - 1


def has_fallen(iops: Sequence[float]) -> bool:
    """True if the load is at a lower level than at first, and steady there.

    >>> has_fallen([100, 101, 99, 100, 60, 60, 61, 59, 60])
    True
    >>> has_fallen([100, 101, 99, 100, 100, 60, 61, 59, 60]), has_fallen([100] * 9)
    (False, False)
    """
    moved, last = change(iops), steadiness(iops)
    return moved is not None and moved < -FALL and last is not None and last.steady


def fell_at(iops: Sequence[float]) -> int | None:
    """The first interval after which all are at the lower level; None if there is none.

    >>> fell_at([100, 101, 99, 100, 60, 60, 61, 59, 60]), fell_at([100] * 9)
    (4, None)
    """
    moved = change(iops)
    if moved is None or moved >= -FALL:
        return None
    between = (median(iops[:FIRST]) + fmean(iops[-ROUNDS:])) / 2
    return 1 + max(n for n, one in enumerate(iops) if one > between)


class Drains(NamedTuple):
    """All drains of one drive, in their order."""

    device: str
    loads: tuple[DriveLoad, ...]

    @property
    def fell(self) -> int:
        """In how many of them the IOPS fell to a lower level."""
        return sum(fell_at([one.iops for one in load.intervals]) is not None for load in self.loads)


def drains(loads: Iterable[DriveLoad]) -> list[Drains]:
    """The drains among these loads, by drive."""
    found: dict[str, list[DriveLoad]] = {}
    for load in loads:
        if load.kind == "drain":
            found.setdefault(load.drive or load.device, []).append(load)
    return [Drains(some[0].device, tuple(some)) for some in found.values()]
