"""Final runs in rounds: intervals from rounds grouped by restore, and the rule that ends them.

The claims of docs/method/rounds.md are checked on simulated campaigns (tests/rounds_simulated.py).
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kneebench.analysis.final_estimates import Wanted, ended_by
from kneebench.analysis.rounds import (
    half_width,
    independent_rounds,
    rounds_estimate,
    rounds_ratio,
)
from tests.rounds_simulated import NOISES, PRECISION, REPEATS, Noise, at_the_fixed_rate, campaign

Seeds = Callable[[int], range]
WANTED = Wanted(PRECISION, *REPEATS)
RESTORES = st.lists(
    st.lists(st.floats(1.0, 1e6), min_size=1, max_size=6), min_size=1, max_size=8
).filter(lambda restores: sum(map(len, restores)) > 1)


# --- coverage, by simulation ----------------------------------------------------------------------


def least_covered(count: int) -> float:
    """94%, less what so many campaigns scatter by."""
    return 0.94 - 2.5 * sqrt(0.94 * 0.06 / count)


@pytest.mark.parametrize("every", [2, 4, 6])
@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: noise.called)
def test_the_interval_at_which_rounds_stop_covers_the_ratio_94_times_in_100(
    noise: Noise, every: int, seeds: Seeds
) -> None:
    ended = [campaign(noise, every, seed) for seed in seeds(160)]
    assert np.mean([one.ratio_covered for one in ended]) >= least_covered(len(ended))
    if not noise.stalls:
        assert np.mean([one.nopm_covered for one in ended]) >= least_covered(len(ended))


@pytest.mark.parametrize(("noise", "most"), [(NOISES[0], 11), (NOISES[1], 12), (NOISES[2], 24)])
def test_little_noise_needs_few_rounds_to_be_precise(noise: Noise, most: int, seeds: Seeds) -> None:
    ended = [campaign(noise, 4, seed) for seed in seeds(160)]
    assert np.mean([one.rounds for one in ended]) <= most
    assert np.mean([one.half_width <= PRECISION for one in ended]) >= 0.8


def test_half_of_the_campaigns_with_rare_long_stalls_see_none_and_miss_their_nopm(
    seeds: Seeds,
) -> None:
    """A limit of the method: no interval knows of what was not measured."""
    stalls = next(noise for noise in NOISES if noise.stalls)
    ended = [campaign(stalls, 4, seed) for seed in seeds(160)]
    assert 0.6 <= np.mean([one.nopm_covered for one in ended]) <= 0.9


@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: noise.called)
def test_the_interval_of_the_few_rounds_at_the_fixed_rate_covers_the_ratio_too(
    noise: Noise, seeds: Seeds
) -> None:
    covered = [
        ratio.low <= 1 <= ratio.high
        for seed in seeds(160)
        for ratio in [at_the_fixed_rate(noise, 12, seed)]
    ]
    assert np.mean(covered) >= least_covered(len(covered))


def test_values_that_are_rounds_apart_count_for_more_than_neighbours() -> None:
    values = [1.0, 1.1, 1.05, 0.95, 1.0, 1.1, 0.9, 1.0]
    assert independent_rounds(values, 1.8) > 1.2 * independent_rounds(values)


# --- the interval ---------------------------------------------------------------------------------


def test_restores_that_differ_more_than_their_rounds_widen_the_interval() -> None:
    alike = rounds_estimate([[99.0, 101.0, 100.0, 102.0]] * 4)
    differ = rounds_estimate([[f * v for v in (99, 101, 100, 102)] for f in (0.9, 1.1, 0.95, 1.05)])
    assert half_width(differ) > 5 * half_width(alike)


def test_one_restore_alone_says_that_others_are_unknown_and_is_never_precise() -> None:
    rounds = [100.0, 101.0, 99.0, 100.0] * 7
    assert rounds_estimate([rounds]).method.endswith(
        "28 rounds on one restore: how restores differ is unknown"
    )
    assert ended_by([rounds], WANTED) == ""
    assert ended_by([rounds + rounds[:2]], WANTED) == "repeats"


def test_slow_noise_counts_as_fewer_rounds_and_alternating_noise_as_all_of_them() -> None:
    assert independent_rounds([1.0, 1.1] * 8) == 16
    assert independent_rounds([1.0] * 8 + [1.1] * 8) == 4
    rng = np.random.default_rng(1)
    assert 8 <= independent_rounds(rng.normal(size=30).tolist()) <= 30


def test_drift_common_to_both_configurations_is_not_in_their_ratio() -> None:
    drift = [[100.0, 110.0, 120.0, 130.0], [140.0, 150.0, 160.0, 170.0]]
    ratio = rounds_ratio([[2 * v for v in rounds] for rounds in drift], drift)
    assert (ratio.low, ratio.value, ratio.high) == pytest.approx((2.0, 2.0, 2.0))
    assert ratio.n == 8 and ratio.method.endswith("8 rounds on 2 restores, of paired ratios")


def test_a_round_that_did_nothing_leaves_a_mean_with_an_interval_from_0() -> None:
    found = rounds_estimate([[100.0, 0.0], [100.0, 100.0]])
    assert (found.value, found.low) == (75.0, 0.0)
    assert "a value of 0 has no logarithm" in found.method
    assert ended_by([[100.0, 0.0]] * 8, WANTED) == ""


def test_one_round_alone_has_the_interval_of_a_single_value_and_none_is_an_error() -> None:
    assert (rounds_estimate([[100.0]]).low, rounds_estimate([[100.0], []]).high) == (0.0, 1068.0)
    with pytest.raises(ValueError, match="at least one value"):
        rounds_estimate([[]])


@pytest.mark.parametrize(
    ("of", "to"), [([[1.0]], [[1.0, 2.0]]), ([[1.0, 0.0]], [[1.0, 2.0]]), ([], [])]
)
def test_a_ratio_of_rounds_that_are_no_pairs_is_refused(
    of: list[list[float]], to: list[list[float]]
) -> None:
    with pytest.raises(ValueError, match="pairs of positive values"):
        rounds_ratio(of, to)


@given(restores=RESTORES, factor=st.floats(0.01, 100.0))
def test_the_interval_contains_its_value_and_scales_with_it(
    restores: list[list[float]], factor: float
) -> None:
    found = rounds_estimate(restores)
    scaled = rounds_estimate([[factor * v for v in rounds] for rounds in restores])
    assert found.low <= found.value * (1 + 1e-9) and found.value <= found.high * (1 + 1e-9)
    assert scaled.value == pytest.approx(factor * found.value)
    assert half_width(scaled) == pytest.approx(half_width(found), rel=1e-3, abs=1e-6)


# --- the rule that ends the rounds ----------------------------------------------------------------


def test_rounds_continue_until_the_least_number_even_if_they_are_precise() -> None:
    alike = [[1.0, 1.01, 0.99, 1.0]] * 3
    assert ended_by(alike, Wanted(PRECISION, 13, 30)) == ""
    assert ended_by(alike, Wanted(PRECISION, 12, 30)) == "precision"


def test_the_most_repeats_end_the_rounds_unless_the_last_one_made_the_ratio_precise() -> None:
    alike, apart = [[1.0, 1.01, 0.99, 1.0]] * 3, [[1.0, 2.0, 0.5, 1.0]] * 3
    assert ended_by(alike, Wanted(PRECISION, 5, 12)) == "precision"
    assert ended_by(apart, Wanted(PRECISION, 5, 12)) == "repeats"
    assert ended_by(apart, Wanted(PRECISION, 5, 13)) == ""
