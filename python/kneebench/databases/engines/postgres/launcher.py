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
from ipaddress import ip_address
from pathlib import Path

from psycopg import sql

from kneebench.databases.engines.postgres.address import answers, connect
from kneebench.databases.engines.postgres.builds import PostgresBuild
from kneebench.databases.engines.postgres.error_hints import state_of
from kneebench.databases.engines.postgres.properties import server_program
from kneebench.databases.engines.postgres.server_address import DATABASE, USER, PostgresAddress
from kneebench.databases.managed import launching
from kneebench.databases.managed.crash_report import CrashSigns
from kneebench.databases.managed.launching import answering, require_free
from kneebench.databases.managed.listening import USERS, Listening
from kneebench.databases.managed.runtime import socket_folder
from kneebench.databases.managed.server_process import ServerKind, ServerProcess, StopSignals
from kneebench.errors import KneebenchError
from kneebench.lab.folder import Folder
from kneebench.lab.journal import Journal

PORT = 5432
SOCKET = ".s.PGSQL.65535"
"""As long as its name can be."""
REMEDIES = {
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
STOPS = StopSignals(orderly=server_program.stop, immediate=signal.SIGQUIT)
"""Fast, with a checkpoint; immediate, without one."""
KIND = ServerKind("PostgreSQL", CRASH, STOPS, REMEDIES)


Launch = launching.Launch[PostgresBuild]


class RunningPostgres(ServerProcess):
    """A PostgreSQL server that we started: where it listens, and what a broken question has to do
    with its end.
    """

    kind = KIND

    def __init__(self, process: subprocess.Popen[bytes], launch: Launch, journal: Journal) -> None:
        super().__init__(process, launch.surroundings, journal, launch.limits)
        host = str(socket_folder(launch.runtime))
        self.address = PostgresAddress(
            host=host, port=port_of(launch), user=USER, database="postgres"
        )

    def answers(self) -> bool:
        return answers(self.address)

    @contextlib.contextmanager
    def with_crash_report(self) -> Iterator[None]:
        """Add the end of the server's log to an error if the server ended, as on a full disk."""
        try:
            yield
        except KneebenchError as error:
            if state_of(error) or not (report := self.crash_report()):
                raise
            raise self.lost(error.what, error.seen, report) from error


@contextlib.contextmanager
def running_server(
    launch: Launch, data: Path, journal: Journal, *, reach: Sequence[Path] = (), keep: bool = False
) -> Iterator[RunningPostgres]:
    """A server over a data directory, answering; stopped at the end.

    Raises PlanError for settings that it refuses, KneebenchError where it ends or does not answer
    in time. A postmaster.pid is left to `postgres` itself.
    """
    port, folder = port_of(launch), socket_folder(launch.runtime)
    socket = socket_of(launch.runtime, port)
    require_free(data, socket)
    given: list[str | Path] = ["-D", data, "-k", folder, "-p", str(port)]
    if launch.listening:
        given += options(launch.listening, launch.runtime)
    command, more = launch.command(program(launch, "postgres"), *given, reach=(data, *reach))
    server = RunningPostgres(launch.start(command, more), launch, journal)
    with answering(server, data, journal, keep=keep):
        yield server
    socket.unlink(missing_ok=True)  # of a server that was killed


def socket_of(runtime: Path, port: int = PORT) -> Path:
    """The socket of the server that runs there, by the name that libpq expects."""
    return socket_folder(runtime) / f".s.PGSQL.{port}"


def port_of(launch: Launch) -> int:
    """The port where it listens for users on other machines; else only its socket's name has it."""
    return launch.listening.port if launch.listening else PORT


def program(launch: Launch, name: str) -> Path:
    """A program of the build."""
    return launch.build.bin_dir / name


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
    command, more = launch.command(program(launch, "initdb"), *base, *options, reach=(data.parent,))
    done = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    if done.returncode != 0:
        words = (done.stderr or done.stdout).strip()[-600:]
        by_hand = shlex.join(map(str, [launch.build.bin_dir / "initdb", *base, *options]))
        raise KIND.ended_early(
            f"cannot make a database cluster in {data}",
            words,
            words,
            f"run it yourself, not as root: {by_hand}",
        )


# A server that also listens for users on other machines: its options, who may log in, and their
# role.

ACCESS = (
    "# Only who may enter the socket's directory comes this far: the server's account, and"
    f" root.\nlocal all {USER} trust\n"
)
RIGHTS = """
GRANT USAGE ON SCHEMA public, kneebench TO {role};
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role};
GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO {role};
"""


def access(listening: Listening) -> str:
    """pg_hba.conf: the socket as before, and the users' role from the hosts' addresses."""
    lengths = ((one, ip_address(one).max_prefixlen) for one in listening.admitted)
    kind = "hostssl" if listening.certificate else "host"
    lines = (f"{kind} {DATABASE} {USERS} {one}/{n} scram-sha-256\n" for one, n in lengths)
    return ACCESS + "".join(lines)


def options(listening: Listening, runtime: Path) -> list[str]:
    file = runtime / "pg_hba.conf"
    with Folder.at(runtime) as place:
        place.put(file.name, access(listening))
        place.set_mode(file.name, 0o644)
    given = {
        "listen_addresses": listening.address,
        "hba_file": str(file),
        "password_encryption": "scram-sha-256",
    }
    if made := listening.certificate:
        files = {"ssl_cert_file": str(made.certificate), "ssl_key_file": str(made.key)}
        given |= {"ssl": "on", **files}
    return [word for name, value in given.items() for word in ("-c", f"{name}={value}")]


def users_address(server: PostgresAddress, listening: Listening) -> PostgresAddress:
    """The address for users on other machines, once their role is made."""
    with connect(server) as session:
        role, password = sql.Identifier(USERS), sql.Literal(listening.password)
        session.execute("SET log_statement = 'none'")
        session.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(role, password))
        session.execute(sql.SQL(RIGHTS).format(role=role))
    return server.model_copy(update=listening.log_in)
