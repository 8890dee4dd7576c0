"""accept with a result archive: a stranger's campaign is judged and repeated, and its plan does
nothing here but use a database of kneebench's own.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import kneebench
from kneebench.cli import app
from kneebench.errors import CANNOT_SAY
from kneebench.plan import Plan
from kneebench.plan.borrowed import effects, reaches_further
from kneebench.plan.preset import presets
from kneebench.results.redaction import pack
from tests.packed import changed, small_campaign
from tests.recordings import recorded_plan


@pytest.fixture(autouse=True)
def place(own_place: Path) -> Path:
    return own_place


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_campaign(tmp_path_factory.mktemp("stranger"))


@pytest.fixture
def archive(folder: Path, place: Path) -> Path:
    pack(kneebench.load(folder), place / "stranger.kneebench")
    return place / "stranger.kneebench"


def call(*words: object) -> Result:
    runner = CliRunner(env={"COLUMNS": "200", "NO_COLOR": "1"})
    return runner.invoke(app, ["accept", *map(str, words)])


def test_a_strangers_campaign_is_repeated_here_and_judged_once_agreed_to(
    archive: Path, place: Path
) -> None:
    asked = call(archive)
    assert asked.exit_code == 2
    assert "it is not your own; it would run a simulated database" in asked.stderr
    assert "add --yes" in asked.stderr
    assert not (place / "kneebench-results").exists()
    answer = call(archive, "--yes", "--no-brief")
    assert answer.exit_code == 0, answer.output
    assert "Same as the baseline within the margins: all 8 figures" in answer.stdout
    assert len(list(place.glob("kneebench-results/*/finished.json"))) == 1


def test_a_strangers_campaign_is_judged_against_ones_own_without_running_anything(
    archive: Path, folder: Path, place: Path
) -> None:
    for answer in (call(archive, folder), call(folder, archive)):
        assert answer.exit_code == CANNOT_SAY
        assert "this campaign is the baseline itself" in answer.stdout
    assert not (place / "kneebench-results").exists()


def test_a_strangers_plan_that_would_act_is_refused_also_with_yes(
    folder: Path, place: Path
) -> None:
    def act(head: Any) -> None:
        meter = {"name": "m", "type": "command", "scope": "wall", "command": ["touch", "harmed"]}
        head["plan"]["power"] = {"meters": [meter]}

    head = folder / "campaign.json"
    before = head.read_text()
    changed(head, act)
    pack(kneebench.load(folder), place / "x.kneebench")
    head.write_text(before)
    answer = call("x.kneebench", "--yes")
    assert answer.exit_code == 2
    assert "it has meters of power" in answer.stderr
    assert not (place / "harmed").exists()
    assert not (place / "kneebench-results").exists()


ACTING: dict[str, dict[str, Any]] = {
    "log in to other machines": {
        "hosts": {"database": {"address": "10.0.0.1"}, "load": [{"ssh": "me@elsewhere"}]}
    },
    "server by URL": {"database": {"engine": "postgres", "url": "postgresql://db/x"}},
    "storages url": {
        "storages": {"a": {"url": "postgresql://db/x"}},
        "baseline": "",
    },
    "makes volumes": {"storages": {"a": {"drives": ["eui.1"], "layout": "single"}}},
    "kernel settings": {"kernel": {"sysctl": {"vm.swappiness": 1}}},
    "with fio": {"raw_profile": True},
    "limits memory": {"constraints": {"memory": ["8GiB"]}},
    "restore_command": {
        "database": {
            "engine": "postgres",
            "url": "postgresql://db/x",
            "restore_command": "restore.sh",
            "restore": "command",
        }
    },
    "bin_dir": {"database": {"engine": "postgres", "bin_dir": "/tmp/theirs"}},
    "archive_command": {
        "database": {"engine": "postgres", "settings": {"archive_command": "true"}}
    },
    "shared_preload_libraries": {
        "database": {"engine": "postgres", "settings": {"shared_preload_libraries": "theirs"}}
    },
    "log_line_prefix": {
        "database": {"engine": "postgres", "settings": {"log_line_prefix": "$(touch x)"}}
    },
}


@pytest.mark.parametrize("what", ACTING)
def test_each_part_of_a_plan_that_reaches_further_is_found(what: str) -> None:
    table = dict(ACTING[what])
    if "storages" in table:
        table["baseline"] = ""
    assert reaches_further(recorded_plan(**table))


def test_a_plan_of_directories_and_plain_settings_is_run_and_says_what_it_writes() -> None:
    database = {"engine": "postgres", "settings": {"shared_buffers": "1GB", "jit": "off"}}
    plan = recorded_plan(database=database)
    assert reaches_further(plan) == ""
    assert effects(plan) == "run postgres and write to disk, memory, .kneebench/images"


@pytest.mark.parametrize("name", presets())
def test_what_is_refused_of_the_presets_is_only_what_reaches_further(name: str) -> None:
    plan = kneebench.preset(name)
    assert isinstance(plan, Plan)
    acts = bool(plan.volumes or plan.servers or plan.has_constraints or plan.raw_profile)
    assert bool(reaches_further(plan)) == acts
