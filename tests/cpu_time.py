"""CPU time that each file of tests takes, with everything that it starts.

Processes are looked at twice a second: what those of a worker used since then is of the file that
it runs. A server that files share costs the file that uses it. What lived for less counts where its
parent waited for it.
"""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import psutil
import pytest

LIMIT = 0.06
"""Share of one file in `make test`; the aim is 60 s at rest, 3% of all. Seconds would not do: one
file took 22 and, on a throttled host, 48 s of CPU."""
FEWEST = 100
"""Files from which on a share says something: not when some tests are run alone."""
SHOWN = 30
EVERY_S = 0.5


class Note:
    """In a process that runs tests: which file it runs."""

    def __init__(self, folder: Path) -> None:
        self.note = folder / str(os.getpid())

    def pytest_runtest_logstart(self, location: tuple[str, int | None, str]) -> None:
        name = Path(location[0])
        draft = self.note.with_suffix(".draft")
        draft.write_text("doctests" if name.parts[0] == "python" else name.stem)
        draft.replace(self.note)


class Seen(NamedTuple):
    """A process, `used_s` with its children that it waited for."""

    used_s: float
    parent: int
    born_s: float


class CpuTime:
    """Adds up, shows the files that took most, and fails above the limit unless all tests ran."""

    def __init__(self, folder: Path, long: bool) -> None:
        self.folder, self.long = folder, long
        self.by_file: dict[str, float] = defaultdict(float)
        self._seen: dict[int, Seen] = {}
        self._workers: dict[int, int] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def pytest_sessionstart(self) -> None:
        self._thread.start()

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        self._over.set()
        self._thread.join()
        if self.above and not session.exitstatus:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        most = sorted(self.by_file.items(), key=lambda one: -one[1])
        terminalreporter.section(f"CPU time: {sum(self.by_file.values()):.0f} s, most in")
        for name, used_s in most[:SHOWN]:
            terminalreporter.write_line(f"{used_s:7.1f} s {name}")
        for name in self.above:
            terminalreporter.write_line(f"FAILED {name}: more than {LIMIT:.0%} of all CPU time")

    @property
    def above(self) -> list[str]:
        if self.long or len(self.by_file) < FEWEST:
            return []
        limit_s = LIMIT * sum(self.by_file.values())
        return [name for name, used_s in self.by_file.items() if used_s > limit_s]

    def _watch(self) -> None:
        while not self._over.wait(EVERY_S):
            self._look()

    def _look(self) -> None:
        notes = [note for note in self.folder.iterdir() if not note.suffix]
        files = {int(note.name): note.read_text() for note in notes}
        now = dict(sorted(processes().items(), key=lambda one: one[1].born_s))
        workers: dict[int, int] = {}
        for pid, seen in now.items():
            known = self._seen.get(pid)
            same = known is not None and known.born_s == seen.born_s
            worker = self._workers[pid] if same else workers.get(seen.parent)
            if worker := pid if pid in files else worker:
                workers[pid] = worker
        workers_before, self._workers = self._workers, workers
        for pid, worker in self._workers.items():
            before = self._seen.get(pid)
            known_s = before.used_s if before and before.born_s == now[pid].born_s else 0.0
            self.by_file[files[worker]] += now[pid].used_s - known_s
        for pid in self._seen.keys() - now.keys():
            # Its parent's time has it now, once more; that of a grandparent if both have ended.
            if worker := workers_before.get(self._seen[pid].parent):
                self.by_file[files[worker]] -= self._seen[pid].used_s
        self._seen = {pid: now[pid] for pid in self._workers}


def processes() -> dict[int, Seen]:
    found = {}
    for one in psutil.process_iter():
        try:
            used_s = sum(one.cpu_times()[:4])
            found[one.pid] = Seen(used_s, one.ppid(), one.create_time())
        except psutil.NoSuchProcess:
            continue
    return found
