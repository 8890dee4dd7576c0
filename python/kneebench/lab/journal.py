"""What was changed on this machine, written before each change, so that it can be undone after any end.

One file an entry, in a folder that any later run finds whatever directory it is started in. An entry goes
when its change has been undone; those left by a killed run are undone by `kneebench clean` and the next run.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import psutil

from kneebench.records import Event, Record, Watch

MARKER = ".kneebench-made-this"
"""In every directory that we made: nothing without it is ever removed."""
SERVER = "postgres"
"""The name of a process that is ended for standing in a directory of ours: PostgreSQL's go to their data directory, what starts them stays at /."""


class Entry(Record):
    """One change: a server process (told from a later one of the same id by its start), or a directory.
    `owner_*` is the kneebench that made it: while that lives, the entry is nobody else's to undo."""

    id: str
    kind: Literal["process", "directory"]
    what: str
    pid: int = 0
    pid_started: int = 0
    path: str = ""
    owner: int = 0
    owner_started: int = 0
    boot: str = ""


def _started(pid: int) -> int:
    """When the process began, in ticks since the boot (proc(5), field 22); 0 for one that is gone."""
    try:
        state, *rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return 0 if state == "Z" else int(rest[18])


def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _runs(pid: int, started: int) -> bool:
    return started > 0 and _started(pid) == started


def default_folder() -> Path:
    """XDG_STATE_HOME or ~/.local/state, as the desktop rules say."""
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(state) / "kneebench" / "journal"


class Journal:
    """The list of changes not yet undone."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or default_folder()
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    @contextlib.contextmanager
    def _entry(self, entry: Entry) -> Iterator[None]:
        file = self.folder / f"{entry.id}.json"
        draft = file.with_suffix(".draft")
        with draft.open("w") as out:
            out.write(entry.model_dump_json())
            out.flush()
            os.fsync(out.fileno())
        draft.rename(file)
        try:
            yield
        finally:
            _undo(entry)
            file.unlink(missing_ok=True)

    def _made(self, kind: Literal["process", "directory"], what: str, **facts: object) -> Entry:
        owner = os.getpid()
        fields = {"id": uuid.uuid4().hex, "kind": kind, "what": what, "owner": owner, "owner_started": _started(owner), "boot": _boot(), **facts}
        return Entry.model_validate(fields)

    def process(self, pid: int, what: str) -> contextlib.AbstractContextManager[None]:
        """A process that we started; killed at the end where it still runs (end it better before)."""
        return self._entry(self._made("process", what, pid=pid, pid_started=_started(pid)))

    @contextlib.contextmanager
    def directory(self, path: Path, what: str) -> Iterator[Path]:
        """A directory that we make, marked as ours; removed with all in it at the end.

        Raises FileExistsError where it is there already.
        """
        path = path.absolute()
        if path.exists():
            raise FileExistsError(path)
        with self._entry(self._made("directory", what, path=str(path))):
            path.mkdir(parents=True, mode=0o700)
            (path / MARKER).touch()
            yield path

    def leftovers(self) -> list[Entry]:
        """Entries whose maker no longer runs, processes first."""
        entries = list(self._entries())
        left = [entry for entry in entries if entry.boot != _boot() or not _runs(entry.owner, entry.owner_started)]
        return sorted(left, key=lambda entry: entry.kind, reverse=True)

    def _entries(self) -> Iterator[Entry]:
        for file in self.folder.glob("*.json"):
            with contextlib.suppress(FileNotFoundError):  # undone meanwhile by its maker
                yield Entry.model_validate_json(file.read_text())

    def clean(self, watch: Watch) -> list[Entry]:
        """Undo what killed runs left; what was undone. What cannot be undone now stays written down, and the watcher is warned."""
        done = []
        for entry in self.leftovers():
            watch(Event(kind="start", doing=f"undoing what an earlier run left: {entry.what}"))
            try:
                _require_parent(entry)
                _undo(entry)
            except OSError as error:
                watch(Event(kind="warning", doing=f"{entry.what} of an earlier run is still there, the next run tries again: {error}"))
            else:
                (self.folder / f"{entry.id}.json").unlink(missing_ok=True)
                done.append(entry)
        return done


def _require_parent(entry: Entry) -> None:
    """Raises FileNotFoundError for a directory whose parent is away: it may be on a drive that is not mounted now."""
    if entry.kind == "directory":
        Path(entry.path).parent.stat()


def _undo(entry: Entry) -> None:
    if entry.kind == "process" and entry.boot == _boot() and _runs(entry.pid, entry.pid_started):
        _end([psutil.Process(entry.pid)])
    elif entry.kind == "directory" and (Path(entry.path) / MARKER).exists():
        _end(_living_in(Path(entry.path)))
        shutil.rmtree(entry.path)


def _living_in(path: Path) -> list[psutil.Process]:
    """Servers that work in a directory of ours: one whose own entry was not yet written. Anybody else who stands there is left alone."""
    found = psutil.process_iter(["name", "cwd"])
    return [p for p in found if p.info["name"] == SERVER and p.info["cwd"] and Path(p.info["cwd"]).is_relative_to(path)]


def _end(processes: list[psutil.Process]) -> None:
    """SIGINT (a PostgreSQL server's fast shutdown), then SIGKILL to them and their children."""
    family = {member for process in processes for member in (process, *process.children(recursive=True))}
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.send_signal(signal.SIGINT)
    _, alive = psutil.wait_procs(family, timeout=10)
    for member in alive:
        with contextlib.suppress(psutil.NoSuchProcess):
            member.kill()
    psutil.wait_procs(alive, timeout=10)
