"""The how-to "Every night in CI": its script runs on the simulated engine as it is printed, night
after night, and the configuration of both CI systems calls that script and collects what it leaves.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml  # type: ignore[import-untyped]

from kneebench.errors import CANNOT_SAY, WORSE
from kneebench.plan.writer import to_toml
from kneebench.results.badge import GREY, RED
from tests.simulated_campaign import nightly

PAGE = (Path(__file__).parent.parent / "docs/nightly.md").read_text()
SCRIPT = next(
    block for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) if block.startswith("#!")
)
REPORTS = {"accept.xml", "accept.html", "campaign.kneebench", "trend.html", "kneebench.svg", "log"}


@pytest.fixture
def place(own_place: Path, blank_figures: None) -> Path:
    """A directory with the script, a plan, and kneebench on the PATH."""
    script = own_place / "nightly.sh"
    script.write_text(SCRIPT)
    script.chmod(0o755)
    programs = own_place / "bin"
    programs.mkdir()
    (programs / "kneebench").write_text(f'#!/bin/sh\nexec {sys.executable} -m kneebench "$@"\n')
    (programs / "kneebench").chmod(0o755)
    (own_place / "plan.toml").write_text(to_toml(nightly("1ms")))
    return own_place


def night(place: Path, *options: str) -> int:
    path = f"{place / 'bin'}:{os.environ['PATH']}"
    done = subprocess.run(
        ["./nightly.sh", "plan.toml", *options],
        cwd=place,
        env={**os.environ, "PATH": path},
        check=False,
        capture_output=True,
        text=True,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode


def errors_and_failures(place: Path) -> tuple[int, int]:
    root = ElementTree.parse(place / "reports/accept.xml").getroot()
    return int(float(root.get("errors") or 0)), int(float(root.get("failures") or 0))


def badge(place: Path) -> tuple[str | None, str | None]:
    root = ElementTree.parse(place / "reports/kneebench.svg").getroot()
    picture = "{http://www.w3.org/2000/svg}"
    colour = root.find(f"{picture}path")
    assert colour is not None
    return root.get("aria-label"), colour.get("fill")


def test_the_script_judges_every_night_and_leaves_no_report_of_an_earlier_one(
    place: Path,
) -> None:
    assert night(place, "--set", "accept.nopm_limit=1") == 0
    assert (place / "baseline.kneebench").exists()
    assert errors_and_failures(place) == (0, 0)
    assert night(place, "--tag", "firmware=1.3") == 0
    assert 'name="tag.firmware" value="1.3"' in (place / "reports/accept.xml").read_text()
    assert {file.name for file in (place / "reports").iterdir()} == REPORTS
    (place / "plan.toml").write_text(to_toml(nightly("3ms")))
    assert night(place) == WORSE
    assert errors_and_failures(place)[1] >= 1
    assert badge(place) == ("kneebench, simulated: last night worse", RED)
    assert {file.name for file in (place / "reports").iterdir()} == REPORTS
    (place / "plan.toml").write_text("[storages]\nx = 1\n")
    assert night(place) == 2
    assert errors_and_failures(place) == (1, 0)
    assert badge(place) == ("kneebench, simulated: last night failed (exit code 2)", GREY)
    assert not (place / "reports/campaign.kneebench").exists()
    assert len(list((place / "kneebench-results").glob("*/finished.json"))) == 3


def test_a_first_night_that_fails_or_breaks_a_limit_has_a_report_and_makes_no_baseline(
    place: Path,
) -> None:
    plan = (place / "plan.toml").read_text()
    (place / "plan.toml").write_text("[storages]\nx = 1\n")
    assert night(place) == 2
    assert errors_and_failures(place) == (1, 0)
    assert "storages.x" in (place / "reports/accept.xml").read_text()
    (place / "plan.toml").write_text(plan)
    assert night(place, "--set", "accept.nopm_limit=1000000000") == WORSE
    assert errors_and_failures(place)[1] >= 1
    assert not (place / "baseline.kneebench").exists()


@pytest.mark.long
def test_a_first_night_without_limits_is_not_green_and_makes_the_baseline(place: Path) -> None:
    assert night(place) == CANNOT_SAY
    assert errors_and_failures(place) == (1, 0)
    assert "no figure is judged" in (place / "reports/accept.xml").read_text()
    assert (place / "baseline.kneebench").exists()


def test_a_night_without_kneebench_or_without_its_baseline_has_an_error(place: Path) -> None:
    (place / "baseline.kneebench").symlink_to(place / "nowhere" / "baseline.kneebench")
    assert night(place) != 0
    assert errors_and_failures(place) == (1, 0)
    assert "the baseline could not be written" in (place / "reports/accept.xml").read_text()
    (place / "baseline.kneebench").unlink()
    (place / "baseline.kneebench").write_text("")
    (place / "bin" / "kneebench").write_text("#!/bin/sh\nexit 127\n")
    assert night(place) == 127
    assert errors_and_failures(place) == (1, 0)
    assert "kneebench has not finished" in (place / "reports/accept.xml").read_text()


def test_a_night_whose_reports_cannot_be_emptied_measures_nothing(place: Path) -> None:
    (place / "reports").mkdir()
    (place / "bin" / "rm").write_text("#!/bin/sh\nexit 1\n")
    (place / "bin" / "rm").chmod(0o755)
    assert night(place) == 2
    assert not (place / "kneebench-results").exists()


def test_each_ci_system_calls_the_script_and_collects_the_report_whatever_happened() -> None:
    github, gitlab = (
        yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    )
    job: dict[str, Any] = github["jobs"]["measure"]
    steps = job["steps"]
    assert [step["run"] for step in steps if "run" in step] == ["./nightly.sh plan.toml"]
    upload = next(step for step in steps if "upload-artifact" in step.get("uses", ""))
    assert upload["if"] == "always()"
    assert upload["with"]["path"] == job["env"]["REPORTS"]
    assert github["concurrency"]
    storage = gitlab["nightly storage"]
    assert storage["script"] == ["./nightly.sh plan.toml"]
    assert storage["artifacts"]["when"] == "always"
    reports = storage["variables"]["REPORTS"]
    assert storage["artifacts"]["paths"] == [reports]
    assert storage["artifacts"]["reports"]["junit"] == f"{reports}/accept.xml"
    for variables in (job["env"], storage["variables"]):
        assert set(variables) == {"RESULTS", "BASELINE", "REPORTS"}
        assert all(f"${{{name}:-" in SCRIPT for name in variables)


def test_the_script_is_plain_shell_without_errors(place: Path) -> None:
    done = subprocess.run(["sh", "-n", "nightly.sh"], cwd=place, check=False)
    assert done.returncode == 0
    usage = subprocess.run(["./nightly.sh"], cwd=place, check=False, capture_output=True, text=True)
    assert usage.returncode != 0
    assert "usage: nightly.sh PLAN [OPTION]..." in usage.stderr
    assert not (place / "kneebench-results").exists()
