"""The consistency conditions (TPC-C 3.3.2) that were asked of a storage's data, each time with when that was."""

from __future__ import annotations

from collections.abc import Iterator

from kneebench.records import Check, Climb


def conditions(climb: Climb) -> Iterator[tuple[str, tuple[Check, ...]]]:
    """(when, checks): after the climb, and after each final run, whose figures are those that are quoted."""
    yield "after the climb", climb.checks
    orders = {rung.order.key: rung.order for rung in climb.rungs}
    for key, checks in climb.final_checks.items():
        order = orders.get(key)
        yield f"after final run {order.repeat} at {order.users} users" if order else f"after {key}", checks
