"""What the command line adds to a plan, and what it shows of a run."""

from __future__ import annotations

import csv
import json
import os
import re
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from kneebench import knee
from kneebench.campaign.preflight import read_plan
from kneebench.cli import app
from kneebench.errors import PlanError
from kneebench.plan import Plan
from kneebench.plan.overrides import override, with_overrides
from kneebench.plan.preset import preset_text
from kneebench.plan.reader import parse_plan
from kneebench.results import campaigns, load
from kneebench.results.campaign_names import find_campaign


def called(*words: str | Path) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a plan, and three campaigns of it that options made different."""
    folder = tmp_path_factory.mktemp("named")
    (folder / "sim.toml").write_text(preset_text("simulated").replace("[1, 256]", "[4, 64]"))
    options = ("--quiet", "--no-brief", "--out", folder)
    nightly = ("--name", "nightly", "--set", "ladder.repeats=2", "--set", "ladder.final_window=20s")
    for own in (
        (*nightly, "--tag", "firmware=1.2"),
        (*nightly, "--tag", "firmware=1.3"),
        ("--set", "ladder.step=2.5"),
    ):
        out = called("run", folder / "sim.toml", *options, *own)
        assert out.exit_code == 0, out.output
        quiet = all(line.startswith("warning: ") for line in out.stderr.splitlines())
        assert quiet, "no progress"
    return folder


def test_options_set_keys_of_the_plan_and_are_kept_with_the_campaign(root: Path) -> None:
    campaign = load(find_campaign("nightly~1", root)).campaign
    assert campaign.name == "nightly"
    assert campaign.tags == {"firmware": "1.2"}
    assert campaign.plan["ladder"]["repeats"] == 2
    assert campaign.plan["ladder"]["final_window"] == 20.0
    assert find_campaign("latest", root).name.endswith("-what-would-a-faster-drive-buy")


def test_a_campaign_of_another_tag_is_another_campaign(root: Path) -> None:
    assert [one.tags for one in campaigns(root) if one.name == "nightly"] == [
        {"firmware": "1.3"},
        {"firmware": "1.2"},
    ]


def test_list_shows_each_campaign_with_its_finding_and_tags(root: Path) -> None:
    lines = called("list", "--in", root).stdout.splitlines()
    [line] = [one for one in lines if "firmware=1.2" in one]
    assert "-nightly" in line and "slow drive, fast drive" in line
    assert "Simulated. Fast drive vs. slow drive: NOPM 1." in line
    only = called("list", "--in", root, "--tag", "firmware", "--json").stdout
    assert {one["name"] for one in json.loads(only)} == {"nightly"}
    none = called("list", "--in", root, "--tag", "firmware=9")
    assert none.stdout == f"no campaigns with firmware=9 in {root}\n"


def test_show_prints_the_figures_of_each_storage_as_csv(root: Path) -> None:
    out = called("show", "latest", "--in", root, "--csv")
    rows = list(csv.DictReader(out.stdout.splitlines()))
    assert [row["storage"] for row in rows] == ["slow drive", "fast drive"]
    results = load(find_campaign("latest", root))
    knees = [knee(climb) for climb in results.climbs]
    assert [float(row["nopm"]) for row in rows] == [one.nopm.value for one in knees]
    assert [float(row["nopm_low"]) for row in rows] == [one.nopm.low for one in knees]
    both = called("show", "latest", "--in", root, "--csv", "--json")
    assert both.exit_code == 2
    assert "--json with --csv: each is another form; use one at a time" in both.stderr


def test_compare_and_list_print_csv_with_a_row_for_each_configuration_or_campaign(
    root: Path,
) -> None:
    out = called("compare", "nightly~1", "nightly", "--in", root, "--csv")
    rows = list(csv.DictReader(out.stdout.splitlines()))
    assert [row["storage"] for row in rows] == ["slow drive", "fast drive"] * 2
    knees = [knee(climb) for climb in load(find_campaign("nightly~1", root)).climbs]
    assert [float(row["mean_s"]) for row in rows[:2]] == [one.latency_s.value for one in knees]
    assert float(rows[0]["fixed_rate_mean_s"]) < float(rows[0]["mean_s"])
    listed = list(csv.DictReader(called("list", "--in", root, "--csv").stdout.splitlines()))
    assert [row["tags"] for row in listed] == ["", "firmware=1.3", "firmware=1.2"]


def test_compare_lists_what_cannot_touch_the_figures_and_refuses_the_rest(
    root: Path,
) -> None:
    stepped = next(one.folder for one in campaigns(root) if not one.name)
    refused = called("compare", "nightly~1", stepped, "--in", root)
    assert refused.exit_code == 2
    assert "ladder.final_window is " in refused.stderr
    assert "compare --anyway" in refused.stderr
    compared = called("compare", "nightly~1", stepped, "--in", root, "--anyway", "--json")
    document = json.loads(compared.stdout)
    words = [one["words"] for one in document["disturbances"][stepped.name]]
    assert words[0].startswith("ladder.final_window is 20s in ")
    assert words[0].endswith("differences of figures may come from that")
    assert any(one.startswith("ladder.step is 1.5 in ") for one in document["differences"])


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (
            ("--set", "ladder.repeat=4"),
            "--set ladder.repeat: ladder.repeat\n    found:   unknown",
        ),
        (("--set", "ladder.window=5"), "allowed: a time with its unit in quotes"),
        (("--set", "ladder=5"), "allowed: a table"),
        (("--set", "accept={nopm=0.03, power=-1}"), "accept.power"),
        (("--set", "repeats"), "no = in it; write KEY=VALUE"),
        (("--set", "a b=1"), "'a b' is no key of a plan"),
        (("--name", "../up"), '--name ../up: name\n    found:   "../up"'),
        (("--name", "latest"), "another name: latest is the newest campaign"),
        (("--name", "x.kneebench"), "what ends in .kneebench is a result archive"),
        (("--tag", "firmware"), "a name and a value are required"),
        (("--tag", "a=1", "--tag", "a=2"), "--tag a=2: --tag a=1 sets it too; set each tag once"),
        (("--name", ""), "--name '': the name is empty; name the campaign, or omit it"),
        (("--open", "--no-brief"), "--open: --no-brief; leave one of them out"),
    ],
)
def test_a_wrong_option_says_what_it_sets_and_what_is_allowed(
    root: Path, option: tuple[str, ...], said: str
) -> None:
    out = called("run", root / "sim.toml", "--out", root, *option)
    assert out.exit_code == 2
    assert said in out.stderr


def test_check_takes_the_keys_that_a_run_takes(root: Path) -> None:
    out = called("check", root / "sim.toml", "--set", "workload.warehouses=1", "--json")
    assert out.exit_code == 0
    assert any("1 warehouse" in one["seen"] for one in json.loads(out.stdout))


def test_keys_are_set_in_order_and_make_the_tables_they_need() -> None:
    keys = [override("a.b=1"), override("a.b=2"), override('a."c d"=[1, "x"]'), override("e=5ms")]
    assert with_overrides({"a": {"z": 0}}, keys) == {
        "a": {"z": 0, "b": 2, "c d": [1, "x"]},
        "e": "5ms",
    }


def test_a_key_of_the_command_line_does_not_blame_a_line_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "plan.toml"
    file.write_text('[storages]\ndisk = { path = "." }\n[ladder]\nstep = 0.5\n')
    with pytest.raises(PlanError) as error:
        read_plan(file, [override("ladder.window=-1s")])
    assert f"{file}, line 4: ladder.step" in str(error.value)
    assert "--set ladder.window: ladder.window" in str(error.value)


def test_open_shows_the_brief_in_the_users_browser(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser, opened = tmp_path / "browser", tmp_path / "opened"
    browser.write_text(f"#!/bin/sh\necho $1 > {opened}\n")
    browser.chmod(0o755)
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    monkeypatch.delitem(sys.modules, "webbrowser", raising=False)
    out = called("brief", "nightly", "--in", root, "--out", tmp_path / "b.html", "--open")
    assert out.exit_code == 0
    assert opened.read_text().strip() == (tmp_path / "b.html").as_uri()


def test_a_new_plan_is_for_the_named_storages_and_says_what_check_finds(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    out = called("plan", "new", "--storage", tmp_path / "a", "--storage", f"fast={tmp_path / 'b'}")
    assert out.exit_code == 0, out.output
    assert out.stdout.startswith("# kneebench check: Ready: 0 errors")
    file = tmp_path / "new.toml"
    file.write_text(out.stdout)
    plan: Plan = read_plan(file)
    assert list(plan.storages) == ["a", "fast"]
    assert plan.question == "What does fast buy this database over a?"
    assert plan.ladder.rounds == "short"


def test_storages_whose_paths_end_alike_are_named_by_what_tells_them_apart(tmp_path: Path) -> None:
    for host in ("m1", "m2"):
        (tmp_path / host / "pg").mkdir(parents=True)
    words = (word for host in ("m1", "m2") for word in ("--storage", tmp_path / host / "pg"))
    out = called("plan", "new", *words)
    assert out.exit_code == 0, out.output
    (file := tmp_path / "new.toml").write_text(out.stdout)
    assert list(read_plan(file).storages) == ["m1-pg", "m2-pg"]


@pytest.mark.parametrize(
    ("storages", "said"),
    [
        (["/nonexistent"], "is no directory and no drive"),
        (["/tmp", "tmp=/var"], "two storages have one name"),
    ],
)
def test_a_storage_that_is_not_there_is_refused(storages: list[str], said: str) -> None:
    out = called("plan", "new", *(word for one in storages for word in ("--storage", one)))
    assert out.exit_code == 2
    assert said in out.stderr


def test_a_drive_is_offered_as_a_volume_and_refused_by_what_check_says() -> None:
    out = called("plan", "new", "--storage", "nvme77n1")
    assert out.exit_code == 0
    assert "error: drive 'nvme77n1': no such drive here" in out.stdout
    assert 'drives = ["nvme77n1"]' in out.stdout
    assert os.sep not in out.stdout.partition("[storages")[2]


URL = "postgresql://me:geheim@127.0.0.1:1/x"


@pytest.mark.parametrize(
    "words",
    [
        ["check", "--set", f'database.url="{URL}"'],
        ["check", "--set", f"database.url={URL}"],
        ["check", "--set", URL],
        ["check", "--set", f"{URL}?sslmode=require"],
        ["check", "--tag", URL],
        ["check", URL],
        ["check", "plan.toml", URL],
        ["check", f"--no={URL}"],
        ["show", URL],
        ["accept", URL],
        [URL],
    ],
)
def test_no_error_shows_the_password_of_a_url_that_was_typed(words: list[str]) -> None:
    answer = CliRunner(env={"COLUMNS": "500"}).invoke(app, words)
    assert answer.exit_code == 2, answer.output
    assert "geheim" not in answer.output


def test_an_ssh_destination_and_a_time_that_are_wrong_are_errors_that_say_why() -> None:
    text = '[hosts]\nload = [{ssh = "a"}, {ssh = "-oX"}]\n[power]\nidle = "1s"\n'
    with pytest.raises(PlanError) as error:
        parse_plan('[storages.a]\npath = "."\n' + text)
    shown = re.sub(r"\n +", " ", str(error.value))
    assert 'line 4: hosts.load.1.ssh found:   "-oX" allowed: an ssh destination such as' in shown
    assert 'line 6: power.idle found:   "1s" allowed: a time' in shown and "at least 5s" in shown
    assert "2 errors" in shown
