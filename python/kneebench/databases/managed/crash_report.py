"""Crash report of a server: its exit, its last log lines, and whether the kernel killed it because
memory ran out.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from kneebench.directories import make_private
from kneebench.lab.folder import Folder

TAIL_BYTES = 65_536
DYING_S = 2.0
"""Time that a server that no longer answers has to be seen dead: the kernel closes its sockets
before it ends the process."""
LOGS_KEPT = 20
"""Number of logs of lost servers that are kept; older ones are removed."""


class CrashSigns(NamedTuple):
    """How an engine's crash is recognised: in the server's log, and by its program in the
    kernel's.
    """

    in_the_log: re.Pattern[str]
    program: str


def seen_of_its_end(crash_report: Callable[[], str], answers: Callable[[], bool]) -> str:
    """Empty while a server answers; else its crash report, or that it accepts no connections."""
    if seen := crash_report():
        return seen
    if answers():
        return ""
    until = time.monotonic() + DYING_S
    while not (seen := crash_report()) and time.monotonic() < until:
        time.sleep(0.02)
    return seen or "it accepts no connections"


def last_lines(log: Path, lines: int = 5) -> str:
    """The last lines of a server's log, on one line."""
    return " / ".join(_tail(log)[-lines:])


def crash_reason(signs: CrashSigns, exit_code: int | None, log: Path, started_s: float) -> str:
    """The reason of a crash; empty if the server runs and its log has no crash.

    `started_s` is on the monotonic clock.

    A server may survive a crashed process, but the measurement is lost.
    """
    crashes = [line for line in _tail(log) if signs.in_the_log.search(line)]
    if exit_code is None:
        return (
            "a process of the server died:"
            f" {' / '.join(crashes[-2:])}{_memory_hint(signs.program, started_s)}"
            if crashes
            else ""
        )
    how = (
        f"exit code {exit_code}"
        if exit_code >= 0
        else f"killed by {signal.Signals(-exit_code).name}"
    )
    last = " / ".join(dict.fromkeys([*crashes[-2:], *_tail(log)[-5:]])) or "nothing"
    return (
        f"the server ended ({how}){_memory_hint(signs.program, started_s)}; last log lines: {last}"
    )


def keep_log(log: Path, folder: Path) -> str:
    """Copy a lost server's log to `folder`, where it outlives the server's directory.

    Returns words that name it; empty on failure.
    """
    kept = folder / f"{log.parent.name}.log"
    try:
        make_private(folder)
        kept.unlink(missing_ok=True)
        with (
            log.open("rb") as source,
            Folder.at(folder) as place,
            os.fdopen(place.creating(kept.name), "wb") as copied,
        ):
            shutil.copyfileobj(source, copied)
        for old in sorted(folder.glob("*.log"), key=lambda file: file.stat().st_mtime)[:-LOGS_KEPT]:
            old.unlink(missing_ok=True)
    except OSError:
        return ""
    return f"; full log: {kept}"


def _tail(log: Path) -> list[str]:
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - TAIL_BYTES))
            return [
                line for line in file.read().decode(errors="replace").splitlines() if line.strip()
            ]
    except FileNotFoundError:
        return []


def _memory_hint(program: str, started_s: float) -> str:
    """Words on the kernel's out-of-memory killer, if its log (readable by root) names a server
    process since the start.
    """
    since = (text for at_s, text in _kernel_lines() if at_s >= started_s)
    killed = [text for text in since if "Killed process" in text and f"({program})" in text]
    return f"; the kernel killed a process because memory ran out: {killed[-1]}" if killed else ""


def _kernel_lines() -> list[tuple[float, str]]:
    """(seconds since boot, text) of the kernel's log as far as it can be read: one record a read,
    never waiting.

    A record is "priority,number,microseconds,flags;text" (Documentation/ABI/testing/dev-kmsg).
    """
    lines: list[tuple[float, str]] = []
    try:
        file = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return lines
    try:
        while True:
            head, _, text = os.read(file, 8192).decode(errors="replace").partition(";")
            lines.append((int(head.split(",")[2]) / 1e6, text.splitlines()[0] if text else ""))
    except OSError:
        return lines
    finally:
        os.close(file)
