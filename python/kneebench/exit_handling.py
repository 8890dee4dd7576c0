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
from collections.abc import Callable, Iterable
from pathlib import Path
from types import FrameType
from typing import Any

import typer
from typer.core import TyperGroup

STOPPED = 130
"""As a shell tells of a process that Ctrl-C ended: 128 + SIGINT."""
_FULL = (errno.ENOSPC, errno.EDQUOT)
_FILES = (errno.EACCES, errno.EPERM, errno.EROFS, errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ENOENT, errno.ENAMETOOLONG, errno.ELOOP)
"""What is wrong with a place that the user named, or that the environment names."""


class Commands(TyperGroup):
    """The group of all commands, which gives each failure its message and exit code."""

    def invoke(self, context: Any) -> Any:
        """Run the command that was named."""
        try:
            return super().invoke(context)
        except KeyboardInterrupt as stop:
            _say(" ".join(["Interrupted.", *_notes(stop)]))
            raise typer.Exit(STOPPED) from None
        except BrokenPipeError:
            raise
        except Exception as error:
            code = _told(error)
            if code is None:
                raise
            raise typer.Exit(code) from None


def _notes(error: BaseException) -> list[str]:
    """What was added to an error on its way up (PEP 678): the command that resumes the campaign."""
    return list(getattr(error, "__notes__", []))


def stop_at_sigterm() -> None:
    """Let SIGTERM and a closed terminal end a run as cleanly as Ctrl-C does."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    _handle((signal.SIGTERM, signal.SIGHUP), stop)


def end_at_once() -> None:
    """From now on a signal ends the process by itself: there is nothing to put back, and Python's own end would print the interrupt."""
    _handle((signal.SIGINT, signal.SIGTERM, signal.SIGHUP), signal.SIG_DFL)


def _handle(numbers: Iterable[signal.Signals], handler: Callable[[int, FrameType | None], None] | signal.Handlers) -> None:
    """One that whoever started us had ignored stays so: `nohup` does that to SIGHUP."""
    for number in numbers:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


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
        _say("\n".join([str(error), *_notes(error)]))
        return error.exit_code
    if isinstance(error, OSError) and error.errno in _FULL:
        _say("\n".join([f"cannot write {error.filename or 'a file'}: {error.strerror}; free some space", *_notes(error)]))
        return PlanError.exit_code
    if isinstance(error, OSError) and error.errno in _FILES and error.filename:
        _say("\n".join([f"cannot use {error.filename}: {error.strerror}; choose another path, or correct this one", *_notes(error)]))
        return PlanError.exit_code
    unforeseen = f"internal error: {type(error).__name__}: {error}\nPlease report it with the traceback in {_keep(error)}"
    _say("\n".join([unforeseen, *_notes(error)]))
    return KneebenchError.exit_code


def _say(message: str) -> None:
    from kneebench.visible import visible

    print(visible(f"kneebench: {message}"), file=sys.stderr)


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
