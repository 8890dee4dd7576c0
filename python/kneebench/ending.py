"""How a command ends: every foreseen failure is a message on stderr and its own exit code, never a traceback."""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path
from types import FrameType
from typing import Any

import typer
from typer.core import TyperGroup

STOPPED = 130
"""As a shell tells of a process that Ctrl-C ended: 128 + SIGINT."""
_FULL = (errno.ENOSPC, errno.EDQUOT)
_FILES = (errno.EACCES, errno.EPERM, errno.EROFS, errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ENOENT)
"""What is wrong with a place that the user named, or that the environment names."""


class Commands(TyperGroup):
    """The group of all commands, which gives each failure its message and exit code."""

    def invoke(self, context: Any) -> Any:
        """Run the command that was named."""
        try:
            return super().invoke(context)
        except KeyboardInterrupt:
            _say("stopped; what was measured is kept, and the same command goes on from there")
            raise typer.Exit(STOPPED) from None
        except BrokenPipeError:
            raise
        except Exception as error:
            code = _told(error)
            if code is None:
                raise
            raise typer.Exit(code) from None


def stop_at_sigterm() -> None:
    """Let SIGTERM and a closed terminal end a run as cleanly as Ctrl-C does."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)


def print_anything() -> None:
    """A character that the terminal's encoding lacks is printed by its number: no answer shall fail at one."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _told(error: Exception) -> int | None:
    """Say what happened; the exit code, or None for what typer itself raises and tells (wrong options, leaving)."""
    from kneebench.errors import KneebenchError, PlanError

    if type(error).__module__.startswith(("typer", "click")):
        return None
    if isinstance(error, KneebenchError):
        _say(str(error))
        return error.exit_code
    if isinstance(error, OSError) and error.errno in _FULL:
        _say(f"while writing {error.filename or 'a file'}: {error.strerror}; free some space, then start again: what was measured is kept")
        return PlanError.exit_code
    if isinstance(error, OSError) and error.errno in _FILES and error.filename:
        _say(f"while using {error.filename}: {error.strerror}; name another place, or make this one usable")
        return PlanError.exit_code
    _say(f"kneebench met what it did not foresee: {type(error).__name__}: {error}\nThe traceback is in {_keep(error)}; please report it.")
    return KneebenchError.exit_code


def _say(message: str) -> None:
    print(f"kneebench: {message}", file=sys.stderr)


def _keep(error: Exception) -> Path:
    """Write the traceback where the user's programs keep their state (XDG base directories), or else with temporary files."""
    text = "".join(traceback.format_exception(error))
    try:
        folder = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "kneebench" / "tracebacks"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = folder / f"{time.strftime('%Y-%m-%d-%H%M%S')}-{os.getpid()}.txt"
        file.write_text(text)
    except (OSError, RuntimeError):
        with tempfile.NamedTemporaryFile("w", prefix="kneebench-", suffix=".txt", delete=False) as out:
            out.write(text)
        file = Path(out.name)
    return file
