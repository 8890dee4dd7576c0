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
from kneebench.databases.postgres.builds import Build
from kneebench.databases.postgres.crash_report import crash_reason, keep_log, last_lines
from kneebench.databases.postgres.error_hints import state_of
from kneebench.databases.postgres.runtime import PORT, socket_folder, socket_of
from kneebench.errors import KneebenchError, PlanError
from kneebench.lab.journal import Journal
from kneebench.lab.processes import family, living_in
from kneebench.records import Address

START_LIMIT_S = 120.0
USER = "kneebench"
TO_CHANGE = {
    "No space left on device|Disk quota exceeded": "free disk space in that directory, or use another in the plan",
    "could not (map anonymous|create) shared memory|Cannot allocate memory": "lower shared_buffers or max_connections in database.settings",
    "configuration|invalid value for parameter|invalid argument|must be (a power|between)": "correct the key of database.settings that the message names",
    "Permission denied|[Rr]ead-only file system": "allow the server's account to write to that directory, or use another in the plan",
    "error while loading shared libraries|could not find|was not found": "install the missing files of that PostgreSQL, or correct database.bin_dir",
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


class RunningServer:
    """A server process that we started. `lost_logs` is where its log goes should it be lost."""

    def __init__(self, process: subprocess.Popen[bytes], launch: Launch, data: Path, lost_logs: Path) -> None:
        self.process, self.launch, self.data, self.lost_logs, self.started_s = process, launch, data, lost_logs, time.monotonic()
        self.address = Address(host=str(socket_folder(launch.runtime)), port=PORT, user=USER, database="postgres")

    def answers(self) -> bool:
        """True where it takes connections."""
        return answers(self.address)

    def family(self) -> list[int]:
        """Its process ids: the postmaster and its children."""
        return family(self.process.pid)

    def crash_report(self) -> str:
        """What was seen of its end, or of a crash that it recovered from, and where its log is kept; empty while all is well."""
        seen = crash_reason(self.process.poll(), self.launch.log, self.started_s)
        return seen and seen + keep_log(self.launch.log, self.lost_logs)

    @contextlib.contextmanager
    def with_crash_report(self) -> Iterator[None]:
        """Where the server itself dies under a question (a full disk may end it), the error is told with the end of its log, which says why."""
        try:
            yield
        except KneebenchError as error:
            crash_report = "" if state_of(error) else self.crash_report()
            if not crash_report:
                raise
            raise _broken_off(error.doing, f"{error.seen}; {crash_report}", crash_report, "see the server's log for why it ended, then run again") from error

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
        self._free_segments()

    def _free_segments(self) -> None:
        """Free the System V segment (56 bytes, the lock on the data directory) that a killed server left. The kernel says which it made:
        what postmaster.pid says anybody with the account's rights may have written."""
        account = self.launch.account
        for segment in _segments(self.process.pid, account.uid if account else os.geteuid()):
            ctypes.CDLL(None).shmctl(segment, 0, None)  # 0 is IPC_RMID


@contextlib.contextmanager
def running_server(launch: Launch, data: Path, journal: Journal, *, reach: Sequence[Path] = (), keep: bool = False) -> Iterator[RunningServer]:
    """A server over a data directory, answering; stopped at the end.

    Raises PlanError for settings that it refuses, KneebenchError where it ends or does not answer in time.
    """
    _require_free(data, launch.runtime)
    command, more = launch.command("postgres", "-D", data, "-k", socket_folder(launch.runtime), "-p", str(PORT), reach=(data, *reach))
    with launch.log.open("ab") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True, **more)
    server = RunningServer(process, launch, data, journal.folder.parent / LOST_LOGS)
    with contextlib.ExitStack() as ends:
        ends.callback(server.stop, keep=False)
        ends.enter_context(journal.process(process.pid, f"the PostgreSQL server on {data}"))
        ends.callback(server.stop, keep=False)
        _await_start(server)
        yield server
        server.stop(keep=keep)
        if keep and process.returncode != 0:
            raise KneebenchError("shutting down the server", seen=server.crash_report(), do="run again: its data were discarded")


def _segments(creator: int, user: int) -> list[int]:
    """The ids of the System V segments that a process made and that belong to a user still: sysvipc_shm in proc(5)."""
    with contextlib.suppress(FileNotFoundError):
        names, *rows = (line.split() for line in Path("/proc/sysvipc/shm").read_text().splitlines())
        segments = [dict(zip(names, map(int, row), strict=True)) for row in rows]
        return [one["shmid"] for one in segments if (one["cpid"], one["uid"], one["cuid"]) == (creator, user, user)]
    return []


def _require_free(data: Path, runtime: Path) -> None:
    """Raises where a server runs over the data, or where the socket's name is taken. A postmaster.pid is left to `postgres` itself."""
    if others := living_in(data.resolve()):
        pids = ", ".join(str(other.pid) for other in others)
        raise KneebenchError(
            f"starting the server on {data}", seen=f"another server (process {pids}) uses it", do="stop that server first, or run `kneebench clean`"
        )
    if socket_of(runtime).exists():
        raise KneebenchError(f"starting the server in {runtime}", seen=f"the socket {socket_of(runtime)} already exists", do="run `kneebench clean`")


def _broken_off(doing: str, seen: str, words: str, otherwise: str) -> KneebenchError:
    """A program of the build that ended too early: a PlanError where its words tell what to change."""
    remedy = next((do for pattern, do in TO_CHANGE.items() if re.search(pattern, words)), None)
    return PlanError(doing, seen=seen, do=remedy) if remedy else KneebenchError(doing, seen=seen, do=otherwise)


def _await_start(server: RunningServer) -> None:
    began = time.monotonic()
    while not server.answers():
        lines = last_lines(server.launch.log)
        if server.process.poll() is not None:
            raise _broken_off("starting the server", server.crash_report(), lines, "correct what the server's log names, then run again")
        if time.monotonic() - began > START_LIMIT_S:
            raise KneebenchError(
                "starting the server", seen=f"no response within {START_LIMIT_S:.0f} s; last log lines: {lines}", do="check the load of the storage"
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
        raise _broken_off(f"making a database cluster in {data}", words, words, f"run it yourself, not as root: {by_hand}")
