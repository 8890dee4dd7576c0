"""A storage that becomes faster or slower over the rounds: when that is said, and how."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from math import exp

import numpy as np
import pytest

from kneebench.analysis.answers import caveats
from kneebench.analysis.course import Course, course, cpu_speeds, speed_correlation
from kneebench.analysis.headline import finding_line
from kneebench.brief import Brief
from kneebench.records import Climb, Configuration, Order, Results, Rung
from tests.curves import rung
from tests.recordings import metered, recorded, section

START = datetime(2026, 11, 1, tzinfo=UTC)
ROUND_S = 25


def climbed(name: str, per_s: Sequence[float], writes_s: Sequence[float] = ()) -> Climb:
    """A climb whose rounds had this throughput, and log writes of this latency."""
    rungs = [
        _round(name, number, one, writes_s[number] if writes_s else None)
        for number, one in enumerate(per_s)
    ]
    return Climb(
        configuration=Configuration(id=name, storage=name),
        rungs=tuple(rungs),
        knee_users=4,
        bracket=(3, 5),
        stopped_by="plateau",
    )


def _round(name: str, number: int, per_s: float, write_s: float | None) -> Rung:
    order = Order(
        configuration=name, phase="final_run", users=4, repeat=number + 1, restore=number // 2 + 1
    )
    quantities = {} if write_s is None else {"log__write_latency": write_s}
    began = (START + timedelta(seconds=ROUND_S * number)).isoformat()
    return rung(order, per_s, window_s=2.0, **quantities).model_copy(update={"started_at": began})


def noisy(seed: int, n: int = 14, moved: float = 0.0, autocorrelation: float = 0.0) -> list[float]:
    """Throughput of rounds with 10% noise, which moves by so much (logarithm) to the last."""
    rng, off = np.random.default_rng(seed), 0.0
    found = []
    for number in range(n):
        off = autocorrelation * off + (1 - autocorrelation**2) ** 0.5 * 0.1 * rng.normal()
        found.append(1000 * exp(off + moved * number / (n - 1)))
    return found


def moved_of(found: Sequence[Course | None]) -> float:
    return float(np.mean([one is not None for one in found]))


@pytest.mark.parametrize("autocorrelation", [0.0, 0.5])
def test_noise_is_hardly_ever_a_course(autocorrelation: float) -> None:
    rounds = (noisy(seed, autocorrelation=autocorrelation) for seed in range(300))
    assert moved_of([course(climbed("disk", one)) for one in rounds]) <= 0.02


def test_a_storage_that_loses_half_of_its_speed_is_found() -> None:
    rounds = (noisy(seed, moved=np.log(0.5)) for seed in range(60))
    assert moved_of([course(climbed("disk", one)) for one in rounds]) >= 0.9


def test_a_small_change_is_none_however_certain_and_so_are_few_rounds() -> None:
    assert course(climbed("disk", [1000 * 0.99**n for n in range(14)])) is None
    assert course(climbed("disk", [1000 * 0.985**n for n in range(14)])) is None, "18% less"
    assert course(climbed("disk", [1000 * 0.8**n for n in range(7)])) is None
    found = course(climbed("disk", [1000 * 0.95**n for n in range(14)]))
    assert found is not None
    assert found.last / found.first == pytest.approx(0.95**13, rel=1e-3)


def campaign(*climbs: Climb) -> Results:
    return recorded().model_copy(update={"climbs": climbs})


def said(results: Results) -> list[str]:
    return [one.words for one in caveats(results, ("course",))]


def test_a_storage_that_moved_alone_is_the_finding_with_its_log_writes() -> None:
    falling = climbed(
        "disk", [2000 * 0.95**n for n in range(14)], [1e-4 * 1.07**n for n in range(14)]
    )
    steady = climbed("memory", [5000.0, 5010.0] * 7)
    [sentence] = said(campaign(falling, steady))
    assert sentence.startswith("Disk had 48.7% less NOPM (54,000 to 27,700; a log write ")
    assert "no further round makes their ratio more precise" in sentence
    brief = Brief(campaign(falling, steady))
    [figure] = section(brief, "rounds").figures
    assert figure.title == "Rounds: disk from 54,000 to 27,700 NOPM"
    assert section(brief, "rounds").part == "front"


def test_storages_that_all_moved_alike_are_on_a_machine_that_did() -> None:
    rounds = [2000 * 0.95**n for n in range(14)]
    [sentence] = said(campaign(climbed("disk", rounds), climbed("memory", rounds)))
    assert "it was more likely the machine" in sentence


def test_storages_that_moved_apart_are_said_to() -> None:
    falling = climbed("disk", [2000 * 0.95**n for n in range(14)])
    rising = climbed("memory", [2000 * 1.05**n for n in range(14)])
    [sentence] = said(campaign(falling, rising))
    assert "They moved in opposite directions" in sentence


def test_storages_that_stayed_have_no_caveat_and_their_rounds_in_the_appendix() -> None:
    results = campaign(climbed("disk", noisy(1)), climbed("memory", noisy(2)))
    assert said(results) == []
    assert section(Brief(results), "rounds").part == "appendix"


def with_cpu(climb: Climb, per_transaction_s: Sequence[float]) -> Climb:
    """The climb with so much CPU time of the load generator per transaction in each round."""
    rungs = [
        metered(one, load_generator__cpu_per_transaction=used_s)
        for one, used_s in zip(climb.rungs, per_transaction_s, strict=True)
    ]
    return climb.model_copy(update={"rungs": tuple(rungs)})


def test_the_speed_of_the_cpu_stands_below_the_rounds_and_how_far_they_went_with_it() -> None:
    rounds = noisy(1)
    apart = noisy(3)
    machine = with_cpu(climbed("disk", rounds), [0.05 / one for one in rounds])
    storage = with_cpu(climbed("memory", noisy(2)), [0.05 / one for one in apart])
    speeds = cpu_speeds(machine.rungs)
    assert max(speeds) / min(speeds) == pytest.approx(max(rounds) / min(rounds), rel=0.01)
    assert speed_correlation(machine.rungs) == pytest.approx(1, abs=0.01)
    assert abs(speed_correlation(storage.rungs) or 1) < 0.6
    [figure] = section(Brief(campaign(machine, storage)), "rounds").figures
    assert "its correlation with NOPM: 1.00 (disk) and" in figure.caption
    assert len(figure.spec["vconcat"]) == 2
    [alone] = section(Brief(campaign(climbed("disk", rounds))), "rounds").figures
    assert "CPU" not in alone.caption and len(alone.spec["vconcat"]) == 1


def test_the_finding_of_the_only_storage_has_the_interval_of_its_rounds_if_there_are_some() -> None:
    alone, rounds = (campaign(climbed("disk", one)) for one in ([1000.0], noisy(1)))
    assert "n=" not in finding_line(alone)
    assert finding_line(rounds).endswith(", n=14)")
