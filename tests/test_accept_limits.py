"""Absolute limits of `accept`: worse only where the whole interval is beyond, within the limit only
where none of it is, and in between nothing is said.
"""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import kneebench
from kneebench.analysis.accepted_limits import AcceptedLimits, against_limits, within_limit
from kneebench.analysis.fixed_rate import fixed_rate_latency
from kneebench.analysis.judged import LIMITS, Judged, shown_margin
from kneebench.analysis.knee import knee
from kneebench.brief.campaigns import AcceptancePage
from kneebench.brief.terminal import told
from kneebench.campaign.preflight import read_plan
from kneebench.errors import CANNOT_SAY, WORSE, PlanError
from kneebench.plan.preset import preset_text
from kneebench.records import Climb, Estimate, Phase, Results
from kneebench.results.acceptance import accept
from kneebench.results.redaction import pack
from tests.packed import small_campaign
from tests.recordings import recorded, with_plan, without


def judged(climb: Climb, **limits: float) -> Judged:
    (found,) = against_limits(climb, AcceptedLimits(**limits))
    return found


def bare(climb: Climb, phase: Phase) -> Climb:
    """The climb without the rungs of a phase."""
    rungs = tuple(rung for rung in climb.rungs if rung.order.phase != phase)
    return climb.model_copy(update={"rungs": rungs})


@pytest.mark.parametrize("figure", ["nopm", "latency_s"])
def test_a_limit_is_judged_by_the_ends_of_the_interval(figure: str) -> None:
    climb = recorded().climbs[0]
    quoted, there = knee(climb), fixed_rate_latency(climb)
    assert quoted
    assert there
    of = quoted.nopm if figure == "nopm" else there.mean_s
    below, above = judged(climb, **{figure: of.low / 2}), judged(climb, **{figure: of.high * 2})
    assert judged(climb, **{figure: of.value}).judgement == "cannot say"
    good, bad = (below, above) if figure == "nopm" else (above, below)
    assert (good.judgement, bad.judgement) == ("same or better", "worse")
    assert f"at {'least' if figure == 'nopm' else 'most'} " in good.called
    assert good.campaign == of
    assert shown_margin(good) == "–"


def test_an_end_of_the_interval_at_the_limit_is_within_it() -> None:
    of = Estimate(value=2.0, low=1.0, high=4.0, n=3)
    assert within_limit(of, 4.0) == within_limit(of, 1.0, at_least=True) == "same or better"
    assert within_limit(of, 1.0) == within_limit(of, 4.0, at_least=True) == "cannot say"


def test_log_writes_are_judged_at_the_fixed_rate_or_else_at_the_knee() -> None:
    climb = recorded().climbs[0]
    assert "/s, at most 1.00 s" in judged(climb, log_write_s=1.0).called.replace("1 s", "1.00 s")
    knee_only = judged(bare(climb, "fixed_rate"), log_write_s=1.0)
    assert knee_only.called.startswith("mean log write at the knee")
    assert knee_only.judgement == "same or better"


def test_what_was_not_measured_cannot_be_said_to_be_within_a_limit() -> None:
    climb = bare(recorded().climbs[0], "fixed_rate")
    for name in ("latency_s", "p999_s"):
        found = judged(climb, **{name: 10.0})
        assert found.judgement == "cannot say"
        assert "cannot say, it was not measured" in found.sentence
    silent = without(recorded(), "log.write_latency").climbs[0]
    assert judged(silent, log_write_s=10.0).judgement == "cannot say"


def test_p999_of_too_few_transactions_is_not_said_to_be_within_its_limit() -> None:
    climb = recorded().climbs[0]
    there = fixed_rate_latency(climb)
    assert there
    assert not there.p999_certain
    found = judged(climb, p999_s=100.0)
    assert found.judgement == "cannot say"
    assert "transactions fewer than 100 exceed it" in found.sentence


def test_the_limits_are_those_of_the_campaigns_plan_and_decide_its_answer() -> None:
    one = recorded()
    usual: Any = one.campaign.plan["accept"]
    for limit, answer, code in ((1.0, "cannot say", CANNOT_SAY), (10**9, "worse", WORSE)):
        table = {**usual, "margin": 0.9, "nopm_limit": float(limit)}
        found = accept(baseline=one, campaign=with_plan(one, accept=table))
        limits = [figure for figure in found.figures if figure.quantity in LIMITS]
        assert [figure.storage for figure in limits] == [
            climb.configuration.storage for climb in one.climbs
        ]
        worse = {figure.judgement for figure in limits} == {"worse"}
        assert worse == (answer == "worse")
        assert found.exit_code == code or not worse


def test_limits_are_keys_of_the_plan_with_the_units_of_its_other_times(tmp_path: Path) -> None:
    limits = (
        'nopm_limit = 20000\nlatency_limit = "5ms"\np999_limit = "40ms"\nlog_write_limit = "2ms"'
    )
    file = tmp_path / "plan.toml"
    file.write_text(f"{preset_text('simulated')}\n[accept]\n{limits}\n")
    table = read_plan(file).accept
    assert (table.nopm_limit, table.latency_limit, table.p999_limit) == (20000, 0.005, 0.04)
    assert table.log_write_limit == 0.002
    for wrong in ("nopm_limit = 0", "latency_limit = 5", 'p999_limit = "-1s"'):
        file.write_text(f"{preset_text('simulated')}\n[accept]\n{wrong}\n")
        with pytest.raises(PlanError, match=wrong.partition(" ")[0]):
            read_plan(file)


def test_limits_are_in_the_json_of_an_acceptance_without_a_ratio() -> None:
    one = recorded()
    usual: Any = one.campaign.plan["accept"]
    table = {**usual, "latency_limit": 1.0}
    found = kneebench.accept(baseline=one, campaign=with_plan(one, accept=table))
    figures = json.loads(found.model_dump_json())["figures"]
    limit = next(one for one in figures if one["quantity"] == "limit.mean_latency")
    assert (limit["judgement"], limit["ratio"], limit["baseline"]) == ("same or better", None, None)


def limited(**limits: float) -> Results:
    one = recorded()
    usual: Any = one.campaign.plan["accept"]
    return with_plan(one, accept={**usual, "margin": 0.9, **limits})


def other(results: Results) -> Results:
    """The same figures as another campaign."""
    head = results.campaign.model_copy(update={"id": "after"})
    return results.model_copy(update={"campaign": head})


def test_a_campaign_is_not_judged_against_itself_but_by_its_limits_alone() -> None:
    for limits, answer, code, sentence in (
        ({}, "cannot say", CANNOT_SAY, "Cannot say: no figure is judged; "),
        ({"nopm_limit": 1.0}, "same or better", 0, "Limits met: all 2 figures ("),
        ({"nopm_limit": 1e9}, "worse", WORSE, "Limits not met: 2 of 2 figures ("),
    ):
        one = limited(**limits)
        found = accept(baseline=one, campaign=one)
        assert (found.judgement, found.exit_code, found.itself) == (answer, code, True)
        assert found.sentence.startswith(sentence)
        assert "this campaign is the baseline itself" in found.sentence
        by_judged = {each.quantity in LIMITS: each.judgement for each in found.figures}
        assert by_judged[False] == "not judged"


def test_an_archive_of_the_baseline_is_the_baseline_itself(tmp_path: Path) -> None:
    folder = small_campaign(tmp_path)
    pack(kneebench.load(folder), tmp_path / "b.kneebench")
    base = kneebench.load(tmp_path / "b.kneebench")
    assert accept(baseline=base, campaign=kneebench.load(folder)).itself
    assert not accept(baseline=base, campaign=other(kneebench.load(folder))).itself


def test_a_broken_limit_at_an_unchanged_level_is_not_called_worse_than_the_baseline() -> None:
    one = limited(nopm_limit=1e9)
    found = accept(baseline=one, campaign=other(one))
    assert found.exit_code == WORSE
    assert found.sentence.startswith("Limits not met: 2 of 2 figures (otherwise ")
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(*told(AcceptancePage([found], one, [other(one)])))
    of = next(each.campaign for each in found.figures if each.quantity in LIMITS)
    assert of
    assert f"{of.value:,.0f} ({of.low:,.0f} to {of.high:,.0f})" in console.export_text()
