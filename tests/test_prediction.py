"""Predictions: known parameters come back, wrong models are noticed, and what the command says."""

from __future__ import annotations

import json
from copy import copy
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from kneebench import Results, load
from kneebench.analysis.bottleneck import bottleneck
from kneebench.analysis.knee import knee
from kneebench.brief import Brief
from kneebench.brief.campaigns import PredictionPage
from kneebench.brief.markdown import markdown
from kneebench.cli import app
from kneebench.errors import InvalidMeasurement, PlanError
from kneebench.measurement.profile import Profile, ProfileRow, Traffic
from kneebench.prediction import model
from kneebench.prediction.fit import counted as by_counts
from kneebench.prediction.gains import gains
from kneebench.prediction.ledger import FILE, kept, save, scored
from kneebench.prediction.misses import MissCurve
from kneebench.prediction.observed import Observed
from kneebench.prediction.pooled import others_for, pooled
from kneebench.prediction.prediction import Predictor
from kneebench.prediction.profiled_drive import figures_of
from kneebench.prediction.what_if import WhatIf, changed
from kneebench.records import Climb, Rung
from tests.random_truths import LADDER, counted, faster, measured, plan_of, truth

SLOW = truth(7, cores=2, reads_per_transaction=0.0, log_latency=3e-3, cpu_per_flush=1e-4)
SMALL: dict[str, Any] = {
    "workload": {"warehouses": 6},
    "ladder": {**LADDER, "users": [1, 32], "step": 2},
}


@pytest.fixture(scope="module")
def campaigns(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one finished campaign of a slow drive, of few warehouses."""
    folder = tmp_path_factory.mktemp("campaigns")
    measured(plan_of({"slow": SLOW}, name="first", **SMALL), folder)
    return folder


def loaded(campaigns: Path) -> tuple[Results, Climb]:
    results = load(min(campaigns.glob("2*")))
    return results, results.climbs[0]


@pytest.fixture(scope="module")
def predictor(campaigns: Path) -> Predictor:
    return Predictor(*loaded(campaigns))


def what_if(campaigns: Path, *words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["what-if", *words, "--in", str(campaigns)])
    return done.exit_code, done.output


# --- the model ------------------------------------------------------------------------------------


def test_parameters_and_predictions_come_back_within_their_intervals(tmp_path: Path) -> None:
    found = counted([2], tmp_path)
    assert sum(found.back.values()) >= sum(found.every.values()) - 1, found
    assert found.held == 1, found


@pytest.mark.long
def test_truths_come_back_as_often_as_their_intervals_say(tmp_path: Path) -> None:
    """`python -m tests.random_truths --count 100` tries more."""
    found = counted(range(10), tmp_path)
    assert sum(found.back.values()) >= 0.93 * sum(found.every.values()), found
    assert found.held >= 9, found


def test_a_model_without_row_locks_misses_a_database_that_has_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two warehouses: users wait for each other's flushes."""
    few = {**SMALL, "workload": {"warehouses": 2}}
    results = measured(plan_of({"slow": SLOW}, **few), tmp_path)
    assert Predictor(results, results.climbs[0]).fit.median_error < 0.05
    monkeypatch.setitem(model.QUIET, "row_locks", False)
    with pytest.raises(InvalidMeasurement, match="misses the campaign's own rungs by"):
        Predictor(results, results.climbs[0])


def test_two_drives_of_a_campaign_predict_a_third_together(tmp_path: Path) -> None:
    drives = {"slow": SLOW, "quick": faster(SLOW, 1e-3), "third": faster(SLOW, 5e-4)}
    few = {**SMALL, "ladder": {**LADDER, "users": [1, 16], "step": 2}}
    results = measured(plan_of(drives, **few), tmp_path)
    two = results.model_copy(update={"climbs": results.climbs[:2]})
    of = Predictor(two, two.climbs[0])
    change, real = WhatIf(log_write_s=5e-4), knee(results.climbs[2])
    others = others_for(of, [change])
    assert [one.climb.configuration.storage for one in others] == ["quick"]
    found = pooled(of, others, change)
    each = [one.predict(change).nopm.value for one in (of, *others)]
    assert real
    assert found.nopm.low <= real.nopm.value <= found.nopm.high
    assert min(each) <= found.nopm.value <= max(each)
    assert "from 2 configurations" in PredictionPage(of, [found], others).markdown()
    more_cores = WhatIf(cores=4)
    assert pooled(of, others, more_cores) == of.predict(more_cores), "the others' drives stay"
    assert not others_for(of, [more_cores])


def test_two_sizes_of_memory_predict_a_third_together_without_users_that_thrash(
    tmp_path: Path,
) -> None:
    """A database of 600 MB."""
    reads = {"uncached_reads_per_transaction": 8.0, "read_latency": 3e-3, "read_channels": 4}
    reading = SLOW.model_copy(update={**reads, "log_latency": 5e-4})
    swept = {"constraints": {"memory": ["200MB", "300MB", "250MB"]}}
    few = {**SMALL, **swept, "ladder": {**LADDER, "users": [1, 8]}}
    results = measured(plan_of({"drive": reading}, **few), tmp_path / "campaigns")
    small, large, third = results.climbs
    *fewer, most = sorted({rung.users for rung in small.rungs})
    rungs = [thrashing(one) if one.users == most else one for one in small.rungs]
    small = small.model_copy(update={"rungs": tuple(rungs)})
    two = results.model_copy(update={"climbs": (small, large)})
    of, change = Predictor(two, small), WhatIf(memory_bytes=250_000_000)
    others = others_for(of, [change])
    assert [one.climb.configuration.constraint for one in others] == ["300 MB"]
    assert [one.users for one in of.rungs] == fewer
    found, real = pooled(of, others, change), knee(third)
    assert real
    assert real.nopm.value in found.nopm
    assert found.nopm.value == pytest.approx(real.nopm.value, rel=0.1)
    assert found.resource == bottleneck(third).resource
    assert f"The model leaves {most} users out" in PredictionPage(of, [found], others).markdown()
    save(tmp_path, two, small, [("drive", found)])
    [saved] = kept(tmp_path)
    assert not scored([saved], [results]), "saved after it was measured"
    before = saved.model_copy(update={"saved_at": "2020-01-01T00:00:00+00:00"})
    [score] = scored([before], [results])
    assert (score.nopm, score.held) == (real.nopm, True)


def thrashing(rung: Rung) -> Rung:
    """With twice as many reads."""
    name = "device.reads_per_transaction"
    reads = rung.quantities[name]
    more = reads.model_copy(update={"value": 2 * (reads.value or 0)})
    return rung.model_copy(update={"quantities": {**rung.quantities, name: more}})


def observed(users: int, **figures: float) -> Observed:
    """A rung with a flush for each transaction."""
    usual = {"throughput_per_s": 500.0, "latency_s": 2e-3, "cpu_s": 5e-4, "beside_s": 1e-4}
    return Observed(users, **{**usual, "flush_s": 4e-4, "flushes": 1.0, **figures})


def test_other_processes_in_one_rung_change_nothing_of_what_a_flush_costs() -> None:
    rungs = [observed(1), observed(2), observed(4, beside_s=5e-3)]
    assert by_counts(rungs, 2, log_apart=True).cpu_beside_flush == pytest.approx(1e-4)


def test_a_flush_costs_no_more_cpu_time_than_it_takes() -> None:
    """Where CPU time per transaction falls as fast as flushes do."""
    rungs = [observed(n, cpu_s=1e-3 / n, flushes=1 / n) for n in (1, 2, 3)]
    found = by_counts(rungs, 4, log_apart=True)
    assert found.cpu_per_flush + found.cpu_after_flush == pytest.approx(4e-4)
    assert found.cpu_per_transaction > 0


def test_parameters_that_cannot_be_told_apart_are_named(predictor: Predictor) -> None:
    fit, unsure = predictor.fit, copy(predictor)
    unsure.fit = fit._replace(held_out=(fit.held_out[0],) * 6)
    assert unsure.confused is None
    held_out = [
        one._replace(model=one.model.model_copy(update={"cpu_per_flush": n, "contention": 9 - n}))
        for n, one in enumerate(fit.held_out)
    ]
    unsure.fit = fit._replace(held_out=tuple(held_out))
    names = ("Its growth per user beyond the cores", "CPU time within a log write")
    assert unsure.confused == names


def test_the_noise_of_a_rung_is_no_error_of_the_model(predictor: Predictor) -> None:
    fit = predictor.fit
    assert fit.noise > 0, "the knee was measured several times"
    assert fit._replace(noise=0.0).scatter > fit.scatter
    assert fit._replace(noise=1.0).scatter == 0


def test_what_changes_nothing_is_exactly_one_and_a_faster_log_is_more(
    predictor: Predictor,
) -> None:
    same = predictor.predict(WhatIf(memory_bytes=2**40)).ratio
    assert (same.low, same.value, same.high) == (1, 1, 1)
    fast, slow = (predictor.predict(WhatIf(log_write_s=s)) for s in (1e-4, 1e-2))
    assert slow.ratio.high < 1 < fast.ratio.low
    assert fast.resource == "cpu" and fast.at_least, "no configuration was limited by its cores"
    assert [point.users for point in fast.points] == sorted(point.users for point in fast.points)


def test_too_far_from_what_was_measured_nothing_is_predicted(predictor: Predictor) -> None:
    with pytest.raises(PlanError, match="2 cores were measured; use 1 to 4"):
        predictor.predict(WhatIf(cores=16))
    with pytest.raises(PlanError, match=r"3.1[0-9]* ms was measured; use 31.* to 31.* ms"):
        predictor.predict(WhatIf(log_write_s=1))
    curve = MissCurve(((2**30, 4.0), (2**31, 2.0)))
    with pytest.raises(PlanError, match="1 GiB to 2 GiB were measured"):
        curve.at(2**33)
    with pytest.raises(PlanError, match="one size of memory"):
        MissCurve(curve.points[:1]).at(2**30)


def test_the_memory_that_was_measured_changes_nothing_and_half_the_misses_halve_the_reads() -> None:
    """Also where a transaction waits for some of its reads only."""
    curve = MissCurve(((100, 4.0), (200, 2.0), (300, 0.0)))
    waited = SLOW.model_copy(update={"reads_per_transaction": 3.0})
    assert changed(waited, WhatIf(memory_bytes=100), curve, 100) == waited
    assert changed(waited, WhatIf(memory_bytes=200), curve, 100).reads_per_transaction == 1.5


def test_the_load_generator_leaves_cores_that_are_the_databases_alone() -> None:
    curve, joining_s = MissCurve(()), -0.25 * SLOW.cpu_per_transaction
    apart = changed(SLOW, WhatIf(cores=1), curve, None, joining_s)
    assert apart.cores == 1
    assert apart.cpu_per_transaction == pytest.approx(0.75 * SLOW.cpu_per_transaction)


def test_misses_follow_a_line_or_its_square_whichever_is_nearer() -> None:
    def reads(memory: int) -> float:
        return 8 * max(0.0, 1 - memory / 1000) ** 2

    curve = MissCurve(tuple((memory, reads(memory)) for memory in (200, 400, 600)))
    assert curve.at(500) == pytest.approx(reads(500))
    assert curve.at(900) == pytest.approx(reads(900))


def test_a_profile_gives_the_drives_figures() -> None:
    rows = [
        _row("randread", depth=1, iops=10_000, mean_s=1e-4),
        _row("randread", depth=32, iops=160_000, mean_s=2e-4),
        _row("write", depth=1, iops=9_000, mean_s=1e-5, sync_s=4e-5),
    ]
    profile = profile_of(rows)
    expected = {"log_write_s": pytest.approx(5e-5), "read_s": 1e-4, "reads_at_once": 16}
    assert figures_of(profile) == expected
    with pytest.raises(PlanError, match="no log writes"):
        figures_of(profile_of(rows[:2]))


def profile_of(rows: list[ProfileRow]) -> Profile:
    fields: dict[str, Any] = {"rows": tuple(rows)}
    return Profile.model_construct(**fields)


def _row(pattern: str, depth: int, iops: float, mean_s: float, sync_s: float = 0) -> ProfileRow:
    traffic = Traffic(iops=iops, bytes_per_s=8192 * iops, n=1000, mean_s=mean_s)
    side = "write" if sync_s else "read"
    sync = traffic.model_copy(update={"mean_s": sync_s}) if sync_s else None
    fields: dict[str, Any] = {"pattern": pattern, "depth": depth, side: traffic, "sync": sync}
    return ProfileRow(name=pattern, group="", block_bytes=8192, **fields)


def test_what_would_help_most_is_first_and_stands_in_the_brief(predictor: Predictor) -> None:
    results = predictor.results
    found = gains(results)
    assert found
    ratios = {one.change: one.ratio.value for one in found.gains}
    assert list(ratios) == sorted(ratios, key=lambda change: -ratios[change])
    assert next(iter(ratios)) == "log writes of 50 µs", "its log limits it"
    assert 1 <= ratios["4 cores"] < 1.3
    campaign = results.campaign.model_copy(update={"predicted": found})
    said = markdown(Brief(results.model_copy(update={"campaign": campaign})))
    assert "predicted and not measured: log writes of 50 µs: " in said
    assert "GiB of memory: no change" in said


def test_a_campaign_that_the_model_does_not_describe_has_no_gains(campaigns: Path) -> None:
    results, climb = loaded(campaigns)
    few = climb.model_copy(update={"rungs": climb.rungs[:2]})
    assert gains(results.model_copy(update={"climbs": (few,)})) is None


# --- the command ----------------------------------------------------------------------------------


def test_the_command_predicts_saves_and_scores(campaigns: Path, tmp_path: Path) -> None:
    asked = ("first", "--log-write", "500us", "--save", "fast", "--json")
    code, said = what_if(campaigns, *asked, "--page", str(tmp_path / "page.html"))
    assert code == 0, said
    found = json.loads(said[said.index("{") :])
    assert found["predicted"] and found["median_error"] < 0.15
    [one] = found["predictions"]
    assert one["what_if"]["log_write_s"] == 5e-4
    assert one["ratio"]["low"] < one["ratio"]["value"] < one["ratio"]["high"]
    page = (tmp_path / "page.html").read_text()
    assert "Predicted: log writes of 500 µs" in page
    assert "nothing was measured" in page
    [saved] = kept(campaigns)
    assert (saved.storage, saved.configuration) == ("fast", "slow")
    code, said = what_if(campaigns, "--score")
    assert (code, "measured fast since" in said) == (2, True)
    measured(plan_of({"fast": faster(SLOW, 5e-4)}, name="later", **SMALL), campaigns)
    code, said = what_if(campaigns, "--score", "--json", "--page", str(tmp_path / "page.md"))
    assert "| fast (log writes of 500 µs) |" in (tmp_path / "page.md").read_text()
    assert code == 0, said
    score = json.loads(said[said.index("{") :])
    later = load(max(campaigns.glob("2*")))
    assert [one.configuration for one in later.campaign.saved_predictions] == ["fast"]
    assert "were measured: within the interval" in markdown(Brief(later))
    assert (score["held"], score["scored"]) == (1, 1)
    assert score["median_error"] < 0.1
    assert score["predictions"][0]["storage"] == "fast"
    assert what_if(campaigns, "--score")[1].startswith("Simulated. Predictions: 1 of 1 interval")
    (campaigns / FILE).write_text("[{}]")
    assert "it has no predictions" in what_if(campaigns, "--score")[1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "no campaign is named"),
        (("first",), "nothing would change"),
        (("first", "--log-write", "fast"), "--log-write: a time is a number and a unit"),
        (("first", "--log-write", "0s"), "0s is not above 0"),
        (("first", "--cores", "two"), "'two' is no number of cores"),
        (("first", "--log-write", "1ms,2ms,3ms", "--save", "a,b"), "2 names for 3 predictions"),
        (("first", "--log-write", "1ms", "--from", "tape"), "has no 'tape'; use one of: slow"),
        (("first", "--drive", "no.json"), "cannot read no.json"),
        (("first", "--drive", "x.json", "--read", "1ms"), "give the drive once"),
    ],
)
def test_what_is_wrong_with_a_question_is_said(
    campaigns: Path, words: tuple[str, ...], said: str
) -> None:
    code, output = what_if(campaigns, *words)
    assert code == 2
    assert said in output


def test_a_fixed_load_is_no_climb_to_fit(tmp_path: Path) -> None:
    fixed = {**LADDER, "users": 8, "repeats": 2}
    del fixed["step"]
    results = measured(plan_of({"slow": SLOW}, ladder=fixed), tmp_path)
    with pytest.raises(PlanError, match="its load is fixed"):
        Predictor(results, results.climbs[0])
