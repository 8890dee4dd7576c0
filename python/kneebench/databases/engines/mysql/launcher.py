"""Starts and stops `mysqld` itself: the process is ours from its first to its last moment."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from os.path import relpath
from typing import Any

from kneebench.databases.engines.mariadb import launcher as mariadb
from kneebench.databases.engines.mariadb.launcher import (
    SETTINGS_FILE,
    MariadbFiles,
    RunningMariadb,
    run_once,
    serving,
)
from kneebench.databases.engines.mariadb.server_address import SOCKET, MariadbAddress
from kneebench.databases.engines.mysql.builds import MysqlBuild
from kneebench.databases.managed import launching
from kneebench.databases.managed.runtime import socket_folder
from kneebench.databases.managed.server_process import ServerKind
from kneebench.lab.journal import Journal

USER = "root"
"""The only account of a server of ours, without a password: who may enter the socket's directory
comes this far, which are the server's account and root."""
KIND = ServerKind(
    "MySQL", mariadb.CRASH._replace(program="mysqld"), mariadb.STOPS, mariadb.REMEDIES
)
Launch = launching.Launch[MysqlBuild]


def server_command(
    launch: Launch, files: MariadbFiles, *more: str
) -> tuple[list[str], dict[str, Any]]:
    """(command, Popen's further arguments) for a server over these files."""
    runtime, shared = socket_folder(launch.runtime), files.temporary / "ibtmp1"
    given = [
        f"--defaults-file={files.data / SETTINGS_FILE}",
        f"--basedir={launch.build.program.parent.parent}",
        f"--datadir={files.tables}",
        f"--innodb-log-group-home-dir={files.log}",
        f"--tmpdir={files.temporary}",
        f"--innodb-temp-tablespaces-dir={files.temporary}",
        f"--innodb-temp-data-file-path={relpath(shared, files.tables)}:12M:autoextend",
        f"--lc-messages-dir={launch.build.share}",
        f"--socket={runtime / SOCKET}",
        f"--pid-file={runtime / 'pid'}",
    ]
    return launch.command(launch.build.program, *given, *more, reach=files)


class RunningMysql(RunningMariadb):
    """A MySQL server that we started."""

    kind = KIND

    def __init__(self, process: subprocess.Popen[bytes], launch: Launch, journal: Journal) -> None:
        super().__init__(process, launch, journal)  # type: ignore[arg-type]
        self.address = MariadbAddress(
            host=str(socket_folder(launch.runtime)), user=USER, client="mysql"
        )


@contextlib.contextmanager
def running_server(
    launch: Launch, files: MariadbFiles, journal: Journal, *, keep: bool = False
) -> Iterator[RunningMysql]:
    """A server over these files, answering; stopped at the end. Raises what `serving` raises."""
    command = server_command(launch, files)
    with serving(RunningMysql, command, launch, files, journal, keep=keep) as server:
        yield server


def initialize(launch: Launch, files: MariadbFiles, what: str) -> None:
    """Make an empty server: the tables of its dictionary, and its only account."""
    run_once(server_command(launch, files, "--initialize-insecure"), KIND, what)
