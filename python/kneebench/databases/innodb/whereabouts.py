"""Whether a server that was reached by URL runs on this machine, as which process, and where its
files are.

"localhost" proves nothing: a port may be forwarded. What proves it: the other end of our socket is
this machine, and a process of the server's program works here, in the directory that the server
calls its data directory, and that directory is the same one for us. A service of systemd may have
mounts of its own (ProtectSystem) over the same directories; a container has other directories.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import psutil

from kneebench.databases.external.engine import ELSEWHERE, NO_PERMISSION, ends_here, found_here
from kneebench.databases.innodb.session import InnodbSession
from kneebench.databases.innodb.settings_in_force import CAPACITY
from kneebench.lab.drives import mount_of
from kneebench.records import Role, Whereabouts

HIDDEN = (
    "not known to be on this machine: this account may not see the server's process (run kneebench"
    " as root or as the server's account)"
)
BINARY_LOG = "log_bin_basename"
ELSEWHERE_BY = (
    BINARY_LOG,
    "innodb_doublewrite_dir",
    "innodb_undo_directory",
    "innodb_data_home_dir",
)
"""Settings that place files beside the data and the redo log."""
PROGRAMS = ("mariadbd", "mysqld")


def whereabouts(session: InnodbSession, settings: Mapping[str, str]) -> Whereabouts:
    """Of the server at the other end."""
    if not ends_here(session.peer):
        return Whereabouts(seen=f"on another machine ({session.host})")
    data = Path(settings["datadir"])
    process, hidden = _process(data)
    if process is None:
        return Whereabouts(seen=HIDDEN if hidden else ELSEWHERE)
    log = log_directory(settings)
    apart = mount_of(log) != mount_of(data) or not log.is_relative_to(data)
    held: list[tuple[Role, Path]] = [("data", data)]
    if apart:
        held.append(("log", log))
    if not os.access(data.parent, os.X_OK):
        return found_here(process, (), [NO_PERMISSION.format(data)])
    return found_here(process, held, _unwatched(settings, [path for _, path in held]))


def _unwatched(settings: Mapping[str, str], watched: Sequence[Path]) -> Iterator[str]:
    """Directories of the server on other drives than those that are watched."""
    mounts = {mount_of(path) for path in watched}
    for name in ELSEWHERE_BY:
        if settings.get(name):
            place = Path(settings["datadir"], settings[name]).resolve()
            directory = place.parent if name == BINARY_LOG else place
            if os.access(directory, os.F_OK) and mount_of(directory) not in mounts:
                yield f"{name} is on another drive ({directory}), which is not watched"


def log_directory(settings: Mapping[str, str]) -> Path:
    """Where the log is: MySQL from 8.0.30 has a directory of its own for it in that place."""
    place = Path(settings["datadir"], settings.get("innodb_log_group_home_dir", "./"))
    return (place / "#innodb_redo" if CAPACITY in settings else place).resolve()


def _process(data: Path) -> tuple[int | None, bool]:
    """The server that works in this directory; whether there is a server that this account may not
    look at.
    """
    hidden = False
    for process in psutil.process_iter(["name"]):
        if process.info["name"] not in PROGRAMS:
            continue
        try:
            if Path(process.cwd()) == data.resolve() and _same(data, process.pid):
                return process.pid, False
        except (psutil.AccessDenied, PermissionError):
            hidden = True
        except (psutil.Error, OSError):
            continue
    return None, hidden


def _same(data: Path, process: int) -> bool:
    """Whether a process sees the same directory under this path."""
    return data.samefile(Path(f"/proc/{process}/root", *data.resolve().parts[1:]))
