"""Caveats: what holds for several configurations is one sentence, with their names."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kneebench.analysis.control import control_caveats
from kneebench.analysis.fixed_rate import rate_caveats
from kneebench.analysis.headline import subtitle
from kneebench.analysis.outcome import never_steady_caveats
from kneebench.analysis.wording import by_finding
from kneebench.brief import Brief
from kneebench.commands import accepting
from kneebench.records import Configuration, Moved, Results, Rung, Setting, StopResult
from kneebench.records.record import noted
from kneebench.screen.summary import printed, results_json
from tests.recordings import (
    each,
    metered,
    recorded,
    section,
    with_campaign,
    with_order,
    with_throughput,
)
from tests.swept import swept

EIGHT = tuple(mib * 2**20 for mib in (128, 256, 384, 512, 640, 768, 896, 1024))


@pytest.fixture(scope="module")
def eight() -> Results:
    return swept(sizes=EIGHT, storages=1)


def every(results: Results, change: Callable[[Rung], Rung]) -> Results:
    for number in range(len(results.climbs)):
        results = each(results, number, change)
    return results


def times(phase: str, share: float) -> Callable[[Rung], Rung]:
    """The throughput of the rungs of a phase times this."""

    def changed(rung: Rung) -> Rung:
        same = rung.order.phase != phase
        return rung if same else with_throughput(rung, share * rung.tally.throughput_per_s)

    return changed


def caveats(results: Results, word: str) -> list[str]:
    return [one for one in section(Brief(results), "cautions").sentences if word in one]


def test_a_drift_of_eight_configurations_is_one_caveat_and_is_not_repeated(eight: Results) -> None:
    drifted = every(eight, times("drift_check", 0.5))
    [caveat] = caveats(drifted, "Drift")
    assert caveat.count("54.9% slower") == 1
    assert caveat.endswith(" on all 8 configurations.")
    assert not section(Brief(drifted), "costs").sentences


def test_final_runs_that_were_not_steady_are_one_caveat(eight: Results) -> None:
    def unsteady(rung: Rung) -> Rung:
        late = rung.order.phase == "final_run"
        return rung.model_copy(update={"steady": False}) if late else rung

    [caveat] = caveats(every(eight, unsteady), "seen to be steady")
    assert caveat.endswith(" on all 8 configurations.")
    assert caveats(eight, "seen to be steady") == []


def test_final_runs_before_which_memory_was_not_filled_are_another_caveat(eight: Results) -> None:
    def unfilled(rung: Rung) -> Rung:
        cold = rung.order.phase == "final_run" and rung.order.repeat == 1
        said = noted("not_filled", "not steady: 1 GiB read, less than 2 GiB of memory to fill")
        return rung.model_copy(update={"steady": False, "remarks": said}) if cold else rung

    results = every(eight, unfilled)
    [caveat] = caveats(results, "as the memory holds")
    assert caveat.endswith(" on all 8 configurations.")
    assert caveats(results, "seen to be steady") == []


def test_final_runs_that_differ_from_eight_climbs_are_one_caveat(eight: Results) -> None:
    [caveat] = caveats(every(eight, times("final_run", 4)), "disagree at the knee")
    assert caveat.startswith("Final runs and climb disagree at the knee: ")
    assert all(climb.configuration.name in caveat for climb in eight.climbs)
    assert caveat.endswith("the choice of knee is from the climb.")


def test_final_runs_that_give_less_than_the_best_rung_are_one_caveat_beside_every_answer(
    eight: Results,
) -> None:
    results = every(eight, times("final_run", 0.7))
    [caveat] = caveats(results, "best search rung")
    assert caveat.startswith("The final runs gave less than the best search rung: ")
    assert all(climb.configuration.name in caveat for climb in eight.climbs)
    assert "Final runs gave as little as" in subtitle(results)
    faster = every(eight, times("final_run", 4))
    assert caveats(faster, "best search rung") == []
    assert "best search rung" not in subtitle(faster)


def test_a_rate_that_saturates_eight_configurations_is_one_caveat(eight: Results) -> None:
    def faster(rung: Rung) -> Rung:
        return with_order(rung, rate_per_s=1e6) if rung.order.phase == "fixed_rate" else rung

    [caveat] = rate_caveats(every(eight, faster).climbs)
    assert caveat.startswith(
        "The fixed rate of 1,000,000 transactions/s saturates disk (128 MiB) ("
    )
    assert all(f"{climb.configuration.name} (" in caveat for climb in eight.climbs)
    assert "their latency at this rate grows" in caveat


def test_settings_that_buy_speed_with_safety_are_one_caveat_beside_every_answer(
    eight: Results,
) -> None:
    off = (Setting(name="fsync", value="off", source="server", matters=True),)
    campaign = eight.campaign.model_copy(update={"settings": {one.id: off for one in eight.climbs}})
    unsafe = eight.model_copy(update={"campaign": campaign})
    [caveat] = caveats(unsafe, "fsync")
    assert caveat.startswith("On all storages, fsync is off: a crash of the machine can damage")
    assert f"CAVEAT  {caveat}" in map(str, printed(unsafe))
    assert f"{campaign.id}: {caveat}" in accepting._caveats(unsafe)
    remark = {"kind": "less_safe", "severity": "caveat", "words": caveat}
    for document in (Brief(unsafe).document(), results_json(unsafe)):
        assert remark.items() <= document["caveats"][0].items()
    assert caveats(eight, "fsync") == []


def test_cores_that_eight_configurations_leave_idle_are_one_caveat(eight: Results) -> None:
    def idle(rung: Rung) -> Rung:
        fixed = with_order(rung, phase="fixed_load") if rung.order.phase == "search" else rung
        return metered(fixed, database__busy=0.6)

    climbs = (
        climb.model_copy(
            update={"configuration": climb.configuration.model_copy(update={"cores": 2})}
        )
        for climb in every(eight, idle).climbs
    )
    [caveat] = control_caveats(eight.model_copy(update={"climbs": tuple(climbs)}))
    assert "was 60% busy on all 8 configurations (limit: " in caveat


def test_storages_whose_names_have_brackets_are_not_summed_up_as_one() -> None:
    drives = [Configuration(id=n, storage=f"disk (slot {n})") for n in "12345"]
    said = by_finding([(drive, "5% slower") for drive in drives])
    assert said.startswith("5% slower on disk (slot 1), disk (slot 2), ")


def test_configurations_that_never_became_steady_are_one_caveat(eight: Results) -> None:
    def moving(rung: Rung) -> Rung:
        return rung.model_copy(update={"steady": False, "moved": Moved(nopm=0.3)})

    [caveat] = never_steady_caveats(every(eight, moving))
    assert caveat.startswith("Lower bounds in their sweep, as they were still warming: disk (128 M")
    assert "NOPM still rose by 30% in 3 final runs" in caveat
    assert caveat.count("still rose by 30%") < len(eight.climbs) / 2


def test_a_doubt_of_a_knee_is_a_caveat() -> None:
    results = recorded()
    doubt = StopResult(
        stop="warming",
        fired=False,
        seen="50% less",
        limit="15%",
        sentence="The knee is not to be trusted: rerunning the first rung gave 50% less",
        severity="caveat",
    )
    first, *others = results.climbs
    doubted = first.model_copy(update={"stop_results": (*first.stop_results, doubt)})
    [caveat] = caveats(results.model_copy(update={"climbs": (doubted, *others)}), "trusted")
    assert caveat == f"{first.configuration.name.capitalize()}: {doubt.sentence}."
    assert caveats(results, "trusted") == []


def test_one_configuration_has_a_sentence_of_its_own() -> None:
    drifted = each(recorded(), 0, times("drift_check", 0.5))
    [caveat] = caveats(drifted, "Drift")
    assert caveat.startswith("Disk: Drift: the first rung (2 users), repeated last, was ")


def test_notes_that_say_one_thing_of_several_configurations_are_one_sentence() -> None:
    notes = ("disk: this climb was resumed", "memory: this climb was resumed", "something else")
    sentences = section(Brief(with_campaign(recorded(), notes=notes)), "method").sentences
    assert [one for one in sentences if "resumed" in one or "else" in one] == [
        "Disk and memory: this climb was resumed.",
        "Something else.",
    ]
