"""Processes on this machine: distinguished from a later process that reuses the PID, found by their
working directory, ended.

The engines say which programs are servers, and which signal stops each.
"""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Collection
from pathlib import Path

import psutil

from kneebench.engine_properties import server_programs

OWN_PROGRAMS = ("qemu-storage-daemon", "nbdfuse")
"""Programs that the lab runs in directories of its own."""
NAME_LENGTH = 15
"""Characters of a name that the kernel keeps (TASK_COMM_LEN without its end)."""
END_LIMIT_S = 10.0


def started(pid: int) -> int:
    """When the process began, in ticks since the boot (proc(5), field 22); 0 for one that is
    gone.
    """
    try:
        state, *rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return 0 if state == "Z" else int(rest[18])


def boot() -> str:
    """This boot's name: ids and ticks mean something in it only."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def runs(pid: int, since: int) -> bool:
    """Whether the process that began then is still there."""
    return since > 0 and started(pid) == since


def family(pid: int) -> list[int]:
    """The process and its children; empty where it is gone."""
    try:
        first = psutil.Process(pid)
        return [first.pid, *(child.pid for child in first.children())]
    except psutil.NoSuchProcess:
        return []


def living_in(path: Path) -> list[psutil.Process]:
    """Servers, and programs of emulated drives, whose working directory is one of ours, even before
    their journal entry exists.

    Other processes are ignored. The kernel's name of a process has 15 characters; the rest is
    known only once the program has been loaded.
    """
    servers = {name[:NAME_LENGTH] for name in (*server_programs(), *OWN_PROGRAMS)}
    ours = (p for p in psutil.process_iter(["name"]) if p.info["name"][:NAME_LENGTH] in servers)
    return [p for p in ours if (cwd := _cwd(p)) and Path(cwd).is_relative_to(path)]


def _cwd(process: psutil.Process) -> str:
    """Its working directory; empty where it cannot be read, or is too deep to have a path."""
    try:
        return process.cwd()
    except (psutil.Error, OSError):
        return ""


def end(processes: list[psutil.Process]) -> None:
    """The signal that stops such a server (SIGTERM for any other process), then SIGKILL to them and
    their children.
    """
    stops = server_programs()
    family = {
        member for process in processes for member in (process, *process.children(recursive=True))
    }
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.send_signal(stops.get(process.name(), signal.SIGTERM))
    for member in (alive := _left(family)):
        with contextlib.suppress(psutil.NoSuchProcess):
            member.kill()
    _left(alive)


def _left(processes: Collection[psutil.Process]) -> list[psutil.Process]:
    """Those that run after a while. One that ended has let go of all it had, even before its parent
    asks for it: the first process of a container may do that late, or never.
    """
    until = time.monotonic() + END_LIMIT_S
    while alive := [one for one in processes if one.is_running() and started(one.pid)]:
        if time.monotonic() > until:
            break
        time.sleep(0.01)
    return alive
