"""The steps of a climb: which number of users comes next, and what they found."""

from __future__ import annotations

from math import floor, sqrt
from typing import NamedTuple

from kneebench.records import Order, Phase, Rung, StopResult

WARMING = 8
"""Users per core: past the knee of nearly every database that fits its memory, so that warming
never waits for a slower load."""


class ClimbStep(NamedTuple):
    """One rung to climb, on whatever is climbed."""

    phase: Phase
    users: int
    repeat: int = 0

    def on(self, configuration: str) -> Order:
        """The order of it on a configuration, by id."""
        return Order(configuration=configuration, **self._asdict())


TURNS = 5
"""Of the candidates for a knee: their repeats count on from climb to climb."""


def of_climb(order: Order) -> int:
    """The number of the climb that a rung is of: 1 where it was made again.

    >>> of_climb(Order(configuration="disk", phase="confirmation", users=4, repeat=TURNS + 1))
    1
    """
    return (order.repeat - 1) // TURNS if order.phase == "confirmation" else order.repeat


class Climbed(NamedTuple):
    """What the steps of a climb found: a Climb but for its configuration."""

    rungs: tuple[Rung, ...]
    stop_results: tuple[StopResult, ...]
    stopped_by: str
    knee_users: int | None = None
    bracket: tuple[int, int] | None = None


def first(users: tuple[int, int], database_cores: int) -> int:
    """The users of a climb's first rung: the plan's first number, or one per core of the database
    if that is 0.

    >>> [first(users, database_cores=8) for users in ((0, 512), (16, 512), (0, 4))]
    [8, 16, 4]
    """
    return min(users[0] or max(database_cores, 1), users[1])


def warming(bounds: tuple[int, int], database_cores: int) -> int | None:
    """The users that warm a restored database before its climb: eight per core, so that its cache
    fills as fast as its drive can; None if the climb begins with as many.

    >>> warming((2, 512), database_cores=2), warming((2, 10), database_cores=2)
    (16, 10)
    >>> warming((64, 512), database_cores=8) is None
    True
    """
    users = min(WARMING * max(database_cores, 1), bounds[1])
    return users if users > bounds[0] else None


def following(users: int, step: float, last: int) -> int:
    """The next rung up: `step` times the users, half rounded up, at least one more, never above
    `last`.

    >>> [following(n, 1.5, 512) for n in (2, 3, 5, 8, 12, 400)]
    [3, 5, 8, 12, 18, 512]
    >>> following(2, 1.06, 512)
    3
    """
    return min(last, max(users + 1, floor(users * step + 0.5)))


def preceding(users: int, step: float) -> int:
    """The next rung down: the users over `step`, half rounded up, at least one less, never below
    one.

    >>> [preceding(n, 1.5) for n in (18, 12, 8, 5, 3, 2, 1)]
    [12, 8, 5, 3, 2, 1, 1]
    """
    return max(1, min(users - 1, floor(users / step + 0.5)))


def between(low: int, high: int) -> int | None:
    """The number halfway by ratio between two rungs; None where there is none.

    >>> between(16, 24), between(12, 16), between(2, 4), between(2, 3)
    (20, 14, 3, None)
    """
    middle = floor(sqrt(low * high) + 0.5)
    return middle if low < middle < high else None
