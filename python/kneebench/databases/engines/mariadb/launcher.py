"""Starts and stops `mariadbd` itself: no mariadbd-safe, no service; the process is ours from its
first to its last moment.
"""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import pymysql

from kneebench.databases.engines.mariadb.builds import MariadbBuild
from kneebench.databases.engines.mariadb.properties import server_program
from kneebench.databases.engines.mariadb.server_address import SOCKET, MariadbAddress
from kneebench.databases.engines.mariadb.session import answers, connect
from kneebench.databases.managed import launching
from kneebench.databases.managed.crash_report import CrashSigns
from kneebench.databases.managed.launching import answering, require_free
from kneebench.databases.managed.listening import USERS, Listening
from kneebench.databases.managed.runtime import socket_folder
from kneebench.databases.managed.server_process import ServerKind, ServerProcess, StopSignals
from kneebench.errors import KneebenchError
from kneebench.lab.journal import Journal

assert server_program
USER = "kneebench"
SETTINGS_FILE = "my.cnf"
FILES, LOG, TEMPORARY = "files", "log", "temporary"
"""The directories in a data directory of ours. The log has its own, so that a trace of the calls on
its file meets no other; every directory beside the tables would be a database to the server."""
REMEDIES = {
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
STOPS = StopSignals(orderly=server_program.stop, immediate=signal.SIGKILL)
"""With all pages written out; at once."""
KIND = ServerKind("MariaDB", CRASH, STOPS, REMEDIES)
Launch = launching.Launch[MariadbBuild]


class MariadbFiles(NamedTuple):
    """The directories of one server: `data` has the option file and the tables."""

    data: Path
    log: Path
    temporary: Path

    @classmethod
    def within(cls, data: Path) -> MariadbFiles:
        """All of them in one data directory."""
        return cls(data, data / LOG, data / TEMPORARY)

    @property
    def tables(self) -> Path:
        return self.data / FILES


def server_command(
    launch: Launch, files: MariadbFiles, *more: str
) -> tuple[list[str], dict[str, Any]]:
    """(command, Popen's further arguments) for a server over these files."""
    runtime = socket_folder(launch.runtime)
    given = [
        f"--defaults-file={files.data / SETTINGS_FILE}",
        f"--datadir={files.tables}",
        f"--innodb-log-group-home-dir={files.log}",
        f"--tmpdir={files.temporary}",
        f"--innodb-temp-data-file-path={files.temporary / 'ibtmp1'}:12M:autoextend",
        f"--lc-messages-dir={launch.build.share}",
        f"--socket={runtime / SOCKET}",
        f"--pid-file={runtime / 'pid'}",
    ]
    return launch.command(launch.build.program, *given, *more, reach=files)


class RunningMariadb(ServerProcess):
    """A MariaDB server that we started: where it listens, and what a broken question has to do with
    its end.
    """

    kind = KIND

    def __init__(self, process: subprocess.Popen[bytes], launch: Launch, journal: Journal) -> None:
        super().__init__(process, launch.surroundings, journal, launch.limits)
        self.address = MariadbAddress(host=str(socket_folder(launch.runtime)), user=USER)

    def answers(self) -> bool:
        return answers(self.address)

    @contextlib.contextmanager
    def with_crash_report(self) -> Iterator[None]:
        """Add the end of the server's log to an error if the server ended, as on a full disk."""
        try:
            yield
        except (KneebenchError, pymysql.Error) as error:
            if not (report := self.crash_report()):
                raise
            what = getattr(error, "what", "cannot use the server")
            raise self.lost(what, str(getattr(error, "seen", error)), report) from error


RunningOf = TypeVar("RunningOf", bound=RunningMariadb)


@contextlib.contextmanager
def running_server(
    launch: Launch, files: MariadbFiles, journal: Journal, *, keep: bool = False
) -> Iterator[RunningMariadb]:
    """A server over these files, answering; stopped at the end. Raises what `serving` raises."""
    more = options(launch.listening) if launch.listening else []
    command = server_command(launch, files, *more)
    with serving(RunningMariadb, command, launch, files, journal, keep=keep) as server:
        yield server


@contextlib.contextmanager
def serving(
    running: Callable[[subprocess.Popen[bytes], Any, Journal], RunningOf],
    command: tuple[list[str], dict[str, Any]],
    launch: launching.Launch[Any],
    files: MariadbFiles,
    journal: Journal,
    *,
    keep: bool,
) -> Iterator[RunningOf]:
    """The server of a command over these files, answering; stopped at the end. `running`: what is
    known of its process.

    Raises PlanError for settings that it refuses, KneebenchError where it ends or does not answer
    in time.
    """
    socket = socket_folder(launch.runtime) / SOCKET
    require_free(files.data, socket)
    server = running(launch.start(*command), launch, journal)
    with answering(server, files.data, journal, keep=keep):
        yield server
    for left in (socket, socket.with_name(f"{SOCKET}.lock")):  # of a server that was killed
        left.unlink(missing_ok=True)


def run_bootstrap(launch: Launch, files: MariadbFiles, statements: str, what: str) -> None:
    """Run statements on the files: the server starts, listens nowhere, and ends in good order.
    `what`: for the error where it does not.
    """
    run_once(server_command(launch, files, "--bootstrap"), KIND, what, statements)


def run_once(
    given: tuple[list[str], dict[str, Any]], kind: ServerKind, what: str, statements: str = ""
) -> None:
    """Run a server that ends by itself. `statements`: its input; `what`: for the error where it
    fails.
    """
    command, more = given
    more.pop("stdin", None)
    done = subprocess.run(
        command, input=statements, capture_output=True, text=True, check=False, **more
    )
    if done.returncode != 0:
        words = " / ".join(done.stderr.strip().splitlines()[-6:])[-800:]
        do = "correct what the server's words name, then run again"
        raise kind.ended_early(what, words or f"exit code {done.returncode}", words, do)


# A server that also listens for users on other machines: its options, and their accounts.

RIGHTS = "SELECT, INSERT, UPDATE, DELETE, EXECUTE, CREATE TEMPORARY TABLES"


def options(listening: Listening) -> list[str]:
    made = listening.certificate
    return [
        "--skip-networking=0",
        f"--bind-address={listening.address}",
        f"--port={listening.port}",
        *([f"--ssl-cert={made.certificate}", f"--ssl-key={made.key}"] if made else []),
    ]


def users_address(server: MariadbAddress, listening: Listening) -> MariadbAddress:
    """The address for users on other machines, once each of their hosts has its account."""
    demand = " REQUIRE SSL" if listening.certificate else ""
    with connect(server) as session:
        for host in listening.admitted:
            account = f"'{USERS}'@'{host}'"
            session.run(f"CREATE USER {account} IDENTIFIED BY '{listening.password}'")
            session.run(f"GRANT {RIGHTS} ON {server.database}.* TO {account}{demand}")
    return server.model_copy(update=listening.log_in)
