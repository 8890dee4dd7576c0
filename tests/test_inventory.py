"""The inventory of drives, on real loop devices that hold what drives hold, and on this machine."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kneebench.cli import app
from kneebench.errors import KneebenchError, PlanError
from kneebench.lab.inventory import block_devices, inventory, named
from kneebench.lab.inventory.content import END_BYTES
from kneebench.lab.inventory.erasable import drive_state
from kneebench.lab.inventory.holders import Holders
from kneebench.lab.inventory.sources import Sources
from kneebench.lab.programs import wait_until
from kneebench.records import WholeDrive
from tests.loop_devices import HOLDS, SIZE, done, loop_device, mounted, put, volume_point

root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: loop devices and mounts")
pytestmark = [pytest.mark.root, root]


@pytest.fixture
def loop(tmp_path: Path) -> Iterator[Path]:
    """A blank loop device."""
    with loop_device(tmp_path / "drive.img") as device:
        yield device


def seen(loop: Path) -> WholeDrive:
    [found] = inventory([str(loop)])
    return found


@pytest.mark.parametrize("what", HOLDS)
def test_a_drive_that_contains_anything_is_seen_to_and_says_what(loop: Path, what: str) -> None:
    made, called = HOLDS[what]
    if what == "btrfs" and not shutil.which("mkfs.btrfs"):
        pytest.skip("needs mkfs.btrfs (btrfs-progs)")
    assert drive_state(seen(loop)).state == "blank"
    made(loop)
    state = drive_state(seen(loop))
    assert state.state == "contains data"
    assert called in state.why
    assert loop.name in state.why or "data at byte" in called


def test_a_block_of_data_in_the_middle_is_found_if_a_sample_meets_it(loop: Path) -> None:
    put(loop, END_BYTES, bytes(8) + b"data")
    assert "data at byte 16,777,224" in drive_state(seen(loop)).why


def test_a_mounted_drive_is_in_use_and_says_where(loop: Path) -> None:
    done("mkfs.ext4", "-q", loop)
    with volume_point() as point, mounted(loop, point):
        state = drive_state(seen(loop))
    assert state.state == "in use"
    assert f"{loop.name} is mounted on {point}" in state.why
    assert wait_until(lambda: drive_state(seen(loop)).state == "contains data")


def test_a_drive_that_another_mount_namespace_has_mounted_is_in_use(
    loop: Path, tmp_path: Path
) -> None:
    point = tmp_path / "elsewhere"
    point.mkdir()
    done("mkfs.xfs", "-q", loop)
    script = f"mount {loop} {point} && echo mounted && read wait"
    command = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as elsewhere:
        assert elsewhere.stdout and elsewhere.stdout.readline() == b"mounted\n"
        state = drive_state(seen(loop))
        elsewhere.communicate(b"\n")
    assert not os.path.ismount(point)
    assert state.state == "in use"
    assert f"mounted on {point}" in state.why


def test_a_drive_that_a_process_has_open_for_writing_is_in_use(loop: Path) -> None:
    with loop.open("r+b"):
        state = drive_state(seen(loop))
    assert state.state == "in use"
    assert f"open for writing in {Path(sys.executable).name[:6]}" in state.why
    with loop.open("rb"):
        assert drive_state(seen(loop)).state == "blank"


def test_a_drive_under_another_loop_device_is_in_use(loop: Path) -> None:
    above = subprocess.run(
        ["losetup", "-f", "--show", loop], check=True, capture_output=True, text=True
    ).stdout.strip()
    try:
        state = drive_state(seen(loop))
    finally:
        done("losetup", "-d", above)
    assert state.state == "in use"
    assert f"behind {Path(above).name}" in state.why


def test_a_drive_that_another_path_leads_to_is_in_use(loop: Path, tmp_path: Path) -> None:
    device = next(one for one in block_devices.listed_devices(Sources()) if one.path == str(loop))
    wwids = {loop.name: "naa.5000", "sdx": "naa.5000", "sdy": "naa.6000", "nvme0c0n1": "naa.5000"}
    for name, wwid in wwids.items():
        folder = tmp_path / "sys" / "class" / "block" / name
        (folder / "device").mkdir(parents=True)
        (folder / "device" / "wwid").write_text(wwid)
        (folder / "hidden").write_text(str(int(name.startswith("nvme"))))
    (other,) = Holders(Sources(sys=tmp_path / "sys")).of(device)
    assert (other.kind, other.by) == ("path", "sdx")
    state = drive_state(WholeDrive(name="sda", path="/dev/sda", holders=(other,)))
    assert state.state == "in use"


def test_what_the_kernel_holds_for_nobody_that_is_seen_is_in_use(loop: Path) -> None:
    handle = os.open(loop, os.O_RDONLY | os.O_EXCL)
    try:
        state = drive_state(seen(loop))
    finally:
        os.close(handle)
    assert (state.state, "in use by the kernel" in state.why) == ("in use", True)


def test_a_loop_device_is_known_by_its_file_and_its_unknowns_are_null(
    loop: Path, tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "kneebench", "drives", str(tmp_path / "drive.img"), "--json"]
    shown = subprocess.run(command, check=True, capture_output=True, text=True)
    (drive,) = json.loads(shown.stdout)["drives"]
    assert (drive["name"], drive["size_bytes"]) == (loop.name, SIZE)
    assert drive["wwid"] == str(tmp_path / "drive.img")
    assert (drive["serial"], drive["health"]["temperature_c"]) == (None, None)
    assert (drive["state"], drive["signatures"]) == ("blank", [])


def test_the_table_has_every_drive_with_its_state_and_the_details_say_what_is_unknown(
    loop: Path,
) -> None:
    runner = CliRunner(env={"COLUMNS": "200", "NO_COLOR": "1"})
    table = runner.invoke(app, ["drives"]).output
    (row,) = [line for line in table.splitlines() if line.startswith(f"{loop.name} ")]
    assert "320 MiB" in row and "blank" in row and "every block is zero" in row
    assert "in use: kneebench never writes to it" in table
    details = runner.invoke(app, ["drives", str(loop)]).output
    assert re.search(r"temperature +unknown", details)
    assert re.search(r"capacity +335,544,320 bytes \(320 MiB\)", details)


def test_the_drive_that_this_machine_runs_from_is_in_use_or_hidden() -> None:
    systems = [drive for drive in inventory() if drive.system]
    assert all(drive_state(drive).why.startswith("this machine runs") for drive in systems)
    if not os.path.ismount("/") or not Path("/dev/root").exists():
        return
    assert systems


@pytest.mark.parametrize("name", ["nosuch", "", "/nosuch/sda", "/etc/hostname"])
def test_an_unknown_name_is_refused_with_those_there_are(name: str) -> None:
    with pytest.raises(PlanError, match="no such drive here"):
        named(inventory(), name)


def test_a_file_that_is_called_like_a_drive_is_no_drive(loop: Path, tmp_path: Path) -> None:
    (tmp_path / loop.name).write_text("no drive")
    with pytest.raises(PlanError, match="no such drive here"):
        named(inventory(), str(tmp_path / loop.name))


INTERRUPTED = """#!/bin/sh
cd "$(dirname "$0")"
if [ -e 1 ]; then rm "$(ls [0-9] | tail -n 1)"; echo '{"blockdevices": ['; else exec "$@"; fi
"""
"""An lsblk that prints nothing whole so many times as there are files beside it."""


@pytest.mark.parametrize(("failures", "listed"), [(2, True), (3, False)])
def test_a_list_that_was_interrupted_is_asked_for_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, failures: int, listed: bool
) -> None:
    script = tmp_path / "lsblk"
    script.write_text(INTERRUPTED)
    script.chmod(0o755)
    for number in range(1, failures + 1):
        (tmp_path / str(number)).touch()
    monkeypatch.setattr(block_devices, "LSBLK", (str(script), *block_devices.LSBLK))
    with contextlib.nullcontext() if listed else pytest.raises(KneebenchError, match="lsblk"):
        assert block_devices.listed_devices(Sources())


def test_a_wwid_that_two_drives_have_names_neither(loop: Path) -> None:
    drive = seen(loop)
    twin = drive.model_copy(update={"name": "twin", "path": "/dev/null"})
    with pytest.raises(PlanError, match="several drives have this name"):
        named([drive, twin], drive.wwid)


def test_a_device_that_a_process_has_open_by_another_node_is_in_use(
    loop: Path, tmp_path: Path
) -> None:
    node, number = tmp_path / "xvda", loop.stat().st_rdev
    os.mknod(node, 0o600 | stat.S_IFBLK, number)
    with node.open("r+b"):
        assert "open for writing" in drive_state(seen(loop)).why
