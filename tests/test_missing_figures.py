"""A campaign without a usable figure says so wherever it is read, and ends with 3."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from kneebench.analysis.outcome import missing_figures
from kneebench.brief.page import Brief
from kneebench.cli import app
from kneebench.results import load
from tests.remarks import invalid

FAILING = """
[database]
engine = "simulated"
[workload]
warehouses = 40
retries = 0
[ladder]
users = {users}
window = "6s"
final_window = "6s"
warm_up = "2s"
checkpoints = 0
repeats = 1
[storages.sound.simulated]
[storages.failing.simulated]
deadlocks = 0.037
"""


def call(*words: str) -> Result:
    return CliRunner(env={"COLUMNS": "200", "NO_COLOR": "1"}).invoke(app, list(words))


@pytest.mark.parametrize("users", ["8", "[2, 16]"], ids=["fixed-load", "climb"])
def test_a_storage_whose_transactions_fail_has_no_figure_and_the_run_ends_with_3(
    users: str, tmp_path: Path
) -> None:
    (tmp_path / "plan.toml").write_text(FAILING.format(users=users))
    words = ("run", str(tmp_path / "plan.toml"), "--out", str(tmp_path / "out"), "--no-brief")
    answer = call(*words)
    assert answer.exit_code == 3, answer.output
    (told,) = [line for line in answer.stdout.splitlines() if line.startswith("NO FIGURE")]
    assert (
        told.startswith("NO FIGURE  failing: no usable figure: ") and "transactions failed" in told
    )
    (folder,) = (file.parent for file in (tmp_path / "out").glob("*/campaign.json"))
    assert (
        json.loads(call("list", "--in", str(tmp_path / "out"), "--json").stdout)[0]["exit_code"]
        == 3
    )
    assert json.loads(call("show", str(folder), "--json").stdout)["without_figure"] == [
        told.removeprefix("NO FIGURE  ")
    ]
    brief = Brief(load(folder))
    assert brief.exit_code == 3
    assert brief.alarms[0].title == "No usable figure for failing"


def test_the_reason_is_that_of_the_final_runs_where_all_of_them_are_invalid(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(FAILING.format(users=8).replace("0.037", "0"))
    assert (
        call("run", str(tmp_path / "plan.toml"), "--out", str(tmp_path), "--no-brief").exit_code
        == 0
    )
    results = load(next(tmp_path.glob("*/campaign.json")).parent)
    climb = results.climbs[0]
    rungs = tuple(
        invalid(rung, "the load generator was busy" if rung.order.phase == "final_run" else "")
        for rung in climb.rungs
    )
    spoilt = results.model_copy(
        update={"climbs": (climb.model_copy(update={"rungs": rungs}), *results.climbs[1:])}
    )
    assert [one.sentence for one in missing_figures(spoilt)] == [
        "no usable figure: none of the 1 final runs is valid (first: the load generator was busy)"
    ]
    assert missing_figures(spoilt.model_copy(update={"finished": False})) == (), (
        "its figures are still to come"
    )
