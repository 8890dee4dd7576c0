"""The process of a MySQL server: `mysqld` itself."""

from __future__ import annotations

from os.path import relpath

from kneebench.databases.engines.mysql.properties import label, server_program
from kneebench.databases.innodb.builds import InnodbBuild
from kneebench.databases.innodb.launcher import (
    SETTINGS_FILE,
    Command,
    InnodbFiles,
    RunningInnodb,
    kind_of,
)
from kneebench.databases.innodb.server_address import SOCKET
from kneebench.databases.managed import launching
from kneebench.databases.managed.runtime import socket_folder

Launch = launching.Launch[InnodbBuild]


def server_command(launch: Launch, files: InnodbFiles, *more: str) -> Command:
    """What starts a server over these files."""
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


class RunningMysql(RunningInnodb):
    """A MySQL server that we started."""

    kind = kind_of(label, server_program)
    user = "root"
    client = "mysql"
    command = staticmethod(server_command)
