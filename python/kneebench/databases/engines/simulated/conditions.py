"""The consistency conditions (TPC-C 3.3.2) that a model without rows can answer: those over sums.

It keeps order numbers by district and everything else in total, so conditions 5 to 7, 9, 10 and 12,
which compare single orders, districts or customers, are not asked; 11 holds on a fresh load only.
"""

from __future__ import annotations

from collections.abc import Mapping

from kneebench.records import Check


def judged(ledger: Mapping[str, int]) -> tuple[Check, ...]:
    """Conditions 1, 2, 3, 4 and 8, over all districts at once.

    >>> orders = {"next_order_ids": 3011, "districts": 1, "orders": 3010}
    >>> lines = {"new_orders": 9, "undelivered": 9, "ol_cnt": 5, "order_lines": 5}
    >>> payments = {"w_ytd_cents": 1, "d_ytd_cents": 1, "h_amount_cents": 2}
    >>> [check.name for check in judged(orders | lines | payments) if not check.passed]
    ['condition 8']
    """
    return (
        _equal(1, "sum W_YTD", ledger["w_ytd_cents"], "sum D_YTD", ledger["d_ytd_cents"]),
        _equal(
            2,
            "sum of D_NEXT_O_ID - 1",
            ledger["next_order_ids"] - ledger["districts"],
            "orders",
            ledger["orders"],
        ),
        _equal(
            3,
            "sum of max NO_O_ID - min NO_O_ID + 1",
            ledger["undelivered"],
            "new-orders",
            ledger["new_orders"],
        ),
        _equal(4, "sum O_OL_CNT", ledger["ol_cnt"], "order lines", ledger["order_lines"]),
        _equal(8, "sum W_YTD", ledger["w_ytd_cents"], "sum H_AMOUNT", ledger["h_amount_cents"]),
    )


def _equal(number: int, left: str, left_is: int, right: str, right_is: int) -> Check:
    off = left_is - right_is
    sentence = (
        f"Condition {number} (simulated, in total): {left} is {left_is:,}, {right} {right_is:,};"
        f" off by {off:,} (limit 0)."
    )
    return Check(
        name=f"condition {number}",
        passed=off == 0,
        seen=f"{off:,}",
        limit="0",
        sentence=sentence,
        value=off,
        limit_value=0,
    )
