"""The plan's list of drives that may be erased: each entry is one drive, and one of the plan's."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kneebench.cli import app
from kneebench.errors import PlanError
from kneebench.lab.inventory import inventory
from kneebench.lab.volumes.findings import erase_findings
from kneebench.plan.reader import parse_plan
from kneebench.plan.study import Study
from tests.loop_devices import loop_device

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="attaches loop devices: needs root")
STORAGE = '[storages.disk]\npath = "."\n'
WRONG = ['""', '" "', '"*"', '"eui.*"', '"eui.002538?"', '"eui.1 "', '"\\teui.1"']


@pytest.mark.parametrize("entry", WRONG)
def test_an_entry_that_is_empty_or_a_pattern_is_refused_when_the_plan_is_read(entry: str) -> None:
    with pytest.raises(PlanError) as wrong:
        parse_plan(f"erase = [{entry}]\n{STORAGE}")
    assert "line 1: erase" in str(wrong.value)
    if "\\t" not in entry:
        assert "WWIDs in quotes, as `kneebench drives` prints them" in str(wrong.value)


def test_an_entry_twice_is_refused() -> None:
    with pytest.raises(PlanError, match="each drive once"):
        parse_plan(f'erase = ["eui.1", "eui.1"]\n{STORAGE}')


def test_a_wwid_with_blanks_within_and_a_loop_device_s_file_are_entries() -> None:
    entries = ("t10.ATA     Disk 1", "/srv/loop [2].img")
    plan = parse_plan(f"erase = {list(entries)}\n".replace("'", '"') + STORAGE)
    assert plan.erase == entries


def test_check_refuses_a_pattern_of_drives(own_place: Path) -> None:
    (own_place / "plan.toml").write_text(f'erase = ["*"]\n{STORAGE}')
    answer = CliRunner().invoke(app, ["check", "plan.toml"])
    assert answer.exit_code == 2
    assert "as `kneebench drives` prints them" in answer.stderr


def test_check_warns_of_an_entry_that_is_no_drive_of_the_plan(own_place: Path) -> None:
    table = '[database]\nengine = "simulated"\n[storages.disk]\nsimulated = {}\n'
    (own_place / "plan.toml").write_text(f'erase = ["eui.1"]\n{table}')
    answer = CliRunner().invoke(app, ["check", "plan.toml"])
    assert answer.exit_code == 0
    lines = [line.split() for line in answer.stdout.splitlines()]
    assert ["warning", "erase"] in [words[:2] for words in lines]
    assert 'no storage of the plan has a drive with the WWID "eui.1"' in answer.stdout


@needs_root
@pytest.mark.root
def test_an_entry_by_another_name_of_a_drive_is_answered_with_its_wwid(tmp_path: Path) -> None:
    with loop_device(tmp_path / "drive.img") as drive:
        wwid = inventory([str(drive)])[0].wwid
        storage = f'[storages.new]\ndrives = ["{drive}"]\n'
        right, wrong, short = (
            list(erase_findings(Study(parse_plan(f'erase = ["{entry}"]\n{storage}'))))
            for entry in (wwid, drive, drive.name)
        )
    assert right == []
    assert [one.level for one in (*wrong, *short)] == ["warning", "warning"]
    assert {one.do for one in (*wrong, *short)} == {f'name the WWID of that drive: "{wwid}"'}
