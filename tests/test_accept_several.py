"""Several campaigns judged as one, and the JUnit file: whatever fails, no earlier answer is
left.
"""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from rich.console import Console
from typer.testing import CliRunner, Result

import kneebench
from kneebench.brief.campaigns import AcceptancePage
from kneebench.brief.terminal import told
from kneebench.cli import app
from kneebench.commands.junit_file import JUnitFile
from kneebench.errors import CANNOT_SAY, WORSE, CheckFailed
from kneebench.results.acceptance import accept, worst
from kneebench.screen.junit import junit
from tests.packed import changed, small_campaign
from tests.recordings import recorded

GREEN = '<testsuites><testsuite name="yesterday" tests="1" failures="0"/></testsuites>'


@pytest.fixture(autouse=True)
def place(own_place: Path) -> Path:
    return own_place


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Campaigns: before; alike, of the same figures; narrow, whose margin is too narrow; limited,
    whose limit none meets.
    """
    root = tmp_path_factory.mktemp("several")
    small_campaign(root).rename(root / "before")
    tables = {"alike": {}, "narrow": {"margin": 0.0001}, "limited": {"nopm_limit": 1e9}}
    for name, table in tables.items():
        shutil.copytree(root / "before", root / name)

        def change(head: Any, name: str = name, table: Any = table) -> None:
            head["id"] = name
            head["plan"]["accept"] |= table

        changed(root / name / "campaign.json", change)
    return root


def call(*words: object) -> Result:
    runner = CliRunner(env={"COLUMNS": "200", "NO_COLOR": "1"})
    return runner.invoke(app, ["accept", *map(str, words)])


# --- several campaigns ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "code"),
    [
        (("alike", "alike"), 0),
        (("alike", "before"), CANNOT_SAY),
        (("alike", "narrow"), CANNOT_SAY),
        (("limited", "narrow", "alike"), WORSE),
    ],
)
def test_the_exit_code_of_several_campaigns_is_that_of_the_worst(
    names: tuple[str, ...], code: int, root: Path
) -> None:
    answer = call("before", *names, "--in", root, "--json")
    assert answer.exit_code == code, answer.output
    found = json.loads(answer.stdout)
    assert len(found["campaigns"]) == len(names)
    assert found["exit_code"] == code


def test_several_campaigns_are_one_table_with_a_column_for_each(root: Path) -> None:
    answer = call("before", "alike", "narrow", "--in", root)
    assert answer.stdout.startswith("Simulated. 2 campaigns: 1 cannot say and 1 same\n")
    assert "\nalike: Same as the baseline" in answer.stdout
    [head] = [line for line in answer.stdout.splitlines() if "Baseline  " in line]
    assert head.split() == ["Storage", "Figure", "Baseline", "alike", "narrow", "Margin"]
    [row] = [line for line in answer.stdout.splitlines() if "slow drive  NOPM" in line]
    assert re.search(r"same +cannot say +5% or 0%", row), row
    assert "narrow: Slow drive: cannot say for NOPM" in answer.stdout


def test_a_plan_among_several_campaigns_is_no_campaign(root: Path, place: Path) -> None:
    (place / "plan.toml").write_text("")
    answer = call("before", "alike", "plan.toml", "--in", root)
    assert answer.exit_code == 2
    assert "plan.toml: no such campaign" in answer.stderr


def test_a_page_of_several_campaigns_has_one_table_and_counts_the_answers(root: Path) -> None:
    answer = call("before", "alike", "narrow", "--in", root, "--page", "page.html")
    assert answer.exit_code == CANNOT_SAY
    page = Path("page.html").read_text()
    assert "<h1>Simulated. 2 campaigns: 1 cannot say and 1 same</h1>" in page
    assert page.count(">alike</th>") == page.count(">narrow</th>") == 1
    assert call("before", "alike", "narrow", "--in", root, "--page", "p.csv").exit_code
    rows = Path("p.csv").read_text().splitlines()
    assert len({row.partition(",")[0] for row in rows[1:]}) == 2


def test_the_worst_answer_is_found_among_real_campaigns() -> None:
    one = recorded()
    good = accept(baseline=one, campaign=one)
    bad = good.model_copy(update={"judgement": "worse"})
    undecided = good.model_copy(update={"judgement": "cannot say"})
    assert worst([undecided, bad, good]) is bad
    assert worst([good.model_copy(update={"judgement": "same"}), undecided]) is undecided
    assert AcceptancePage([good, bad], one, [one, one]).tone == "alarm"


def test_the_names_of_several_campaigns_are_not_broken_where_a_terminal_is_narrow() -> None:
    one = recorded()
    found = accept(baseline=one, campaign=one)
    names = [f"2026-11-1{n}-the-first-campaign-of-the-night-with-a-long-name" for n in (1, 2)]
    console = Console(width=80, file=io.StringIO(), record=True)
    several = [found.model_copy(update={"campaign": name}) for name in names]
    console.print(*told(AcceptancePage(several, one, [one, one])), sep="\n")
    text = console.export_text()
    assert all(f"\n{name}: " in text for name in names), text


# --- the JUnit file -------------------------------------------------------------------------------


def suites(file: Path) -> list[ElementTree.Element]:
    return list(ElementTree.parse(file).getroot())


def test_junit_has_a_suite_for_each_campaign_with_host_kernel_times_and_intervals(
    root: Path, place: Path
) -> None:
    answer = call("before", "alike", "narrow", "--in", root, "--junit", "ci.xml")
    found = suites(place / "ci.xml")
    assert len(found) == 2
    host = kneebench.load(root / "before").campaign.host
    for suite in found:
        properties = {one.get("name"): one.get("value") for one in suite.iter("property")}
        assert properties["kernel"] == host.kernel
        assert properties["baseline.kernel"] == host.kernel
        assert f"{host.cores} cores" in str(properties["machine"])
        assert suite.get("hostname")
        cases = [float(case.get("time") or 0) for case in suite.iter("testcase")]
        assert float(suite.get("time") or 0) > max(60.0, *cases)
        assert min(cases) > 20
    text, cells = (place / "ci.xml").read_text(), re.split(r"  +|\n", answer.stdout)
    ratios = [cell for cell in cells if re.match(r"[\d.]+x \(.* n=3\)", cell)]
    assert len(ratios) == 16
    assert [ratio for ratio in ratios if ratio not in text] == []


def test_the_answer_stays_in_the_junit_file_whose_output_ended_early(place: Path) -> None:
    one, path = recorded(), place / "ci.xml"
    found = accept(baseline=one, campaign=one)
    with pytest.raises(BrokenPipeError), JUnitFile(path, ["one"]) as file:
        file.write([found], [one], one, ())
        answer = path.read_text()
        raise BrokenPipeError
    assert path.read_text() == answer
    with pytest.raises(OSError, match="full"), JUnitFile(path, ["one"]) as file:
        file.write([found], [one], one, ())
        raise OSError("full")
    assert "full" in path.read_text()


def test_a_campaign_that_ended_with_an_error_of_its_own_does_not_pass_in_junit() -> None:
    one = recorded()
    found = accept(baseline=one, campaign=one).model_copy(update={"figures": ()})
    lost = one.climbs[0].checks[0].model_copy(update={"passed": False, "sentence": "one is lost"})
    first = one.climbs[0].model_copy(update={"checks": (lost,)})
    broken = one.model_copy(update={"climbs": (first, *one.climbs[1:])})
    suite = ElementTree.fromstring(junit([found], [broken], one).partition("\n")[2])[0]
    (error,) = suite.iter("error")
    assert error.get("type") == f"exit code {CheckFailed.exit_code}"
    assert "one is lost" in (error.get("message") or "")
    assert suite.get("errors") == "1"


@pytest.mark.parametrize(
    "words",
    [
        ("nosuch",),
        ("before", "nosuch"),
        ("before", "alike", "nosuch"),
        ("before", "alike", "--page", "no/page.html"),
        ("before", "alike", "--page", "page.doc"),
        ("before", "alike", "--margin", "5"),
        ("before", "alike", "--margin", "five"),
        ("before", "alike", "--nosuch"),
        ("before", "wrong.toml"),
        (),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("equals", [False, True])
def test_yesterdays_file_does_not_survive_a_command_that_fails(
    words: tuple[str, ...], equals: bool, root: Path, place: Path
) -> None:
    (place / "wrong.toml").write_text("[storages]\nx = 1\n")
    (place / "ci.xml").write_text(GREEN)
    option = ["--junit=ci.xml"] if equals else ["--junit", "ci.xml"]
    answer = call(*words, *option, "--in", root)
    assert answer.exit_code == 2, answer.output
    (suite,) = suites(place / "ci.xml")
    assert suite.get("errors") == "1"
    assert "yesterday" not in (place / "ci.xml").read_text()


def test_yesterdays_file_is_gone_where_no_other_can_be_written(root: Path, place: Path) -> None:
    (place / "ci.xml").write_text(GREEN)

    def full(*words: object) -> None:
        raise OSError(28, "No space left on device", "ci.xml")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kneebench.results.atomic_write.write_where_named", full)
        answer = call("before", "alike", "--junit", "ci.xml", "--in", root)
    assert answer.exit_code == 2
    assert not (place / "ci.xml").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_yesterdays_file_does_not_survive_a_kill_while_the_campaign_is_measured(
    number: signal.Signals, root: Path, place: Path
) -> None:
    (place / "ci.xml").write_text(GREEN)
    words = ["accept", str(root / "before"), "--fresh", "--junit", "ci.xml", "--no-brief", "--yes"]
    words += ["--set", "ladder.repeats=50"]  # long enough to be killed, also on a busy machine
    command = ["env", "--default-signal=HUP", sys.executable, "-m", "kneebench", *words]
    with subprocess.Popen(command, stderr=-1) as process:  # under nohup SIGHUP is ignored
        while not list(place.glob("kneebench-results/*/rungs/*.json")) and process.poll() is None:
            time.sleep(0.02)
        os.kill(process.pid, number)
        process.communicate()
    assert process.returncode != 0
    (suite,) = suites(place / "ci.xml")
    (error,) = suite.iter("error")
    assert error.get("message") in ("interrupted", "kneebench accept has not finished")


def test_a_link_of_the_files_name_is_replaced_and_not_what_it_leads_to(
    root: Path, place: Path
) -> None:
    (place / "kept.xml").write_text(GREEN)
    (place / "ci.xml").symlink_to("kept.xml")
    assert call("before", "alike", "--junit", "ci.xml", "--in", root).exit_code == 0
    assert (place / "kept.xml").read_text() == GREEN
    assert not (place / "ci.xml").is_symlink()
