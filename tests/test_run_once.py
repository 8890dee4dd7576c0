"""So many users for so long, once: `kneebench run --users 8 --for 5min`, and `repeats = 0` in a
plan.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import kneebench
from kneebench.cli import app
from kneebench.errors import PlanError
from kneebench.plan.preset import preset_text
from kneebench.plan.reader import parse_plan
from kneebench.records import Event, Results, Rung

FIXED = preset_text("simulated").replace("users         = [1, 256]", "users         = 8")


@pytest.fixture(autouse=True)
def place(own_place: Path) -> Path:
    (own_place / "plan.toml").write_text(preset_text("simulated"))
    return own_place


def call(*words: str) -> Result:
    return CliRunner(env={"COLUMNS": "160", "NO_COLOR": "1"}).invoke(app, list(words))


def only(place: Path) -> Results:
    (one,) = kneebench.campaigns(place / "kneebench-results")
    return kneebench.load(one.folder)


def test_users_for_a_time_measures_one_rung_on_each_storage_and_prints_it(place: Path) -> None:
    answer = call("run", "plan.toml", "--users", "8", "--for", "20s", "--json")
    assert answer.exit_code == 0, answer.output
    told = json.loads(answer.stdout.splitlines()[-1])
    assert [(row["storage"], row["phase"], row["users"]) for row in told["data"]["rungs"]] == [
        ("slow drive", "fixed_load", 8),
        ("fast drive", "fixed_load", 8),
    ]
    assert [
        one["nopm"]["value"] == row["nopm"]
        for one, row in zip(told["data"]["configurations"], told["data"]["rungs"], strict=True)
    ] == [True, True]
    assert Path(told["brief"]).exists()
    assert {climb.rungs[0].tally.window_s for climb in only(place).climbs} == {20.0}


def test_one_pair_of_runs_claims_no_difference(place: Path) -> None:
    assert call("run", "plan.toml", "--users", "8", "--for", "20s", "--no-brief").exit_code == 0
    (nopm,) = kneebench.compare(only(place))
    assert nopm.ratio.value > 1.5
    assert not nopm.differs


def test_a_fixed_load_that_was_stopped_after_its_first_rung_shows_that_rung(place: Path) -> None:
    def stop_after_the_first_rung(event: Event) -> None:
        if event.kind == "rung" and isinstance(event.data["rung"], Rung):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kneebench.run(parse_plan(FIXED), "kneebench-results", watch=stop_after_the_first_rung)
    unfinished = only(place)
    found = kneebench.knee(unfinished.climbs[0])
    assert not unfinished.finished
    assert found
    assert found.nopm.value == unfinished.climbs[0].rungs[0].tally.nopm


def test_no_repeats_want_a_fixed_load() -> None:
    assert parse_plan(FIXED.replace("repeats       = 3", "repeats = 0")).ladder.repeats == 0
    with pytest.raises(PlanError, match=r"ladder.repeats[\s\S]*0 with `users` as one number"):
        parse_plan(preset_text("simulated").replace("repeats       = 3", "repeats = 0"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--users", "8"], "--users: --for is missing"),
        (["--for", "5min"], "--for: --users is missing"),
        (["--users", "8", "--for", "5"], "a time is a number and a unit"),
        (["--users", "8", "--for", "0s"], "a time above 0"),
    ],
)
def test_half_an_order_is_refused_with_what_to_add(
    place: Path, words: list[str], said: str
) -> None:
    answer = call("run", "plan.toml", *words)
    assert answer.exit_code == 2
    assert said in answer.stderr
    assert not (place / "kneebench-results").exists()
