"""What was changed is written first, and undone after any end."""

import contextlib
import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from kneebench.commands.measuring import clean
from kneebench.lab import changes
from kneebench.lab import journal as journal_room
from kneebench.lab.changes.directory import MadeDirectory
from kneebench.lab.changes.process import StartedProcess
from kneebench.lab.journal import Journal
from kneebench.lab.processes import living_in
from kneebench.lab.programs import wait_until
from kneebench.lab.removal import MARKER, Ground, ground_of
from kneebench.shelf import CHANGES
from tests.toy_shelf import put_on_the_shelf

CHILD = """
import os, subprocess, sys
from pathlib import Path
from kneebench.lab.journal import Journal
journal = Journal(Path(sys.argv[1]))
with journal.directory(Path(sys.argv[2]), "data") as made:
    (made / "file").write_text("x")
    server = subprocess.Popen(["sleep", "300"])
    with journal.process(server.pid, "server"):
        print(server.pid, flush=True)
        sys.stdin.read()
"""

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounts a file system: needs root")


def quiet(event: object) -> None:
    """A watcher that shows nothing."""


def start(tmp_path: Path) -> tuple[subprocess.Popen[str], int]:
    command = [sys.executable, "-c", CHILD, str(tmp_path / "journal"), str(tmp_path / "data")]
    maker = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert maker.stdout
    return maker, int(maker.stdout.readline())


def gone(pid: int) -> bool:
    deadline = time.monotonic() + 15
    while time.monotonic() < deadline:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except FileNotFoundError:
            return True
        time.sleep(0.05)
    return False


def test_what_a_killed_run_left_is_found_and_undone(tmp_path: Path) -> None:
    maker, server = start(tmp_path)
    maker.send_signal(signal.SIGKILL)
    maker.wait()
    journal = Journal(tmp_path / "journal")
    assert (tmp_path / "data" / "file").exists()
    assert [entry.what for entry in journal.clean(quiet)] == ["server", "data"]
    assert gone(server)
    assert not (tmp_path / "data").exists()
    assert journal.leftovers() == []


def test_a_living_run_is_left_alone(tmp_path: Path) -> None:
    maker, server = start(tmp_path)
    assert Journal(tmp_path / "journal").clean(quiet) == []
    assert (tmp_path / "data" / "file").exists()
    maker.communicate("", timeout=30)
    assert gone(server)
    assert not (tmp_path / "data").exists()


def test_another_process_that_got_the_same_id_is_not_killed(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")
    entry = journal.change(StartedProcess, "server", pid=os.getppid(), pid_started=1).model_copy(
        update={"owner_started": 1}
    )
    (journal.folder / f"{entry.id}.json").write_text(entry.model_dump_json())
    assert journal.clean(quiet) == journal.leftovers() == []
    os.kill(os.getppid(), 0)


def test_a_directory_without_our_mark_is_never_removed(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")
    with pytest.raises(FileExistsError), journal.directory(tmp_path, "theirs"):
        pass
    with journal.directory(tmp_path / "data", "data") as made:
        (made / MARKER).unlink()
        (made / "file").touch()
    assert (tmp_path / "data" / "file").exists()


def test_a_server_that_was_not_yet_written_down_ends_with_its_directory(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")
    with journal.directory(tmp_path / "data", "data") as made:
        server = named(tmp_path / "postgres", made)
    assert gone(server.pid)


def test_a_server_of_any_engine_on_the_shelf_is_ended_by_the_signal_that_stops_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def send_signal(process: psutil.Process, number: int) -> None:
        sent[process.name()] = number
        process.kill()

    put_on_the_shelf(tmp_path / "shelf", monkeypatch)
    journal, sent = Journal(tmp_path / "journal"), dict[str, int]()
    monkeypatch.setattr(psutil.Process, "send_signal", send_signal)
    with journal.directory(tmp_path / "data", "data") as made:
        servers = [named(tmp_path / name, made) for name in ("toyserver", "postgres")]
    assert all(gone(server.pid) for server in servers)
    assert sent == {"toyserver": signal.SIGQUIT, "postgres": signal.SIGINT}


def test_another_process_that_stands_in_a_directory_of_ours_lives_on(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")
    with journal.directory(tmp_path / "data", "data") as made:
        visitor = named(tmp_path / "editor", made)
    assert not (tmp_path / "data").exists()
    assert visitor.poll() is None
    visitor.kill()
    visitor.wait()


def named(program: Path, where: Path) -> subprocess.Popen[bytes]:
    """A process of that name that waits in a directory."""
    shutil.copy(shutil.which("sleep") or "", program)
    return subprocess.Popen([program, "300"], cwd=where)


def left_behind(journal: Journal, path: Path, **facts: object) -> None:
    """The entry of a directory whose maker is gone; without `facts` as it was written before
    grounds were.
    """
    entry = journal.change(MadeDirectory, path.name, path=str(path)).model_copy(
        update={"owner_started": 1, **facts}
    )
    (journal.folder / f"{entry.id}.json").write_text(entry.model_dump_json())


def test_what_cannot_be_undone_now_stays_written_down_and_hinders_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal, warned = Journal(tmp_path / "journal"), []
    for path in (tmp_path / "stuck", tmp_path / "data", tmp_path / "unmounted" / "data"):
        left_behind(journal, path)
    for path in (tmp_path / "stuck", tmp_path / "data"):
        (path / "data").mkdir(parents=True)
        (path / MARKER).touch()
    rmdir = os.rmdir

    def busy(name: str, *, dir_fd: int | None = None) -> None:
        if dir_fd and Path(f"/proc/self/fd/{dir_fd}").readlink() == tmp_path / "stuck":
            raise OSError(errno.EBUSY, "Device or resource busy", name)
        rmdir(name, dir_fd=dir_fd)

    monkeypatch.setattr("os.rmdir", busy)
    done = journal.clean(
        lambda event: warned.append(event.doing) if event.kind == "warning" else None
    )
    assert [entry.path for entry in done] == [str(tmp_path / "data")]
    assert len(warned) == 2
    assert {entry.path for entry in journal.leftovers()} == {
        str(tmp_path / "stuck"),
        str(tmp_path / "unmounted" / "data"),
    }
    monkeypatch.undo()
    (tmp_path / "unmounted" / "data").mkdir(parents=True)
    (tmp_path / "unmounted" / "data" / MARKER).touch()
    assert len(journal.clean(quiet)) == 2
    assert not (tmp_path / "stuck").exists()


def test_an_entry_that_its_maker_undid_meanwhile_is_no_error(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")
    (journal.folder / "gone.json").symlink_to(
        tmp_path / "nowhere"
    )  # listed, and not there when it is read
    assert journal.leftovers() == []


@pytest.mark.parametrize(
    "stop", [KeyboardInterrupt(), OSError(errno.EIO, "Input/output error")], ids=["Ctrl-C", "EIO"]
)
@pytest.mark.parametrize("removed", range(4))
def test_a_removal_that_is_interrupted_anywhere_is_finished_by_the_next_clean(
    stop: BaseException, removed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal, data, rmdir, left = Journal(tmp_path / "journal"), tmp_path / "data", os.rmdir, removed
    for n in range(4):
        (data / f"{n}").mkdir(parents=True)
    (data / MARKER).touch()
    left_behind(journal, data)

    def stopped(name: str, *, dir_fd: int | None = None) -> None:
        nonlocal left
        if left == 0:
            raise stop
        left -= 1
        rmdir(name, dir_fd=dir_fd)

    monkeypatch.setattr("os.rmdir", stopped)
    with contextlib.suppress(KeyboardInterrupt):
        assert journal.clean(quiet) == []
    monkeypatch.undo()
    assert len([path for path in data.iterdir() if path.is_dir()]) == 4 - removed
    assert [entry.path for entry in journal.clean(quiet)] == [str(data)]
    assert not data.exists()


def test_a_directory_that_was_not_yet_marked_is_removed_while_it_is_empty(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")
    (tmp_path / "data").mkdir()
    left_behind(journal, tmp_path / "data")
    assert len(journal.clean(quiet)) == 1
    assert not (tmp_path / "data").exists()


def test_what_is_gone_already_is_forgotten_and_not_said_to_be_removed(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")
    left_behind(journal, tmp_path / "data", ground=ground_of(tmp_path))
    assert journal.clean(quiet) == journal.leftovers() == []


def test_a_directory_of_a_killed_run_that_lost_its_mark_is_told_and_kept(tmp_path: Path) -> None:
    journal, told = Journal(tmp_path / "journal"), []
    (tmp_path / "data" / "theirs").mkdir(parents=True)
    left_behind(journal, tmp_path / "data")
    assert journal.clean(lambda event: told.append(event.doing)) == []
    assert "carries no kneebench marker" in told[-1]
    assert (tmp_path / "data" / "theirs").exists()


def test_an_entry_of_an_earlier_version_is_read_and_undone(tmp_path: Path) -> None:
    journal, data = Journal(tmp_path / "journal"), tmp_path / "data"
    data.mkdir()
    (data / MARKER).touch()
    old = {
        "id": "a",
        "kind": "directory",
        "what": "data",
        "pid": 0,
        "pid_started": 0,
        "path": str(data),
        "owner": 1,
        "owner_started": 1,
        "boot": "earlier",
    }
    (journal.folder / "a.json").write_text(json.dumps(old))
    assert [entry.path for entry in journal.clean(quiet)] == [str(data)]
    assert not data.exists()


def test_memory_of_an_earlier_boot_is_gone_and_a_drive_of_an_earlier_boot_is_waited_for(
    tmp_path: Path,
) -> None:
    journal = Journal(tmp_path / "journal")
    for kind in ("tmpfs", "ext4"):
        left_behind(
            journal,
            tmp_path / kind,
            boot="earlier",
            ground=Ground(str(tmp_path), kind, "/dev/sdz1"),
        )
    assert journal.clean(quiet) == []
    assert [entry.what for entry in journal.leftovers()] == ["ext4"]


@pytest.mark.root
@needs_root
def test_a_directory_on_a_drive_that_is_not_mounted_now_is_waited_for(tmp_path: Path) -> None:
    point, aside, told = tmp_path / "two", tmp_path / "aside", []
    point.mkdir()
    aside.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "kneebench-two", point], check=True)
    try:
        leaves = (
            "import os, sys; from pathlib import Path; from kneebench.lab.journal import Journal\n"
        )
        leaves += (
            "with Journal(Path(sys.argv[1])).directory(Path(sys.argv[2]), 'data'): os._exit(9)"
        )
        subprocess.run(
            [sys.executable, "-c", leaves, tmp_path / "journal", point / "data"], check=False
        )
        journal = Journal(tmp_path / "journal")
        subprocess.run(["mount", "--move", point, aside], check=True)
        assert journal.clean(lambda event: told.append(event.doing)) == []
        assert f"mounted on {point}, which is not mounted now: mount it" in told[-1]
        assert [entry.what for entry in journal.leftovers()] == ["data"]
        subprocess.run(["mount", "--move", aside, point], check=True)
        assert (point / "data" / MARKER).exists()
        assert [entry.what for entry in journal.clean(quiet)] == ["data"]
        assert not (point / "data").exists()
    finally:
        for place in (point, aside):
            subprocess.run(["umount", place], check=False, capture_output=True)


@pytest.mark.root
@needs_root
def test_a_drive_that_goes_away_in_mid_run_leaves_its_entry(tmp_path: Path) -> None:
    journal, point = Journal(tmp_path / "journal"), tmp_path / "two"
    point.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "kneebench-two", point], check=True)
    with journal.directory(point / "data", "data"):
        subprocess.run(["umount", point], check=True)
    assert len(list(journal.folder.glob("*.json"))) == 1


def test_what_runs_on_another_host_with_the_same_home_is_not_taken_for_left_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(journal_room, "boot", lambda: "there")
    monkeypatch.setattr("platform.node", lambda: "there")
    with Journal().directory(tmp_path / "data", "data") as made:
        monkeypatch.undo()
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
        assert Journal().clean(quiet) == []
        assert made.is_dir()


@pytest.mark.parametrize("name", CHANGES.names())
def test_every_kind_of_change_is_read_back_as_it_was_written(name: str, tmp_path: Path) -> None:
    made = Journal(tmp_path).change(
        changes.kind(name),
        "a change",
        **dict.fromkeys(("path", "point", "file", "device"), str(tmp_path / "data")),
        **dict.fromkeys(("wwid", "volume", "table"), "a drive"),
        **dict.fromkeys(("before", "written"), "7"),
        pid=os.getpid(),
        by_hand="true",
        uuid="a:b:c:d",
    )
    assert made.kind == name
    assert changes.read(made.model_dump_json().encode()) == made
    assert made.where


SAID = {
    "array": "stopped: it (/dev/md/a)",
    "database": "removed: it",
    "directory": "removed: it (/run/a)",
    "format": "released: /dev/md/a, written for it",
    "group": "removed: it (/run/a)",
    "loop": "detached: it (/proc/sys/a)",
    "mount": "unmounted: it (/run/a/volume)",
    "process": "ended: it (process 1)",
    "setting": "restored: it (/proc/sys/a)",
    "table": "removed: it (/dev/md/a)",
    "server_setting": "restored: it",
}
"""What `kneebench clean` prints, by kind."""


@pytest.mark.parametrize("name", CHANGES.names())
def test_clean_says_of_each_kind_what_was_done_to_it(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    facts = {"path": "/run/a", "point": "/run/a/volume", "file": "/proc/sys/a", "pid": 1}
    facts |= {
        "device": "/dev/md/a",
        "uuid": "a:b:c:d",
        **dict.fromkeys(("wwid", "volume", "table"), "a drive"),
    }
    facts |= dict.fromkeys(("before", "written"), "7")
    made = Journal(tmp_path).change(changes.kind(name), "it", **facts)
    monkeypatch.setattr(Journal, "clean", lambda *words: [made])
    clean()
    assert capsys.readouterr().out == f"{SAID[name]}\n"


def test_a_kind_that_this_version_does_not_know_is_named_with_those_that_it_does(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.json").write_text('{"id": "a", "kind": "satellite", "what": "drives"}')
    (damaged,) = Journal(tmp_path).damaged()
    assert "'satellite': unknown name; available: array, database, directory" in damaged.why


def test_a_server_in_a_directory_too_deep_to_have_a_path_is_none_of_ours(tmp_path: Path) -> None:
    program = str(shutil.copy(shutil.which("sleep") or "sleep", tmp_path / "postgres"))
    deeper = "os.mkdir('d' * 100); os.chdir('d' * 100)"
    code = f"import os\nfor _ in range(50): {deeper}\nos.execv({program!r}, ['postgres', '60'])"
    with subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path) as process:
        try:
            comm, until = Path(f"/proc/{process.pid}/comm"), time.monotonic() + 20
            while comm.read_text() != "postgres\n" and time.monotonic() < until:
                time.sleep(0.02)
            with pytest.raises(OSError, match="File name too long"):
                Path(f"/proc/{process.pid}/cwd").readlink()
            assert living_in(tmp_path) == []
        finally:
            process.kill()


def test_a_program_of_ours_is_found_before_its_whole_name_is_known(tmp_path: Path) -> None:
    program = shutil.copy(shutil.which("sleep") or "sleep", tmp_path / "qemu-storage-daemon")
    with subprocess.Popen(["", "60"], executable=program, cwd=tmp_path) as process:
        try:
            comm = Path(f"/proc/{process.pid}/comm")
            assert wait_until(lambda: comm.read_text() == "qemu-storage-da\n")
            assert [one.pid for one in living_in(tmp_path)] == [process.pid]
        finally:
            process.kill()
