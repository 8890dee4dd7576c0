"""What a configuration does within a limit on some quantity."""

from __future__ import annotations

from collections.abc import Sequence

from kneebench.records import Rung


def nopm_within_limit(rungs: Sequence[Rung], quantity: str, limit: float) -> float | None:
    """The most New-Orders a minute of the rungs in which the quantity was not above its limit; None: in no rung."""
    return max((r.tally.nopm for r in rungs if (seen := r.quantity(quantity)) is not None and seen <= limit), default=None)
