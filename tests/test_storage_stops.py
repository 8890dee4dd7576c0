"""Stop conditions of one storage: in the plan, in `check`, and where campaigns are compared. A
whole campaign with them is in test_campaign_log_limit.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from kneebench.cli import app
from kneebench.plan import Plan
from kneebench.plan.configurations import configurations
from kneebench.plan.faults import Fault, PlanFaults
from kneebench.plan.reader import parse_plan
from kneebench.plan.study import Study
from kneebench.plan.writer import to_toml
from kneebench.records import Limits
from kneebench.results.campaign_folders import resumable
from kneebench.results.compare_plans import compare_plans

COMMON = """
[database]
engine = "simulated"
[ladder.stops]
log_latency = { limit = "8ms" }
saturation  = { elasticity = 0.05 }
[storages.sata]
simulated = {}
[storages.nvme]
simulated = {}
"""
OWN = (
    COMMON
    + """
[storages.nvme.stops]
log_latency = { limit = "2ms" }
saturation  = { busy = 0.9 }
"""
)


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def faults(text: str) -> tuple[Fault, ...]:
    with pytest.raises(PlanFaults) as caught:
        parse_plan(text)
    return caught.value.faults


def limits(plan: Plan, storage: str) -> Limits:
    return plan.ladder_on(storage).stops.limits


def test_a_storage_has_its_own_conditions_and_else_those_of_the_ladder() -> None:
    plan = parse_plan(OWN)
    assert limits(plan, "sata") == Limits(elasticity=0.07, log_write_s=0.008, cores_busy=0.97)
    assert limits(plan, "nvme") == Limits(elasticity=0.07, log_write_s=0.002, cores_busy=0.9)
    assert plan.ladder.stops.log_latency.limit == 0.008
    by_storage = {
        configuration.storage: Study(plan).rungs(configuration).ladder.stops
        for configuration in configurations(plan)
    }
    assert by_storage["nvme"].limits == limits(plan, "nvme")
    assert by_storage["sata"] == plan.ladder.stops


def test_a_key_that_a_storage_leaves_out_is_as_in_the_ladder() -> None:
    assert parse_plan(OWN).ladder_on("nvme").stops.saturation.elasticity == 0.05
    assert parse_plan(OWN).ladder_on("nvme").stops.plateau.steps == 2


def test_results_keep_them_and_give_them_back() -> None:
    plan = parse_plan(OWN)
    again = Plan.model_validate(Study(plan).document)
    assert [again.ladder_on(name).stops for name in ("sata", "nvme")] == [
        plan.ladder_on(name).stops for name in ("sata", "nvme")
    ]
    assert parse_plan(to_toml(plan)) == plan
    assert resumable(Study(plan).document, Study(plan).document)
    assert not resumable(Study(parse_plan(COMMON)).document, Study(plan).document)


def test_a_plan_kept_before_storages_had_any_is_the_same_plan() -> None:
    document: dict[str, Any] = Study(parse_plan(COMMON)).document
    for storage in document["storages"].values():
        del storage["stops"]
    assert resumable(document, Study(parse_plan(COMMON)).document)
    assert compare_plans(document, Study(parse_plan(COMMON)).document) == []


@pytest.mark.parametrize(
    ("written", "key", "seen", "allowed", "near"),
    [
        (
            'log_latncy = { limit = "2ms" }',
            "storages.nvme.stops.log_latncy",
            'unknown key "log_latncy"',
            "one of: plateau, log_latency, saturation, errors, power, latency",
            "log_latency",
        ),
        (
            "budget = { }",
            "storages.nvme.stops.budget",
            'unknown key "budget"',
            "one of: plateau, log_latency, saturation, errors, power, latency",
            "",
        ),
        (
            'log_latency = { limits = "2ms" }',
            "storages.nvme.stops.log_latency.limits",
            'unknown key "limits"',
            "one of: limit",
            "limit",
        ),
        (
            "plateau = { steps = 9 }",
            "storages.nvme.stops.plateau.steps",
            "9",
            "whole number from 1 to 5",
            "",
        ),
        ("errors = 0.1", "storages.nvme.stops.errors", "0.1", "a table", ""),
    ],
)
def test_what_is_no_condition_is_refused_with_its_line_and_those_there_are(
    written: str, key: str, seen: str, allowed: str, near: str
) -> None:
    text = f"{COMMON}[storages.nvme.stops]\n{written}\n"
    (fault,) = faults(text)
    assert (fault.line, fault.key) == (text.rstrip().count("\n") + 1, key)
    assert (fault.seen, fault.allowed, fault.near) == (seen, allowed, near)


def test_a_wrong_value_of_the_ladder_is_one_error_where_it_was_written() -> None:
    (fault,) = faults(OWN.replace("elasticity = 0.05", 'elasticity = "low"'))
    assert fault.key == "ladder.stops.saturation.elasticity"


def test_check_prints_the_conditions_of_a_storage(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(OWN)
    runner = CliRunner(env={"COLUMNS": "200", "NO_COLOR": "1"})
    shown = runner.invoke(app, ["check", str(tmp_path / "plan.toml")]).output
    (line,) = (line for line in shown.splitlines() if "stop conditions" in line)
    assert "stop conditions of nvme" in line
    assert "log writes above 2 ms; all cores 90% busy and elasticity below 0.05" in line
    (tmp_path / "common.toml").write_text(COMMON)
    shown = runner.invoke(app, ["check", str(tmp_path / "common.toml")]).output
    assert "stop conditions" not in shown


def test_plans_are_comparable_only_with_the_same_conditions_on_a_storage_of_both() -> None:
    assert compare_plans(Study(parse_plan(COMMON)).document, Study(parse_plan(OWN)).document)[
        0
    ] == ("storages.nvme.stops.log_latency.limit")
    other = parse_plan(OWN.replace("storages.nvme", "storages.optane"))
    assert compare_plans(Study(parse_plan(COMMON)).document, Study(other).document) == []
