"""What was changed is written first, and undone after any end."""

import errno
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kneebench.lab.journal import MARKER, Journal

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
    entry = journal._made("process", "server", pid=os.getppid(), pid_started=1).model_copy(update={"owner_started": 1})
    (journal.folder / "x.json").write_text(entry.model_dump_json())
    assert len(journal.clean(quiet)) == 1
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


def left_behind(journal: Journal, path: Path) -> None:
    """The entry of a directory whose maker is gone."""
    entry = journal._made("directory", path.name, path=str(path)).model_copy(update={"owner_started": 1})
    (journal.folder / f"{entry.id}.json").write_text(entry.model_dump_json())


def test_what_cannot_be_undone_now_stays_written_down_and_hinders_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal, warned = Journal(tmp_path / "journal"), []
    for path in (tmp_path / "stuck", tmp_path / "data", tmp_path / "unmounted" / "data"):
        left_behind(journal, path)
    for path in (tmp_path / "stuck", tmp_path / "data"):
        path.mkdir()
        (path / MARKER).touch()
    remove = shutil.rmtree

    def busy(path: str) -> None:
        if path.endswith("stuck"):
            raise OSError(errno.EBUSY, "Device or resource busy", path)
        remove(path)

    monkeypatch.setattr("kneebench.lab.journal.shutil.rmtree", busy)
    done = journal.clean(lambda event: warned.append(event.doing) if event.kind == "warning" else None)
    assert [entry.path for entry in done] == [str(tmp_path / "data")]
    assert len(warned) == 2
    assert {entry.path for entry in journal.leftovers()} == {str(tmp_path / "stuck"), str(tmp_path / "unmounted" / "data")}
    monkeypatch.undo()
    (tmp_path / "unmounted" / "data").mkdir(parents=True)
    (tmp_path / "unmounted" / "data" / MARKER).touch()
    assert len(journal.clean(quiet)) == 2
    assert not (tmp_path / "stuck").exists()


def test_an_entry_that_its_maker_undid_meanwhile_is_no_error(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")
    (journal.folder / "gone.json").symlink_to(tmp_path / "nowhere")  # listed, and not there when it is read
    assert journal.leftovers() == []
