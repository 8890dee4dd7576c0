"""Profiles of whole drives: real fio on loop devices; what is read only, refused and erased."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kneebench.cli import app
from kneebench.errors import PlanError, Refused
from kneebench.lab.inventory import inventory, named
from kneebench.lab.inventory.erasable import drive_state
from kneebench.lab.journal import Journal
from kneebench.measurement.profile import DriveTarget, Job, profile, profile_together
from tests.loop_devices import MIB, SIZE, done, loop_device, mounted, put

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: loop devices"),
    pytest.mark.skipif(not shutil.which("fio"), reason="needs fio"),
]
FEW = (Job("headline", "randread", 4096, 4), Job("headline", "randwrite", 4096, 4))


@pytest.fixture(autouse=True)
def place(own_place: Path) -> Path:
    return own_place


@pytest.fixture
def drive(place: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A blank loop device; the command measures few rows."""
    few = partial(profile, jobs=FEW)
    monkeypatch.setattr("kneebench.measurement.profile.profile", few)
    with loop_device(place / "a.img") as device:
        yield device


def ran(*words: object, answer: str = "") -> tuple[int, str]:
    command = ["profile", "--seconds", "1", *map(str, words)]
    ended = CliRunner().invoke(app, command, input=answer)
    return ended.exit_code, " ".join(ended.output.split())


def first_bytes(drive: Path) -> bytes:
    with drive.open("rb") as file:
        return file.read(4 * MIB)


def test_a_whole_drive_is_only_read_and_its_data_stay(drive: Path) -> None:
    put(drive, 0, b"precious" * 1000)
    before = first_bytes(drive)
    code, said = ran(drive, "--json", "--out", "p")
    assert code == 0, said
    found = json.loads(Path("p/profile.json").read_text())
    assert [row["name"] for row in found["rows"]] == [FEW[0].name]
    assert (found["raw"], found["file_system"], found["file_bytes"]) == (True, "raw drive", SIZE)
    assert "only reads" in said
    assert first_bytes(drive) == before
    page = Path("p/profile.html").read_text()
    assert "Preconditioned" not in page
    assert f"kneebench profile {drive} --seconds 1" in page
    assert "read only" in page


def test_a_blank_drive_is_preconditioned_written_and_may_be_used_again(drive: Path) -> None:
    code, said = ran(drive, "--write", "--precondition", "sequential 1", "--out", "p")
    assert code == 0, said
    page = " ".join(Path("p/profile.html").read_text().split())
    assert "sequential 1, 319 MiB in " in page
    assert f"profile {drive} --write --precondition &#39;sequential 1&#39; --seconds 1" in page
    assert f"preconditioning {drive.name}: sequential pass 1 of 1" in said
    assert FEW[1].name in said
    assert drive_state(inventory([str(drive)])[0]).state == "blank"
    assert (
        "was preconditioned by an earlier run"
        in ran(drive, "--write", "--precondition", "sequential 1")[1]
    )
    assert Journal().leftovers() == []


def test_a_drive_with_data_is_written_only_if_it_is_named_under_erase(drive: Path) -> None:
    done("mkfs.ext4", "-q", drive)
    before = first_bytes(drive)
    code, said = ran(drive, "--write")
    assert (code, first_bytes(drive) == before) == (Refused.exit_code, True), said
    assert "contains data: ext4" in said
    assert f"add --erase {inventory([str(drive)])[0].wwid}" in said
    code, said = ran(drive, "--write", "--erase", "another")
    assert (code, first_bytes(drive) == before) == (PlanError.exit_code, True), said
    erase = ("--write", "--erase", inventory([str(drive)])[0].wwid)
    for answer in ("", "no", "y"):
        code, said = ran(drive, *erase, "--yes", "--json", answer=answer)
        assert (code, first_bytes(drive) == before) == (Refused.exit_code, True), said
    code, said = ran(drive, *erase, answer="erase 1 drive\n")
    assert code == 0, said
    assert "These drives will be erased:" in said
    assert drive_state(inventory([str(drive)])[0]).state == "blank"


def test_a_drive_in_use_is_refused_also_for_reading(drive: Path, place: Path) -> None:
    done("mkfs.ext4", "-q", drive)
    (place / "mounted").mkdir()
    with mounted(drive, place / "mounted"):
        for words in ([], ["--write", "--erase", inventory([str(drive)])[0].wwid]):
            code, said = ran(drive, *words)
            assert code == Refused.exit_code
            assert "mounted on" in said


@pytest.mark.long
def test_two_drives_are_measured_alone_and_together(drive: Path, place: Path) -> None:
    with loop_device(place / "b.img") as other:
        here = inventory()
        both = [DriveTarget(named(here, str(one))) for one in (drive, other)]
        found = profile_together(both, 1, lambda row: None, FEW)
    assert [row.name for row in found.rows] == [FEW[0].name]
    assert (found.raw, found.span) == (True, "all of each drive")
    assert [one.name for one in found.members] == [drive.name, other.name]


def test_nothing_is_erased_where_anything_prevents_the_profile(
    drive: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done("mkfs.ext4", "-q", drive)
    before, erase = first_bytes(drive), ["--write", "--erase", inventory([str(drive)])[0].wwid]
    with loop_device(place / "b.img") as full:
        done("mkfs.ext4", "-q", full)
        for words, why in (
            ([drive, full], f"writing to {full}"),
            ([drive, f"/dev/../{drive}"], f"both are on {drive.name}"),
            ([drive, place, "--datasheet", "micron-9100-800gb"], "a data sheet is of one drive"),
        ):
            code, said = ran(*words, *erase)
            assert code in (PlanError.exit_code, Refused.exit_code)
            assert why in said.replace("cannot write to", "writing to")
            assert first_bytes(drive) == before
    monkeypatch.setattr("kneebench.measurement.profile.fio.shutil.which", lambda name: None)
    code, said = ran(drive, *erase)
    assert "it is not installed" in said
    assert first_bytes(drive) == before


def test_what_a_killed_campaign_left_on_a_drive_is_removed_first(drive: Path, place: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path; from kneebench.lab.journal import Journal\n"
        "from kneebench.lab.volumes import Volumes; from kneebench.plan.storage import Storage\n"
        "volumes = Volumes(Journal(), Path())\n"
        "with volumes.mounted('a', Storage(drives=(sys.argv[1],)), lambda event: None):\n"
        "    os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", code, drive], check=False)
    code_now, said = ran(drive)
    assert code_now == 0, said


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--erase", "a"], "no --write"),
        (["--precondition", "snia"], "no --write"),
        (["--write", "--precondition", "thrice"], "'thrice'"),
    ],
)
def test_options_of_whole_drives_that_make_no_sense_are_refused(
    words: list[str], why: str, drive: Path
) -> None:
    code, said = ran(drive, *words)
    assert code == PlanError.exit_code
    assert why in said
