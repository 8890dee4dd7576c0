"""What is wrong with a plan: file, line, key, what was seen, what is allowed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from kneebench.errors import PlanError
from kneebench.secrets import HIDDEN, without_passwords
from kneebench.visible import visible

MOST_SHOWN = 20
"""Faults that a message lists; a plan that has more is no plan."""
_LONGEST_SEEN = 200


class Fault(NamedTuple):
    """One wrong place of a plan; `near` is a known name that was perhaps meant. In place of a line
    of a file, `file` may be an option of the command line, at line 0.
    """

    file: str
    line: int
    key: str
    seen: str
    allowed: str
    near: str = ""

    def __str__(self) -> str:
        meant = f' (did you mean "{self.near}"?)' if self.near else ""
        seen = _short(without_passwords(_without_command(self.seen[: 10 * _LONGEST_SEEN])))
        where = f"{self.file}, line {self.line}" if self.line else self.file
        if self.seen == "nothing":
            return visible(f"{where}: missing {self.allowed}")
        return visible(
            f"{where}: {_short(self.key) or 'the file'}\n    found:  "
            f" {seen}{meant}\n    allowed: {self.allowed}"
        )


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_SEEN else f"{text[: _LONGEST_SEEN - 3]}..."


def _without_command(row: str) -> str:
    """A row of a plan that is no TOML, without the command that it sets."""
    return re.sub(r"((?<!\w)\w{1,50}_(?:command|conninfo)[\"']?\s*=).*", rf"\g<1> {HIDDEN}", row)


class PlanFaults(PlanError):
    """Everything that is wrong with one plan, all at once; its message lists the first of many."""

    def __init__(self, file: str, faults: Sequence[Fault]) -> None:
        self.faults = tuple(sorted(faults, key=lambda fault: fault.line))
        count = "1 error" if len(self.faults) == 1 else f"{len(self.faults):,} errors"
        more = (
            [f"  and {len(self.faults) - MOST_SHOWN:,} more"]
            if len(self.faults) > MOST_SHOWN
            else []
        )
        shown = [f"  {fault}" for fault in self.faults[:MOST_SHOWN]]
        super().__init__(f"cannot read {file}", seen="\n".join([count, *shown, *more]))
