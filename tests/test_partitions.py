"""Data, log and temporary files on the same drives: partitions that kneebench makes and removes,
on real loop devices.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kneebench.errors import PlanError, Refused
from kneebench.lab.changes.setting import setting_in
from kneebench.lab.changes.table import WrittenTable, is_table, show_partitions
from kneebench.lab.drives import whole_devices
from kneebench.lab.inventory import inventory
from kneebench.lab.inventory.erasable import drive_state
from kneebench.lab.journal import Journal
from kneebench.lab.kernel_settings import queue_file
from kneebench.lab.open_device import OpenDevice
from kneebench.lab.own_writes import note_own_writes
from kneebench.lab.permission import WritableDevice, made
from kneebench.lab.programs import found
from kneebench.lab.volumes import Volumes, erase_drives, volume_findings
from kneebench.lab.volumes.preconditioner import Preconditioner
from kneebench.lab.volumes.preconditioning_time import capacity_bytes
from kneebench.plan import Plan
from kneebench.plan.storage import Storage
from kneebench.plan.study import Study
from kneebench.records import Event
from tests.loop_devices import HOLDS, MIB, done, loop_device
from tests.parameters import some

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: loop devices and mounts"),
    pytest.mark.skipif(not found("sfdisk"), reason="needs fdisk"),
]
BTRFS = {"file_system": {"type": "btrfs"}}
EXT4 = {"file_system": {"type": "ext4"}}
SIZE, PART = 800 * MIB, 256 * MIB


def unwatched(event: Event) -> None:
    """Nobody looks."""


@pytest.fixture
def drives(tmp_path: Path) -> Iterator[list[str]]:
    """The paths of two blank drives."""
    with loop_device(tmp_path / "a.img", SIZE) as a, loop_device(tmp_path / "b.img", SIZE) as b:
        yield [str(a), str(b)]


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "journal")


def table(drives: list[str]) -> dict[str, Any]:
    """Data mirrored on both drives, the log on the second one, temporary files on both."""
    log = {"drives": drives[1:], "size": PART, **EXT4}
    temporary = {"drives": drives, "layout": "stripe", "size": PART, **BTRFS}
    both = {"drives": drives, "layout": "mirror", "size": PART, **BTRFS}
    return {**both, "log": log, "temporary": temporary}


def states(drives: list[str]) -> set[str]:
    return {drive_state(one).state for one in inventory(drives)}


def assert_reusable(drives: list[str]) -> None:
    """With their owner's consent drives are blank again, whatever was left on them."""
    erase_drives([one for one in inventory(drives) if drive_state(one).needs_consent])
    assert states(drives) == {"blank"}


def shown(drive: str) -> list[str]:
    """The partitions of a drive of the test's own."""
    with made(drive, lambda one: True) as device:
        return show_partitions(device)


def start_of(drive: str) -> bytes:
    with Path(drive).open("rb") as device:
        return device.read(4 * MIB)


def test_volumes_share_drives_by_partitions_that_are_gone_at_the_end(
    drives: list[str], journal: Journal, tmp_path: Path
) -> None:
    one = Storage.model_validate(table(drives))
    with closing(Volumes(journal, tmp_path)) as volumes:
        for _ in range(2):  # what the first leaves does not prevent the second
            with volumes.mounted("new", one, unwatched) as mounted:
                assert len({path.stat().st_dev for path in mounted.paths}) == 3
                for path in mounted.paths:
                    (path / "file").write_bytes(os.urandom(8192))
                names = [Path(drive).resolve().name for drive in drives]
                assert [len(shown(drive)) for drive in drives] == [2, 3]
                below = [whole_devices([path]) for path in mounted.paths]
                whole = [whole_devices([tmp_path / f"{name}.img"]) for name in "ab"]
                assert below == [whole[0] if whole[0] == whole[1] else tuple(names)] * 3
                assert states(drives) == {"in use"}
            assert states(drives) == {"blank"}
            assert not [one for name in names for one in Path("/dev").glob(f"{name}p*")]
    assert list(journal.folder.iterdir()) == []


def test_a_drive_with_a_partition_table_of_somebody_is_refused_and_stays(
    drives: list[str], journal: Journal, tmp_path: Path
) -> None:
    HOLDS["partition table"][0](Path(drives[1]))
    before = start_of(drives[1])
    one = Storage.model_validate(table(drives))
    volumes = Volumes(journal, tmp_path)
    with pytest.raises(Refused, match="contains data"), volumes.mounted("new", one, unwatched):
        pass
    assert start_of(drives[1]) == before
    assert states(drives[:1]) == {"blank"}
    assert list(journal.folder.iterdir()) == []


def note(drive: str) -> None:
    """What was written to the drive is kneebench's, as far as it knows."""
    with OpenDevice(drive) as device:
        note_own_writes(device)


def left_table(journal: Journal, drive: str) -> WrittenTable:
    """A table of ours that a killed run left."""
    uuid = "6f1a0000-1111-2222-3333-444455556666"
    [seen] = inventory([drive])
    facts = {"device": drive, "wwid": seen.key, "table": uuid, "volumes": ("abc",)}
    script = f"label: gpt\nlabel-id: {uuid}\nsize=320MiB\n"
    subprocess.run(["sfdisk", "--quiet", drive], input=script, text=True, check=True)
    return journal.change(WrittenTable, "a partition table", **facts, identity=seen.identity)


def test_a_table_that_somebody_wrote_after_a_kill_is_not_removed(
    drives: list[str], journal: Journal
) -> None:
    ours = left_table(journal, drives[0])
    script = "label: gpt\nlabel-id: 6f1a0000-1111-2222-3333-777777777777\nsize=100MiB\n"
    command = ["sfdisk", "--quiet", "--wipe", "always", drives[0]]
    subprocess.run(command, input=script, text=True, check=True)
    with pytest.raises(OSError, match="is left as it is"):
        ours.undo()
    assert states(drives[:1]) == {"contains data"}
    assert is_table(drives[0], "6f1a0000-1111-2222-3333-777777777777")


def test_a_file_system_that_somebody_made_in_a_left_partition_is_not_removed(
    drives: list[str], journal: Journal
) -> None:
    ours = left_table(journal, drives[0])
    [partition] = shown(drives[0])
    done("mkfs.ext4", "-q", partition)
    note(drives[0])
    with pytest.raises(OSError, match="ext4, which is not kneebench's"):
        ours.undo()
    assert states(drives[:1]) == {"contains data"}
    done("wipefs", "--all", partition)
    note(drives[0])
    assert ours.undo() is True
    assert_reusable(drives)


def test_partitions_that_do_not_fit_leave_nothing_and_are_an_error_of_check(
    drives: list[str], journal: Journal, tmp_path: Path
) -> None:
    log = {"drives": drives[:1], "size": PART}
    large = {"drives": drives[:1], "size": 600 * MIB, "log": log}
    plan = Plan.model_validate({"storages": {"new": large}})
    [finding] = [one for one in volume_findings(Study(plan)) if one.subject == f"new: {drives[0]}"]
    assert finding.level == "error"
    assert finding.seen == "partitions of 600 MiB for data, 256 MiB for log; the drive has 800 MiB"
    made = Volumes(journal, tmp_path).mounted("new", plan.storages["new"], unwatched)
    with pytest.raises(PlanError, match="sfdisk made no partitions of these sizes"), made:
        pass
    assert states(drives[:1]) == {"blank"}
    assert list(journal.folder.iterdir()) == []


@pytest.mark.skipif(not found("fio"), reason="needs fio")
def test_drives_that_volumes_share_are_preconditioned_once_and_before_the_partitions(
    drives: list[str], journal: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    once = {"precondition": "sequential 1", **EXT4}
    log = {"drives": drives[:1], "size": PART, **once}
    one = Storage.model_validate({"drives": drives[:1], "size": PART, "log": log, **once})
    said: list[str] = []
    with closing(Volumes(journal, tmp_path)) as volumes:
        with volumes.mounted("new", one, lambda event: said.append(event.doing)) as mounted:
            assert len(mounted.paths) == 2
        assert states(drives) == {"blank"}
    done_to = [doing for doing in said if "is preconditioned" in doing]
    assert done_to == [f"{drives[0]} is preconditioned (sequential 1)"]


def test_check_says_which_partitions_are_made_and_what_they_hold(drives: list[str]) -> None:
    plan = Plan.model_validate({"storages": {"new": table(drives)}})
    seen = {one.subject: one.seen for one in volume_findings(Study(plan))}
    parts = "partitions of 256 MiB for data, 256 MiB for log, 256 MiB for temporary files"
    assert seen[f"new: {drives[1]}"] == f"{parts}; 30 MiB unused"
    assert capacity_bytes(plan.storages["new"]) == int(PART * 0.92)


@pytest.mark.parametrize(
    ("log", "sentence"),
    [
        ({"drives": ["a"]}, "a size in each volume"),
        ({"drives": ["a"], "size": "300MiB", "precondition": "snia"}, "same precondition"),
        ({"drives": ["a"], "size": "300000001B"}, "whole MiB"),
    ],
)
def test_volumes_that_cannot_share_drives_are_an_error(log: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        Storage.model_validate({"drives": ["a"], "size": "300MiB", "log": log})


@pytest.mark.parametrize(
    ("key", "value"),
    [("precondition", "snia"), ("drive_settings", {"nr_requests": 64}), ("burn_in", "1h")],
)
def test_volumes_that_share_a_drive_by_two_names_must_want_it_alike(
    drives: list[str], key: str, value: object
) -> None:
    data = {"drives": drives[:1], "size": PART, "precondition": "sequential 1"}
    log = {"drives": [Path(drives[0]).name], "size": PART, "precondition": "sequential 1"}
    same = Plan.model_validate({"storages": {"new": {**data, "log": log}}})
    assert "error" not in {one.level for one in volume_findings(Study(same))}
    other = Plan.model_validate({"storages": {"new": {**data, "log": {**log, key: value}}}})
    [error] = [one for one in volume_findings(Study(other)) if one.level == "error"]
    assert error.seen == f"volumes that share {drives[0]} differ in {key}"
    assert error.do == f"set the same {key} in each of them"


def test_shared_drives_are_prepared_under_the_settings_that_they_are_measured_with(
    drives: list[str], journal: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = queue_file(drives[0], "read_ahead_kb")
    before, seen = setting_in(file), []

    def prepare(self: Preconditioner, devices: list[WritableDevice], *more: object) -> None:
        seen.append(([one.path for one in devices], setting_in(file)))
        raise OSError("fio: no luck")

    monkeypatch.setattr(Preconditioner, "prepare", prepare)
    settings = {"drive_settings": {"read_ahead": "64KiB"}}
    log = {"drives": drives[:1], "size": PART, **settings}
    one = Storage.model_validate({"drives": drives[:1], "size": PART, "log": log, **settings})
    made = Volumes(journal, tmp_path).mounted("new", one, unwatched)
    with pytest.raises(PlanError) as wrong, made:
        pass
    assert seen == [(drives[:1], "64")]
    assert wrong.value.what == f"cannot prepare the drives of {one.words}"
    assert wrong.value.seen == "fio: no luck"
    assert setting_in(file) == before
    assert list(journal.folder.iterdir()) == []


KILLED = """
import json, os, signal, subprocess, sys
from pathlib import Path
from kneebench.lab.journal import Journal
from kneebench.lab.volumes import Volumes
from kneebench.plan.storage import Storage
from kneebench.plan.study import Study

steps, place, table = int(sys.argv[1]), Path(sys.argv[2]), json.loads(sys.argv[3])
start = subprocess.Popen.__init__

def counted(self, command, *more, **options):
    global steps
    start(self, command, *more, **options)
    if command[0] in ("lsblk", "blkid") or "--no-act" in command:
        return
    steps -= 1
    if steps == 0:
        communicate = self.communicate

        def then_killed(*words, **more):
            communicate(*words, **more)
            os.kill(os.getpid(), signal.SIGKILL)

        self.communicate = then_killed

subprocess.Popen.__init__ = counted
with Volumes(Journal(place / "journal"), place).mounted("new", Storage(**table), print):
    if steps > 1:
        sys.exit(f"{steps} steps too many")
    os.kill(os.getpid(), signal.SIGKILL)
"""
STEPS = 19


@pytest.mark.parametrize("step", some(range(1, STEPS + 1), [10]))
def test_partitions_whose_maker_is_killed_at_any_step_are_removed_by_the_next_run(
    step: int, drives: list[str], tmp_path: Path, journal: Journal
) -> None:
    given = json.dumps(table(drives))
    command = [sys.executable, "-c", KILLED, str(step), tmp_path, given]
    killed = subprocess.run(command, check=False, capture_output=True, text=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert journal.leftovers()
    warnings: list[str] = []
    journal.clean(lambda event: warnings.append(event.doing) if event.kind == "warning" else None)
    assert all("is left as it is" in one for one in warnings), warnings
    assert list(journal.folder.iterdir()) == []
    assert_reusable(drives)
    with contextlib.suppress(OSError):
        assert [shown(drive) for drive in drives] == [[], []]
