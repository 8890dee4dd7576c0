"""What the database counts of the workload between the first user and the last."""

from __future__ import annotations

from typing import NamedTuple


class Idle(NamedTuple):
    """What the database counts while nobody is connected but kneebench. None: it does not count the
    workload's transactions apart from others.
    """

    next_order_ids: int
    commits: int | None = None
    rollbacks: int | None = None
    by_database: tuple[int, ...] = ()
    """Next order ids of each database, where there are several."""

    @property
    def transactions(self) -> int | None:
        """Committed and rolled back ones."""
        if self.commits is None or self.rollbacks is None:
            return None
        return self.commits + self.rollbacks


def rise(before: Idle, after: Idle) -> Idle:
    """What was counted in between."""
    return Idle(
        after.next_order_ids - before.next_order_ids,
        difference(before.commits, after.commits),
        difference(before.rollbacks, after.rollbacks),
        tuple(b - a for a, b in zip(before.by_database, after.by_database, strict=True)),
    )


def difference(before: int | None, after: int | None) -> int | None:
    """What one count rose by; None if it is not counted."""
    return None if before is None or after is None else after - before
