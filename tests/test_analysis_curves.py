"""Elasticity on curves that are known."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from kneebench.analysis.elasticity import between, elasticity
from kneebench.records import Order
from tests.curves import Usl, rung


def at(users: int, throughput_per_s: float, **quantities: float):
    return rung(
        Order(configuration="a", phase="search", users=users), throughput_per_s, **quantities
    )


def test_the_elasticity_of_a_power_law_is_its_exponent() -> None:
    for exponent in (1.0, 0.5, 0.07, 0.0, -0.4):
        assert between(8, 100 * 8**exponent, 12, 100 * 12**exponent) == pytest.approx(exponent)


def test_elasticity_of_rungs_counts_all_transactions() -> None:
    assert elasticity(at(16, 1000), at(32, 1414)) == pytest.approx(0.5, abs=1e-3)


def test_throughput_gain_per_latency_gain_is_e_over_one_minus_e() -> None:
    """In a closed loop latency is users / throughput, so this follows from the definition."""
    n, x = (10.0, 20.0), (1000.0, 1300.0)
    e = between(n[0], x[0], n[1], x[1])
    r = (n[0] / x[0], n[1] / x[1])
    assert np.log(x[1] / x[0]) / np.log(r[1] / r[0]) == pytest.approx(e / (1 - e))


def test_elasticity_of_a_usl_curve_is_one_for_lone_users_and_zero_at_the_peak() -> None:
    curve = Usl(100.0, 0.02, 0.0001)
    peak = curve.peak_users
    near = [
        (n, curve.throughput_per_s(n), n * 1.001, curve.throughput_per_s(n * 1.001))
        for n in (0.001, peak)
    ]
    assert between(*near[0]) == pytest.approx(1.0, abs=0.03)
    assert between(*near[1]) == pytest.approx(0.0, abs=1e-3)


def test_a_rung_that_did_nothing_is_infinitely_far_and_equal_users_have_no_elasticity() -> None:
    assert elasticity(at(2, 0), at(4, 100)) == inf
    assert elasticity(at(2, 100), at(4, 0)) == -inf
    with pytest.raises(ValueError, match="4 users"):
        elasticity(at(4, 1), at(4, 2))
