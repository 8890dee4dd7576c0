"""A warm-up of a round goes on until it has completed as many transactions as on another storage,
or until nothing waits for a user, within reason.
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


@pytest.mark.parametrize(("busy_s", "warm_up_s"), [(0, 1), (1, 2), (3, 4), (100, 6)])
def test_a_fixed_rate_of_rounds_begins_when_its_users_are_free_or_after_some_seconds(
    busy_s: int, warm_up_s: float
) -> None:
    order = ROUND.model_copy(update={"phase": "fixed_rate", "rate_per_s": float(PER_S)})
    server = Formula(busy_s=busy_s)
    rung = measure(order, rungs_of(plan()), server, print, Beginning()).rung
    assert rung.warm_up_s == warm_up_s
    knee = measure(ROUND, rungs_of(plan()), Formula(busy_s=busy_s), print, Beginning()).rung
    assert knee.warm_up_s == 1, "in a closed loop all users are busy"
