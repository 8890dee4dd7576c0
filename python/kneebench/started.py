"""How this process was started: its command line, kept before any library changes `sys.argv`.

pysnmp replaces the first word while a thread of its meter loads a MIB.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

_ARGV = [*sys.argv]


def keep_command_line() -> None:
    """Keep the command line as it is now: the program begins."""
    _ARGV[:] = sys.argv


def open_standard_streams() -> None:
    """Open /dev/null in place of each standard stream that is closed. The next file that is opened
    would get its number, and messages, of libraries too, would be written into it: it may be a
    drive.
    """
    for number, (name, mode) in enumerate([("stdin", "r"), ("stdout", "w"), ("stderr", "w")]):
        try:
            os.fstat(number)
        except OSError:
            null = os.open(os.devnull, os.O_RDWR)
            os.dup2(null, number)
            if null != number:
                os.close(null)
            setattr(sys, name, os.fdopen(number, mode, closefd=False))


def command_line(without: Sequence[str] = ()) -> str:
    """The command that starts the same again, without some of its options."""
    return shlex.join([*program(), *(word for word in _ARGV[1:] if word not in without)])


def recorded_command_line() -> str:
    """The command line as results keep it: without the directory of the program."""
    return shlex.join([Path(_ARGV[0]).name, *_ARGV[1:]])


def program() -> list[str]:
    """How this kneebench is started by hand: by its name where the shell finds this one under it,
    else as it was started.
    """
    started = Path(_ARGV[0])
    if started.name == "__main__.py":
        return [Path(sys.executable).name, "-m", "kneebench"]
    found = shutil.which("kneebench")
    return ["kneebench" if found and started.exists() and started.samefile(found) else _ARGV[0]]
