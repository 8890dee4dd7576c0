"""Orders as a database has them: what a crash must leave of those that it acknowledged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import inf
from struct import iter_unpack
from typing import Any, NamedTuple

Rows = Sequence[Sequence[Any]]
District = tuple[int, int]
"""Warehouse and district."""
Entry = tuple[int, ...]
"""What identifies an order (src/ledger.rs): warehouse, district, customer, number of lines, sum of
the items, sum of the quantities."""
NEXT_NUMBERS = "SELECT d_w_id, d_id, d_next_o_id FROM {schema}district"
FROM_NUMBER = """
SELECT o_w_id, o_d_id, o_id, o_c_id, o_ol_cnt,
    count(ol_number), coalesce(sum(ol_i_id), 0), coalesce(sum(ol_quantity), 0)
FROM {schema}orders LEFT JOIN {schema}order_line
    ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
WHERE o_id >= {least} GROUP BY o_w_id, o_d_id, o_id, o_c_id, o_ol_cnt"""
NextNumbers = Mapping[District, int]
"""The number of each district's next order."""


class KeptOrder(NamedTuple):
    """An order in the database; `lines`: as its row says, `found`: as there are."""

    warehouse: int
    district: int
    number: int
    customer: int
    lines: int
    found: int
    items: int
    quantities: int

    @property
    def whole(self) -> bool:
        return self.lines == self.found

    @property
    def entry(self) -> Entry:
        """What identifies it in a ledger."""
        place = (self.warehouse, self.district, self.customer)
        return (*place, self.found, self.items, self.quantities)


def next_numbers(rows: Rows) -> NextNumbers:
    """By the rows of NEXT_NUMBERS."""
    return {(int(row[0]), int(row[1])): int(row[2]) for row in rows}


def orders_from(rows: Rows, first: NextNumbers) -> list[KeptOrder]:
    """The orders from these numbers on, by the rows of FROM_NUMBER."""
    kept = (KeptOrder(*map(int, row)) for row in rows)
    return [one for one in kept if one.number >= first.get((one.warehouse, one.district), 0)]


# What a crash left, against the ledger of the load.


class Ledger(NamedTuple):
    """Orders of a load by what identifies them, with their number: acknowledged, and without an
    answer.
    """

    acknowledged: Counter[Entry]
    unknown: Counter[Entry]

    @classmethod
    def read(cls, acknowledged: bytes, unknown: bytes, until_s: float = inf) -> Ledger:
        """As the load generator gives it (_core.pyi). What was acknowledged later than so many
        seconds after go is unknown: at an earlier crash it may have been under way.
        """
        early, late = Counter[Entry](), Counter[Entry](iter_unpack("<6i", unknown))
        for *entry, read_ns in iter_unpack("<6iQ", acknowledged):
            (early if read_ns <= until_s * 1e9 else late)[tuple(entry)] += 1
        return cls(early, late)


class OrdersLeft(NamedTuple):
    """What a crash left of a load's orders.

    `lost`: acknowledged, and not in the database as a whole; `holes`: numbers of orders that a
    district has given and has no order for; `committed`: of those without an answer; `unsent`: in
    the database, and sent by nobody.
    """

    lost: int
    holes: int
    committed: int
    unsent: int


def left_of(
    ledger: Ledger, kept: Iterable[KeptOrder], first: NextNumbers, following: NextNumbers
) -> OrdersLeft:
    """Compare the orders that a database has from its numbers before the load on with the ledger.

    >>> sent = [(1, 1, 7, 5, 20, 9), (1, 1, 8, 6, 30, 9), (1, 1, 9, 5, 40, 9)]
    >>> ledger = Ledger(Counter(sent[:2]), Counter(sent[2:]))
    >>> kept = [KeptOrder(1, 1, 3001, 7, 5, 5, 20, 9), KeptOrder(1, 1, 3003, 9, 5, 5, 40, 9)]
    >>> left_of(ledger, kept, {(1, 1): 3001}, {(1, 1): 3004})
    OrdersLeft(lost=1, holes=1, committed=1, unsent=0)
    """
    kept = list(kept)
    found = Counter(one.entry for one in kept if one.whole)
    lost = (ledger.acknowledged - found).total()
    others = found - ledger.acknowledged
    committed = (others & ledger.unknown).total()
    given = sum(following.values()) - sum(first.values())
    numbers = {(one.warehouse, one.district, one.number) for one in kept}
    within = sum(
        number < following.get((place, district), 0) for place, district, number in numbers
    )
    return OrdersLeft(lost, given - within, committed, (others - ledger.unknown).total())
