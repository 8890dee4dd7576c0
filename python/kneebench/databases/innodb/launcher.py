"""Starts and stops a server of either product itself: no wrapper, no service; the process is ours
from its first to its last moment.
"""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
from abc import abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, Self

import pymysql

from kneebench.databases.innodb.server_address import SOCKET, InnodbAddress
from kneebench.databases.innodb.session import answers, connect
from kneebench.databases.managed.crash_report import CrashSigns
from kneebench.databases.managed.launching import Launch, answering, require_free
from kneebench.databases.managed.listening import USERS, Listening
from kneebench.databases.managed.runtime import socket_folder
from kneebench.databases.managed.server_process import ServerKind, ServerProcess, StopSignals
from kneebench.engine_properties import ServerProgram
from kneebench.errors import KneebenchError
from kneebench.lab.journal import Journal

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
        "install the missing files of that build, or correct database.bin_dir"
    ),
}
"""What to do, by the words of `mariadbd` where the plan, or what it names, must be changed."""
CRASHED = re.compile(
    r"got signal|Assertion failure|\[FATAL\]|\[ERROR\] InnoDB|No space left|[Dd]isk is full"
)
Command = tuple[list[str], dict[str, Any]]
"""A command, and Popen's further arguments."""


def kind_of(label: str, program: ServerProgram | None) -> ServerKind:
    """What the server of a product says of its end, and how it is stopped: with all pages written
    out; at once.
    """
    assert program
    stops = StopSignals(orderly=program.stop, immediate=signal.SIGKILL)
    return ServerKind(label, CrashSigns(CRASHED, program.name), stops, REMEDIES)


class InnodbFiles(NamedTuple):
    """The directories of one server: `data` has the option file and the tables."""

    data: Path
    log: Path
    temporary: Path

    @classmethod
    def within(cls, data: Path) -> InnodbFiles:
        """All of them in one data directory."""
        return cls(data, data / LOG, data / TEMPORARY)

    @property
    def tables(self) -> Path:
        return self.data / FILES


class RunningInnodb(ServerProcess):
    """A server that we started: where it listens, and what a broken question has to do with its
    end.
    """

    kind: ClassVar[ServerKind]
    user: ClassVar[str]
    """Its only account, without a password: who may enter the socket's directory comes this far,
    which are the server's account and root."""
    client: ClassVar[Literal["mariadb", "mysql"]]

    def __init__(
        self, process: subprocess.Popen[bytes], launch: Launch[Any], journal: Journal
    ) -> None:
        super().__init__(process, launch.surroundings, journal, launch.limits)
        here = str(socket_folder(launch.runtime))
        self.address = InnodbAddress(host=here, user=self.user, client=self.client)

    @staticmethod
    @abstractmethod
    def command(launch: Any, files: InnodbFiles, *more: str) -> Command:
        """What starts a server over these files."""

    @classmethod
    @contextlib.contextmanager
    def started(
        cls, launch: Launch[Any], files: InnodbFiles, journal: Journal, *, keep: bool = False
    ) -> Iterator[Self]:
        """A server over these files, answering; stopped at the end.

        Raises PlanError for settings that it refuses, KneebenchError where it ends or does not
        answer in time.
        """
        socket = socket_folder(launch.runtime) / SOCKET
        require_free(files.data, socket)
        more = options(launch.listening) if launch.listening else []
        server = cls(launch.start(*cls.command(launch, files, *more)), launch, journal)
        with answering(server, files.data, journal, keep=keep):
            yield server
        for left in (socket, socket.with_name(f"{SOCKET}.lock")):  # of a server that was killed
            left.unlink(missing_ok=True)

    @classmethod
    def run_once(
        cls, launch: Launch[Any], files: InnodbFiles, what: str, *more: str, statements: str = ""
    ) -> None:
        """Run a server that ends by itself. `statements`: its input; `what`: for the error where
        it fails.
        """
        command, given = cls.command(launch, files, *more)
        given.pop("stdin", None)
        done = subprocess.run(
            command, input=statements, capture_output=True, text=True, check=False, **given
        )
        if done.returncode != 0:
            words = " / ".join(done.stderr.strip().splitlines()[-6:])[-800:]
            do = "correct what the server's words name, then run again"
            raise cls.kind.ended_early(what, words or f"exit code {done.returncode}", words, do)

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


def users_address(server: InnodbAddress, listening: Listening) -> InnodbAddress:
    """The address for users on other machines, once each of their hosts has its account."""
    demand = " REQUIRE SSL" if listening.certificate else ""
    with connect(server) as session:
        for host in listening.admitted:
            account = f"'{USERS}'@'{host}'"
            session.run(f"CREATE USER {account} IDENTIFIED BY '{listening.password}'{demand}")
            session.run(f"GRANT {RIGHTS} ON {server.database}.* TO {account}")
    return server.model_copy(update=listening.log_in)
