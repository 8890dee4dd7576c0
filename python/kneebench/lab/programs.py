"""Programs of the system that change it, or write to its drives: mkfs, mount, losetup, fio."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

PATHS = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))
"""An ordinary user's PATH often lacks the directories of these programs."""
LIMIT_S = 600.0
"""mkfs of a large array writes for minutes; a drive that fails may not answer at all."""
WAIT_S = 10.0

_BECOME = """
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
if os.getppid() == int(sys.argv[1]):  # it may have ended before
    os.execvp(sys.argv[2], sys.argv[2:])
"""


def found(program: str) -> str | None:
    """The path of a program; None where it is missing."""
    return shutil.which(program, path=PATHS)


def environment() -> dict[str, str]:
    """That of such a program: it finds others, speaks English, and does not wait for a lock of ours
    on a drive.
    """
    return {**os.environ, "PATH": PATHS, "LC_ALL": "C", "LOCK_BLOCK_DEVICE": "no"}


def ending_with_us(command: Sequence[str]) -> list[str]:
    """The command, killed by the kernel when the thread that starts it ends, also by `kill -9`: it
    must not write on to a drive that the next run has claimed.

    prctl(2) is called by a Python that then becomes the program: it is not safe between fork and
    exec of a process with threads.
    """
    if not found(command[0]):  # starting it says so
        return [*command]
    return [sys.executable, "-ISc", _BECOME, str(os.getpid()), *command]


def run_program(
    *command: str, given: str = "", limit_s: float = LIMIT_S, ends_with_us: bool = False
) -> str:
    """What the program prints, when it is given that to read. Raises OSError with what it says
    where it is missing, fails or takes too long.
    """
    try:
        ended = subprocess.run(
            ending_with_us(command) if ends_with_us else command,
            capture_output=True,
            env=environment(),
            input=given,
            text=True,
            errors="surrogateescape",  # a label has any bytes
            timeout=limit_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise OSError(f"{command[0]} has not ended within {limit_s:.0f} s") from None
    if ended.returncode:
        words = " ".join(ended.stderr.split()) or f"exit code {ended.returncode}"
        raise OSError(f"{command[0]}: {words.removeprefix(f'{command[0]}: ')}")
    return ended.stdout


def json_in(printed: str) -> dict[str, Any]:
    """The JSON object in what a program prints, which may begin with its warnings. Raises
    ValueError if there is none.

    >>> json_in('a warning\\n{"jobs": []}\\n')
    {'jobs': []}
    """
    found, _ = json.JSONDecoder().raw_decode(printed, printed.index("{"))
    return dict(found)


def wait_until(condition: Callable[[], bool], limit_s: float = WAIT_S) -> bool:
    """Whether the condition came true in time; asked every 20 ms."""
    until_s = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > until_s:
            return False
        time.sleep(0.02)
    return True
