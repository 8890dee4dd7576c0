"""Control groups of a database, v2 or v1: where their controllers are, and groups of ours.

With v2 all controllers are in one hierarchy, so that one group has all limits; with v1 each
controller has its own, and the database is in one group of each (cgroups(7)).
"""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from kneebench.directories import make_directory
from kneebench.lab.changes.group import MadeGroup
from kneebench.lab.drives import visible_mounts
from kneebench.lab.journal import Journal
from kneebench.lab.processes import started

ControllerName = Literal["memory", "cpuset", "io"]
V1_FILES = {"memory": "memory.limit_in_bytes", "cpuset": "cpuset.cpus"}
"""By which a hierarchy of v1 is known to have the controller; of its blkio no use is made."""


class Hierarchy(NamedTuple):
    """The root of a hierarchy of groups with a controller, and its version."""

    root: Path
    version: Literal[1, 2]


def hierarchy_of(controller: ControllerName) -> Hierarchy | None:
    """The hierarchy with this controller; None where there is none that this process may use."""
    for mount in visible_mounts():
        control = mount.point / "cgroup.subtree_control"
        if (
            mount.type == "cgroup2"
            and control.exists()
            and controller in control.read_text().split()
        ):
            found = Hierarchy(mount.point, 2)
        elif mount.type == "cgroup" and (mount.point / V1_FILES.get(controller, "none")).exists():
            found = Hierarchy(mount.point, 1)
        else:
            continue
        if os.access(found.root, os.W_OK):
            return found
    return None


def unified() -> Path | None:
    """The root of a v2 tree in which this process may make groups; None where there is none. Also
    one without controllers counts the pressure of each group.
    """
    for mount in visible_mounts():
        if mount.type == "cgroup2" and os.access(mount.point / "cgroup.procs", os.W_OK):
            return mount.point
    return None


class Groups:
    """The groups of one database: made when a limit first needs one, removed when `until` ends."""

    def __init__(self, journal: Journal, until: contextlib.ExitStack) -> None:
        self._journal, self._until = journal, until
        self._name = f"kneebench-{uuid.uuid4().hex[:12]}"
        self.paths: dict[Path, Path] = {}
        """By the root of the hierarchy."""

    def path(self, root: Path) -> Path:
        """The database's group in the hierarchy with this root."""
        if root not in self.paths:
            self.paths[root] = self._until.enter_context(self._made(root))
        return self.paths[root]

    @contextlib.contextmanager
    def _made(self, root: Path) -> Iterator[Path]:
        path = root / self._name
        with self._journal.made(MadeGroup, "a control group with limits", path=str(path)):
            make_directory(path, new=True)
            yield path

    def add(self, process: int) -> None:
        """Put a process in all of them: it and its children stay there. Raises OSError for one that
        has ended.
        """
        for path in self.paths.values():
            (path / "cgroup.procs").write_text(str(process))

    def without(self, process: int) -> list[Path]:
        """The groups that a process is not in. Raises ProcessLookupError for one that has ended,
        also if nobody has asked for its end yet: it is in none, and may end while they are read.
        """
        own = str(process)
        groups = self.paths.values()
        found = [path for path in groups if own not in (path / "cgroup.procs").read_text().split()]
        if not started(process):
            raise ProcessLookupError(f"process {process} has ended")
        return found
