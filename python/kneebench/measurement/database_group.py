"""The cgroups of the database: their directories, from the /proc/PID/cgroup of its first process
and the mounts of the cgroup trees (cgroups(7)).

A cgroup that kneebench itself is in is not the database's: its figures would be those of both.
"""

from __future__ import annotations

import os
from pathlib import Path

from kneebench.databases.engine import Server
from kneebench.lab.drives import Mount, visible_mounts

UNIFIED = ""
"""The controllers of the cgroup v2 tree in /proc/PID/cgroup: its line names none."""
UNSEEN = "the server's processes are not visible here"
SHARED = "the database has no cgroup of its own"
OUTSIDE = "its cgroup is not visible here"
NO_TREE = "no such cgroup tree is mounted"


def database_group(server: Server, controller: str, proc: Path = Path("/proc")) -> Path | str:
    """The directory of the server's cgroup with this v1 controller ("memory"), or of its cgroup in
    the v2 tree (UNIFIED); or why there is none.
    """
    if not (processes := server.processes()):
        return UNSEEN
    try:
        its, own = (_path(proc / f"{one}/cgroup", controller) for one in (processes[0], "self"))
        seen = visible_mounts(proc / "self")
    except OSError as error:  # such as a server that has just ended
        return str(error)
    tree = _tree(seen, controller)
    if its is None or tree is None:
        return NO_TREE
    if its in (own, Path("/")):
        return SHARED
    if not its.is_relative_to(tree.root) or ".." in its.parts:
        return OUTSIDE
    return tree.point / its.relative_to(tree.root)


def _path(file: Path, controller: str) -> Path | None:
    """A process's cgroup, as a path from the root of its tree."""
    lines = (line.split(":", 2) for line in os.fsdecode(file.read_bytes()).splitlines())
    return next((Path(path) for _, names, path in lines if controller in names.split(",")), None)


def _tree(there: list[Mount], controller: str) -> Mount | None:
    """The mounted tree of a controller."""
    if controller == UNIFIED:
        return next((one for one in there if one.type == "cgroup2"), None)
    trees = (one for one in there if one.type == "cgroup")
    return next((one for one in trees if controller in one.options), None)
