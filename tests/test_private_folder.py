"""Private temporary folders, of processes that end and of processes that are killed."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kneebench.private_folder import PREFIX, private_folder

KEEPS_ONE = """
import sys
from kneebench.private_folder import kept_folder
folder = kept_folder()
(folder / "secret").write_text("x")
print(folder, flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    return tmp_path


@contextmanager
def another_process() -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A process that has a private folder, until its input ends; and the folder."""
    with subprocess.Popen(
        [sys.executable, "-c", KEEPS_ONE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        yield process, Path(process.stdout.readline().strip())


def test_a_folder_is_for_its_user_alone_and_there_within_the_block() -> None:
    with private_folder() as folder:
        (folder / "a").write_text("x")
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert not folder.exists()


def test_the_folder_of_a_process_that_ends_is_removed() -> None:
    with another_process() as (process, folder):
        assert (folder / "secret").read_text() == "x"
    assert process.returncode == 0
    assert not folder.exists()


def test_the_folder_of_a_killed_process_is_removed_by_who_makes_the_next_one() -> None:
    with another_process() as (process, folder):
        process.kill()
    assert folder.exists()
    with private_folder():
        assert not folder.exists()


def test_the_folder_of_a_process_that_works_stays() -> None:
    with another_process() as (_, folder), private_folder() as own:
        assert (folder / "secret").exists()
        assert own != folder


def test_what_is_not_ours_stays(temporary: Path) -> None:
    elsewhere = temporary / "elsewhere"
    elsewhere.mkdir()
    (temporary / f"{PREFIX}link").symlink_to(elsewhere)
    (temporary / f"{PREFIX}file").write_text("x")
    with private_folder():
        assert elsewhere.exists()
        assert (temporary / f"{PREFIX}file").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a folder to another user: needs root")
def test_the_folder_of_another_user_stays(temporary: Path) -> None:
    folder = temporary / f"{PREFIX}other"
    folder.mkdir()
    os.chown(folder, 65534, 65534)
    with private_folder():
        assert folder.exists()
