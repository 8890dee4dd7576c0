"""Exit handling: every handled error is a message on stderr with its own exit code, never a
traceback.
"""

from __future__ import annotations

import errno
import io
import os
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

from kneebench.directories import make_private, state_directory, write_private
from kneebench.errors import INTERRUPTED

LONGEST_HELP = 500
"""Characters of a command's first sentence in the list of commands: more than any has."""
_FULL = (errno.ENOSPC, errno.EDQUOT)
_FILES = (
    errno.EACCES,
    errno.EPERM,
    errno.EROFS,
    errno.EEXIST,
    errno.ENOTDIR,
    errno.EISDIR,
    errno.ENOENT,
    errno.ENAMETOOLONG,
    errno.ELOOP,
)
"""Error numbers that concern a path from the user or the environment."""
EXIT_CODES = {
    0: "success",
    1: "other handled error: the message names the object, the reason and the fix; or an internal"
    " error, please report",
    2: "wrong plan, wrong option, or something wrong on this machine that the plan names",
    3: "invalid measurement: the database was lost or out of space, transactions failed, the load"
    " generator was the bottleneck, or a storage never became steady",
    4: "a self-check of the results failed: do not trust the figures",
    5: "refused: continuing could destroy something that is not kneebench's",
    6: "`accept`: the campaign is worse than its baseline",
    7: "`accept`: cannot say; about how many more rounds would decide is printed",
    8: "acknowledged orders were lost when the server was cut off",
    130: "interrupted by Ctrl-C or SIGTERM: changes to the machine are undone, measured rungs are"
    " saved",
}
"""Every exit code of the command line, for its reference."""


class CommandList(TyperGroup):
    """A group whose help has the first sentence of each command as a whole, on two lines where one
    is too short; click cuts it.
    """

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands that are not hidden."""
        commands = [self.get_command(ctx, name) for name in self.list_commands(ctx)]
        rows = [
            (one.name or "", one.get_short_help_str(limit=LONGEST_HELP))
            for one in commands
            if one and not one.hidden
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


class Commands(CommandList):
    """The group of all commands, which gives each failure its message and exit code."""

    def invoke(self, context: Any) -> Any:
        """Run the command that was named."""
        try:
            return super().invoke(context)
        except KeyboardInterrupt as stop:
            _print_message(" ".join(["Interrupted.", "\n".join(_notes(stop))]).strip())
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            raise
        except Exception as error:
            code = _report(error)
            if code is None:
                raise
            raise typer.Exit(code) from None


def _notes(error: BaseException) -> list[str]:
    """Notes on an error (PEP 678), such as the command that resumes the campaign."""
    return list(getattr(error, "__notes__", []))


def require_utf8() -> None:
    """Begin again in Python's UTF-8 mode where the locale is another: paths in results, logs and
    tables are UTF-8. Ends the command where one is not.
    """
    if sys.getfilesystemencoding() != "utf-8" and os.environ.get("PYTHONUTF8") != "1":
        os.execve(sys.executable, sys.orig_argv, {**os.environ, "PYTHONUTF8": "1"})  # noqa: S606
    for word in sys.argv[1:]:
        if any("\udc80" <= letter <= "\udcff" for letter in word):
            shown = word.encode(errors="surrogateescape").decode(errors="replace")
            _print_message(f"cannot use {shown}: its name is not UTF-8; rename it")
            raise SystemExit(2)


def print_anything() -> None:
    """Print a character that the terminal's encoding lacks as its number, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def file_error(error: BaseException) -> str:
    """What the system said of a file, with what to do; empty for another error."""
    if isinstance(error, OSError) and error.errno in _FULL:
        return f"cannot write {error.filename or 'a file'}: {error.strerror}; free some space"
    if isinstance(error, OSError) and error.errno in _FILES and error.filename:
        path = f"cannot use {error.filename}: {error.strerror}"
        return f"{path}; choose another path, or correct this one"
    return ""


def _report(error: Exception) -> int | None:
    """Print the error and return its exit code; None for errors that typer prints itself (wrong
    options, exits).
    """
    from kneebench.errors import KneebenchError, PlanError
    from kneebench.secrets import without_url_passwords

    if type(error).__module__.startswith(("typer", "click")):
        if isinstance(message := getattr(error, "message", None), str):
            error.message = without_url_passwords(message)  # type: ignore[attr-defined]
        return None
    if isinstance(error, KneebenchError):
        _print_message("\n".join([str(error), *_notes(error)]))
        return error.exit_code
    if words := file_error(error):
        _print_message("\n".join([words, *_notes(error)]))
        return PlanError.exit_code
    unforeseen = (
        f"internal error: {type(error).__name__}: {error}\nPlease report it with the traceback in"
        f" {_save_traceback(error)}"
    )
    _print_message("\n".join([unforeseen, *_notes(error)]))
    return KneebenchError.exit_code


def _print_message(message: str) -> None:
    from kneebench.secrets import without_url_passwords
    from kneebench.visible import visible

    print(visible(f"kneebench: {without_url_passwords(message)}"), file=sys.stderr)


def _save_traceback(error: Exception) -> Path:
    """Write the traceback to the user's state directory (XDG base directories), or else to a
    temporary file; return its path.
    """
    text = "".join(traceback.format_exception(error))
    try:
        folder = make_private(state_directory() / "tracebacks")
        file = folder / f"{time.strftime('%Y-%m-%d-%H%M%S')}-{os.getpid()}.txt"
        write_private(file, text)
    except (OSError, RuntimeError):
        with tempfile.NamedTemporaryFile(
            "w", prefix="kneebench-", suffix=".txt", delete=False
        ) as out:
            out.write(text)
        file = Path(out.name)
    return file
