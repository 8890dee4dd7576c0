"""The journal: the changes made to this machine, each written before it is made, so that it can be
undone after any end.

One file per change, in a folder that any later run finds whatever directory it is started in. The
file is removed when its change has been undone; changes left by a killed run are undone by
`kneebench clean` and the next run.
What each kind of change is, and how it is undone, is in lab/changes/.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import shlex
import time
import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple, TypeVar

from pydantic import ValidationError

from kneebench.directories import (
    drafts_in,
    make_directory,
    make_private,
    state_directory,
    write_private,
)
from kneebench.errors import KneebenchError
from kneebench.lab import changes
from kneebench.lab.changes import Change
from kneebench.lab.changes.database import MadeOnServer
from kneebench.lab.changes.directory import MadeDirectory
from kneebench.lab.changes.mount import MountedFileSystem
from kneebench.lab.changes.process import StartedProcess
from kneebench.lab.processes import boot, runs, started
from kneebench.lab.removal import ground_of, mark
from kneebench.records import Event, Finding, Watch

Kind = TypeVar("Kind", bound=Change)


class Damaged(NamedTuple):
    """A file of the journal that cannot be read as an entry."""

    file: Path
    why: str

    @property
    def seen(self) -> str:
        """What was seen, naming the file."""
        return (
            f"the journal entry {self.file} cannot be read ({self.why}): the server or directory"
            " that it records may remain"
        )

    @property
    def do(self) -> str:
        """What to do, with the command that ends it."""
        return f"remove what the file names, then rm {shlex.quote(str(self.file))}"


def default_folder() -> Path:
    """Below the state directory; a machine's own, by its name.

    A home may be shared by hosts and containers, where what runs on one of them would look left
    over to the next.
    """
    return state_directory() / "journal" / (platform.node() or "localhost")


class Journal:
    """The list of changes not yet undone. Opening it removes the drafts of killed processes."""

    def __init__(self, folder: Path | None = None) -> None:
        found = drafts_in(folder or state_directory())
        self.folder = make_private(folder or default_folder())
        self.drafts = tuple(
            f"left: draft {file}: process {writer} is writing it"
            if writer
            else f"removed: draft {file} of a killed process"
            for file, writer in found.items()
        )
        """The drafts that were there, in words."""

    def _file(self, change: Change) -> Path:
        return self.folder / f"{change.id}.json"

    def _write(self, change: Change) -> None:
        write_private(self._file(change), change.model_dump_json())

    def forget(self, change: Change) -> None:
        """Remove the entry of a change that is undone."""
        self._file(change).unlink(missing_ok=True)

    @contextlib.contextmanager
    def made(self, kind: type[Kind], what: str, **facts: object) -> Iterator[Kind]:
        """A change that the block makes: written down before it, and undone at its end. `facts` are
        the fields of its kind. Raises KneebenchError if it cannot be undone.
        """
        change = self.change(kind, what, **facts)
        self._write(change)
        try:
            yield change
        except BaseException as error:
            try:
                self._undo(change)
            except (OSError, KneebenchError) as failure:  # its entry stays for the next run
                error.add_note(f"{change.words} remains: {failure}")
            raise
        try:
            self._undo(change)
        except OSError as failure:
            seen = f"{change.words}: {failure}"
            do = "run `kneebench clean`"
            raise KneebenchError(
                "cannot undo a change to this machine", seen=seen, do=do
            ) from failure

    def _undo(self, change: Change) -> None:
        change.undo()
        if not change.is_out_of_reach():
            self.forget(change)

    def change(self, kind: type[Kind], what: str, **facts: object) -> Kind:
        """A change of this process, not yet written down; `facts` are the fields of its kind."""
        owner = os.getpid()
        known = {
            "id": uuid.uuid4().hex,
            "owner": owner,
            "owner_started": started(owner),
            "boot": boot(),
            "made_ns": time.time_ns(),
        }
        return kind.model_validate({"what": what, **known, **facts})

    def process(self, pid: int, what: str) -> AbstractContextManager[StartedProcess]:
        """A process that we started; killed at the end where it still runs (end it better
        before).
        """
        return self.made(StartedProcess, what, pid=pid, pid_started=started(pid))

    @contextlib.contextmanager
    def directory(self, path: Path, what: str) -> Iterator[Path]:
        """A directory that we make, marked as ours; removed with all in it at the end.

        Raises FileExistsError where it is there already.
        """
        path = path.absolute()
        if path.exists():
            raise FileExistsError(path)
        facts = {"path": str(path), "ground": ground_of(path), "in_volume": self._is_volume(path)}
        with self.made(MadeDirectory, what, **facts):
            make_directory(path, 0o700, new=True)
            mark(path)
            yield path

    def _is_volume(self, path: Path) -> bool:
        """Whether the path is in a file system that a recorded change has mounted."""
        point = ground_of(path).point
        return any(
            isinstance(change, MountedFileSystem) and change.point == point
            for change in self._changes()
        )

    def on_a_server(self, what: str, server: str, by_hand: str) -> MadeOnServer:
        """What we make on a server that is not ours.

        Who makes it removes it, then calls `forget`: here nobody knows the password.

        It has one entry whichever run made it, so the next that makes and removes it takes that of
        a killed one along.
        """
        one = _id_of(f"{server}/{what}")
        change = self.change(MadeOnServer, f"{what} on {server}", id=one, by_hand=by_hand)
        self._write(change)
        return change

    def on_server(self, kind: type[Kind], what: str, **facts: object) -> Kind:
        """A change of another kind on a server that is not ours, written down in place of that of
        the run before; `forget` it once it is undone.
        """
        change = self.change(kind, what, id=_id_of(what), **facts)
        self._write(change)
        return change

    def left_on_server(self, kind: type[Kind], what: str) -> Kind | None:
        """The same change as an earlier run wrote it down and could not undo it."""
        found = (change for change in self._changes() if change.id == _id_of(what))
        return next((change for change in found if isinstance(change, kind)), None)

    def others(self) -> list[Change]:
        """Changes of another kneebench, which still runs."""
        return [
            change
            for change in self._changes()
            if change.owner != os.getpid() and not _is_left(change)
        ]

    def leftovers(self) -> list[Change]:
        """Changes whose maker no longer runs, in the order in which they are undone."""
        return sorted(filter(_is_left, self._changes()), key=lambda change: -change.made_ns)

    def damaged(self) -> list[Damaged]:
        """Entries that cannot be read; their contents are lost."""
        return [one for one in self._read() if isinstance(one, Damaged)]

    def _changes(self) -> Iterator[Change]:
        return (one for one in self._read() if isinstance(one, Change))

    def _read(self) -> Iterator[Change | Damaged]:
        for file in sorted(self.folder.glob("*.json")):
            with contextlib.suppress(FileNotFoundError):  # undone meanwhile by its maker
                yield _change_in(file)

    def clean(self, watch: Watch) -> list[Change]:
        """Undo what killed runs left; what was undone.

        What cannot be undone now stays written down, and the watcher is warned.
        """
        for one in self.damaged():
            watch(Event(kind="warning", doing=f"{one.seen}; {one.do}"))
        return [change for change in self.leftovers() if self._clean_up(change, watch)]

    def _clean_up(self, change: Change, watch: Watch) -> bool:
        watch(Event(kind="start", doing=f"cleaning up after an earlier run: {change.words}"))
        try:
            if remark := change.remark():
                watch(Event(kind="warning", doing=remark))
            done = change.undo()
            if not done:
                change.require_gone(f"rm {shlex.quote(str(self._file(change)))}")
        except (OSError, KneebenchError) as error:
            doing = f"cannot {change.VERBS[0]} {change.words} of an earlier run: {error}"
            watch(Event(kind="warning", doing=doing))
            return False
        self.forget(change)
        return done


def _id_of(what: str) -> str:
    return hashlib.sha256(what.encode()).hexdigest()[:32]


def _is_left(change: Change) -> bool:
    return change.boot != boot() or not runs(change.owner, change.owner_started)


def _change_in(file: Path) -> Change | Damaged:
    try:
        if file.lstat().st_uid != os.geteuid():
            return Damaged(file, "another user wrote it")
        found = changes.read(file.read_bytes())
        return found if found.id == file.stem else Damaged(file, "it has the id of another entry")
    except FileNotFoundError:
        raise
    except ValidationError as error:
        return Damaged(file, error.errors()[0]["msg"])
    except ValueError as error:
        return Damaged(file, str(error))
    except OSError as error:
        return Damaged(file, error.strerror or str(error))


# Findings on the journal of changes: other runs, and what an earlier one left.


def others(journal: Journal) -> Iterator[Finding]:
    """A refusal while another kneebench run is active: the two would disturb each other."""
    if active := journal.others():
        pids = ", ".join(map(str, sorted({entry.owner for entry in active})))
        seen = f"another kneebench run is active (PID {pids}); the two would disturb each other"
        yield Finding(
            level="refused",
            subject="machine",
            seen=seen,
            do="wait for it to finish, or stop it; `kneebench list` shows its campaign",
        )


def left_over(journal: Journal) -> Iterator[Finding]:
    """Damaged entries, and what an earlier run left that the next one removes."""
    for one in journal.damaged():
        yield Finding(level="warning", subject="journal", seen=one.seen, do=one.do)
    left = journal.leftovers()
    if left:
        seen = f"an earlier run left {', '.join(entry.what for entry in left)}"
        yield Finding(
            level="note",
            subject="left over",
            seen=seen,
            do=(
                "no action needed: the next run removes it; `kneebench clean` removes it now or"
                " prints how"
            ),
        )
