"""A process that was started: undone by ending it."""

from __future__ import annotations

from typing import Literal

import psutil

from kneebench.lab.changes.change import Change
from kneebench.lab.processes import boot, end, runs


class StartedProcess(Change):
    """A server process, distinguished from a later process that reuses the PID by its start (in
    ticks since the boot).
    """

    VERBS = ("end", "ended")
    kind: Literal["process"] = "process"
    pid: int
    pid_started: int = 0

    @property
    def where(self) -> str:
        return f"process {self.pid}"

    def undo(self) -> bool:
        """End it, if it still runs."""
        if self.boot != boot() or not runs(self.pid, self.pid_started):
            return False
        end([psutil.Process(self.pid)])
        return True

    def require_gone(self, forget: str) -> None:
        """A process that does not run is gone."""


KIND = StartedProcess
