"""A cluster's files, copied, cloned and dropped from the page cache: on real file systems."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest

from kneebench.databases.engines.postgres.engine import LEFT_BEHIND, server_account
from kneebench.databases.engines.postgres.image import move_log
from kneebench.databases.managed.copying import drop_caches, duplicate
from kneebench.databases.managed.ownership import hand_over
from kneebench.errors import PlanError
from kneebench.lab.folder import Folder
from kneebench.lab.removal import MARKER
from kneebench.records import Event, Watch

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounts a file system: needs root")


def unwatched(event: Event) -> None:
    """Nobody looks."""


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """Something that looks like a data directory: a large file, small ones, an empty one, leftovers
    of a server.
    """
    image = tmp_path / "image"
    (image / "base" / "5").mkdir(parents=True)
    (image / "pg_wal" / "archive_status").mkdir(parents=True)
    (image / "base" / "5" / "16384").write_bytes(os.urandom(9_000_001))
    for number in range(40):
        (image / "base" / "5" / str(number)).write_bytes(os.urandom(8192))
    (image / "base" / "5" / "empty").touch()
    (image / "pg_wal" / "000000010000000000000001").write_bytes(os.urandom(65_536))
    for name in (MARKER, *LEFT_BEHIND):
        (image / name).write_text("1")
    (image / "PG_VERSION").write_text("18\n")
    (image / "PG_VERSION").chmod(0o600)
    (image / "base").chmod(0o700)
    return image


def duplicated(
    source: Path, target: Path, how: Literal["copy", "clone"] = "copy", watch: Watch = unwatched
) -> int:
    target.mkdir(mode=0o700)
    with Folder.at(source) as given, Folder.at(target) as made:
        return duplicate(given, made, how, watch, left_behind=LEFT_BEHIND)


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def cached_bytes(folder: Path) -> int:
    names = [str(path) for path in folder.rglob("*") if path.is_file() and path.stat().st_size]
    seen = json.loads(
        subprocess.run(
            ["fincore", "--json", "--bytes", *names], capture_output=True, text=True, check=True
        ).stdout
    )
    return sum(int(line["res"]) for line in seen["fincore"])


def test_a_copy_has_every_byte_and_mode_and_nothing_that_a_server_left(
    image: Path, tmp_path: Path
) -> None:
    target = tmp_path / "copy"
    copied = duplicated(image, target)
    expected = {
        name: data for name, data in files(image).items() if name not in (MARKER, *LEFT_BEHIND)
    }
    assert files(target) == expected
    assert copied == sum(map(len, expected.values()))
    assert stat.S_IMODE((target / "PG_VERSION").stat().st_mode) == 0o600
    assert stat.S_IMODE((target / "base").stat().st_mode) == 0o700


@needs_root
def test_a_copy_made_by_root_belongs_to_the_account_of_the_server_once_it_is_handed_over(
    image: Path, tmp_path: Path
) -> None:
    account, copy = server_account(), tmp_path / "copy"
    assert account
    duplicated(image, copy)
    assert {path.stat().st_uid for path in (copy, *copy.rglob("*"))} == {0}
    (copy / "link").symlink_to(tmp_path / "image" / "PG_VERSION")
    with Folder.at(copy) as made:
        hand_over(made, account)
    assert {path.lstat().st_uid for path in copy.rglob("*")} == {account.uid}
    assert [copy.stat().st_uid, (tmp_path / "image" / "PG_VERSION").stat().st_uid] == [0, 0]


def test_progress_is_told_up_to_its_end(image: Path, tmp_path: Path) -> None:
    events: list[Event] = []
    duplicated(image, tmp_path / "copy", watch=events.append)
    assert events[-1].share == 1.0
    assert {event.kind for event in events} == {"progress"}


@pytest.mark.skipif(not shutil.which("fincore"), reason="fincore (util-linux) is missing")
def test_after_cooling_nothing_of_image_and_copy_is_in_the_page_cache(
    image: Path, tmp_path: Path
) -> None:
    target = tmp_path / "copy"
    duplicated(image, target)
    assert cached_bytes(target) > 0
    with Folder.at(image) as given, Folder.at(target) as made:
        drop_caches([given, made])
    assert cached_bytes(image) == 0
    assert cached_bytes(target) == 0


def test_the_log_moves_to_a_place_of_its_own_and_a_link_leads_there(
    image: Path, tmp_path: Path
) -> None:
    (tmp_path / "log").mkdir()
    before = files(image / "pg_wal")
    with Folder.at(image) as data, Folder.at(tmp_path / "log") as log, move_log(data, log):
        pass
    assert (image / "pg_wal").readlink() == tmp_path / "log" / "pg_wal"
    assert files(tmp_path / "log" / "pg_wal") == before
    assert (tmp_path / "log" / "pg_wal" / "archive_status").is_dir()


def test_a_file_system_that_cannot_clone_is_named_with_what_to_do(image: Path) -> None:
    with pytest.raises(PlanError, match="reflinks are not supported here") as raised:
        duplicated(image, Path("/dev/shm") / f"kneebench-test-{os.getpid()}", "clone")
    shutil.rmtree(Path("/dev/shm") / f"kneebench-test-{os.getpid()}")
    assert 'restore = "copy"' in raised.value.do


@pytest.fixture
def reflinking(tmp_path: Path) -> Iterator[Path]:
    """An XFS, or a btrfs, on a loop device."""
    maker = next((name for name in ("mkfs.xfs", "mkfs.btrfs") if shutil.which(name)), None)
    if not maker:
        pytest.skip("neither mkfs.xfs nor mkfs.btrfs is there")
    point, drive = tmp_path / "mounted", tmp_path / "drive.img"
    point.mkdir()
    with drive.open("wb") as file:
        file.truncate(400 << 20)
    subprocess.run([maker, "-q", drive], check=True)
    subprocess.run(["mount", "-o", "loop", drive, point], check=True)
    yield point
    subprocess.run(["umount", point], check=True)


def shared_bytes(file: Path) -> int:
    """Bytes that the file shares with another, as the file system tells: FIEMAP by filefrag."""
    listed = subprocess.run(
        ["filefrag", "-v", file], capture_output=True, text=True, check=True
    ).stdout
    return sum("shared" in line for line in listed.splitlines())


@needs_root
@pytest.mark.root
def test_a_clone_shares_its_blocks_and_a_copy_shares_none(image: Path, reflinking: Path) -> None:
    duplicated(image, reflinking / "image")
    duplicated(reflinking / "image", reflinking / "clone", "clone")
    assert files(reflinking / "clone") == files(reflinking / "image")
    os.sync()
    assert shared_bytes(reflinking / "clone/base/5/16384") > 0
    shutil.rmtree(reflinking / "clone")
    duplicated(reflinking / "image", reflinking / "copy")
    os.sync()
    assert shared_bytes(reflinking / "copy/base/5/16384") == 0


@pytest.fixture
def small_tmpfs(tmp_path: Path) -> Iterator[Path]:
    """A tmpfs of 1 MiB."""
    point = tmp_path / "small"
    point.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "kneebench-test", point], check=True)
    yield point
    subprocess.run(["umount", point], check=True)


@needs_root
@pytest.mark.root
def test_a_full_file_system_is_a_plain_error(image: Path, small_tmpfs: Path) -> None:
    with pytest.raises(PlanError, match="the file system is full"):
        duplicated(image, small_tmpfs / "copy")
