"""Whether preconditioned drives are still steady, on runs whose truth is known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from kneebench.analysis.still_steady import StillSteady, line, still_steady
from kneebench.brief import Brief
from kneebench.records import CountedDevice, Preconditioned, Results, Rung, Summary
from tests.recordings import (
    metered,
    recorded,
    section,
    with_campaign,
    with_order,
    with_rungs,
    with_tally,
)
from tests.remarks import invalid

AWAIT_S, WRITES_PER_S, WINDOW_S = 0.004, 400.0, 60.0
DRIVES, REPEATS = 4, 8
SEEDS = range(40)
DOUBLES = np.linspace(1, 2, REPEATS)[:, None]
"""The await of a drive that halves in speed, from the first run to the last."""

Awaits = np.ndarray
"""By run and drive, in seconds."""


def run_of(like: Rung, repeat: int, prefix: str, awaits_s: Sequence[float]) -> Rung:
    """A final run in which each drive wrote at the same rate with its await."""
    names = [f"{prefix}{n}" for n in range(len(awaits_s))]
    measured = {
        "device.writes": [WRITES_PER_S] * len(names),
        "device.write_time": [WRITES_PER_S * s for s in awaits_s],
        "device.busy": [0.5] * len(names),
    }
    quantities = {
        name: Summary(
            unit="", value=sum(values), high=None, sources=dict(zip(names, values, strict=True))
        )
        for name, values in measured.items()
    }
    changes = {
        "quantities": quantities,
        "devices": tuple(
            CountedDevice(name=name, drive=f"id-{name}", directories=(0,)) for name in names
        ),
        "started_at": f"2026-01-01T{repeat:02}:00:00+00:00",
        "remarks": (),
    }
    made = with_tally(like.model_copy(update=changes), window_s=WINDOW_S)
    return with_order(made, repeat=repeat)


def campaign(
    awaits: Awaits, other: Awaits | None = None, change: Callable[[Rung], Rung] = lambda run: run
) -> Results:
    """A storage of preconditioned drives, whose runs are changed, and another storage beside it."""
    results = recorded()
    storages = [(awaits, "sd"), (np.empty((0, 0)) if other is None else other, "vd")]
    for number, (storage, prefix) in enumerate(storages):
        like = results.climbs[number].of("final_run")[0]
        runs = [run_of(like, n, prefix, list(each)) for n, each in enumerate(storage, start=1)]
        runs = runs if number else list(map(change, runs))
        results = with_rungs(results, number, tuple(runs))
    done = tuple(
        Preconditioned(device=f"/dev/sd{n}", drive=f"id-sd{n}", how="sequential 1")
        for n in range(awaits.shape[1])
    )
    return with_campaign(results, preconditioned=done)


def steady(seed: int, noise: float = 0.1, repeats: int = REPEATS, drives: int = DRIVES) -> Awaits:
    """Drives with noise; half of its variance is common to all of them."""
    rng = np.random.default_rng(seed)
    shared, own = rng.normal(size=(repeats, 1)), rng.normal(size=(repeats, drives))
    made: Awaits = AWAIT_S * np.exp(noise * (shared + own) / np.sqrt(2))
    return made


def answer(results: Results) -> StillSteady:
    [found] = still_steady(results)
    return found


def answers(made: Callable[[int], Results]) -> dict[str, int]:
    """How often each answer is given, over the seeds."""
    return dict(Counter(answer(made(seed)).answer for seed in SEEDS))


# --- the line -------------------------------------------------------------------------------------


def test_a_line_moves_as_far_as_the_values_and_is_certain_only_without_noise() -> None:
    exact = line([2.0, 4.0, 8.0, 16.0])
    assert exact.move == pytest.approx(np.log(8))
    assert (exact.error, exact.freedom) == (pytest.approx(0, abs=1e-9), 2)
    assert exact.is_beyond()
    assert not line([2.0, 4.0]).is_beyond()
    assert not line([2.0, 4.0]).is_within
    noisy = line([4.0, 8.0, 3.0, 9.0, 5.0])
    assert not noisy.is_beyond()
    assert not noisy.is_within


# --- drives whose truth is known ------------------------------------------------------------------


def test_steady_drives_are_called_steady_with_little_noise_and_never_the_opposite_with_much() -> (
    None
):
    assert answers(lambda seed: campaign(steady(seed, 0.02), steady(seed + 500, 0.02))) == {
        "still steady": len(SEEDS)
    }
    for noise in (0.1, 0.3):
        found = answers(lambda s, n=noise: campaign(steady(s, n), steady(s + 500, n)))
        assert "no longer steady" not in found
        assert found["cannot say"] > 0.9 * len(SEEDS)


def test_drives_that_halve_in_speed_are_called_no_longer_steady() -> None:
    found = answers(lambda seed: campaign(steady(seed, 0.05) * DOUBLES, steady(seed + 500, 0.05)))
    assert found == {"no longer steady": len(SEEDS)}


def test_one_drive_of_four_that_halves_in_speed_is_called_by_its_name() -> None:
    awaits = steady(1, 0.03)
    awaits[:, 2:3] *= DOUBLES
    found = answer(campaign(awaits))
    assert found.answer == "no longer steady"
    assert "no longer steady: write await of sd2 rose from" in found.sentence


def test_a_machine_that_slows_down_all_storages_alike_is_not_called_wear() -> None:
    found = answer(campaign(steady(1, 0.03) * DOUBLES, steady(2, 0.03) * DOUBLES))
    assert found.answer == "cannot say"
    assert found.sentence.endswith(", but not beyond the noise relative to another storage.")
    alone = answer(campaign(steady(1, 0.03) * DOUBLES))
    assert alone.answer == "cannot say"
    assert alone.sentence.endswith(", but no other storage shows whether the machine changed.")


def test_a_busy_machine_whose_speed_wanders_gives_no_false_alarm() -> None:
    def wandering(seed: int) -> Results:
        steps = np.random.default_rng(seed + 900).normal(size=(REPEATS, 1))
        walk = np.exp(0.2 * np.cumsum(steps, axis=0))
        return campaign(steady(seed) * walk, steady(seed + 500) * walk)

    assert "no longer steady" not in answers(wandering)


def test_one_drive_in_most_drives_does_not_speak_for_the_volume() -> None:
    awaits = steady(3, 0.02)
    awaits[:, 0:1] *= DOUBLES**4
    found = answer(campaign(awaits, steady(4, 0.02)))
    assert "write await of sd0 rose" in found.sentence


def test_one_drive_among_drives_that_differ_as_much_by_chance_is_not_called() -> None:
    awaits = steady(1, 0.01)
    awaits[:, 0:1] *= DOUBLES
    assert answer(campaign(awaits)).answer == "no longer steady"

    def beside_noise(seed: int) -> Results:
        return campaign(np.hstack([awaits[:, :1], steady(seed, 2.0)[:, 1:]]))

    assert answers(beside_noise) == {"cannot say": len(SEEDS)}


def test_none_of_many_steady_drives_is_called_by_chance() -> None:
    found = answers(lambda seed: campaign(steady(seed, 0.3, repeats=5, drives=24)))
    assert found == {"cannot say": len(SEEDS)}


def test_a_rising_await_of_a_rising_write_load_is_not_called_wear() -> None:
    def busier(run: Rung) -> Rung:
        factor = float(DOUBLES[run.order.repeat - 1, 0])
        more = {
            name: one.model_copy(
                update={"sources": {d: factor * value for d, value in one.sources.items()}}
            )
            for name, one in run.quantities.items()
            if name != "device.busy"
        }
        return run.model_copy(update={"quantities": {**run.quantities, **more}})

    found = answer(campaign(steady(1, 0.02) * DOUBLES, steady(2, 0.02), busier))
    assert found.answer == "cannot say"
    assert found.sentence.endswith(", but the writes per second moved with it.")


# --- runs that cannot say -------------------------------------------------------------------------


def test_fewer_than_five_runs_cannot_say_and_neither_can_those_of_one_restore() -> None:
    assert answer(campaign(steady(1, repeats=4))).sentence == (
        "disk: cannot say whether the drives are still steady (4 usable final runs on 4 restores,"
        " at least 5 on 2 are required)."
    )
    one = answer(campaign(steady(1), None, lambda run: with_order(run, restore=1)))
    assert "(8 usable final runs on 1 restore," in one.sentence


def test_invalid_and_disturbed_runs_are_left_out() -> None:
    def disturbed(run: Rung) -> Rung:
        others = 0.5 if run.order.repeat > 5 else 0.0
        stalled = "stalled" if run.order.repeat == 1 else ""
        return metered(invalid(run, stalled), database__others=others)

    found = answer(campaign(steady(1, 0.01), None, disturbed))
    assert found.answer == "cannot say"
    assert "(4 usable final runs on 4 restores, " in found.sentence
    assert "; 4 were invalid or disturbed)." in found.sentence


def test_drives_that_were_replaced_on_the_way_cannot_say() -> None:
    def replaced(run: Rung) -> Rung:
        other = tuple(one.model_copy(update={"drive": f"new-{one.name}"}) for one in run.devices)
        return run.model_copy(update={"devices": other}) if run.order.repeat > 6 else run

    assert "(its drives changed)" in answer(campaign(steady(1), None, replaced)).sentence


def test_drives_without_a_lasting_name_are_known_by_their_device() -> None:
    def nameless(run: Rung) -> Rung:
        devices = tuple(one.model_copy(update={"drive": ""}) for one in run.devices)
        return run.model_copy(update={"devices": devices})

    assert answer(campaign(steady(1, 0.01), None, nameless)).answer == "still steady"


def test_only_storages_with_preconditioned_drives_have_an_answer() -> None:
    results = campaign(steady(1), steady(2))
    assert [one.configuration for one in still_steady(results)] == [
        results.climbs[0].configuration.id
    ]
    old = campaign(steady(1), None, lambda run: run.model_copy(update={"devices": ()}))
    assert list(still_steady(old)) == [], "which drives a volume had is unknown"
    assert list(still_steady(with_campaign(results, preconditioned=()))) == []
    assert list(still_steady(recorded())) == []


# --- the brief ------------------------------------------------------------------------------------


def test_the_brief_says_it_after_the_preconditioning_and_the_json_has_the_answer() -> None:
    brief = Brief(campaign(steady(1, 0.05) * DOUBLES, steady(2, 0.05)))
    said = section(brief, "preconditioning").sentences
    at = next(n for n, sentence in enumerate(said) if "preconditioned (sequential 1)" in sentence)
    assert said[at + 1].startswith(
        "disk: no longer steady: write await of sd0, sd1, sd2 and sd3 rose from"
    )
    assert said[at + 1].endswith("over 8 runs at 4 users (means of the first and the last half).")
    assert brief.document()["still_steady"] == [
        {
            "configuration": "disk",
            "volume": "disk",
            "answer": "no longer steady",
            "sentence": said[at + 1],
        }
    ]
