"""What is wrong with a plan: file, line, key, what was seen, what is allowed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kneebench.errors import PlanError
from kneebench.secrets import without_passwords


class Fault(NamedTuple):
    """One wrong place of a plan; `near` is a known name that was perhaps meant."""

    file: str
    line: int
    key: str
    seen: str
    allowed: str
    near: str = ""

    def __str__(self) -> str:
        meant = f' (did you mean "{self.near}"?)' if self.near else ""
        return f"{self.file}, line {self.line}: {self.key or 'the plan'}\n    seen:    {without_passwords(self.seen)}{meant}\n    allowed: {self.allowed}"


class PlanFaults(PlanError):
    """Everything that is wrong with one plan, all at once."""

    def __init__(self, file: str, faults: Sequence[Fault]) -> None:
        self.faults = tuple(sorted(faults, key=lambda fault: fault.line))
        count = "1 error" if len(self.faults) == 1 else f"{len(self.faults)} errors"
        super().__init__(f"reading the plan {file}", seen="\n".join([count, *(f"  {fault}" for fault in self.faults)]))
