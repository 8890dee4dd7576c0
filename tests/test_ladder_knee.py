"""The knee repeats: what docs/method/climb.md claims of whole climbs with a known knee."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import pytest

from kneebench.analysis.confirmation import confirmed
from kneebench.analysis.knee import confirmed_knee
from kneebench.analysis.knee_fit import fit_knee
from kneebench.ladder.narrowing import MOST_RUNGS
from kneebench.records import Climb, Configuration, Order, Phase, Rung
from tests.curves import rung
from tests.knees_simulated import LIMIT, NOISES, Storage

Seeds = Callable[[int], range]
SHAPES = ("soft (USL)", "one full resource", "shared flushes", "thrashing")
COUNT = 24


@cache
def storages(shape: str, noise: float, seeds: range, first: int = 2) -> tuple[Storage, ...]:
    """Each climbed three times."""
    return tuple(Storage(shape, noise, seed, 3, first) for seed in seeds)


def at_least(share: float, found: list[bool]) -> bool:
    """So many are true, but for the chance of so few climbs."""
    return bool(np.mean(found) >= share - 2.5 * (share * (1 - share) / len(found)) ** 0.5)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("shape", SHAPES)
def test_throughput_at_the_knee_is_within_5_percent_of_the_truth_19_times_in_20(
    shape: str, noise: float, seeds: Seeds
) -> None:
    found = storages(shape, noise, seeds(COUNT))
    assert at_least(0.95, [right for one in found for right in one.right])


@pytest.mark.parametrize(("noise", "fitted", "share"), [(0.01, 0.7, 0.98), (0.03, 0.7, 0.95)])
def test_candidates_in_turn_find_a_peak_that_no_curve_has(
    noise: float, fitted: float, share: float, seeds: Seeds
) -> None:
    found = storages("peak at the cores", noise, seeds(COUNT))
    assert np.mean([one for it in found for one in it.within(it.fitted)]) < fitted
    assert at_least(share, [one for it in found for one in it.within(it.knees)])


def test_candidates_cost_nothing_where_none_is_better(seeds: Seeds) -> None:
    found = storages("thrashing", 0.01, seeds(COUNT))
    assert np.mean([n for one in found for n in one.turns]) < 0.5


@pytest.mark.parametrize("shape", SHAPES)
def test_a_climb_that_starts_above_its_knee_finds_it_as_well(shape: str, seeds: Seeds) -> None:
    found = storages(shape, 0.03, seeds(COUNT), first=16)
    assert at_least(0.95, [right for one in found for right in one.right])
    assert at_least(0.97, [steps <= 1 for one in found for steps in one.apart])


@pytest.mark.parametrize(("noise", "share"), [(0.01, 0.96), (0.03, 0.96), (0.10, 0.80)])
@pytest.mark.parametrize("shape", SHAPES)
def test_knees_of_two_climbs_are_the_same_step_or_the_next(
    shape: str, noise: float, share: float, seeds: Seeds
) -> None:
    found = storages(shape, noise, seeds(COUNT))
    assert at_least(share, [steps <= 1 for one in found for steps in one.apart])


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_interval_of_users_contains_the_true_knee_19_times_in_20(
    shape: str, noise: float, seeds: Seeds
) -> None:
    found = storages(shape, noise, seeds(COUNT))
    assert at_least(0.95, [covered for one in found for covered in one.covered])
    widths = [high / low for one in found for low, high in one.intervals]
    assert np.median(widths) <= {0.01: 2.4, 0.03: 3.5, 0.10: 5.2}[noise]


@pytest.mark.parametrize(("noise", "mean"), [(0.01, 1.6), (0.03, 2.0), (0.10, 3.8)])
@pytest.mark.parametrize("shape", SHAPES)
def test_narrowing_down_the_knee_takes_few_rungs_and_never_more_than_four(
    shape: str, noise: float, mean: float, seeds: Seeds
) -> None:
    found = [n for one in storages(shape, noise, seeds(COUNT)) for n in one.narrowing]
    assert max(found) <= MOST_RUNGS
    assert np.mean(found) <= mean


# --- the fit --------------------------------------------------------------------------------------


def rungs(*points: tuple[int, float], phase: Phase = "search") -> list[Rung]:
    return [rung(Order(configuration="disk", phase=phase, users=n), x) for n, x in points]


def test_growth_that_the_last_rungs_still_show_is_likely_to_continue() -> None:
    rising = fit_knee(rungs((2, 200), (3, 300), (5, 500), (8, 800)), LIMIT)
    assert rising is not None and rising.grows > 0.9 and rising.users == 8
    flat = fit_knee(rungs((2, 800), (3, 800), (5, 800), (8, 800)), LIMIT)
    assert flat is not None and flat.grows < 0.1 and flat.lowest > 0.95 and flat.users == 2


def test_rungs_that_did_nothing_or_are_too_few_have_no_knee() -> None:
    assert fit_knee(rungs((2, 100.0), (3, 0.0)), LIMIT) is None
    assert fit_knee(rungs((4, 100.0), (4, 101.0)), LIMIT) is None


def test_one_noisy_rung_does_not_move_the_knee_which_its_neighbours_show() -> None:
    rising = ((2, 200), (3, 300), (5, 500), (8, 800), (12, 1200))
    for eighteen in (1050, 1200, 1350):
        found = fit_knee(rungs(*rising, (18, eighteen), (27, 1200), (41, 1190)), LIMIT)
        assert found is not None and found.users in (12, 18)


def test_halfway_rungs_make_the_knee_more_certain_and_are_never_it() -> None:
    search = rungs((2, 210), (3, 280), (5, 540), (8, 760), (12, 960), (18, 1060), (27, 980))
    alone = fit_knee(search, LIMIT)
    both = fit_knee([*search, *rungs((10, 900), (15, 1000), phase="bisection")], LIMIT)
    assert alone is not None and both is not None
    assert both.users in (12, 18) and both.wrong < alone.wrong


# --- the confirmed knee ---------------------------------------------------------------------------


def turns(**per_s: Sequence[float]) -> list[Rung]:
    """Candidates by "at" and their users, the fitted knee first, in as many turns as they have."""
    most = max(map(len, per_s.values()))
    return [
        one
        for turn in range(most)
        for name, values in per_s.items()
        if turn < len(values)
        for one in rungs((int(name[2:]), values[turn]), phase="confirmation")
    ]


def test_fewer_users_that_did_better_in_turn_are_the_knee() -> None:
    found = confirmed(turns(at3=(90, 92, 91, 90, 92), at2=(100, 99, 101, 100, 98)))
    assert found is not None
    assert (found.users, found.others, found.turns) == (2, (3,), 5)
    assert found.at_least == 1.0
    assert found.sentence == "Confirmed in up to 5 turns with 3 users: none did better."


def test_more_users_must_be_clearly_better() -> None:
    noisy = confirmed(turns(at8=(100, 110, 90, 105, 95), at12=(102, 112, 92, 107, 97)))
    better = confirmed(turns(at8=(100, 101, 99, 100, 100), at12=(104, 105, 103, 104, 104)))
    assert noisy is not None and noisy.users == 8
    assert 0.85 < noisy.at_least < 0.95
    assert better is not None and better.users == 12


def test_of_several_better_candidates_the_fewest_users_near_the_best_are_the_knee() -> None:
    found = confirmed(
        turns(at8=(90, 91, 90, 89, 90), at12=(100, 99, 100, 100, 101), at18=(101, 100, 101))
    )
    assert found is not None and (found.users, found.others) == (12, (8, 18))
    assert found.sentence == (
        "Confirmed in up to 5 turns with 8 and 18 users: at least"
        f" {int(100 * found.at_least)}% of the best candidate."
    )


def test_turns_with_an_invalid_rung_or_of_one_candidate_confirm_nothing() -> None:
    whole = turns(at3=(90, 92), at2=(100, 99))
    invalid = rung(whole[-1].order, 100, invalid="other processes")
    assert confirmed(whole) is not None
    assert confirmed([*whole[:-1], invalid]) is None
    assert confirmed(turns(at3=(90, 92))) is None
    assert confirmed(turns(at3=(90, 92), at2=(100,))) is None


def test_a_knee_that_stepped_down_after_the_turns_is_not_called_confirmed() -> None:
    took = turns(at12=(100, 101, 99), at8=(90, 91, 90))
    climb = Climb(
        configuration=Configuration(id="a", storage="a"), rungs=tuple(took), knee_users=12
    )
    assert confirmed_knee(climb) == confirmed(took) is not None
    assert confirmed_knee(climb.model_copy(update={"knee_users": 8})) is None
