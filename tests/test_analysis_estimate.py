"""Intervals must cover the truth about as often as they claim: 95 times in 100.

Bounds allow for the number of simulations.
"""

from __future__ import annotations

from math import exp, log

import numpy as np
import pytest
from scipy.special import stdtrit

from kneebench.analysis.estimate import estimate, paired_ratio, scatter, unpaired_ratio
from kneebench.analysis.rounds import rounds_estimate
from kneebench.analysis.wording import known
from kneebench.records import Estimate

TRUTH = 60_000.0


def covers(found: Estimate, truth: float) -> bool:
    return found.low <= truth <= found.high


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_t_on_logs_covers_the_truth_95_times_in_100(n: int) -> None:
    rng = np.random.default_rng(n)
    seen = np.mean(
        [covers(estimate(list(TRUTH * np.exp(rng.normal(0, 0.04, n)))), TRUTH) for _ in range(2000)]
    )
    assert 0.935 <= seen <= 0.965


@pytest.mark.parametrize("n", [3, 5])
def test_t_of_paired_ratios_covers_the_true_ratio_whatever_drifts_between_pairs(n: int) -> None:
    rng = np.random.default_rng(n)
    hits = []
    for _ in range(2000):
        hour = np.exp(rng.normal(0, 0.5, n))
        disk, memory = (
            20_000 * hour * np.exp(rng.normal(0, 0.03, n)),
            50_000 * hour * np.exp(rng.normal(0, 0.03, n)),
        )
        hits.append(covers(paired_ratio(list(memory), list(disk)), 2.5))
    assert 0.935 <= np.mean(hits) <= 0.965


@pytest.mark.parametrize(("of", "to"), [(2, 2), (3, 3), (3, 5), (6, 3), (8, 8)])
def test_the_ratio_of_runs_that_were_not_paired_covers_the_truth_at_least_as_often_as_it_claims(
    of: int, to: int
) -> None:
    rng = np.random.default_rng(of + to)
    runs = [
        (50_000 * np.exp(rng.normal(0, 0.04, of)), 20_000 * np.exp(rng.normal(0, 0.02, to)))
        for _ in range(2000)
    ]
    found = [unpaired_ratio(list(one), list(other)) for one, other in runs]
    assert np.mean([covers(one, 2.5) for one in found]) >= 0.94
    assert {one.n for one in found} == {min(of, to)}
    swapped = unpaired_ratio(list(runs[0][1]), list(runs[0][0]))
    assert swapped.low == pytest.approx(1 / found[0].high)


def test_every_interval_has_the_exact_t_of_its_degrees_of_freedom() -> None:
    for n in range(2, 30):
        logs = [log(1.0 + 0.01 * one) for one in range(n)]
        width = float(stdtrit(n - 1, 0.975)) * float(np.std(logs, ddof=1)) / n**0.5
        between = unpaired_ratio([exp(one) for one in logs], [1.0] * n)
        assert log(between.high / between.value) == pytest.approx(width, rel=1e-9)
        if n < 6:
            assert log(estimate([exp(one) for one in logs]).high) - float(
                np.mean(logs)
            ) == pytest.approx(width, rel=1e-9)


def test_one_run_on_either_side_leaves_the_ratio_of_two_campaigns_open() -> None:
    found = unpaired_ratio([100.0, 101.0, 99.0], [50.0])
    assert (found.n, found.low, found.high) == (1, 0.0, pytest.approx(10.68 * found.value))


@pytest.mark.parametrize(("n", "least"), [(6, 0.905), (12, 0.92), (24, 0.92)])
def test_bca_of_ratios_covers_the_truth_93_to_95_times_in_100(n: int, least: float) -> None:
    """At the plain level it was 85 with 6 runs, 92 with 12: see estimate._bca. 500 simulations are
    sure to 2 in 100.
    """
    rng = np.random.default_rng(n)
    hits = [
        covers(paired_ratio(list(2.5 * np.exp(rng.normal(0, 0.04, n))), [1.0] * n), 2.5)
        for _ in range(500)
    ]
    assert least <= np.mean(hits) <= 0.975


def test_bca_follows_skewed_runs_to_the_longer_side() -> None:
    found = estimate([100.0, 101.0, 100.5, 99.5, 100.2, 99.8, 140.0, 100.1])
    assert log(found.high / found.value) > 1.3 * log(found.value / found.low)
    assert "BCa" in found.method


@pytest.mark.parametrize("mean_in_scatters", [0.5, 0.97, 2.0, 20.0])
def test_one_run_alone_has_an_interval_that_still_covers_and_says_that_it_is_alone(
    mean_in_scatters: float,
) -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(mean_in_scatters, 1.0, 20_000)
    # the formula is for any sign; below 0 a throughput cannot be, so the estimate itself cuts its
    # interval at 0
    assert np.mean(np.abs(values - mean_in_scatters) <= 9.68 * np.abs(values)) >= 0.947
    found = estimate([50_000.0])
    assert (found.low, found.high, found.n) == (0.0, pytest.approx(10.68 * 50_000), 1)
    assert "one run" in found.method
    assert Estimate.model_validate_json(found.model_dump_json()) == found


def test_the_interval_of_a_ratio_is_that_of_its_inverse_turned_round() -> None:
    a, b = [250.0, 262.0, 247.0, 240.0], [100.0, 104.0, 99.0, 101.0]
    there, back = paired_ratio(a, b), paired_ratio(b, a)
    assert there.low == pytest.approx(1 / back.high)
    assert there.value == pytest.approx(1 / back.value)


def test_the_same_runs_always_give_the_same_interval() -> None:
    values = list(np.random.default_rng(5).normal(100, 3, 9))
    assert estimate(values) == estimate(values)


def test_runs_that_all_gave_the_same_have_no_width_and_runs_with_a_zero_no_logarithm() -> None:
    assert estimate([5.0] * 8).high == estimate([5.0] * 3).high == 5.0
    found = estimate([0.0, 4.0, 5.0])
    assert found.low == 0.0
    assert "no logarithm" in found.method


def test_nothing_is_no_estimate_and_unpaired_runs_are_no_ratio() -> None:
    with pytest.raises(ValueError, match="at least one"):
        estimate([])
    with pytest.raises(ValueError, match="pairs"):
        paired_ratio([1.0, 2.0], [1.0])
    with pytest.raises(ValueError, match="positive"):
        paired_ratio([1.0, 0.0], [1.0, 1.0])
    with pytest.raises(ValueError, match="positive"):
        unpaired_ratio([1.0], [])


def test_scatter_is_nearly_the_largest_difference_of_two_runs_of_one_thing() -> None:
    assert scatter([[100.0, 103.0]]) == pytest.approx(0.03)
    assert scatter([[100.0, 103.0], [7.0]]) == pytest.approx(0.03)
    assert scatter([[100.0], []]) == 0.0
    rng = np.random.default_rng(0)
    many = scatter([list(np.exp(rng.normal(0, 0.01, 60))) for _ in range(20)])
    assert many == pytest.approx(exp(1.96 * 0.01 * 2**0.5) - 1, rel=0.05)


def test_two_equal_runs_have_no_interval() -> None:
    for found in (
        estimate([5.0, 5.0]),
        paired_ratio([10.0, 20.0], [2.0, 4.0]),
        unpaired_ratio([10.0, 10.0], [2.0, 2.0]),
        rounds_estimate([[5.0], [5.0]]),
    ):
        assert (found.value, found.low, found.n) == (pytest.approx(5.0), 0.0, 2)
        assert not known(found)
    assert known(unpaired_ratio([10.0, 10.0, 10.0], [2.0, 2.0, 2.0]))
