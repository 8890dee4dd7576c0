"""Starts and stops `postgres` itself: no pg_ctl, no service; the process is ours from its first to its last moment."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from kneebench.databases.postgres.account import Account, as_account
from kneebench.databases.postgres.address import answers
from kneebench.databases.postgres.advice import state_of
from kneebench.databases.postgres.builds import Build
from kneebench.databases.postgres.ending import keep_log, last_lines, reason
from kneebench.databases.postgres.runtime import PORT, socket_of
from kneebench.errors import KneebenchError, PlanError
from kneebench.lab.journal import Journal
from kneebench.records import Address

START_LIMIT_S = 120.0
USER = "kneebench"
TO_CHANGE = {
    "No space left on device|Disk quota exceeded": "free some room on the file system of that directory, or name another in the plan",
    "could not (map anonymous|create) shared memory|Cannot allocate memory": "lower shared_buffers or max_connections in database.settings",
    "configuration|invalid value for parameter|invalid argument|must be (a power|between)": "correct database.settings, whose key its words name",
    "Permission denied|[Rr]ead-only file system": "let the server's account write to that directory, or name another in the plan",
    "error while loading shared libraries|could not find|was not found": "install the rest of that PostgreSQL, or correct database.bin_dir",
}
"""What to do, by the words of `postgres` and `initdb` where the plan, or what it names, must be changed."""
LOST_LOGS = "lost-servers"
"""The folder beside the journal with the logs of servers that were lost."""


class Launch(NamedTuple):
    """What every start needs: the binaries, the account, the runtime directory, the cores (all when empty)."""

    build: Build
    account: Account | None
    runtime: Path
    cores: Sequence[int] = ()

    @property
    def log(self) -> Path:
        """Where the server's own lines go."""
        return self.runtime / "server.log"

    def command(self, program: str, *arguments: str | Path, reach: Sequence[Path]) -> tuple[list[str], dict[str, Any]]:
        """(command, Popen's further arguments) for a program of the build, run as the account on the cores."""
        argv: list[str | Path] = [self.build.bin_dir / program, *arguments]
        if self.cores:
            argv = [shutil.which("taskset") or "taskset", "--cpu-list", ",".join(map(str, self.cores)), *argv]
        command, more = as_account(self.account, argv, (*self.build.roots, self.runtime, *reach), self.runtime / "aside")
        kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH", "TZ") if name in os.environ}
        return command, {**more, "env": {**kept, "LC_ALL": "C"}, "cwd": "/", "stdin": subprocess.DEVNULL}


class Running:
    """A server process that we started. `lost_logs` is where its log goes should it be lost."""

    def __init__(self, process: subprocess.Popen[bytes], launch: Launch, data: Path, lost_logs: Path) -> None:
        self.process, self.launch, self.data, self.lost_logs, self.started_s = process, launch, data, lost_logs, time.monotonic()
        self.address = Address(host=str(launch.runtime), port=PORT, user=USER, database="postgres")

    def answers(self) -> bool:
        """True where it takes connections."""
        return answers(self.address)

    def family(self) -> list[int]:
        """Its process ids: the postmaster and its children."""
        try:
            postmaster = psutil.Process(self.process.pid)
            return [postmaster.pid, *(child.pid for child in postmaster.children())]
        except psutil.NoSuchProcess:
            return []

    def ending(self) -> str:
        """What was seen of its end, or of a crash that it recovered from, and where its log is kept; empty while all is well."""
        seen = reason(self.process.poll(), self.launch.log, self.started_s)
        return seen and seen + keep_log(self.launch.log, self.lost_logs)

    @contextlib.contextmanager
    def heard(self) -> Iterator[None]:
        """Where the server itself dies under a question (a full disk may end it), the error is told with the end of its log, which says why."""
        try:
            yield
        except KneebenchError as error:
            ending = "" if state_of(error.seen) else self.ending()
            if not ending:
                raise
            raise _broken_off(error.doing, f"{error.seen}; {ending}", ending, "see in the server's log why it ended, then run again") from error

    def stop(self, *, keep: bool, limit_s: float = 600.0) -> None:
        """End it: a fast shutdown with its checkpoint where the data is kept, else an immediate one; then SIGKILL.

        A checkpoint for data that is removed right after would only load the storage before the next climb.
        """
        ways = [(signal.SIGINT, limit_s), (signal.SIGQUIT, 20.0)]
        for number, wait_s in ways if keep else ways[1:]:
            if self.process.poll() is None:
                self.process.send_signal(number)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self.process.wait(wait_s)
        if self.process.poll() is None:
            family = [psutil.Process(pid) for pid in self.family()]
            for member in family:
                with contextlib.suppress(psutil.NoSuchProcess):
                    member.kill()
            self.process.wait(20.0)
        _free_segment(self.data)


@contextlib.contextmanager
def running(launch: Launch, data: Path, journal: Journal, *, reach: Sequence[Path] = (), keep: bool = False) -> Iterator[Running]:
    """A server over a data directory, answering; stopped at the end.

    Raises PlanError for settings that it refuses, KneebenchError where it ends or does not answer in time.
    """
    _clear_way(data, launch.runtime)
    command, more = launch.command("postgres", "-D", data, "-k", launch.runtime, "-p", str(PORT), reach=(data, *reach))
    with launch.log.open("ab") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True, **more)
    server = Running(process, launch, data, journal.folder.parent / LOST_LOGS)
    with contextlib.ExitStack() as ends:
        ends.callback(server.stop, keep=False)
        ends.enter_context(journal.process(process.pid, f"the PostgreSQL server over {data}"))
        ends.callback(server.stop, keep=False)
        _await_start(server)
        yield server
        server.stop(keep=keep)
        if keep and process.returncode != 0:
            raise KneebenchError("shutting the server down", seen=server.ending(), do="run again: what it held is not kept")


def _free_segment(data: Path) -> None:
    """Free the System V segment (56 bytes, the lock on the data directory) that a killed server left: the 7th line of its postmaster.pid."""
    with contextlib.suppress(OSError, IndexError, ValueError):
        segment = int((data / "postmaster.pid").read_text().splitlines()[6].split()[1])
        ctypes.CDLL(None).shmctl(segment, 0, None)  # 0 is IPC_RMID


def _clear_way(data: Path, runtime: Path) -> None:
    """Remove a postmaster.pid that no living server holds; raise where one does, or where the socket's name is taken."""
    lock = data / "postmaster.pid"
    if lock.exists():
        pid = int(lock.read_text().split()[0])
        if psutil.pid_exists(pid) and "postgres" in psutil.Process(pid).name():
            raise KneebenchError(
                f"starting the server over {data}", seen=f"another server (process {pid}) runs over it", do="stop that one first, or run kneebench clean"
            )
        lock.unlink()
    if socket_of(runtime).exists():
        raise KneebenchError(f"starting the server in {runtime}", seen=f"the socket {socket_of(runtime)} is there already", do="run kneebench clean")


def _broken_off(doing: str, seen: str, words: str, otherwise: str) -> KneebenchError:
    """A program of the build that ended too early: a PlanError where its words tell what to change."""
    told = next((do for pattern, do in TO_CHANGE.items() if re.search(pattern, words)), None)
    return PlanError(doing, seen=seen, do=told) if told else KneebenchError(doing, seen=seen, do=otherwise)


def _await_start(server: Running) -> None:
    began = time.monotonic()
    while not server.answers():
        lines = last_lines(server.launch.log)
        if server.process.poll() is not None:
            raise _broken_off("starting the server", server.ending(), lines, "read the server's log, correct what it names, then run again")
        if time.monotonic() - began > START_LIMIT_S:
            raise KneebenchError(
                "starting the server", seen=f"it did not answer in {START_LIMIT_S:.0f} s; its last lines: {lines}", do="look at the load of the storage"
            )
        time.sleep(0.02)


def make_cluster(launch: Launch, data: Path, options: Sequence[str]) -> None:
    """Run initdb: an empty cluster in UTF-8 with the C locale, so that it is the same on every machine."""
    base = ["-D", str(data), "-U", USER, "-E", "UTF8", "--locale=C", "-A", "trust", "--no-sync", "--no-instructions"]
    command, more = launch.command("initdb", *base, *options, reach=(data.parent,))
    done = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    if done.returncode != 0:
        words = (done.stderr or done.stdout).strip()[-600:]
        by_hand = shlex.join(map(str, [launch.build.bin_dir / "initdb", *base, *options]))
        raise _broken_off(f"making a database cluster in {data}", words, words, f"try it by hand, not as root: {by_hand}")
