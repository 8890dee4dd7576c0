"""The file of `accept --junit`."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand

from kneebench.commands.output import require_directory
from kneebench.errors import Refused

if TYPE_CHECKING:
    from types import TracebackType

    from kneebench.records import Results
    from kneebench.results.acceptance import Acceptance

OPTION = "--junit"


class JUnitFile:
    """The file of `--junit`, if there is one: an error from the beginning on, and in the end the
    answer or what prevented it. However the command ends, an earlier answer does not remain.
    """

    def __init__(self, path: Path | None, judged: Sequence[str]) -> None:
        self._path, self._judged, self._answered = path, " ".join(judged), False

    def __enter__(self) -> JUnitFile:
        from kneebench.results.atomic_write import is_stream, require_no_drive

        if self._path and not is_stream(self._path):
            require_no_drive(self._path)
            require_directory(self._path)
            self._path.unlink(missing_ok=True)  # also where the disk is too full for another
            self._put("Unfinished", "kneebench accept has not finished")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        unread = self._answered and isinstance(error, BrokenPipeError)  # the terminal's reader left
        if error is not None and not isinstance(error, typer.Exit) and not unread:
            with contextlib.suppress(OSError, Refused):  # the error itself is reported
                from kneebench.exit_handling import file_error

                interrupted = isinstance(error, KeyboardInterrupt)
                words = "interrupted" if interrupted else file_error(error) or str(error)
                self._put(type(error).__name__, words or "no answer")

    def write(
        self,
        found: Sequence[Acceptance],
        campaigns: Sequence[Results],
        baseline: Results,
        caveats: Sequence[str],
    ) -> None:
        from kneebench.screen.junit import junit

        self._write(junit(found, campaigns, baseline, caveats))
        self._answered = True

    def _put(self, kind: str, message: str) -> None:
        from kneebench.screen.junit import junit_without_answer

        self._write(junit_without_answer(self._judged, kind, message))

    def _write(self, text: str) -> None:
        from kneebench.results.atomic_write import write_where_named

        if self._path:
            write_where_named(self._path, text)


class CommandWithJUnit(TyperCommand):
    """A command with `--junit`: where another of its options is wrong, it ends before it begins,
    and the file has that error.
    """

    def make_context(self, info_name: Any, args: list[str], *more: Any, **extra: Any) -> Any:
        """The options as they were read."""
        given = list(args)
        try:
            return super().make_context(info_name, args, *more, **extra)
        except Exception as error:
            if not isinstance(error, typer.Exit) and (path := _junit_path(given)):
                with contextlib.suppress(Exception), JUnitFile(path, given):
                    raise
            raise


def _junit_path(words: Sequence[str]) -> Path | None:
    """The file that a command line names, though it cannot be read as a whole.

    >>> _junit_path(["before", "--junit", "a.xml", "--x"]), _junit_path(["--junit=b.xml"])
    (PosixPath('a.xml'), PosixPath('b.xml'))
    >>> _junit_path(["before", "--junit"]), _junit_path([])
    (None, None)
    """
    for word, following in zip_longest(words, words[1:], fillvalue=""):
        name, equals, value = word.partition("=")
        if name == OPTION and (path := value if equals else following):
            return Path(path)
    return None
