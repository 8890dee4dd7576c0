"""What kneebench keeps about a machine is readable by its user only, whatever the umask."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from kneebench.directories import make_private, state_directory, write_private
from kneebench.errors import Refused
from kneebench.lab.changes.directory import MadeDirectory
from kneebench.lab.journal import Journal
from kneebench.lab.volumes.emulated import emulated_drive
from kneebench.plan.volume import EmulatedDevice
from tests.loop_devices import needs_emulation


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A state directory below a home that everybody may read, with a careless umask."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    before = os.umask(0)
    yield tmp_path
    os.umask(before)


def open_to_others(folder: Path) -> list[str]:
    """Files and directories that others may read or enter."""
    there = [folder, *folder.rglob("*")]
    return [str(one) for one in there if one.lstat().st_mode & 0o077 and not one.is_socket()]


def test_the_journal_and_its_directories_are_its_users_only(place: Path) -> None:
    journal = Journal()
    with journal.made(MadeDirectory, "a directory", path=str(place / "any")):
        assert [*journal.folder.glob("*.json")]
        assert open_to_others(state_directory()) == []


def test_a_state_directory_that_others_could_read_is_closed(place: Path) -> None:
    state_directory().mkdir(parents=True, mode=0o755)
    make_private(state_directory() / "drives")
    assert open_to_others(state_directory()) == []


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: another user")
def test_a_state_directory_or_an_entry_of_another_user_is_not_believed(place: Path) -> None:
    journal = Journal()
    with journal.made(MadeDirectory, "a directory", path=str(place / "any")):
        [entry] = journal.folder.glob("*.json")
        os.chown(entry, 65534, 65534)
        assert [one.why for one in journal.damaged()] == ["another user wrote it"]
        os.chown(entry, 0, 0)
        entry.rename(entry.with_name("other.json"))
        assert [one.why for one in journal.damaged()] == ["it has the id of another entry"]
    os.chown(state_directory(), 65534, 65534)
    with pytest.raises(Refused, match="belongs to another user"):
        Journal()


def test_a_private_file_replaces_a_link_and_does_not_follow_one(place: Path) -> None:
    somebodys, file = place / "somebodys", place / "kept.json"
    somebodys.write_text("theirs")
    file.symlink_to(somebodys)
    write_private(file, "ours")
    assert (somebodys.read_text(), file.read_text(), file.is_symlink()) == ("theirs", "ours", False)
    file.with_suffix(".draft").symlink_to(somebodys)
    with pytest.raises(OSError):
        write_private(file, "again")
    assert somebodys.read_text() == "theirs"


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: loop devices")
@needs_emulation
def test_image_and_logs_of_an_emulated_drive_are_its_users_only(place: Path) -> None:
    drive = EmulatedDevice("sata", 256 * 2**20)
    with emulated_drive(Journal(place / "journal"), place, drive):
        [folder] = place.glob(".kneebench-*-drive")
        files = [one for one in folder.iterdir() if stat.S_ISREG(one.lstat().st_mode)]
        assert {"image", "qemu-storage-daemon.log", "nbdfuse.log"} <= {one.name for one in files}
        assert [one.name for one in files if one.stat().st_mode & 0o077] == []
