"""`kneebench noise` on the simulated engine: pairs are measured, kept, shown, forgotten, used."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from socket import gethostname
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from kneebench.analysis.comparison import compare
from kneebench.brief import Brief
from kneebench.campaign import flow
from kneebench.cli import app
from kneebench.plan.default import sized_plan
from kneebench.records import Results
from kneebench.results import campaigns, load

PLAN = """
baseline = "disk"
[database]
engine = "simulated"
[workload]
warehouses = 400
[ladder]
users = 8
warm_up_limit = "20s"
window = "10s"
final_window = "3s"
checkpoints = 0
rounds = "short"
repeats = 8
[storages.disk.simulated]
cores = 4
cpu_per_transaction = "4ms"
log_latency = "1ms"
[storages.other.simulated]
cores = 4
cpu_per_transaction = "4ms"
log_latency = "1ms"
"""


@pytest.fixture(autouse=True)
def place(own_place: Path) -> Path:
    """A directory of its own, with a plan."""
    (own_place / "plan.toml").write_text(PLAN)
    return own_place


def call(*words: str) -> Result:
    return CliRunner(env={"COLUMNS": "200", "NO_COLOR": "1"}).invoke(app, list(words))


def test_three_pairs_are_printed_with_their_intervals_and_give_the_machine_a_floor(
    place: Path,
) -> None:
    answer = call("noise", "plan.toml", "--pairs", "3")
    assert answer.exit_code == 0, answer.output
    assert "SIMULATED. How noisy is disk (A/A)?" in answer.stdout
    assert answer.stdout.count("how-noisy-is-disk") == 3
    assert answer.stdout.count("n=8)") >= 3
    assert "of 3 pairs claimed a difference." in answer.stdout
    assert "Noise floor of this machine, from 3 pairs" in answer.stdout
    found = [load(one.folder) for one in campaigns(place / "kneebench-results")]
    assert {climb.configuration.storage for results in found for climb in results.climbs} == {
        "a",
        "b",
    }
    ratios = {compare(results)[0].ratio.value for results in found}
    assert len(ratios) == 3, "each simulated pair has noise that is its own"


def test_one_pair_is_called_preliminary_and_shows_in_the_list_of_what_is_known() -> None:
    assert f"no A/A pairs of {gethostname()}" in call("noise", "--show").stdout
    assert "Preliminary" in call("noise", "plan.toml").stdout
    shown = call("noise", "--show").stdout
    assert f"Noise floors of {gethostname()}" in shown
    assert "simulated, short rounds; 1 pair, the newest" in shown
    assert "mean latency at the fixed rate" in shown
    (series,) = json.loads(call("noise", "--show", "--json").stdout)["series"]
    assert len(series["pairs"]) == series["noise_floor"]["pairs"] == 1
    assert call("noise", "--forget").stdout == "removed 1 A/A pair of this machine\n"
    assert f"no A/A pairs of {gethostname()}" in call("noise", "--show").stdout


@pytest.mark.long
def test_a_later_campaign_and_its_brief_have_the_floor_even_after_it_was_forgotten(
    place: Path,
) -> None:
    assert call("noise", "plan.toml", "--pairs", "3", "--out", "pairs").exit_code == 0
    assert call("run", "plan.toml", "--no-brief").exit_code == 0
    assert call("noise", "--forget").exit_code == 0
    (one,) = campaigns(place / "kneebench-results")
    results = load(one.folder)
    floor = results.campaign.noise_floor
    assert floor is not None
    assert [found.noise_floor for found in compare(results)] == [
        floor.shares[name] for name in ("nopm", "latency.mean", "latency.p999")
    ]
    page = Brief(results).html()
    assert "Noise floor of the machine, from 3 A/A pairs" in page


def test_programs_get_the_pairs_and_the_floor_as_one_document() -> None:
    answer = call("noise", "plan.toml", "--json")
    told = json.loads(answer.stdout.splitlines()[-1])
    assert (told["kind"], told["data"]["simulated"]) == ("result", True)
    (pair,) = told["data"]["pairs"]
    assert pair["exit_code"] == 0
    assert pair["ratios"]["nopm"]["ratio"]["n"] == 8
    assert told["data"]["noise_floor"]["shares"]["nopm"] >= 0.02


def test_a_damaged_pair_is_a_warning_of_the_next_run_and_does_not_stop_it(place: Path) -> None:
    assert call("noise", "plan.toml").exit_code == 0
    (file,) = (place / "state").rglob("noise/*/*.json")
    file.write_text("{")
    run = call("run", "plan.toml", "--no-brief")
    assert run.exit_code == 0
    assert "ignoring the A/A pair" in run.stderr
    assert "ignoring the A/A pair" in call("noise", "--show").stderr


def test_the_command_that_an_interrupt_prints_ends_its_line_and_resumes(place: Path) -> None:
    words = [sys.executable, "-m", "kneebench", "noise", "plan.toml", "--pairs", "2"]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    while not [*place.glob("kneebench-results/*/rungs/*.json")]:
        assert process.poll() is None, "no rung was kept"
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    [line] = re.findall(r"Resume with: (.*)\n", errors)
    found = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    again = subprocess.run(
        line, shell=True, env={**os.environ, "PATH": found}, capture_output=True, text=True
    )
    assert again.returncode == 0, again.stderr
    assert "resuming " in again.stderr


def test_an_interrupt_keeps_the_finished_pairs_and_says_how_many(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measure, begun = flow.run, []

    def stopped_in_the_second(*given: Any) -> Results:
        begun.append(given)
        if len(begun) == 2:
            raise KeyboardInterrupt
        return measure(*given)

    monkeypatch.setattr(flow, "run", stopped_in_the_second)
    answer = call("noise", "plan.toml", "--pairs", "3")
    assert answer.exit_code == 130
    assert "A/A pairs measured: 1 of 3; measure the others with --pairs 2" in answer.stderr
    assert len(list((place / "state").rglob("noise/*/*.json"))) == 1


def test_without_a_plan_the_directory_is_measured_at_a_fixed_load(place: Path) -> None:
    from kneebench.lab.host import host
    from kneebench.plan.noise import noise_plan

    made, default = noise_plan(host(), place), sized_plan(place, 20)
    assert made.ladder.fixed
    assert made.ladder.rounds == default.ladder.rounds == "short"
    assert {storage.path for storage in made.storages.values()} == {place}
    assert made.workload.warehouses >= 4 * made.ladder.last


def test_short_rounds_on_one_external_server_are_refused_with_what_to_write(place: Path) -> None:
    (place / "url.toml").write_text(
        '[database]\nurl = "postgresql://me@db.example/x"\n'
        '[ladder]\nrounds = "short"\nrepeats = 8\ncheckpoints = 0\n'
    )
    answer = call("noise", "url.toml")
    assert answer.exit_code == 2
    assert 'use rounds = "long"' in answer.stderr
