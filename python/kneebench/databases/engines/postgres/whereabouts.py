"""Whether a server that was reached by URL runs on this machine, as which process, and where its
files are.

"localhost" proves nothing: a port may be forwarded. What proves it: the other end of our socket is
this machine, the process that serves our session is here under its number and its title names our
role and database, and the server's data directory is here. A server in a container is taken for one
elsewhere: its numbers and its directories are others.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import psutil
import psycopg

from kneebench.databases.external.engine import ELSEWHERE, NO_PERMISSION, ends_here, found_here
from kneebench.lab.drives import mount_of
from kneebench.records import Role, Whereabouts

Connection = psycopg.Connection[tuple[Any, ...]]
Held = tuple[Role, Path]
SETTING = "SELECT setting FROM pg_settings WHERE name = 'data_directory'"
TABLESPACE = (
    "SELECT pg_tablespace_location(dattablespace) FROM pg_database WHERE datname ="
    " current_database()"
)
UNKNOWN = "the directories of the server's files are unknown: grant pg_monitor to the role"


def whereabouts(connection: Connection) -> Whereabouts:
    """Of the server at the other end."""
    with socket.socket(fileno=os.dup(connection.fileno())) as ours:
        here = ends_here(ours)
    if not here:
        return Whereabouts(seen=f"on another machine ({connection.info.host})")
    postmaster = _postmaster(connection)
    if postmaster is None:
        return Whereabouts(seen=ELSEWHERE)
    data = _data_directory(connection, postmaster)
    if data is not None and not _is_there(data):
        return Whereabouts(seen=f"its data directory {data} is not on this machine (container)")
    return found_here(postmaster, *(_paths(connection, data) if data else ((), (UNKNOWN,))))


def _postmaster(connection: Connection) -> int | None:
    """The process above the one that serves our session; its title is "postgres: role database
    client activity".
    """
    try:
        serving = psutil.Process(connection.info.backend_pid)
        named = f" {connection.info.user} {connection.info.dbname} " in " ".join(serving.cmdline())
        return serving.ppid() if named and serving.name().startswith("postgres") else None
    except psutil.Error:
        return None


def _data_directory(connection: Connection, postmaster: int) -> Path | None:
    """Where the first process works, or as the server tells; None where neither may be known."""
    try:
        return Path(f"/proc/{postmaster}/cwd").readlink()
    except OSError:
        row = connection.execute(SETTING).fetchone()
        return Path(row[0]) if row else None


def _is_there(path: Path) -> bool:
    """Also where we may not enter what is above it."""
    try:
        return path.is_dir()
    except PermissionError:
        return True


def _paths(connection: Connection, data: Path) -> tuple[tuple[Held, ...], tuple[str, ...]]:
    """The data directory, the log's where that is apart, the database's tablespace; what of them is
    not known.
    """
    (space,) = connection.execute(TABLESPACE).fetchone() or ("",)
    spaces: tuple[Held, ...] = (
        (("data", Path(space)),) if space and os.access(space, os.F_OK) else ()
    )
    if not os.access(data.parent, os.X_OK):
        return spaces, (NO_PERMISSION.format(data),)
    if not os.access(data, os.X_OK):
        return (("data", data), *spaces), (
            f"the log's location is unknown: this account cannot enter {data}",
        )
    log = (data / "pg_wal").resolve()
    apart = log != data / "pg_wal" or mount_of(log) != mount_of(data)
    logs: tuple[Held, ...] = (("log", log),) if apart else ()
    return (("data", data), *logs, *spaces), ()
