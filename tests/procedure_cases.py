"""What the five procedures must do on every database: cases that the engines' tests share."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, NamedTuple

NAMES = ("BARBARBAR", "PRIPRESESE", "EINGEINGEING", "ATIONPRIABLE", "PRIBARPRES")
"""Last names of 2, 1, 1, 61 and 22 customers of a district."""
REPEATED = ([21, 22, 21, 21], [3, 1, 4, 2])
"""Items and quantities of an order that names an item three times."""
UNUSED_ITEM = 100_001


def middle(customers: list[int]) -> int:
    """The customer that a name stands for, of those in the order of their first names
    (TPC-C 2.5.2.2: number n/2, rounded up).
    """
    return customers[(len(customers) + 1) // 2 - 1]


def after(before: tuple[Any, ...], quantity: int, remote: int = 0) -> tuple[Any, ...]:
    """(s_quantity, s_ytd, s_order_cnt, s_remote_cnt) after a line of an order (2.4.2.2)."""
    left = before[0] - quantity
    return (
        left if left >= 10 else left + 91,
        before[1] + quantity,
        before[2] + 1,
        before[3] + remote,
    )


def bad_credit(customer: tuple[int, int, int], at: tuple[int, int], paid: str, data: str) -> str:
    """C_DATA of a customer (number, district, warehouse) of bad credit after a payment."""
    return f"{' '.join(map(str, (*customer, *at)))} {paid}|{data}"[:500]


class Drawn(NamedTuple):
    """A transaction in warehouse 1: an order of items, or a payment without them; without a
    customer a delivery.
    """

    district: int = 0
    customer: int = 0
    items: tuple[int, ...] = ()
    quantities: tuple[int, ...] = ()


def drawn(seed: int, calls: int) -> Iterator[Drawn]:
    """One user's transactions, unsorted items, duplicates and unused items among them, all in few
    districts.
    """
    draw = random.Random(seed)
    for _ in range(calls):
        d, c = draw.randint(1, 2), draw.randint(1, 30)
        items = [draw.randint(1, 40) for _ in range(8)]
        items += [UNUSED_ITEM] if draw.random() < 0.05 else []
        order = Drawn(d, c, tuple(items), tuple(draw.randint(1, 10) for _ in items))
        yield draw.choice([order, Drawn(d, c), Drawn()])
