"""What kneebench keeps about a machine is readable by its user only, whatever the umask, and no
directory is made where another user's link points to.
"""

from __future__ import annotations

import errno
import os
import re
import resource
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import kneebench
from kneebench.campaign.machines.machine import DatabaseMachine
from kneebench.directories import make_directory, make_private, state_directory, write_private
from kneebench.errors import Refused
from kneebench.lab.changes.directory import MadeDirectory
from kneebench.lab.journal import Journal
from kneebench.lab.volumes.emulated import emulated_parts
from kneebench.plan.volume import EmulatedDevice
from kneebench.private_folder import private_folder
from kneebench.records import unwatched
from kneebench.results.campaign_folders import new_folder
from tests.loop_devices import needs_emulation

NOBODY = 65534
HOUSE = Path(kneebench.__file__).parent
MAKES = re.compile(r"\.(mkdir|makedirs|chmod|lchmod|lchown)\(")
"""What makes a directory, or changes a mode or an owner, by a path."""
MAY_MAKE = {"directories.py", "lab/folder.py", "hosts/host_program.py"}
"""Each works in an open directory; the last one is sent to another machine by itself."""
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: another user")


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
    state_directory().parent.mkdir(mode=0o755)
    state_directory().mkdir(mode=0o755)
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
    os.chown(state_directory(), NOBODY, NOBODY)
    with pytest.raises(Refused, match="belongs to nobody; set XDG_STATE_HOME"):
        Journal()


def test_a_private_file_replaces_a_link_and_does_not_follow_one(place: Path) -> None:
    somebodys, file = place / "somebodys", place / "kept.json"
    somebodys.write_text("theirs")
    file.symlink_to(somebodys)
    write_private(file, "ours")
    assert (somebodys.read_text(), file.read_text(), file.is_symlink()) == ("theirs", "ours", False)


@pytest.mark.root
@as_root
@pytest.mark.parametrize("link", [".local", ".local/state", ".local/state/kneebench"])
def test_root_makes_no_journal_where_a_user_points_to(
    place: Path, monkeypatch: pytest.MonkeyPatch, link: str
) -> None:
    os.umask(0o022)
    victim, home = place / "victim", place / "home"
    victim.mkdir(mode=0o755)
    (home / link).parent.mkdir(parents=True)
    (home / link).symlink_to(victim)
    os.lchown(home / link, NOBODY, NOBODY)
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", str(home))
    with pytest.raises(Refused, match=f"{link} is a symbolic link that belongs to nobody; set XDG"):
        Journal()
    assert ([*victim.iterdir()], stat.S_IMODE(victim.stat().st_mode)) == ([], 0o755)
    os.lchown(home / link, 0, 0)
    assert Journal().folder.resolve().is_relative_to(victim)


@pytest.mark.root
@as_root
def test_root_keeps_nothing_private_below_a_directory_of_another_user(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs, open_to_all = place / "theirs", place / "open"
    theirs.mkdir()
    os.chown(theirs, NOBODY, NOBODY)
    open_to_all.mkdir(mode=0o777)
    for folder, why in ((theirs, "belongs to nobody"), (open_to_all, "others may write to")):
        monkeypatch.setenv("XDG_STATE_HOME", str(folder))
        monkeypatch.setattr("tempfile.tempdir", str(folder))
        with pytest.raises(Refused, match=why):
            make_private(state_directory() / "drives")
        with pytest.raises(Refused, match=why), private_folder():
            pass
        assert [*folder.iterdir()] == []


@pytest.mark.root
@as_root
def test_root_makes_no_campaign_where_a_user_points_to(place: Path) -> None:
    victim, link = place / "victim", place / "kneebench-results"
    victim.mkdir()
    link.symlink_to("victim")
    assert new_folder(link, "2026-01-01-a", "").is_dir()
    os.lchown(link, NOBODY, NOBODY)
    with pytest.raises(Refused, match="is a symbolic link that belongs to nobody"):
        new_folder(link, "2026-01-01-b", "")
    assert [one.name for one in victim.iterdir()] == ["2026-01-01-a"]


def test_a_directory_is_made_with_those_above_it_but_not_behind_a_broken_link(place: Path) -> None:
    assert make_directory(place / "a" / "b" / ".." / "c", 0o700) and (place / "a" / "b").is_dir()
    assert stat.S_IMODE((place / "a" / "c").stat().st_mode) == 0o700
    make_directory(place / "a")
    with pytest.raises(FileExistsError):
        make_directory(place / "a", new=True)
    (place / "away").symlink_to("not-mounted")
    (place / "round").symlink_to("round")
    (place / "file").write_text("")
    for name, number in (
        ("away", errno.ENOENT),
        ("round", errno.ELOOP),
        ("file", errno.ENOTDIR),
    ):
        with pytest.raises(OSError) as failed:
            make_directory(place / name / "a")
        assert failed.value.errno == number
        assert failed.value.filename == str(place / name / "a")
    assert not (place / "not-mounted").exists()


def test_directories_are_made_and_modes_changed_in_one_place_only() -> None:
    files = {str(file.relative_to(HOUSE)): file for file in HOUSE.rglob("*.py")}
    found = {name for name, file in files.items() if MAKES.search(file.read_text())}
    assert found - MAY_MAKE == set()


WRITES_FOR_EVER = """
import sys
from pathlib import Path
from kneebench.directories import write_private
while True:
    write_private(Path(sys.argv[1]) / "entry.json", "x" * 100_000)
"""


def test_the_draft_of_a_killed_process_goes_and_that_of_another_one_stays(place: Path) -> None:
    folder = Journal().folder
    with subprocess.Popen([sys.executable, "-c", WRITES_FOR_EVER, str(folder)]) as writer:
        while not [*folder.glob("*.draft")]:
            pass
        writer.send_signal(signal.SIGSTOP)
        os.waitpid(writer.pid, os.WUNTRACED)
        (folder / "entry.draft").write_text("of an earlier version")
        (folder / f"entry.json.{writer.pid}-0.draft").write_text("")
        drafts = [*folder.glob(f"*.{writer.pid}-*")]
        told = DatabaseMachine().clean(unwatched)
        left = [*folder.glob("*.draft")]
        writer.kill()
    assert left == drafts
    assert f"removed: draft {folder}/entry.draft of a killed process" in told
    own = f"{folder}/entry.json.{writer.pid}-0.draft"
    assert f"left: draft {own}: process {writer.pid} is writing it" in told
    Journal()
    assert [*folder.glob("*.draft")] == []


def test_a_full_disk_leaves_no_draft_and_the_error_names_the_file(place: Path) -> None:
    folder = Journal().folder
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, limit[1]))
    try:
        with pytest.raises(OSError) as failed:
            write_private(folder / "entry.json", "x" * 100)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        signal.signal(signal.SIGXFSZ, before)
    assert (failed.value.filename, [*folder.iterdir()]) == (str(folder / "entry.json"), [])


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: loop devices")
@needs_emulation
def test_image_and_logs_of_an_emulated_drive_are_its_users_only(place: Path) -> None:
    drive = EmulatedDevice("sata", 256 * 2**20)
    with emulated_parts(Journal(place / "journal"), place, [drive]):
        [folder] = place.glob(".kneebench-*-drive")
        files = [one for one in folder.iterdir() if stat.S_ISREG(one.lstat().st_mode)]
        assert {"image", "qemu-storage-daemon.log", "nbdfuse.log"} <= {one.name for one in files}
        assert [one.name for one in files if one.stat().st_mode & 0o077] == []


def test_a_state_directory_that_cannot_be_made_is_named_with_its_purpose_and_the_way_out(
    tmp_path: Path,
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "kneebench", "run", "simulated", "--yes", "--out", str(tmp_path)],
        env={**os.environ, "HOME": "/proc/nonexistent", "XDG_STATE_HOME": ""},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2, done.stderr
    assert "/proc/nonexistent/.local/state/kneebench" in done.stderr
    assert "journal of changes" in done.stderr and "XDG_STATE_HOME" in done.stderr
