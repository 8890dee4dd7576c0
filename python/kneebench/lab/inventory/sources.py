"""Where the facts on drives come from: /sys, /proc, /dev, and programs that print JSON."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from kneebench.lab.drives import text_in
from kneebench.lab.programs import environment

LIMIT_S = 30.0
"""A drive that fails may not answer for long."""


class Sources(NamedTuple):
    """The directories to read, and how to run a program: those of this machine by default."""

    sys: Path = Path("/sys")
    proc: Path = Path("/proc")
    dev: Path = Path("/dev")

    def line(self, folder: Path, name: str) -> str:
        """The text of a small file; empty if it is missing or cannot be read."""
        return text_in(folder, name)

    def number(self, folder: Path, name: str) -> int | None:
        """The same as a whole number; None for any other text."""
        text = self.line(folder, name)
        return int(text) if text.lstrip("-").isdigit() else None

    def document(self, command: Sequence[str], tries: int = 1) -> dict[str, Any] | None:
        """The JSON object that a program prints in one of so many tries; None if it is missing,
        hangs or prints none.

        Its exit code is not looked at: smartctl's has a bit for each thing that it found.
        """
        for _ in range(tries):
            try:
                done = subprocess.run(
                    command,
                    capture_output=True,
                    env=environment(),
                    timeout=LIMIT_S,
                    check=False,
                    stdin=subprocess.DEVNULL,
                )
            except (OSError, subprocess.TimeoutExpired):
                return None
            found = _object(done.stdout.decode(errors="replace"))
            if found is not None:
                return found
        return None


def _object(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
