"""A server process that we started: whether it answers, what was seen of its end, how it is
stopped.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import shutil
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import psutil

from kneebench.databases.managed.account import Account, as_account
from kneebench.databases.managed.crash_report import (
    CrashSigns,
    crash_reason,
    keep_log,
    last_lines,
)
from kneebench.errors import KneebenchError, PlanError
from kneebench.lab.journal import Journal
from kneebench.lab.limits import DatabaseLimits
from kneebench.lab.processes import family
from kneebench.records import Role

START_LIMIT_S = 120.0
IMMEDIATE_LIMIT_S, KILL_LIMIT_S = 20.0, 20.0
"""How long an immediate stop may take, and the end of processes that were killed."""
LOST_LOGS = "lost-servers"
"""The folder beside the journal with the logs of servers that were lost."""
ENVIRONMENT = ("PATH", "LD_LIBRARY_PATH", "TZ")
"""What a server's programs get of our environment."""


class Surroundings(NamedTuple):
    """Where a server's programs run: the account, the runtime directory, the cores (all when
    empty); how long a start may take.
    """

    account: Account | None
    runtime: Path
    cores: Sequence[int] = ()
    start_limit_s: float = START_LIMIT_S

    @property
    def log(self) -> Path:
        """Where the server's own lines go."""
        return self.runtime / "server.log"

    def command(
        self, argv: Sequence[str | Path], reach: Sequence[Path]
    ) -> tuple[list[str], dict[str, Any]]:
        """(command, Popen's further arguments): the program as the account, on the cores.

        Every directory of `reach` is open to it.
        """
        if self.cores:
            pinned = [shutil.which("taskset") or "taskset", "--cpu-list"]
            argv = [*pinned, ",".join(map(str, self.cores)), *argv]
        aside = self.runtime / "aside"
        command, more = as_account(self.account, argv, (self.runtime, *reach), aside)
        kept = {name: os.environ[name] for name in ENVIRONMENT if name in os.environ}
        environment = {**kept, "LC_ALL": "C"}
        return command, {**more, "env": environment, "cwd": "/", "stdin": subprocess.DEVNULL}


class StopSignals(NamedTuple):
    """The signals that stop a server: in good order with its data written out, and at once."""

    orderly: int
    immediate: int


class ServerKind(NamedTuple):
    """What is an engine's own: its name, how its crash is recognised, the signals that stop it, and
    what to do by its words (patterns) where the plan, or what it names, must be changed.
    """

    name: str
    signs: CrashSigns
    stops: StopSignals
    remedies: Mapping[str, str]

    def ended_early(self, what: str, seen: str, words: str, otherwise: str) -> KneebenchError:
        """The error of a program that ended too early: a PlanError where its words tell what to
        change.
        """
        found = (do for pattern, do in self.remedies.items() if re.search(pattern, words))
        if remedy := next(found, None):
            return PlanError(what, seen=seen, do=remedy)
        return KneebenchError(what, seen=seen, do=otherwise)


class ServerProcess(ABC):
    """A server process that we started; its log is kept beside the journal should it be lost."""

    kind: ClassVar[ServerKind]

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        surroundings: Surroundings,
        journal: Journal,
        limits: DatabaseLimits | None,
    ) -> None:
        self.process, self.surroundings, self.started_s = process, surroundings, time.monotonic()
        self._lost_logs, self._limits = journal.folder.parent / LOST_LOGS, limits
        self.starting_s = 0.0
        """How long it took to answer."""

    @abstractmethod
    def answers(self) -> bool:
        """True where it takes connections."""

    def family(self) -> list[int]:
        """Its process ids: the first process and its children."""
        return family(self.process.pid)

    def crash_report(self) -> str:
        """What was seen of its end, or of a crash that it recovered from, whether its memory limit
        was the cause, and where its log is kept; empty while all is well.
        """
        log = self.surroundings.log
        seen = crash_reason(self.kind.signs, self.process.poll(), log, self.started_s)
        if not seen:
            return ""
        memory = self._limits.out_of_memory if self._limits else ""
        return "; ".join(filter(None, (seen + keep_log(log, self._lost_logs), memory)))

    def lost(self, what: str, seen: str, report: str) -> KneebenchError:
        """The error of a server that ended in the middle of something, with its crash report."""
        do = "see the server's log for why it ended, then run again"
        return self.kind.ended_early(what, f"{seen}; {report}", report, do)

    def verify_limits(self) -> None:
        """Raises where its processes are not below their limits."""
        if self._limits:
            self._limits.verify(self.family())

    def await_answer(self) -> None:
        """Wait until it answers.

        Raises PlanError or KneebenchError where it ends, by its last log lines; KneebenchError
        where it takes too long.
        """
        began = time.monotonic()
        while not self.answers():
            lines = last_lines(self.surroundings.log)
            if self.process.poll() is not None:
                do = "correct what the server's log names, then run again"
                seen = self.crash_report()
                raise self.kind.ended_early("cannot start the server", seen, lines, do)
            if time.monotonic() - began > self.surroundings.start_limit_s:
                raise KneebenchError(
                    "cannot start the server",
                    seen=f"no response within {self.surroundings.start_limit_s:.0f} s; last log"
                    f" lines: {lines}",
                    do="check the load of the storage",
                )
            time.sleep(0.02)
        self.starting_s = time.monotonic() - began

    def stop(self, *, keep: bool, limit_s: float = 600.0) -> None:
        """End it: an orderly shutdown if the data is kept, otherwise an immediate one; then
        SIGKILL.

        Data about to be deleted is not written out: that would load the storage before the next
        climb.
        """
        stops = self.kind.stops
        ways = [(stops.orderly, limit_s), (stops.immediate, IMMEDIATE_LIMIT_S)]
        for number, wait_s in ways if keep else ways[1:]:
            if self.process.poll() is None:
                self.process.send_signal(number)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self.process.wait(wait_s)
        if self.process.poll() is None:
            self.kill()
        self._free_segments()

    def kill(self) -> None:
        """End all of its processes at once; the first one can start no other meanwhile."""
        if self.process.poll() is not None:
            return
        members = list[psutil.Process]()
        with contextlib.suppress(psutil.NoSuchProcess):
            first = psutil.Process(self.process.pid)
            first.suspend()
            members = [first, *first.children()]
        for member in members:
            with contextlib.suppress(psutil.NoSuchProcess):
                member.kill()
        self.process.wait(KILL_LIMIT_S)
        psutil.wait_procs(members, KILL_LIMIT_S)

    def _free_segments(self) -> None:
        """Free the System V segments that a killed server left. The kernel knows which it created;
        the server's files are not trusted, because its account could have changed them."""
        account = self.surroundings.account
        for segment in _segments(self.process.pid, account.uid if account else os.geteuid()):
            ctypes.CDLL(None).shmctl(segment, 0, None)  # 0 is IPC_RMID


def _segments(creator: int, user: int) -> list[int]:
    """The ids of the System V segments that a process made and that belong to a user still:
    sysvipc_shm in proc(5).
    """
    with contextlib.suppress(FileNotFoundError):
        names, *rows = (line.split() for line in Path("/proc/sysvipc/shm").read_text().splitlines())
        segments = [dict(zip(names, map(int, row), strict=True)) for row in rows]
        owner = (creator, user, user)
        return [one["shmid"] for one in segments if (one["cpid"], one["uid"], one["cuid"]) == owner]
    return []


@contextlib.contextmanager
def supervise(server: ServerProcess, what: str, journal: Journal, *, keep: bool) -> Iterator[None]:
    """The block, with the server in the journal; then it is stopped, however the block ends.

    Raises KneebenchError where data that is kept was not written out.
    """
    with contextlib.ExitStack() as ends:
        ends.callback(server.stop, keep=False)
        ends.enter_context(journal.process(server.process.pid, what))
        ends.callback(server.stop, keep=False)
        yield
        server.stop(keep=keep)
        if keep and server.process.returncode != 0:
            do = "run again: its data were discarded"
            raise KneebenchError("cannot shut down the server", seen=server.crash_report(), do=do)


# What a server on this machine can be asked beside SQL.


class Process(NamedTuple):
    """A server's processes; one elsewhere has neither ids nor cores nor directories.

    `log` is the directory of the log, where nothing else is in it.
    """

    family: Callable[[], Sequence[int]] = tuple
    crash_report: Callable[[], str] = str
    cores: Sequence[int] = ()
    paths: Sequence[Path] = ()
    roles: Sequence[Role] = ()
    log: Path | None = None
    without_limit: Callable[[], contextlib.AbstractContextManager[None]] = contextlib.nullcontext
