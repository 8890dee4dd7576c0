"""Programs of the system that kneebench starts: those that write to drives end with it."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from kneebench.lab.processes import END_LIMIT_S, end, runs, started
from kneebench.lab.programs import ending_with_us, run_program, wait_until

SLOW = f"""#!{sys.executable}
import os, sys, time
from pathlib import Path
Path(sys.argv[1] + ".pid").write_text(str(os.getpid()))
time.sleep(30)
Path(sys.argv[1]).write_text("written")
"""
STARTING = """
import sys
from kneebench.lab.programs import run_program
run_program(*sys.argv[1:], ends_with_us=True)
"""
NEGLIGENT = """
import subprocess, time
print(subprocess.Popen(["sleep", "60"]).pid, flush=True)
time.sleep(60)
"""


@pytest.fixture
def slow(tmp_path: Path) -> str:
    """A stand-in for mkfs that takes half a minute to write to its drive."""
    program = tmp_path / "mkfs.slow"
    program.write_text(SLOW)
    program.chmod(0o755)
    return str(program)


def test_a_program_that_writes_to_drives_ends_when_kneebench_is_killed(
    slow: str, tmp_path: Path
) -> None:
    drive, begun = tmp_path / "drive", tmp_path / "drive.pid"
    with subprocess.Popen([sys.executable, "-c", STARTING, slow, drive]) as starting:
        until_s = time.monotonic() + 20
        while not (begun.exists() and begun.read_text()) and time.monotonic() < until_s:
            time.sleep(0.01)
        pid = int(begun.read_text())
        started_at = started(pid)
        starting.send_signal(signal.SIGKILL)
    assert wait_until(lambda: not runs(pid, started_at))
    assert not drive.exists()


def test_a_program_whose_kneebench_has_ended_already_is_not_started(
    slow: str, tmp_path: Path
) -> None:
    """Its parent is another one than the process that made the command."""
    command = ["sh", "-c", '"$@"; exit 0', "sh", *ending_with_us([slow, str(tmp_path / "drive")])]
    assert subprocess.run(command, check=False).returncode == 0
    assert not (tmp_path / "drive.pid").exists()


def test_a_program_that_ends_with_us_prints_and_fails_as_others_do() -> None:
    assert run_program("cat", given="as given", ends_with_us=True) == "as given"
    with pytest.raises(OSError, match="sleep: invalid time interval"):
        run_program("sleep", "long", ends_with_us=True)
    with pytest.raises(FileNotFoundError):
        run_program("mkfs.nosuch", ends_with_us=True)


def test_a_process_that_ended_is_not_waited_for_until_its_parent_asks_for_it() -> None:
    """As below the first process of a container, which may never ask."""
    command = [sys.executable, "-c", NEGLIGENT]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = psutil.Process(int(parent.stdout.readline()))
        began_s = time.monotonic()
        end([child])
        assert time.monotonic() - began_s < END_LIMIT_S
        assert child.status() == psutil.STATUS_ZOMBIE
        parent.kill()
