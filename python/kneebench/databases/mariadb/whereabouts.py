"""Whether a server that was reached by URL runs on this machine, as which process, and where its
files are.

"localhost" proves nothing: a port may be forwarded. What proves it: the other end of our socket is
this machine, and a process of the server's program works here, with this machine's mounts, in the
directory that the server calls its data directory.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from pathlib import Path

import psutil

from kneebench.databases.mariadb.session import Session
from kneebench.lab.drives import mount_of
from kneebench.records import Role, Whereabouts

PROGRAMS = ("mariadbd", "mysqld")


def whereabouts(session: Session, settings: Mapping[str, str], host: str) -> Whereabouts:
    """Of the server at the other end."""
    if not _ends_here(session):
        return Whereabouts(seen=f"on another machine ({host})")
    data = Path(settings["datadir"])
    process = _process(data)
    if process is None:
        return Whereabouts(seen="its process is not on this machine (forwarded port or container)")
    log = log_directory(settings)
    apart = mount_of(log) != mount_of(data) or not log.is_relative_to(data)
    held: list[tuple[Role, Path]] = [("data", data)]
    if apart:
        held.append(("log", log))
    closed = not os.access(data.parent, os.X_OK)
    note = f"the drive under {data} is unknown: no read permission for this account"
    return Whereabouts(
        here=True,
        seen="on this machine",
        process=process,
        cores=tuple(sorted(os.sched_getaffinity(process))),
        paths=() if closed else tuple(path for _, path in held),
        roles=() if closed else tuple(role for role, _ in held),
        notes=(note,) if closed else (),
    )


def log_directory(settings: Mapping[str, str]) -> Path:
    """Where the log is."""
    return Path(settings["datadir"], settings.get("innodb_log_group_home_dir", "./")).resolve()


def _ends_here(session: Session) -> bool:
    """A socket of this machine, or an address that is ours as well."""
    ours = session.peer
    return bool(ours.family == socket.AF_UNIX or ours.getpeername()[0] == ours.getsockname()[0])


def _process(data: Path) -> int | None:
    """The server that works in this directory, with this machine's mounts."""
    for process in psutil.process_iter(["name"]):
        try:
            if process.info["name"] in PROGRAMS and Path(process.cwd()) == data.resolve():
                ours, its = (Path(f"/proc/{who}/ns/mnt") for who in ("self", process.pid))
                return process.pid if ours.readlink() == its.readlink() else None
        except (psutil.Error, OSError):
            continue
    return None
