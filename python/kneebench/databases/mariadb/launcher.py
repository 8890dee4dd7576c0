"""Starts and stops `mariadbd` itself: no mariadbd-safe, no service; the process is ours from its
first to its last moment.
"""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pymysql

from kneebench.databases.managed import runtime as managed
from kneebench.databases.managed.account import Account
from kneebench.databases.managed.crash_report import CrashSigns
from kneebench.databases.managed.runtime import socket_folder
from kneebench.databases.managed.server_process import (
    LOST_LOGS,
    ServerProcess,
    Stops,
    Surroundings,
    supervised,
)
from kneebench.databases.mariadb.builds import Build
from kneebench.databases.mariadb.properties import server_program
from kneebench.databases.mariadb.server_address import SOCKET, Address
from kneebench.databases.mariadb.session import answers
from kneebench.errors import KneebenchError, PlanError
from kneebench.lab.journal import Journal
from kneebench.lab.limits import Limits
from kneebench.lab.processes import living_in

assert server_program
USER = "kneebench"
CONFIGURATION = "my.cnf"
FILES, LOG, TEMPORARY = "files", "log", "temporary"
"""The directories in a data directory of ours. The log has its own, so that a trace of the calls on
its file meets no other; every directory beside the tables would be a database to the server."""
TO_CHANGE = {
    "No space left on device|Disk quota exceeded|[Dd]isk (is )?full|error (code )?28": (
        "free disk space in that directory, or use another in the plan"
    ),
    "[Cc]annot allocate memory|Out of memory": (
        "lower innodb_buffer_pool_size or max_connections in database.settings"
    ),
    "unknown (variable|option)|Unknown suffix|[Ee]rror while (setting|parsing)|ambiguous option": (
        "correct the key of database.settings that the message names"
    ),
    "Permission denied|[Rr]ead-only file system|Errcode: 13|Errcode: 30": (
        "allow the server's account to write to that directory, or use another in the plan"
    ),
    "error while loading shared libraries|Can't find messagefile": (
        "install the missing files of that MariaDB, or correct database.bin_dir"
    ),
}
"""What to do, by the words of `mariadbd` where the plan, or what it names, must be changed."""
CRASH = CrashSigns(
    re.compile(
        r"got signal|Assertion failure|\[FATAL\]|\[ERROR\] InnoDB|No space left|[Dd]isk is full"
    ),
    server_program.name,
)
SHUTDOWNS = Stops(orderly=server_program.stop, immediate=signal.SIGKILL)
"""With all pages written out; at once."""


class Files(NamedTuple):
    """The directories of one server: `data` has the option file and the tables."""

    data: Path
    log: Path
    temporary: Path

    @classmethod
    def within(cls, data: Path) -> Files:
        """All of them in one data directory."""
        return cls(data, data / LOG, data / TEMPORARY)

    @property
    def tables(self) -> Path:
        """Where the server runs."""
        return self.data / FILES


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
        self, *arguments: str | Path, reach: Sequence[Path]
    ) -> tuple[list[str], dict[str, Any]]:
        """(command, Popen's further arguments) for the server's program, run as the account."""
        argv = [self.build.program, *arguments]
        return self.surroundings.command(argv, (*self.build.roots, *reach))

    def server(self, files: Files, *more: str) -> tuple[list[str], dict[str, Any]]:
        """The same for a server over these files."""
        runtime = socket_folder(self.runtime)
        given = [
            f"--defaults-file={files.data / CONFIGURATION}",
            f"--datadir={files.tables}",
            f"--innodb-log-group-home-dir={files.log}",
            f"--tmpdir={files.temporary}",
            f"--innodb-temp-data-file-path={files.temporary / 'ibtmp1'}:12M:autoextend",
            f"--lc-messages-dir={self.build.share}",
            f"--socket={runtime / SOCKET}",
            f"--pid-file={runtime / 'pid'}",
        ]
        return self.command(*given, *more, reach=files)


class RunningServer(ServerProcess):
    """A MariaDB server that we started: where it listens, and what a broken question has to do with
    its end.
    """

    def __init__(self, process: subprocess.Popen[bytes], launch: Launch, journal: Journal) -> None:
        lost_logs = journal.folder.parent / LOST_LOGS
        super().__init__(process, launch.surroundings, lost_logs, CRASH, SHUTDOWNS)
        self.address = Address(host=str(socket_folder(launch.runtime)), user=USER)
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
        return broken_off("starting the server", self.crash_report(), last_lines, do)

    @contextlib.contextmanager
    def with_crash_report(self) -> Iterator[None]:
        """Add the end of the server's log to an error if the server ended, as on a full disk."""
        try:
            yield
        except (KneebenchError, pymysql.Error) as error:
            if not (report := self.crash_report()):
                raise
            doing = getattr(error, "doing", "using the server")
            seen = f"{getattr(error, 'seen', error)}; {report}"
            do = "see the server's log for why it ended, then run again"
            raise broken_off(doing, seen, report, do) from error


@contextlib.contextmanager
def running_server(
    launch: Launch, files: Files, journal: Journal, *, keep: bool = False
) -> Iterator[RunningServer]:
    """A server over these files, answering; stopped at the end.

    Raises PlanError for settings that it refuses, KneebenchError where it ends or does not answer
    in time.
    """
    _require_free(files.data, launch.runtime)
    command, more = launch.server(files)
    with launch.surroundings.log.open("ab") as log:
        process = subprocess.Popen(
            command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True, **more
        )
    if launch.limits:
        launch.limits.add(process.pid)
    server = RunningServer(process, launch, journal)
    with supervised(server, f"the MariaDB server on {files.data}", journal, keep=keep):
        server.await_answer(server.answers, server.start_error)
        if launch.limits:
            launch.limits.verify(server.family())
        yield server


def runtime_directory(
    journal: Journal, account: Account | None
) -> contextlib.AbstractContextManager[Path]:
    """A new runtime directory, removed at the end."""
    return managed.runtime_directory(journal, account, SOCKET)


def run_bootstrap(launch: Launch, files: Files, statements: str, doing: str) -> None:
    """Run statements on the files: the server starts, listens nowhere, and ends in good order."""
    command, more = launch.server(files, "--bootstrap")
    more.pop("stdin", None)
    done = subprocess.run(
        command, input=statements, capture_output=True, text=True, check=False, **more
    )
    if done.returncode != 0:
        words = " / ".join(done.stderr.strip().splitlines()[-6:])[-800:]
        do = "correct what the server's words name, then run again"
        raise broken_off(doing, words or f"exit code {done.returncode}", words, do)


def broken_off(doing: str, seen: str, words: str, otherwise: str) -> KneebenchError:
    """A program of the build that ended too early: a PlanError where its words tell what to
    change.
    """
    remedy = next((do for pattern, do in TO_CHANGE.items() if re.search(pattern, words)), None)
    return (
        PlanError(doing, seen=seen, do=remedy)
        if remedy
        else KneebenchError(doing, seen=seen, do=otherwise)
    )


def _require_free(data: Path, runtime: Path) -> None:
    """Raises where a server runs over the data, or where the socket's name is taken."""
    if others := living_in(data.resolve()):
        pids = ", ".join(str(other.pid) for other in others)
        raise KneebenchError(
            f"starting the server on {data}",
            seen=f"another server (process {pids}) uses it",
            do="stop that server first, or run `kneebench clean`",
        )
    if (socket_folder(runtime) / SOCKET).exists():
        raise KneebenchError(
            f"starting the server in {runtime}",
            seen=f"the socket {socket_folder(runtime) / SOCKET} already exists",
            do="run `kneebench clean`",
        )
