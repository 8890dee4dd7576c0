"""The warm-up's end, on series whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest

from kneebench.analysis.steady import mser, settled, trend


def series(
    seed: int, *, seconds: int, scatter: float, missing: float = 0.0, fills_in_s: float = 1.0
) -> list[float]:
    """50,000 New-Orders a minute, of which `missing` are not there at first; autocorrelated as
    seconds are.
    """
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=seconds)
    for i in range(1, seconds):
        noise[i] = 0.3 * noise[i - 1] + np.sqrt(1 - 0.09) * noise[i]
    at_s = np.arange(seconds)
    return list(50_000 * (1 - missing * np.exp(-at_s / fills_in_s)) * (1 + scatter * noise))


def first_steady_s(nopm: list[float], reads: list[float] | None = None) -> int | None:
    """The second at which a warm-up that asks once a second ends."""
    return next(
        (
            s
            for s in range(1, len(nopm) + 1)
            if settled(nopm[:s], reads[:s] if reads else []).steady
        ),
        None,
    )


@pytest.mark.parametrize("scatter", [0.005, 0.03, 0.08])
def test_a_load_that_is_steady_from_the_start_is_called_so_within_15_seconds(
    scatter: float,
) -> None:
    ends = [first_steady_s(series(seed, seconds=60, scatter=scatter)) for seed in range(200)]
    assert np.mean([end is not None and end <= 15 for end in ends]) >= 0.95


@pytest.mark.parametrize("scatter", [0.005, 0.03])
def test_a_load_that_fills_in_ten_seconds_is_not_called_steady_while_6_percent_are_missing(
    scatter: float,
) -> None:
    ends = [
        first_steady_s(series(seed, seconds=120, scatter=scatter, missing=0.5, fills_in_s=10))
        or 120
        for seed in range(200)
    ]
    missing = 0.5 * np.exp(-np.array(ends) / 10)
    assert np.percentile(missing, 90) < 0.06
    assert np.percentile(ends, 95) <= 90


def test_a_straight_rise_that_mser_alone_is_content_with_is_a_drift() -> None:
    rising = [1000.0 + 3 * s + 40 * (s % 2) for s in range(60)]
    found = settled(rising, [])
    assert not found.steady
    assert "drift by +" in found.why


def test_flat_orders_while_the_cache_is_still_filling_are_not_steady() -> None:
    nopm = series(1, seconds=60, scatter=0.01)
    reads = [20_000 * 0.96**s for s in range(60)]
    found = settled(nopm, reads)
    assert not found.steady
    assert "device reads" in found.why


def test_the_course_of_reads_that_take_hardly_any_of_the_users_time_does_not_matter() -> None:
    nopm, fading = series(1, seconds=60, scatter=0.01), [0.9**s for s in range(60)]
    reads = [3000.0 * share for share in fading]
    assert settled(nopm, reads, [0.1 * share for share in fading]).steady
    assert not settled(nopm, reads, [10 * share for share in fading]).steady


def test_a_steady_stretch_as_long_as_the_window_is_enough_however_long_the_way_there() -> None:
    nopm = series(5, seconds=36, scatter=0.01, missing=0.6, fills_in_s=8)
    assert not settled(nopm, []).steady
    assert settled(nopm, [], stretch_s=12).steady


def test_a_run_of_low_seconds_on_a_noisy_machine_is_no_warm_up() -> None:
    """Where the scatter is wide, MSER cuts somewhere by chance: only what goes beyond chance is
    held against the load.
    """
    found = [settled(series(seed, seconds=40, scatter=0.08), []) for seed in range(200)]
    assert sum("became steady only" in one.why for one in found) <= 5
    assert sum(one.steady for one in found) >= 160


def test_a_late_step_is_not_steady_until_the_second_half_is_all_behind_it() -> None:
    slow = series(2, seconds=40, scatter=0.01, missing=0.3, fills_in_s=1e9)
    nopm = slow + series(3, seconds=50, scatter=0.01)
    assert not settled(nopm[:60], []).steady
    assert settled(nopm[:90], []).steady
    assert settled(nopm[:90], []).cut_s == 40


def test_a_stall_in_the_second_half_is_not_steady_although_no_line_drifts_through_it() -> None:
    nopm = series(4, seconds=120, scatter=0.01)
    nopm[82:90] = [x / 4 for x in nopm[82:90]]
    found = settled(nopm, [])
    assert not found.steady
    assert "became steady only after 90 of 120 s" in found.why


def test_nothing_done_is_not_steady() -> None:
    assert settled([0.0] * 30, []).why == "no New-Orders in the last 15 s"


def test_series_of_different_length_are_judged_over_the_shorter() -> None:
    nopm = series(1, seconds=30, scatter=0.01)
    assert settled(nopm, [5000.0] * 9).why.startswith("9 s is too short")


def test_mser_cuts_where_the_start_ends_and_never_into_the_last_quarter() -> None:
    assert mser([0.0] * 20 + [1.0, 1.02] * 40, batch=5) == 20
    assert all(
        mser(list(np.random.default_rng(seed).normal(1, 0.1, 60))) <= 45 for seed in range(100)
    )


def test_the_error_of_a_drift_is_its_scatter_between_repetitions() -> None:
    moves = [trend(list(np.random.default_rng(seed).normal(100, 5, 20))) for seed in range(500)]
    assert np.std([m.share for m in moves]) == pytest.approx(
        np.mean([m.error for m in moves]), rel=0.15
    )
