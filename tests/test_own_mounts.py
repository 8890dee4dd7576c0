"""A program with mounts of its own keeps no drive busy that is unmounted outside, on real loop
devices. The servers are the command that starts one which root lends an account.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from kneebench.databases.engines.postgres.engine import server_account
from kneebench.databases.managed.account import as_account
from kneebench.lab.changes.mount import MountedFileSystem, volume_of
from kneebench.lab.inventory.holders import is_held
from kneebench.lab.journal import Journal
from kneebench.lab.open_device import OpenDevice
from kneebench.lab.own_devices import OWN_MOUNTS
from kneebench.lab.own_writes import are_all_ours, note_own_writes
from kneebench.lab.programs import wait_until
from tests.loop_devices import done, loop_device, mounted, volume_point

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: loop devices and mounts"),
]
WAITS = "echo started; read line"


@pytest.fixture
def drive(tmp_path: Path) -> Iterator[str]:
    """A loop device with a file system."""
    with loop_device(tmp_path / "drive.img") as device:
        done("mkfs.ext4", "-q", device)
        yield str(device)


@contextlib.contextmanager
def running(command: Sequence[str], *, ends: bool = False) -> Iterator[list[str]]:
    """A program until the end of the block, from its first line on: its mount points."""
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout
            assert process.stdout.readline() == "started\n"
            table = Path(f"/proc/{process.pid}/mountinfo").read_text()
            yield [line.split()[4] for line in table.splitlines()]
            assert ends or process.poll() is None
        finally:
            process.kill()


def is_free(drive: str) -> bool:
    """Servers of other tests may be starting, with mounts of their own."""
    return wait_until(lambda: not is_held(drive))


@pytest.fixture
def lent(tmp_path: Path) -> Iterator[Callable[..., list[str]]]:
    """The command of a server under a lent account that reaches these directories, and its
    programs' directory, which is barred.
    """
    account = server_account()
    programs = tmp_path / "programs"  # pytest's directories are only its own
    programs.mkdir()
    with tempfile.TemporaryDirectory() as stash:
        Path(stash).chmod(0o755)

        def command(*reach: Path) -> list[str]:
            words = ["sh", "-c", WAITS]
            found, _ = as_account(account, words, [programs, *reach], Path(stash))
            assert found[: len(OWN_MOUNTS)] == [*OWN_MOUNTS]
            return found

        yield command


def test_a_server_under_a_lent_account_keeps_no_volume_of_another_run(
    drive: str, lent: Callable[..., list[str]]
) -> None:
    with volume_point() as point, contextlib.ExitStack() as stack:
        with mounted(drive, point):
            points = stack.enter_context(running(lent()))
            assert str(point) not in points
        assert is_free(drive)


def test_a_server_on_a_volume_keeps_it_also_if_only_its_programs_are_barred(
    drive: str, lent: Callable[..., list[str]], tmp_path: Path
) -> None:
    with volume_point() as point, mounted(drive, point):
        (point / "data").mkdir()
        (tmp_path / "link").symlink_to(point)
        for reach in (point / "data", point, tmp_path / "link" / "data"):
            with running(lent(reach)) as points:
                assert str(point) in points


def test_what_is_unmounted_outside_goes_inside_too_where_mounts_are_shared(
    drive: str, tmp_path: Path
) -> None:
    """As systemd makes them, wherever they are."""
    point = tmp_path / "any"
    done("mount", "--bind", tmp_path, tmp_path)
    try:
        done("mount", "--make-shared", tmp_path)
        point.mkdir()
        with contextlib.ExitStack() as stack:
            with mounted(drive, point):
                points = stack.enter_context(running([*OWN_MOUNTS, "sh", "-c", WAITS]))
                assert str(point) in points
            assert is_free(drive)
    finally:
        done("umount", tmp_path)


@pytest.mark.parametrize("held_s", [0.5, 3.0])
def test_a_volume_is_unmounted_when_the_last_copy_of_its_mount_is_gone(
    held_s: float, drive: str, tmp_path: Path
) -> None:
    """A server that is starting has a copy for an instant, or longer on a busy machine. What the
    file system writes at its end is ours.
    """
    with volume_point() as point, contextlib.ExitStack() as stack:
        device = stack.enter_context(OpenDevice(drive))
        note_own_writes(device)
        done("mount", drive, point)
        facts = {"point": str(point), "volume": volume_of(drive)}
        with Journal(tmp_path / "journal").made(MountedFileSystem, "a volume", **facts):
            (point / "file").write_bytes(bytes(2**20))
            starting = f"echo started; sleep {held_s}; umount {point}; read line"
            stack.enter_context(running([*OWN_MOUNTS, "sh", "-c", starting]))
        assert not os.path.ismount(point)
        os.close(os.open(drive, os.O_RDONLY | os.O_EXCL))
        assert are_all_ours(device)


@pytest.mark.parametrize("restarted", [False, True])
def test_what_others_mounted_where_a_volume_of_a_killed_run_was_stays(
    restarted: bool, tmp_path: Path
) -> None:
    facts = {"point": str(point := tmp_path / "any"), "volume": "1234-5678"}
    point.mkdir()
    change = Journal(tmp_path / "journal").change(MountedFileSystem, "a volume", **facts)
    done("mount", "-t", "tmpfs", "theirs", point)
    try:
        if restarted:
            assert not change.model_copy(update={"boot": "the one before"}).undo()
        else:
            with pytest.raises(OSError, match="not kneebench's"):
                change.undo()
        assert os.path.ismount(point)
    finally:
        done("umount", point)


HOLDS_FOR = """
import os, sys, time
os.open(sys.argv[1], os.O_RDONLY | os.O_EXCL)
print("started", flush=True)
time.sleep(float(sys.argv[2]))
"""


@pytest.mark.parametrize(("held_s", "looked_s", "held"), [(0.2, 10.0, False), (60, 0.1, True)])
def test_a_drive_that_is_held_for_an_instant_is_not_in_use(
    drive: str, held_s: float, looked_s: float, held: bool
) -> None:
    with running([sys.executable, "-c", HOLDS_FOR, drive, str(held_s)], ends=not held):
        assert is_held(drive, looked_s) is held
