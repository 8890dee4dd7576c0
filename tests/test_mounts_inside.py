"""A directory of ours in which somebody mounted something is not removed, nor any part of it."""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from kneebench.errors import Refused
from kneebench.lab.changes.directory import MadeDirectory
from kneebench.lab.folder import Folder
from kneebench.lab.journal import Journal
from kneebench.lab.removal import MARKER, empty, mount_point_inside, remove
from tests.loop_devices import done, mounted

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="mounts directories: needs root"),
]
NOBODY = 65534


class Places:
    """A directory of ours with a deep one and a file in it, and the owner's beside it."""

    def __init__(self, top: Path) -> None:
        self.ours, self.own = top / "our data", top / "home"
        self.inner, self.file = self.ours / "base" / "1" / "a b", self.ours / "base" / "file"
        for folder in (self.inner, self.own / "letters", self.ours / "first"):
            folder.mkdir(parents=True)
        for file in (self.ours / MARKER, self.file, self.ours / "first" / "x"):
            file.write_text("ours")
        for file in (self.own / "letters" / "a.txt", self.own / "b.txt"):
            file.write_text("precious")

    def contents(self) -> dict[Path, str]:
        """Every file of both, with what is in it."""
        both = [*self.ours.rglob("*"), *self.own.rglob("*")]
        return {path: path.read_text() if path.is_file() else "" for path in both}


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path)


@pytest.fixture(params=["a directory", "files only", "a file", "a file system", "of another mount"])
def point(request: pytest.FixtureRequest, places: Places, tmp_path: Path) -> Iterator[Path]:
    """Something mounted in the directory of ours; where."""
    match request.param:
        case "a directory":
            with mounted(places.own, places.inner, "--bind"):
                yield places.inner
        case "files only":
            with mounted(places.own / "letters", places.inner, "--bind"):
                yield places.inner
        case "a file":
            with mounted(places.own / "b.txt", places.file, "--bind"):
                yield places.file
        case "a file system":
            with mounted("tmpfs", places.inner, "-t", "tmpfs"):
                yield places.inner
        case _:
            other = tmp_path / "other"
            other.mkdir()
            with mounted(places.ours, other, "--bind", "--make-private"):
                there = other / places.inner.relative_to(places.ours)
                with mounted(places.own, there, "--bind"):
                    yield there


def left_behind(journal: Journal, path: Path) -> None:
    """The entry of a directory whose maker is gone."""
    change = journal.change(MadeDirectory, "a database", path=str(path))
    entry = change.model_copy(update={"owner_started": 1})
    (journal.folder / f"{entry.id}.json").write_text(entry.model_dump_json())


def test_clean_removes_nothing_while_something_is_mounted_inside(
    places: Places, point: Path, tmp_path: Path
) -> None:
    journal, said, before = Journal(tmp_path / "journal"), [], places.contents()
    left_behind(journal, places.ours)
    assert journal.clean(lambda event: said.append(event.doing)) == []
    assert places.contents() == before
    assert f"cannot remove {places.ours}: " in said[-1]
    assert f"is mounted on {point}; run `umount {shlex.quote(str(point))}`" in said[-1]
    assert len(journal.leftovers()) == 1


def test_clean_removes_all_once_it_is_unmounted_by_the_printed_command(
    places: Places, tmp_path: Path
) -> None:
    journal, said = Journal(tmp_path / "journal"), []
    left_behind(journal, places.ours)
    with contextlib.suppress(subprocess.CalledProcessError):  # it was unmounted
        with mounted(places.own, places.inner, "--bind"):
            assert journal.clean(lambda event: said.append(event.doing)) == []
            done("sh", "-c", said[-1].split("`")[1])
        raise AssertionError("the printed command unmounted nothing")
    assert [one.path for one in journal.clean(lambda event: None)] == [str(places.ours)]
    assert not places.ours.exists()
    assert (places.own / "letters" / "a.txt").read_text() == "precious"
    assert (places.own / "b.txt").read_text() == "precious"


def test_the_end_of_a_run_removes_nothing_either_and_a_restore_empties_nothing(
    places: Places, point: Path, tmp_path: Path
) -> None:
    before = places.contents()
    with pytest.raises(Refused, match="is mounted on"), Folder.at(places.ours) as folder:
        empty(folder)
    journal, data = Journal(tmp_path / "journal"), tmp_path / "data"
    with (
        pytest.raises(Refused, match=f"cannot remove {data}: .* is mounted on {data}/backup; run"),
        journal.directory(data, "data") as made,
    ):
        (made / "base").mkdir()
        (made / "base" / "file").touch()
        (made / "backup").mkdir()
        done("mount", "--bind", places.own, made / "backup")
    assert (data / "base" / "file").exists()
    done("umount", data / "backup")
    assert places.contents() == before
    assert len(list(journal.folder.glob("*.json"))) == 1


def test_what_is_mounted_while_the_tree_is_removed_is_not_entered(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {path: text for path, text in places.contents().items() if places.own in path.parents}
    monkeypatch.setattr("kneebench.lab.removal.mount_point_inside", lambda handle: None)
    with (
        mounted(places.own, places.ours / "first", "--bind"),
        pytest.raises(Refused, match="is mounted on"),
    ):
        remove(places.ours)
    assert before.items() <= places.contents().items()
    assert (places.ours / MARKER).exists()


def test_a_directory_on_which_something_is_mounted_is_not_emptied(places: Places) -> None:
    before = places.contents()
    with (
        mounted(places.ours, places.ours, "--bind"),
        pytest.raises(Refused, match=f"is mounted on {places.ours}; run"),
    ):
        remove(places.ours)
    assert places.contents() == before


def test_mounts_beside_or_above_a_directory_or_behind_a_link_are_not_in_it(
    places: Places, tmp_path: Path
) -> None:
    beside = tmp_path / "our data 2"
    beside.mkdir()
    (places.ours / "link").symlink_to(beside)
    with mounted("tmpfs", beside, "-t", "tmpfs"), mounted(tmp_path, tmp_path, "--bind"):
        (beside / "file").touch()
        with Folder.at(places.ours) as folder:
            assert mount_point_inside(folder.handle) is None
        assert remove(places.ours)
        assert beside.is_dir()


CLEAN = """
import os, sys
from pathlib import Path
from kneebench.lab.removal import remove
os.setgroups([])
os.setresgid(*3 * [int(sys.argv[2])])
os.setresuid(*3 * [int(sys.argv[2])])
try:
    remove(Path(sys.argv[1]))
except Exception as error:
    print(error)
"""


def test_a_user_without_rights_loses_nothing_through_a_mount_that_root_made() -> None:
    with tempfile.TemporaryDirectory(prefix="kneebench-mounts-") as top:
        places = Places(Path(top))
        done("chown", "-R", NOBODY, top)
        before = places.contents()
        with mounted(places.own, places.inner, "--bind"):
            said = done(sys.executable, "-c", CLEAN, places.ours, NOBODY)
        assert f"is mounted on {places.inner}; run `umount" in said
        assert places.contents() == before
