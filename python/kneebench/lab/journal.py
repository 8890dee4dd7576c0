"""What was changed on this machine, written before each change, so that it can be undone after any end.

One file an entry, in a folder that any later run finds whatever directory it is started in. An entry goes
when its change has been undone; those left by a killed run are undone by `kneebench clean` and the next run.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import shlex
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

import psutil
from pydantic import ValidationError

from kneebench.lab.processes import boot, end, living_in, runs, started
from kneebench.lab.removal import Ground, ground_of, is_away, is_ours, mark, remove
from kneebench.records import Event, Record, Watch


class Entry(Record):
    """One change: a server process (told from a later one of the same id by its start), a directory with the ground it lies on (None
    in entries of old), or what is on a server by URL (a database, functions in one) with the command that removes it by hand.
    `owner_*` is the kneebench that made it: while that lives, the entry is nobody else's to undo."""

    id: str
    kind: Literal["process", "directory", "database"]
    what: str
    pid: int = 0
    pid_started: int = 0
    path: str = ""
    ground: Ground | None = None
    by_hand: str = ""
    owner: int = 0
    owner_started: int = 0
    boot: str = ""


class Damaged(NamedTuple):
    """A file of the journal that cannot be read as an entry."""

    file: Path
    why: str

    @property
    def seen(self) -> str:
        """What was seen, naming the file."""
        return f"the journal entry {self.file} cannot be read ({self.why}): the server or directory that it records may remain"

    @property
    def do(self) -> str:
        """What to do, with the command that ends it."""
        return f"remove what the file names, then rm {shlex.quote(str(self.file))}"


def default_folder() -> Path:
    """Below XDG_STATE_HOME or ~/.local/state, as the desktop rules say; a machine's own, by its name.

    A home may be shared by hosts and containers, where what runs on one of them would look left over to the next.
    """
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(state) / "kneebench" / "journal" / (platform.node() or "localhost")


class Journal:
    """The list of changes not yet undone."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or default_folder()
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    def _file(self, entry: Entry) -> Path:
        return self.folder / f"{entry.id}.json"

    def _write(self, entry: Entry) -> None:
        draft = self._file(entry).with_suffix(".draft")
        with draft.open("w") as out:
            out.write(entry.model_dump_json())
            out.flush()
            os.fsync(out.fileno())
        draft.rename(self._file(entry))

    def forget(self, entry: Entry) -> None:
        """Its change is undone."""
        self._file(entry).unlink(missing_ok=True)

    @contextlib.contextmanager
    def _entry(self, entry: Entry) -> Iterator[None]:
        self._write(entry)
        try:
            yield
        finally:
            _undo(entry)
            if not (entry.ground and is_away(entry.ground, entry.boot)):
                self.forget(entry)

    def _made(self, kind: Literal["process", "directory", "database"], what: str, **facts: object) -> Entry:
        owner = os.getpid()
        fields = {"id": uuid.uuid4().hex, "kind": kind, "what": what, "owner": owner, "owner_started": started(owner), "boot": boot(), **facts}
        return Entry.model_validate(fields)

    def process(self, pid: int, what: str) -> contextlib.AbstractContextManager[None]:
        """A process that we started; killed at the end where it still runs (end it better before)."""
        return self._entry(self._made("process", what, pid=pid, pid_started=started(pid)))

    @contextlib.contextmanager
    def directory(self, path: Path, what: str) -> Iterator[Path]:
        """A directory that we make, marked as ours; removed with all in it at the end.

        Raises FileExistsError where it is there already.
        """
        path = path.absolute()
        if path.exists():
            raise FileExistsError(path)
        with self._entry(self._made("directory", what, path=str(path), ground=ground_of(path))):
            path.mkdir(parents=True, mode=0o700)
            mark(path)
            yield path

    def on_a_server(self, what: str, server: str, by_hand: str) -> Entry:
        """What we make on a server that is not ours. Who makes it removes it, then calls `forget`: here nobody knows the password.

        It has one entry whichever run made it, so the next that makes and removes it takes that of a killed one along.
        """
        one = hashlib.sha256(f"{server}/{what}".encode()).hexdigest()[:32]
        entry = self._made("database", f"{what} on {server}", id=one, by_hand=by_hand)
        self._write(entry)
        return entry

    def others(self) -> list[Entry]:
        """What another kneebench, which still runs, has made."""
        return [entry for entry in self._entries() if entry.owner != os.getpid() and not self._is_left(entry)]

    def leftovers(self) -> list[Entry]:
        """Entries whose maker no longer runs, processes first."""
        return sorted(filter(self._is_left, self._entries()), key=lambda entry: entry.kind, reverse=True)

    @staticmethod
    def _is_left(entry: Entry) -> bool:
        return entry.boot != boot() or not runs(entry.owner, entry.owner_started)

    def damaged(self) -> list[Damaged]:
        """Entries that cannot be read: what they recorded is known to nobody."""
        return [one for one in self._read() if isinstance(one, Damaged)]

    def _entries(self) -> Iterator[Entry]:
        return (one for one in self._read() if isinstance(one, Entry))

    def _read(self) -> Iterator[Entry | Damaged]:
        for file in sorted(self.folder.glob("*.json")):
            with contextlib.suppress(FileNotFoundError):  # undone meanwhile by its maker
                yield _entry_in(file)

    def clean(self, watch: Watch) -> list[Entry]:
        """Undo what killed runs left; what was undone. What cannot be undone now stays written down, and the watcher is warned."""
        for one in self.damaged():
            watch(Event(kind="warning", doing=f"{one.seen}; {one.do}"))
        return [entry for entry in self.leftovers() if self._cleaned(entry, watch)]

    def _cleaned(self, entry: Entry, watch: Watch) -> bool:
        watch(Event(kind="start", doing=f"removing leftovers of an earlier run: {entry.what}"))
        try:
            done = _undo(entry)
            if not done:
                _require_gone(entry, f"rm {shlex.quote(str(self._file(entry)))}")
        except OSError as error:
            watch(Event(kind="warning", doing=f"cannot remove {entry.what} of an earlier run: {error}"))
            return False
        self.forget(entry)
        return done


def _entry_in(file: Path) -> Entry | Damaged:
    try:
        return Entry.model_validate_json(file.read_bytes())
    except FileNotFoundError:
        raise
    except ValidationError as error:
        return Damaged(file, error.errors()[0]["msg"])
    except OSError as error:
        return Damaged(file, error.strerror or str(error))


def _undo(entry: Entry) -> bool:
    """Whether there was something to undo."""
    if entry.kind == "directory" and is_ours(Path(entry.path)):
        end(living_in(Path(entry.path)))
        return remove(Path(entry.path))
    if entry.kind == "process" and entry.boot == boot() and runs(entry.pid, entry.pid_started):
        end([psutil.Process(entry.pid)])
        return True
    return False


def _require_gone(entry: Entry, forget: str) -> None:
    """Raises OSError for what is not ours to undo here: a database, a directory without our marker or on a drive that is not mounted now.
    `forget` is the command that takes the entry out of the journal."""
    if entry.kind == "database":
        raise OSError(f"the next run of its plan removes it; to remove it now: {entry.by_hand} && {forget}")
    if entry.kind == "process":
        return
    if Path(entry.path).exists():
        raise FileExistsError(f"{entry.path} carries no kneebench marker: inspect it and remove it yourself, then {forget}")
    if entry.ground is None:
        Path(entry.path).parent.stat()
    elif is_away(entry.ground, entry.boot):
        point, kind, source = entry.ground
        seen = f"{entry.path} was created while {source} ({kind}) was mounted on {point}, which is not mounted now"
        raise FileNotFoundError(f"{seen}: mount it and run `kneebench clean` again; if it no longer exists: {forget}")
