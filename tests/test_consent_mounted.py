"""What others write while a drive is being looked at, or while volumes of ours are mounted on it,
is never taken for ours.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kneebench.errors import KneebenchError, Refused
from kneebench.lab.changes.mount import MountedFileSystem, mounted_on, volume_of
from kneebench.lab.inventory import content, inventory
from kneebench.lab.inventory.erasable import drive_state
from kneebench.lab.journal import Journal
from kneebench.lab.open_device import OpenDevice
from kneebench.lab.own_writes import are_all_ours, note_own_writes
from kneebench.lab.permission import claim
from kneebench.lab.programs import found
from kneebench.lab.removal import remove
from kneebench.lab.volumes import Volumes
from kneebench.plan.storage import Storage
from kneebench.records import Event
from tests.loop_devices import MIB, done, loop_device, mounted, volume_point

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: loop devices and mounts"),
    pytest.mark.skipif(not found("sfdisk"), reason="needs fdisk"),
]
SIZE, PART = 600 * MIB, 256 * MIB
THEIRS = os.urandom(MIB)
OUTSIDE = 590 * MIB
"""Behind the partitions of `shared`."""


def unwatched(event: Event) -> None:
    """Nobody looks."""


@pytest.fixture
def drive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with loop_device(tmp_path / "drive.img", SIZE) as device:
        yield str(device)


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "journal")


def shared(drive: str) -> Storage:
    """Data and log in two partitions of a drive."""
    part: dict[str, Any] = {"drives": [drive], "size": PART, "file_system": {"type": "ext4"}}
    return Storage.model_validate({**part, "log": part})


def write(device: str, at: int) -> None:
    """Their data, on the drive."""
    with Path(device).open("r+b") as opened:
        opened.seek(at)
        opened.write(THEIRS)
        opened.flush()
        os.fsync(opened.fileno())


def read(device: str, at: int) -> bytes:
    with Path(device).open("rb") as opened:
        opened.seek(at)
        return opened.read(MIB)


def state(drive: str) -> str:
    [seen] = inventory([drive])
    return drive_state(seen).state


def test_a_drive_that_is_written_while_another_one_is_read_is_not_claimed(
    drive: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(content, "REPORT_S", 0.0)  # a fast machine has read all of it by then
    with loop_device(tmp_path / "second.img", SIZE) as second:

        def watch(event: Event) -> None:
            if str(second) in event.doing:
                write(drive, OUTSIDE)

        with pytest.raises(Refused, match="has written to it since it was looked at"):
            claim([drive, str(second)], watch)
    assert read(drive, OUTSIDE) == THEIRS
    assert state(drive) == "contains data"


def raw_outside(drive: str, paths: list[Path]) -> None:
    write(drive, OUTSIDE)


def raw_in_an_unmounted_partition(drive: str, paths: list[Path]) -> None:
    done("umount", paths[0])
    write(f"{drive}p1", 8 * MIB)


def a_partition_of_their_own(drive: str, paths: list[Path]) -> None:
    command = ["sfdisk", "--quiet", "--append", "--no-reread", "--force", drive]
    subprocess.run(command, input="size=64MiB\n", text=True, check=True)
    done("partx", "--add", "--nr", "3", drive)
    write(f"{drive}p3", 8 * MIB)


def files_by_another_mount(drive: str, paths: list[Path]) -> None:
    done("umount", paths[0])
    with volume_point() as point, mounted(f"{drive}p1", point):
        (point / "theirs").write_bytes(THEIRS)


@pytest.mark.parametrize(
    "take",
    [
        raw_outside,
        raw_in_an_unmounted_partition,
        a_partition_of_their_own,
        files_by_another_mount,
    ],
)
def test_what_others_write_beside_our_mounted_volumes_is_theirs(
    take: Callable[[str, list[Path]], None], drive: str, journal: Journal, tmp_path: Path
) -> None:
    with (
        closing(Volumes(journal, tmp_path)) as volumes,
        pytest.raises(KneebenchError, match="is left as it is") as left_alone,
        volumes.mounted("new", shared(drive), unwatched) as there,
    ):
        take(drive, list(there.paths))
    assert drive in str(left_alone.value)
    assert THEIRS in (tmp_path / "drive.img").read_bytes()
    assert state(drive) == "contains data"


def test_what_our_own_volumes_wrote_is_ours(drive: str, journal: Journal, tmp_path: Path) -> None:
    with closing(Volumes(journal, tmp_path)) as volumes:
        with volumes.mounted("new", shared(drive), unwatched) as there:
            for path in there.paths:
                (path / "data").write_bytes(THEIRS)
        assert state(drive) == "blank"
    assert list(journal.folder.iterdir()) == []


def test_somebody_elses_file_system_on_our_mount_point_is_left_mounted(
    drive: str, journal: Journal, tmp_path: Path
) -> None:
    one = Storage.model_validate({"drives": [drive], "file_system": {"type": "ext4"}})
    with closing(Volumes(journal, tmp_path)) as volumes:
        with (
            pytest.raises(KneebenchError, match="has a file system that is not kneebench's"),
            volumes.mounted("new", one, unwatched) as there,
        ):
            [point] = there.paths
            done("umount", point)
            done("mkfs.ext4", "-q", "-F", drive)
            done("mount", drive, point)
            (point / "theirs").write_bytes(THEIRS)
        assert (point / "theirs").read_bytes() == THEIRS
        assert mounted_on(str(point))
        done("umount", point)
        assert remove(point.parent)
    with volume_point() as own, mounted(drive, own):
        assert (own / "theirs").read_bytes() == THEIRS


def test_what_a_killed_runs_volume_wrote_since_is_nobodys_as_far_as_we_know(
    drive: str, journal: Journal
) -> None:
    """Its owner may have written to the drive meanwhile, below the file system or in it."""
    done("mkfs.ext4", "-q", drive)
    with OpenDevice(drive) as device, volume_point() as point:
        note_own_writes(device)
        done("mount", drive, point)
        facts = {"point": str(point), "volume": volume_of(drive)}
        entry = journal.change(MountedFileSystem, "a volume", **facts)
        write(drive, OUTSIDE)
        assert entry.model_copy(update={"owner": 1, "owner_started": 1}).undo()
        assert not are_all_ours(device)
