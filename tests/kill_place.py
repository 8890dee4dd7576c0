"""A directory in which one campaign is started again and again, with a journal of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from kneebench.lab.journal import Journal
from tests import leftovers
from tests.leftovers import MEMORY

QUESTION = 'question = "What survives a kill?"\n'
LADDER = """
[ladder]
users = [1, 2]
step = 2
checkpoints = 0
repeats = 1
"""
SIMULATED = f"""{QUESTION}
database.engine = "simulated"
workload.warehouses = 40
{LADDER}
warm_up = "2s"
window = "6s"
final_window = "6s"
[storages.disk.simulated]
read_latency = "1ms"
[storages.memory.simulated]
read_latency = "0us"
"""
POSTGRES = f"""{QUESTION}
workload.warehouses = 1
{LADDER}
rounds = "short"
warm_up = "1s"
window = "2s"
final_window = "1s"
[storages]
disk = {{ path = "disk" }}
memory = {{ path = "memory" }}
"""
PLANS = {"simulated": SIMULATED, "postgres": POSTGRES}
MOST_LINES = {"simulated": 50, "postgres": 200}
"""Lines of output within which a kill falls: enough that a run which restores its databases first
measures something before the next kill."""
UP = "up"
"""The first line of a started command, printed where its own first line would run: what ends
Python's start before it is not ours."""
COMMAND = f"""
import signal, sys
# A shell's background jobs ignore SIGINT, and nohup's SIGHUP.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
sys.argv[0] = "kneebench"
from kneebench.__main__ import main
print({UP!r}, flush=True)
main()
"""


class Place:
    """A directory for one campaign, with a journal of its own."""

    def __init__(self, folder: Path, engine: str) -> None:
        self.folder, self.output, self.errors = folder, folder / "output", folder / "errors"
        self.most_lines = MOST_LINES[engine]
        self.memory = Path(leftovers.folder("kills", MEMORY))
        self.memory.chmod(0o755)
        folder.chmod(0o755)
        (folder / "disk").mkdir()
        (folder / "memory").symlink_to(self.memory)
        (folder / "plan.toml").write_text(PLANS[engine])
        self._journal = Journal(folder / "state" / "kneebench" / "journal" / os.uname().nodename)

    @property
    def campaigns(self) -> list[Path]:
        return sorted(
            file.parent for file in (self.folder / "kneebench-results").glob("*/campaign.json")
        )

    @property
    def made(self) -> set[tuple[str, int, int]]:
        """What the journal says is there now: directories by their path, processes by their id and
        start.
        """
        entries = self._journal.leftovers() + self._journal.others()
        return {
            (getattr(entry, "path", ""), getattr(entry, "pid", 0), getattr(entry, "pid_started", 0))
            for entry in entries
        }

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        environment = {**os.environ, "XDG_STATE_HOME": str(self.folder / "state")}
        with self.output.open("wb") as output, self.errors.open("wb") as errors:
            return subprocess.Popen(
                [sys.executable, "-c", COMMAND, *words],
                cwd=self.folder,
                env=environment,
                stdout=output,
                stderr=errors,
            )

    def lines(self) -> list[str]:
        """The whole lines of its output so far, without the first, which Python says."""
        return self.output.read_text().split("\n")[:-1]

    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.lines() if line != UP]

    def remove(self) -> None:
        shutil.rmtree(self.memory)
        shutil.rmtree(self.folder)
