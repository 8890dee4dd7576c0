"""A warm-up goes on until it has completed as many transactions as on another storage, within
reason.
"""

from __future__ import annotations

import pytest

from kneebench.measurement.measure import measure
from kneebench.measurement.warm_up import Beginning
from kneebench.records import Order, Rung
from tests.formula import Formula
from tests.formula_rungs import plan
from tests.only import rungs_of

ROUND = Order(configuration="disk", phase="final_run", users=8, repeat=1, restore=1)
PER_S = 4000
"""The formula's decks of 100, 40 of them a second."""


def measured(transactions: int) -> Rung:
    return measure(
        ROUND, rungs_of(plan()), Formula(), print, Beginning(transactions=transactions)
    ).rung


@pytest.mark.parametrize(
    ("transactions", "warm_up_s"),
    [(0, 1), (PER_S, 1), (PER_S + 1, 2), (7 * PER_S, 7), (10**9, 3 * (1 + 6 + 1))],
)
def test_a_round_begins_after_as_many_transactions_if_that_does_not_take_for_ever(
    transactions: int, warm_up_s: float
) -> None:
    rung = measured(transactions)
    assert (rung.warm_up_s, rung.discarded) == (warm_up_s, warm_up_s * PER_S)
