"""The report: every cell's knee again, properly; then the latency of all at one rate.

A knee is measured several times, each from its own restore, because data grows, bloats and is vacuumed in a climb. The cells
take turns, first there and then back (A B B A), so that what drifts with time falls on all alike. On a plateau latency is only
users / throughput, so cells are compared on latency under an open loop at one absolute rate.
"""

from __future__ import annotations

from collections.abc import Sequence

from kneebench.analysis.knee import knee_rung
from kneebench.plan.plan import Ladder
from kneebench.records import Cell, Climb, Order, Record


class Visit(Record):
    """One restore, and what is measured on it."""

    cell: Cell
    repeat: int
    orders: tuple[Order, ...]


def report(climbs: Sequence[Climb], ladder: Ladder) -> list[Visit]:
    """The visits in the order to make them; repeats count from 1. Cells whose climb found no knee are left out.

    The one rate is `latency_share` of the lowest knee's throughput, for all cells; the open loop has as many users everywhere as
    the highest knee has, so that no cell waits for a free one.
    """
    found = [(c, rung) for c in climbs if (rung := knee_rung(c)) is not None]
    if not found:
        return []
    rate_per_s = round(ladder.latency_share * min(rung.tally.throughput_per_s for _, rung in found), 3)
    most = max(rung.users for _, rung in found)
    return [
        Visit(cell=climb.cell, repeat=repeat, orders=_orders(climb.cell, repeat, rung.users, most, rate_per_s))
        for repeat in range(1, ladder.repeats + 1)
        for climb, rung in (found if repeat % 2 else reversed(found))
    ]


def _orders(cell: Cell, repeat: int, users: int, most: int, rate_per_s: float) -> tuple[Order, ...]:
    knee = Order(cell=cell.id, phase="report", users=users, repeat=repeat)
    if rate_per_s <= 0:
        return (knee,)
    return (knee, Order(cell=cell.id, phase="latency", users=most, repeat=repeat, rate_per_s=rate_per_s))
