"""NOPM under a limit on some quantity, such as a latency."""

from __future__ import annotations

from collections.abc import Sequence

from kneebench.records import Rung


def nopm_within_limit(rungs: Sequence[Rung], quantity: str, limit: float) -> float | None:
    """Highest NOPM among the rungs whose quantity did not exceed the limit; None if there is no such rung."""
    return max((r.tally.nopm for r in rungs if (seen := r.quantity(quantity)) is not None and seen <= limit), default=None)
