"""The files of a campaign that contain what was measured: one writer, and none may disappear."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

from kneebench.directories import make_directory
from kneebench.errors import KneebenchError
from kneebench.records import Rung, Second, Series
from kneebench.regular_file import names_in
from kneebench.results.allowance import MOST_FILES
from kneebench.results.atomic_write import remove_parts
from kneebench.results.lock import Lock

_DIRECTORIES = ("climbs", "conditions", "rungs", "seconds", "series")


class StorableRung(Protocol):
    """One rung with its series and seconds, as measurement gives it."""

    @property
    def rung(self) -> Rung: ...

    @property
    def series(self) -> Sequence[Series]: ...

    @property
    def seconds(self) -> Sequence[Second]: ...


class MeasuredFiles:
    """The measured files in a campaign's folder; other processes are kept out until `close`."""

    def __init__(self, folder: Path) -> None:
        """Lock the folder and remove half-written files; raises Refused while another process
        writes into it, and KneebenchError where one of its directories is a link: what is written
        would come to be somewhere else.
        """
        self._folder = folder
        self._lock = Lock(folder)
        directories = [folder / name for name in _DIRECTORIES]
        for directory in directories:
            make_directory(directory)
        self._there = _files(folder)  # refuses a link before anything in it is removed
        remove_parts([folder, *directories])

    def path(self, kind: str, name: str, ending: str) -> Path:
        """The file of this name in the directory of its kind; raises KneebenchError for a name that
        is no file's.
        """
        if not re.fullmatch(r"[\w.,+=@ -]+", name) or name.startswith("."):
            raise KneebenchError(
                f"cannot save {name!r}",
                seen="not a valid file name",
                do="use letters and digits in storage names",
            )
        return self._folder / kind / f"{name}.{ending}"

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """A write into the folder; raises KneebenchError if files measured so far are missing."""
        self._require_whole()
        try:
            yield
        except (FileNotFoundError, KneebenchError):
            self._require_whole()
            raise
        self._there |= _files(self._folder)

    def close(self) -> None:
        """Let others write; the end of the process does it too."""
        self._lock.release()

    def _require_whole(self) -> None:
        """Raises KneebenchError if files measured so far are missing: the rest would pass for a
        whole campaign.
        """
        missing = sorted(self._there - _files(self._folder))
        if not self._lock.stands():
            seen = "the folder was removed or replaced during the campaign"
        elif missing:
            seen = (
                f"{len(missing)} of the {len(self._there)} files measured so far"
                f" {'is' if len(missing) == 1 else 'are'} missing: {missing[0]}"
            )
        else:
            return
        do = "restore it from a copy and run the plan again, or start over with --fresh"
        raise KneebenchError(f"cannot write into {self._folder}", seen=seen, do=do)


def _files(folder: Path) -> set[str]:
    """The paths of the measured files within the campaign's folder, without half-written ones; none
    if it was removed. Raises KneebenchError where one of its directories is something else, be it a
    link to one.
    """
    return {
        f"{name}/{file}"
        for name in _DIRECTORIES
        for file in names_in(folder / name, "", MOST_FILES)
        if not file.startswith(".")
    }
