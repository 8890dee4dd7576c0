"""Power of campaigns on the simulated engine: all that is derived from it, against the model's own
truth, in seconds.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kneebench import Brief, accept, compare, run, units
from kneebench.analysis.power import at_the_knee, at_the_rate, power_w, witnesses
from kneebench.analysis.wording import value_with_ends
from kneebench.errors import KneebenchError
from kneebench.notebook.loaded import LoadedResults
from kneebench.plan import Plan
from kneebench.records import CampaignPower, PowerMeterFacts, Results, Rung
from kneebench.units import significant
from tests.recordings import faster, metered, section

KNEEBENCH = [sys.executable, "-m", "kneebench"]
CORE_W, DRIVE_W, FAST_DRIVE_W, IDLE_W = 17.0, 9.0, 60.0, 90.0
LADDER = {
    "users": [1, 8],
    "step": 2.0,
    "warm_up_limit": "5s",
    "window": "5s",
    "final_window": "10s",
}
BRIEF_LADDER = {**LADDER, "checkpoints": 0, "repeats": 1, "latency_rate": "50/s"}


def plan(**changed: Any) -> dict[str, Any]:
    figures = {"idle_power": f"{IDLE_W:g}W", "core_power": f"{CORE_W:g}W"}
    slow = {**figures, "log_latency": "2ms", "drive_power": f"{DRIVE_W:g}W"}
    return {
        "question": "Which takes less?",
        "baseline": "slow",
        "database": {"engine": "simulated"},
        "power": {"meters": [{"name": "wall", "type": "model", "covers": ["db1", "shelf 2"]}]},
        "ladder": LADDER,
        "storages": {
            "slow": {"simulated": slow},
            "fast": {
                "simulated": {**slow, "log_latency": "200us", "drive_power": f"{FAST_DRIVE_W:g}W"}
            },
        },
        **changed,
    }


def measured(folder: Path, given: dict[str, Any]) -> Results:
    return run(Plan.model_validate(given), folder, fresh=True)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return measured(tmp_path_factory.mktemp("power"), plan())


def truth(rung: Rung, drive_w: float) -> float:
    """The model's power in a rung's window, from its other meters."""
    cores = sum(rung.quantities["cores.busy"].sources.values())
    drives = sum(rung.quantities["device.busy"].sources.values())
    return IDLE_W + CORE_W * cores + drive_w * drives


def test_the_power_of_each_window_is_the_models(results: Results) -> None:
    judged = 0
    for climb, drive_w in zip(results.climbs, (DRIVE_W, FAST_DRIVE_W), strict=True):
        for rung in climb.rungs:
            assert rung.quantity("system.power") == pytest.approx(truth(rung, drive_w), rel=0.002)
            judged += 1
    assert judged > 15


def test_idle_power_and_lags_come_before_each_climb(results: Results) -> None:
    power = results.campaign.power
    assert power is not None
    assert power.leading == "wall"
    assert set(power.idle) == set(power.lags) == {"slow", "fast"}
    for window in power.idle.values():
        assert window.system_w == pytest.approx(IDLE_W, rel=1e-6)
        assert window.seconds == pytest.approx(60.0)
    assert [one.lag_s for some in power.lags.values() for one in some] == pytest.approx(
        [0.0, 0.0], abs=0.1
    )


def test_figures_per_order_are_those_of_the_runs(results: Results) -> None:
    power = results.campaign.power
    assert power is not None
    for climb in results.climbs:
        found = at_the_knee(climb, power)
        assert found is not None
        rungs = climb.of("final_run")
        watts = [rung.quantity("system.power") or 0.0 for rung in rungs]
        nopm = [rung.tally.nopm for rung in rungs]
        each = [1000 * w / n for w, n in zip(watts, nopm, strict=True)]
        assert found.mw_per_nopm.low <= sum(each) / len(each) <= found.mw_per_nopm.high
        assert found.joules_per_order.value == pytest.approx(0.06 * found.mw_per_nopm.value)
        assert found.nopm_per_w.value == pytest.approx(1000 / found.mw_per_nopm.value)
        share = rungs[0].tally.throughput_per_s / (rungs[0].tally.nopm / 60)
        of_all = found.joules_per_order.value / found.joules_per_transaction.value
        assert of_all == pytest.approx(share, rel=0.01)
        above = found.mw_per_nopm.value * (1 - IDLE_W / found.watts.value)
        assert found.above_idle is not None
        assert found.above_idle.value == pytest.approx(above, rel=0.01)


def test_storages_are_compared_in_pairs_of_rounds(results: Results) -> None:
    found = {one.quantity: one for one in compare(results) if one.quantity.startswith("power.")}
    assert set(found) == {"power.per_nopm", "power.per_transaction"}
    slow, fast = results.climbs
    ratios = [
        (b.quantity("system.power") or 0)
        / b.tally.nopm
        / ((a.quantity("system.power") or 0) / a.tally.nopm)
        for a, b in zip(slow.of("final_run"), fast.of("final_run"), strict=True)
    ]
    ratio = found["power.per_nopm"].ratio
    assert ratio.low <= sum(ratios) / len(ratios) <= ratio.high
    assert ratio.n == len(ratios) == 3
    assert "paired" in ratio.method
    assert found["power.per_transaction"].differs  # the fast drive takes more at equal work


def test_equal_work_is_compared_at_the_fixed_rate(results: Results) -> None:
    power = results.campaign.power
    assert power is not None
    slow, fast = (at_the_rate(climb, power) for climb in results.climbs)
    assert slow and fast
    assert slow.runs == fast.runs == 3


def test_the_brief_has_a_figure_a_card_and_the_scope(results: Results) -> None:
    page = Brief(results)
    sections = {one.name: one for one in page.sections}
    [figure] = sections["power"].figures
    assert figure.number == "Fig. 9"
    assert "the model's power, of db1 and shelf 2" in figure.caption
    assert "accuracy is not known" in figure.caption
    cards = [one for one in sections["glance"].numbers if "power per NOPM" in one.says]
    assert len(cards) == 1
    assert cards[0].sure.endswith("; the model's power, db1 and shelf 2")
    assert "power per NOPM" in page.subtitle
    assert sections["power-over-time"].figures[0].number == "Fig. 10"
    [row] = sections["power-meters"].tables[0].rows
    assert row.cells[:4] == ("wall", "model", "the model's power", "db1 and shelf 2")
    assert "Power was not measured" not in str(sections["glance"].tables)


def test_the_power_card_is_of_the_storage_that_takes_the_least_per_nopm(results: Results) -> None:
    thrifty = faster(results.climbs[1], "thrifty", 0.9)
    rungs = tuple(metered(r, system__power=0.5 * power_w(r)) for r in thrifty.rungs)
    three = (*results.climbs, thrifty.model_copy(update={"rungs": rungs}))
    page = Brief(results.model_copy(update={"climbs": three}))
    numbers = section(page, "glance").numbers
    assert numbers[0].says == "NOPM at the knee, fast vs. slow"
    assert [one.says for one in numbers if "power" in one.says] == [
        "power per NOPM at the knee, thrifty vs. slow"
    ]
    [value] = [one.value for one in numbers if "power" in one.says]
    assert f"power per NOPM on thrifty {value}, " in page.subtitle, "the same pair"


def test_without_meters_one_line_says_that_power_was_not_measured(tmp_path: Path) -> None:
    found = measured(tmp_path, plan(power={}, ladder=BRIEF_LADDER))
    sections = {one.name: one for one in Brief(found).sections}
    assert not [name for name in sections if name.startswith("power")]
    assert "Power was not measured." in sections["glance"].tables[-1].caption
    assert found.campaign.power is None
    assert all(rung.power is None for climb in found.climbs for rung in climb.rungs)


def test_a_budget_ends_the_climb_before_it_is_exceeded(tmp_path: Path) -> None:
    budget = IDLE_W + 2.5 * CORE_W
    stops = {"power": {"limit": f"{budget:g}W"}}
    given = plan(ladder={**BRIEF_LADDER, "users": [1, 32], "stops": stops})
    found = measured(tmp_path, given)
    assert [climb.stopped_by for climb in found.climbs] == ["power", "power"]
    for climb in found.climbs:
        fired = next(one for one in climb.stop_results if one.stop == "power")
        assert (fired.fired, fired.limit_value, fired.unit) == (True, budget, "W")
        assert fired.value is not None
        assert fired.value > budget
        knees = [rung for rung in climb.of("search") if rung.users == climb.knee_users]
        assert all((rung.quantity("system.power") or 0) <= budget for rung in knees)


def test_a_budget_that_the_first_rung_exceeds_is_a_flag(tmp_path: Path) -> None:
    given = plan(ladder={**BRIEF_LADDER, "stops": {"power": {"limit": "50W"}}})
    found = measured(tmp_path, given)
    for climb in found.climbs:
        [flag] = [one for one in climb.stop_results if one.stop == "power"]
        assert (flag.fired, flag.severity) == (False, "caveat")
        assert "first rung already exceeded the budget" in flag.sentence


def test_without_a_budget_no_stop_condition_speaks_of_power(results: Results) -> None:
    assert not [r for climb in results.climbs for r in climb.stop_results if r.stop == "power"]


def another(results: Results, **changed: Any) -> Results:
    """The same figures as those of another campaign."""
    head = results.campaign.model_copy(update={"id": "another", **changed})
    return results.model_copy(update={"campaign": head})


def test_accept_judges_power_per_nopm_and_its_limit(results: Results, tmp_path: Path) -> None:
    given = plan(accept={"power_limit": 1.0})
    same = accept(baseline=results, campaign=another(results, plan=given))
    for storage in given["storages"].values():
        storage["simulated"]["idle_power"] = f"{2 * IDLE_W:g}W"
    worse = accept(baseline=results, campaign=measured(tmp_path, given))
    figures = {(one.storage, one.quantity): one for one in worse.figures}
    assert figures["slow", "power.per_nopm"].judgement == "worse"
    assert figures["slow", "power.limit"].judgement in ("worse", "same or better")
    assert worse.judgement == "worse"
    assert {one.judgement for one in same.figures if one.quantity == "power.per_nopm"} == {"same"}
    limit = {one.quantity: one for one in same.figures if one.storage == "slow"}["power.limit"]
    most, found = 1.0, limit.campaign
    assert found is not None
    assert limit.judgement == ("same or better" if found.high <= most else "worse")
    assert "mW/NOPM" in limit.sentence
    assert str(found).startswith(f"{significant(found.value)} mW/NOPM (")


def test_accept_does_not_compare_power_of_different_meters(results: Results) -> None:
    power = results.campaign.power
    assert power is not None
    [wall] = power.meters
    others = power.model_copy(update={"meters": (wall.model_copy(update={"covers": ("db2",)}),)})
    found = accept(baseline=results, campaign=another(results, power=others))
    powers = [one for one in found.figures if one.quantity == "power.per_nopm"]
    assert {one.judgement for one in powers} == {"not judged"}
    assert "the meters differ" in powers[0].sentence


def test_power_above_idle_says_why_there_is_none(results: Results) -> None:
    power = results.campaign.power
    assert power is not None
    hot = {name: one.model_copy(update={"system_w": 1e4}) for name, one in power.idle.items()}
    for idle, why in (({}, "idle not measured"), (hot, "a run took no more")):
        changed = power.model_copy(update={"idle": idle})
        campaign = results.campaign.model_copy(update={"power": changed})
        table = section(Brief(results.model_copy(update={"campaign": campaign})), "power").tables[0]
        assert {row.cells[5] for row in table.rows} == {why}


def test_a_meter_of_a_machine_beside_a_model_is_an_error(tmp_path: Path) -> None:
    given = plan(power={"meters": [{"name": "cpu", "type": "rapl"}]})
    with pytest.raises(KneebenchError, match="a model runs on none"):
        measured(tmp_path, given)


def test_each_drive_more_has_its_power(results: Results) -> None:
    two, four = (["a", "b"], ["a", "b", "c", "d"])
    storages = {
        "slow": {"drives": two, "layout": "stripe"},
        "fast": {"drives": four, "layout": "stripe"},
    }
    planned = {"baseline": "slow", "storages": storages, "power": plan()["power"]}
    campaign = results.campaign.model_copy(update={"plan": planned})
    page = Brief(results.model_copy(update={"campaign": campaign}))
    [section] = [one for one in page.sections if one.name == "power"]
    slow, fast = results.climbs
    pairs = zip(slow.of("fixed_rate"), fast.of("fixed_rate"), strict=True)
    more = [(b.quantity("system.power") or 0) - (a.quantity("system.power") or 0) for a, b in pairs]
    each = f"{sum(more) / len(more) / 2:.3g}"
    assert f"Fast: {each} W for each of 2 more drives, at the fixed rate" in section.sentences[-1]


def test_two_meters_of_one_thing_are_witnesses(results: Results) -> None:
    facts = [
        PowerMeterFacts(name=name, type="model", scope="wall", covers=covers)
        for name, covers in (("wall", ("db1",)), ("bmc", ("db1",)), ("other", ("db2",)))
    ]
    power = CampaignPower(meters=tuple(facts), leading="wall")
    climbs = []
    for climb in results.climbs:
        rungs = []
        for rung in climb.rungs:
            assert rung.power
            [one] = rung.power.meters
            more = (
                one,
                one.model_copy(update={"meter": "bmc", "watts": 0.93 * (one.watts or 0)}),
                one.model_copy(update={"meter": "other"}),
            )
            window = rung.power.model_copy(update={"meters": more})
            rungs.append(rung.model_copy(update={"power": window}))
        climbs.append(climb.model_copy(update={"rungs": tuple(rungs)}))
    [found] = witnesses(climbs, power)
    assert found.name == "bmc"
    assert found.ratio.value == pytest.approx(0.93)


def test_a_resumed_campaign_keeps_idle_power_and_lags(tmp_path: Path) -> None:
    given = Plan.model_validate(plan(ladder=BRIEF_LADDER))
    seen: list[str] = []

    def stop(event: Any) -> None:
        seen.append(event.doing)
        if event.kind == "rung" and len([s for s in seen if s.endswith("users")]) > 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(given, tmp_path, watch=stop)
    [folder] = tmp_path.iterdir()
    before = json.loads((folder / "campaign.json").read_text())
    results = run(given, tmp_path)
    assert results.folder == folder
    power = results.campaign.power
    assert power is not None
    kept = json.dumps(before).find(str(power.idle["slow"].began_at))
    assert kept > 0
    assert set(power.idle) == {"slow", "fast"}


def test_show_prints_power_and_its_ratio(results: Results) -> None:
    done = subprocess.run([*KNEEBENCH, "show", str(results.folder)], capture_output=True, text=True)
    assert "power per NOPM" in done.stdout, done.stderr
    power = results.campaign.power
    assert power is not None
    found = [one for climb in results.climbs if (one := at_the_knee(climb, power))]
    for row, values in (
        ("power", [value_with_ends(one.watts, units.power) for one in found]),
        ("mW/NOPM", [value_with_ends(one.mw_per_nopm) for one in found]),
    ):
        [line] = [line for line in done.stdout.splitlines() if line.strip().startswith(f"{row} ")]
        assert all(value in line for value in values), line


def test_frames_have_the_power_of_rungs_and_knees(results: LoadedResults) -> None:
    climbs, power = results.climbs, results.campaign.power
    rungs = [rung for climb in climbs for rung in climb.rungs]
    assert list(results.rungs()["system_w"]) == [one.quantity("system.power") for one in rungs]
    knees = results.knees()
    found = [at_the_knee(climb, power) for climb in climbs if power]
    assert list(knees["system_w_low"]) == [one.watts.low for one in found if one]
    assert list(knees["mw_per_nopm"]) == [one.mw_per_nopm.value for one in found if one]
