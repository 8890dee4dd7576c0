"""Change points on simulated series: none where nothing changed, and found where something did."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kneebench.analysis.change_points import FEWEST, change_points, outliers
from kneebench.records import Estimate
from tests.trends_simulated import (
    FLOOR,
    alone_share,
    false_alarms,
    false_share,
    found_share,
    series,
)

Seeds = Callable[[int], range]


@pytest.mark.parametrize("tails", ["normal", "heavy"])
@pytest.mark.parametrize("nights", [5, 8, 15, 30, 60])
def test_without_a_change_hardly_any_series_has_one_marked(
    nights: int, tails: str, seeds: Seeds
) -> None:
    found = seeds(800)
    assert false_share(found, nights, tails) <= 0.02 + 1 / len(found)


def test_a_job_that_looks_every_night_has_few_false_alarms(seeds: Seeds) -> None:
    assert false_alarms(seeds(160), 60) <= 0.15


@pytest.mark.parametrize(
    ("ratio", "nights", "after", "share"),
    [(0.9, 15, 3, 0.85), (0.9, 30, 3, 0.95), (1.1, 30, 7, 0.95), (0.95, 30, 7, 0.6)],
)
def test_a_change_of_several_times_the_scatter_is_found_after_a_few_nights(
    ratio: float, nights: int, after: int, share: float, seeds: Seeds
) -> None:
    assert found_share(seeds(160), nights, ratio, after) >= share


def test_a_bad_week_is_two_changes_there_and_back() -> None:
    changes = [(20, 0.9), (27, 1 / 0.9)]
    found = [
        [one.place for one in change_points(series(seed, 40, changes), FLOOR)] for seed in range(40)
    ]
    assert sum(places == [20, 27] for places in found) >= 30


def test_a_change_within_the_noise_floor_of_the_machine_is_none() -> None:
    whole = series(1, 40, [(20, 0.9)])
    assert [one.place for one in change_points(whole, FLOOR)] == [20]
    assert change_points(whole, 0.2) == ()


def test_a_change_within_the_campaigns_own_intervals_is_none() -> None:
    steps = [100.0] * 5 + [90.0] * 5
    sharp = [Estimate(value=one, low=one * 0.99, high=one / 0.99, n=6) for one in steps]
    wide = [Estimate(value=one, low=one * 0.7, high=one / 0.7, n=6) for one in steps]
    assert [one.place for one in change_points(sharp, FLOOR)] == [5]
    assert change_points(wide, FLOOR) == ()


def test_one_bad_night_is_outlying_and_no_change_wherever_it_is() -> None:
    for place in range(12):
        whole = series(3, 12)
        bad = whole[place]
        whole[place] = bad.model_copy(
            update={"value": bad.value / 2, "low": bad.low / 2, "high": bad.high / 2}
        )
        assert change_points(whole, FLOOR) == ()
        assert outliers(whole, FLOOR)[0].place in (0, place)
        assert place in [one.place for one in outliers(whole, FLOOR)]


def test_the_last_night_is_outlying_where_it_was_bad_and_hardly_ever_otherwise(
    seeds: Seeds,
) -> None:
    found = seeds(400)
    for tails in ("normal", "heavy"):
        assert alone_share(found, 12, tails=tails) <= 0.01 + 1 / len(found)
    assert alone_share(found, 15, 0.85) >= 0.85
    step = series(1, 20, [(10, 0.9)])
    assert outliers(step, FLOOR) == outliers(step[:3], FLOOR) == outliers([], FLOOR) == ()


@pytest.mark.parametrize("back", [1, 2, 3])
def test_a_good_night_after_bad_ones_does_not_hide_the_change(back: int, seeds: Seeds) -> None:
    """Four nights, four that are a fifth lower, then some as before."""
    found = [
        change_points(series(seed, 8 + back, [(4, 0.8), (8, 1.25)]), FLOOR) for seed in seeds(100)
    ]
    assert sum(4 in [one.place for one in some] for some in found) >= 0.9 * len(found)
    both = [some for some in found if len(some) == 2]
    assert len(both) >= (0 if back == 1 else 0.9 * len(found))
    assert all(one.last == one.place - 1 for some in found for one in some if one.place == 4)


def test_a_change_behind_a_bad_night_follows_the_level_before_it(seeds: Seeds) -> None:
    found = [change_points(series(seed, 14, [(8, 0.75), (9, 1.2)]), FLOOR) for seed in seeds(20)]
    right = [
        some[0].ratio.value == pytest.approx(0.9, rel=0.05)
        for some in found
        if [(one.place, one.last) for one in some] == [(9, 7)]
    ]
    assert sum(right) >= 0.9 * len(found)


def test_fewer_campaigns_than_can_show_a_change_show_none() -> None:
    whole = [Estimate(value=one, low=one, high=one, n=3) for one in (100.0, 100.0, 50.0, 50.0)]
    assert len(whole) < FEWEST
    assert change_points(whole) == change_points([]) == ()


def test_equal_values_and_an_exact_step_are_no_error() -> None:
    level = Estimate(value=100.0, low=100.0, high=100.0, n=3)
    half = Estimate(value=50.0, low=50.0, high=50.0, n=3)
    assert change_points([level] * 6, FLOOR) == ()
    (found,) = change_points([*[level] * 3, *[half] * 3], FLOOR)
    assert (found.place, round(found.ratio.value, 6)) == (3, 0.5)


def test_the_interval_of_a_change_contains_the_true_ratio_as_often_as_it_says(
    seeds: Seeds,
) -> None:
    held = [
        one.ratio.low <= 0.85 <= one.ratio.high
        for seed in seeds(400)
        for one in change_points(series(seed, 40, [(20, 0.85)]), FLOOR)
    ]
    assert len(held) >= len(seeds(400))
    assert 0.88 <= sum(held) / len(held) <= 0.99
