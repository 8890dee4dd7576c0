"""The file of `accept --junit`."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from kneebench.commands.output import checked_page, require_directory
from kneebench.errors import Refused

if TYPE_CHECKING:
    from types import TracebackType

    from kneebench.records import Results
    from kneebench.results.acceptance import Acceptance


class JUnitFile:
    """The file of `--junit`, if there is one: an error from the beginning on, and in the end the
    answer or what prevented it. However the command ends, an earlier answer does not remain.
    """

    def __init__(self, path: Path | None, judged: str) -> None:
        self._path, self._judged = path, judged

    def __enter__(self) -> JUnitFile:
        from kneebench.results.atomic_write import is_stream

        if self._path and not is_stream(self._path):
            self._put("Unfinished", "kneebench accept has not finished")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        if error is not None and not isinstance(error, typer.Exit):
            with contextlib.suppress(OSError, Refused):  # the error itself is reported
                words = "interrupted" if isinstance(error, KeyboardInterrupt) else str(error)
                self._put(type(error).__name__, words or "no answer")

    def write(self, found: Acceptance, results: Results) -> None:
        """Write the answer."""
        from kneebench.screen.junit import junit

        self._write(junit(found, started_at=results.campaign.started_at))

    def _put(self, kind: str, message: str) -> None:
        from kneebench.screen.junit import junit_without_answer

        self._write(junit_without_answer(self._judged, kind, message))

    def _write(self, text: str) -> None:
        from kneebench.results.atomic_write import write_where_named

        if self._path:
            write_where_named(self._path, text)


def require_place(junit: Path | None, page: Path | None) -> None:
    """Raise PlanError where `--junit` or `--page` names a file in a directory that is missing, and
    Refused where it names a drive.
    """
    from kneebench.results.atomic_write import require_no_drive

    if junit:
        require_directory(junit)
        require_no_drive(junit)
    checked_page(page)
