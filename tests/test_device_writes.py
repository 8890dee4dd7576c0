"""Nothing writes to a block device but lab/device_writes.py, right after it has looked at it once
more: found in the code, and seen in every flow that writes.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import kneebench
from kneebench.lab.programs import found
from tests.loop_devices import MIB, loop_device, needs_emulation

HOUSE = Path(kneebench.__file__).parent
WRITERS = (
    *("mkfs.xfs", "mkfs.ext4", "mkfs.btrfs", "wipefs", "mdadm", "sfdisk", "partx", "losetup"),
    *("fio", "mount", "umount", "dd", "blkdiscard", "nvme", "sgdisk", "parted", "hdparm", "shred"),
)
"""Programs that can write to a device, or change what one is."""
NAMED_IN: dict[str, set[str]] = {
    "databases/innodb/engine.py": {"dd"},
    "lab/changes/drive.py": {"wipefs", "mdadm"},
    "lab/changes/mount.py": {"umount"},
    "lab/changes/table.py": {"wipefs", "partx"},
    "lab/device_writes.py": {"partx"},
    "lab/inventory/content.py": {"wipefs"},
    "lab/inventory/health.py": {"nvme"},
    "lab/inventory/identity.py": {"nvme"},
    "lab/volumes/building.py": {"wipefs"},
    "lab/volumes/emulated.py": {"losetup"},
    "lab/volumes/fio_on_drives.py": {"fio"},
    "lab/volumes/layouts.py": {
        *("mkfs.xfs", "mkfs.ext4", "mkfs.btrfs", "mdadm", "mount"),
        *("sfdisk", "wipefs"),
    },
}
"""Where commands begin with them: a new place must come through lab/device_writes.py, or be named
in CHECKED_OTHERWISE. MariaDB's dd rewrites the log that its server has made; nvme reads logs."""
CHECKED_OTHERWISE: dict[tuple[str, str], str] = {
    ("lab/changes/drive.py", "mdadm"): "stops an array that its members say is ours; examines them",
    ("lab/changes/mount.py", "umount"): "a mount point that only we have",
    ("lab/inventory/content.py", "wipefs"): "--no-act",
    ("lab/volumes/emulated.py", "losetup"): "attaches our own image to a free device",
}
"""Calls that do not write to a device that they are given."""
DEVICE_FILES = {"lab/device_writes.py"}
OPENS_FILES = {
    "directories.py",
    "started.py",
    "results/archive.py",
    "results/atomic_write.py",
    "results/lock.py",
    "results/origin.py",
    "databases/managed/base_image.py",
    "lab/folder.py",
    "lab/inventory/holders.py",
    "lab/volumes/emulated.py",
}
"""Files of our own directories, and /dev/null, opened for writing by os.open: never a drive.
holders.py reads how others have opened theirs."""


def modules() -> Iterator[tuple[str, ast.Module]]:
    for file in sorted(HOUSE.rglob("*.py")):
        yield str(file.relative_to(HOUSE)), ast.parse(file.read_text())


def called(node: ast.Call) -> str:
    name = node.func
    return name.attr if isinstance(name, ast.Attribute) else getattr(name, "id", "")


def program(node: ast.Call) -> str:
    """The program that a call starts, if it is written there."""
    words = [one for one in node.args if not isinstance(one, ast.Starred)]
    word = words[0] if words else None
    return word.value if isinstance(word, ast.Constant) and isinstance(word.value, str) else ""


def test_a_program_that_can_write_to_a_device_is_started_by_way_of_device_writes() -> None:
    wrong = [
        f"{name}:{node.lineno} {called(node)}({program(node)!r})"
        for name, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and called(node) in ("run_program", "run", "Popen", "check_output", "check_call")
        and program(node) in WRITERS
        and (name, program(node)) not in CHECKED_OTHERWISE
    ]
    assert wrong == []


def commands(tree: ast.Module) -> Iterator[str]:
    """The first words of lists, tuples, and calls of `run_on`."""
    for node in ast.walk(tree):
        words: list[ast.expr] = []
        if isinstance(node, ast.List | ast.Tuple):
            words = [one.value if isinstance(one, ast.Starred) else one for one in node.elts]
        elif isinstance(node, ast.Call) and called(node) in ("run_on", "run_program"):
            words = list(node.args[1:] if called(node) == "run_on" else node.args)
        if words and isinstance(words[0], ast.Constant) and isinstance(words[0].value, str):
            yield words[0].value


def test_a_command_with_such_a_program_is_made_nowhere_else() -> None:
    found_in: dict[str, set[str]] = {}
    for name, tree in modules():
        if name.startswith(("lab/", "measurement/", "databases/", "workload/")):
            found_in[name] = {*commands(tree)} & {*WRITERS}
    assert {name: programs for name, programs in found_in.items() if programs} == NAMED_IN


def test_only_device_writes_opens_a_device_for_writing() -> None:
    found_in = {
        name
        for name, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in ("O_RDWR", "O_WRONLY")
    }
    assert found_in - OPENS_FILES == DEVICE_FILES


def test_a_writable_device_is_made_in_permission_only() -> None:
    found_in = {
        name
        for name, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and called(node) == "WritableDevice"
    }
    assert found_in == {"lab/permission.py"}


WATCHED = r"""
import json, os, re, stat, sys
from pathlib import Path

READS = ("lsblk", "blkid", "smartctl", "nvme", "mdadm")
checked, wrong, writes = set(), [], []

def is_device(word):
    try:
        return stat.S_ISBLK(os.stat(word).st_mode)
    except (OSError, ValueError):
        return False

def devices_of(words):
    parts = (part for word in words for part in re.split("[=,]", os.fsdecode(word)))
    return {part for part in parts if part.startswith("/dev/") and is_device(part)}

def wrote(what, devices):
    global checked
    writes.append(what)
    if devices - checked:
        wrong.append(f"{what} on {sorted(devices - checked)}, checked: {sorted(checked)}")
    checked = set()

def watched(event, args):
    if event == "kneebench.device.checked":
        checked.add(args[0])
    elif event == "subprocess.Popen":
        words = [os.fsdecode(one) for one in args[1]]
        words = words[4:] if "prctl" in " ".join(words[:3]) else words
        devices = devices_of(words[1:])
        if devices and words[0] not in READS and "--no-act" not in words:
            wrote(" ".join(words), devices)
    elif event == "open" and isinstance(args[0], str | bytes):
        if args[2] & (os.O_WRONLY | os.O_RDWR) and is_device(args[0]):
            wrote("open for writing", {os.fsdecode(args[0])})

sys.addaudithook(watched)

from contextlib import closing
from kneebench.lab.inventory import inventory
from kneebench.lab.journal import Journal
from kneebench.lab.volumes import Volumes, erase_drives
from kneebench.plan.storage import Storage

place, tables = Path(sys.argv[1]), json.loads(sys.argv[2])
with closing(Volumes(Journal(place / "journal"), place / "emulated")) as volumes:
    for table in tables:
        if erase := table.pop("erase", None):
            erase_drives(inventory(erase))
            continue
        for _ in range(2):
            with volumes.mounted("new", Storage.model_validate(table), lambda event: None):
                pass
print(json.dumps({"wrong": wrong, "writes": len(writes)}))
"""
"""Runs volumes with an audit hook (PEP 578): what writes to a device, and was it checked as the
last thing before."""


def watched(place: Path, *tables: dict[str, object]) -> dict[str, object]:
    command = [sys.executable, "-c", WATCHED, place, json.dumps(tables)]
    environment = {**os.environ, "XDG_STATE_HOME": str(place / "state")}
    ended = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert ended.returncode == 0, ended.stderr
    seen: dict[str, object] = json.loads(ended.stdout.splitlines()[-1])
    return seen


root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: loop devices and mounts")


@pytest.mark.root
@root
@pytest.mark.skipif(not (found("fio") and found("sfdisk")), reason="needs fio and fdisk")
def test_every_write_to_a_drive_comes_right_after_it_was_looked_at(tmp_path: Path) -> None:
    with (
        loop_device(tmp_path / "a.img", 600 * MIB) as a,
        loop_device(tmp_path / "b.img", 600 * MIB) as b,
    ):
        drives, once = [str(a), str(b)], {"precondition": "sequential 1"}
        log = {"drives": drives, "size": 256 * MIB, "layout": "mirror", **once}
        log["file_system"] = {"type": "btrfs"}
        shared = {"drives": drives[:1], "size": 310 * MIB, "log": log, **once}
        seen = watched(
            tmp_path,
            {"drives": drives[:1], "file_system": {"type": "ext4"}},
            {"drives": drives, "layout": "stripe", "file_system": {"type": "btrfs"}},
            {"drives": drives[:1], **once, "drive_settings": {"read_ahead": "64KiB"}},
            shared,
            {"erase": drives},
        )
    assert seen["wrong"] == []
    assert int(str(seen["writes"])) > 40


@pytest.mark.root
@root
@needs_emulation
def test_every_write_to_an_emulated_drive_comes_right_after_it_was_looked_at(
    tmp_path: Path,
) -> None:
    sata = {"emulated": "sata", "size": 320 * MIB}
    seen = watched(tmp_path, {"drives": [sata]}, {"drives": [{**sata, "emulated": "memory"}]})
    assert seen["wrong"] == []
    assert int(str(seen["writes"])) >= 6
