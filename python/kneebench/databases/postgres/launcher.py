"""Starts and stops `postgres` itself: no pg_ctl, no service; the process is ours from its first to
its last moment.
"""

from __future__ import annotations

import contextlib
import re
import shlex
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from kneebench.databases.managed.account import Account
from kneebench.databases.managed.crash_report import CrashSigns
from kneebench.databases.managed.server_process import (
    LOST_LOGS,
    ServerProcess,
    Stops,
    Surroundings,
    supervised,
)
from kneebench.databases.postgres.address import answers
from kneebench.databases.postgres.builds import Build
from kneebench.databases.postgres.error_hints import state_of
from kneebench.databases.postgres.properties import server_program
from kneebench.databases.postgres.runtime import PORT, socket_folder, socket_of
from kneebench.databases.postgres.server_address import Address
from kneebench.errors import KneebenchError, PlanError
from kneebench.lab.journal import Journal
from kneebench.lab.limits import Limits
from kneebench.lab.processes import living_in

USER = "kneebench"
TO_CHANGE = {
    "No space left on device|Disk quota exceeded": (
        "free disk space in that directory, or use another in the plan"
    ),
    "could not (map anonymous|create) shared memory|Cannot allocate memory": (
        "lower shared_buffers or max_connections in database.settings"
    ),
    "configuration|invalid value for parameter|invalid argument|must be (a power|between)": (
        "correct the key of database.settings that the message names"
    ),
    "Permission denied|[Rr]ead-only file system": (
        "allow the server's account to write to that directory, or use another in the plan"
    ),
    "error while loading shared libraries|could not find|was not found": (
        "install the missing files of that PostgreSQL, or correct database.bin_dir"
    ),
}
"""What to do, by the words of `postgres` and `initdb` where the plan, or what it names, must be
changed."""
CRASH = CrashSigns(
    re.compile(r"was terminated by signal|PANIC:|out of memory|No space left on device"),
    server_program.name,
)
"""A backend killed from outside makes the postmaster end all others and recover."""
SHUTDOWNS = Stops(orderly=server_program.stop, immediate=signal.SIGQUIT)
"""Fast, with a checkpoint; immediate, without one."""


class Launch(NamedTuple):
    """What every start needs: the binaries, the account, the runtime directory, the cores (all when
    empty), its limits.
    """

    build: Build
    account: Account | None
    runtime: Path
    cores: Sequence[int] = ()
    limits: Limits | None = None

    @property
    def surroundings(self) -> Surroundings:
        """Where the build's programs run."""
        return Surroundings(self.account, self.runtime, self.cores)

    def command(
        self, program: str, *arguments: str | Path, reach: Sequence[Path]
    ) -> tuple[list[str], dict[str, Any]]:
        """(command, Popen's further arguments) for a program of the build, run as the account on
        the cores.
        """
        argv = [self.build.bin_dir / program, *arguments]
        return self.surroundings.command(argv, (*self.build.roots, *reach))


class RunningServer(ServerProcess):
    """A PostgreSQL server that we started: where it listens, and what a broken question has to do
    with its end.
    """

    def __init__(self, process: subprocess.Popen[bytes], launch: Launch, journal: Journal) -> None:
        lost_logs = journal.folder.parent / LOST_LOGS
        super().__init__(process, launch.surroundings, lost_logs, CRASH, SHUTDOWNS)
        host = str(socket_folder(launch.runtime))
        self.address = Address(host=host, port=PORT, user=USER, database="postgres")
        self._limits = launch.limits

    def crash_report(self) -> str:
        """What was seen of its end, and whether its memory limit was the cause."""
        seen, limits = super().crash_report(), self._limits
        return "; ".join(filter(None, (seen, limits.out_of_memory if seen and limits else "")))

    def answers(self) -> bool:
        """True where it takes connections."""
        return answers(self.address)

    def start_error(self, last_lines: str) -> KneebenchError:
        """The error of a server that ended before it answered."""
        do = "correct what the server's log names, then run again"
        return _broken_off("starting the server", self.crash_report(), last_lines, do)

    @contextlib.contextmanager
    def with_crash_report(self) -> Iterator[None]:
        """Add the end of the server's log to an error if the server ended, as on a full disk."""
        try:
            yield
        except KneebenchError as error:
            crash_report = "" if state_of(error) else self.crash_report()
            if not crash_report:
                raise
            raise _broken_off(
                error.doing,
                f"{error.seen}; {crash_report}",
                crash_report,
                "see the server's log for why it ended, then run again",
            ) from error


@contextlib.contextmanager
def running_server(
    launch: Launch, data: Path, journal: Journal, *, reach: Sequence[Path] = (), keep: bool = False
) -> Iterator[RunningServer]:
    """A server over a data directory, answering; stopped at the end.

    Raises PlanError for settings that it refuses, KneebenchError where it ends or does not answer
    in time.
    """
    _require_free(data, launch.runtime)
    command, more = launch.command(
        "postgres",
        "-D",
        data,
        "-k",
        socket_folder(launch.runtime),
        "-p",
        str(PORT),
        reach=(data, *reach),
    )
    with launch.surroundings.log.open("ab") as log:
        process = subprocess.Popen(
            command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True, **more
        )
    if launch.limits:
        launch.limits.add(process.pid)
    server = RunningServer(process, launch, journal)
    with supervised(server, f"the PostgreSQL server on {data}", journal, keep=keep):
        server.await_answer(server.answers, server.start_error)
        if launch.limits:
            launch.limits.verify(server.family())
        yield server


def _require_free(data: Path, runtime: Path) -> None:
    """Raises where a server runs over the data, or where the socket's name is taken.

    A postmaster.pid is left to `postgres` itself.
    """
    if others := living_in(data.resolve()):
        pids = ", ".join(str(other.pid) for other in others)
        raise KneebenchError(
            f"starting the server on {data}",
            seen=f"another server (process {pids}) uses it",
            do="stop that server first, or run `kneebench clean`",
        )
    if socket_of(runtime).exists():
        raise KneebenchError(
            f"starting the server in {runtime}",
            seen=f"the socket {socket_of(runtime)} already exists",
            do="run `kneebench clean`",
        )


def _broken_off(doing: str, seen: str, words: str, otherwise: str) -> KneebenchError:
    """A program of the build that ended too early: a PlanError where its words tell what to
    change.
    """
    remedy = next((do for pattern, do in TO_CHANGE.items() if re.search(pattern, words)), None)
    return (
        PlanError(doing, seen=seen, do=remedy)
        if remedy
        else KneebenchError(doing, seen=seen, do=otherwise)
    )


def make_cluster(launch: Launch, data: Path, options: Sequence[str]) -> None:
    """Run initdb: an empty cluster in UTF-8 with the C locale, so that it is the same on every
    machine.
    """
    base = [
        "-D",
        str(data),
        "-U",
        USER,
        "-E",
        "UTF8",
        "--locale=C",
        "-A",
        "trust",
        "--no-sync",
        "--no-instructions",
    ]
    command, more = launch.command("initdb", *base, *options, reach=(data.parent,))
    done = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    if done.returncode != 0:
        words = (done.stderr or done.stdout).strip()[-600:]
        by_hand = shlex.join(map(str, [launch.build.bin_dir / "initdb", *base, *options]))
        raise _broken_off(
            f"making a database cluster in {data}",
            words,
            words,
            f"run it yourself, not as root: {by_hand}",
        )
