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
    )


def difference(before: int | None, after: int | None) -> int | None:
    """What one count rose by; None if it is not counted."""
    return None if before is None or after is None else after - before
