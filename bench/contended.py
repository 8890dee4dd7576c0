"""Our users beside pgbench's on the same functions and the same cores, which the server shares with
the load generator and with other processes.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from bench.ratio import Ratio, Size, at_least, turns
from bench.scripts import random_scripts
from bench.servers import MEMORY, Loaded, loaded
from bench.turn import Turn, generator_values, in_turn, own_turn, pgbench_turn, sessions_as_ours
from kneebench.plan.workload import Workload

NAME = "contended"
ABOUT = "transactions per second, ours over pgbench's, where all share the cores"
AIM = 0.95
SETTINGS = {"shared_buffers": "2GB", "max_wal_size": "16GB", "checkpoint_timeout": "1h"}
OTHERS = (0, 2)
"""Other processes that never sleep."""
USERS = (8, 32)
SPINNING = "while True: pass"
NOTE = (
    "client and server on all cores, one thread each; drawn arguments on both sides;"
    " synchronous_commit on, in memory"
)


def measure(size: Size) -> list[Ratio]:
    """A row for each number of users, alone and beside other processes."""
    warehouses = size.count(10, 1)
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        script = random_scripts(folder, warehouses)
        place = MEMORY if MEMORY.is_dir() else None
        server = stack.enter_context(
            loaded(size, Workload(warehouses=warehouses, profile="hammerdb"), SETTINGS, (), place)
        )
        sessions_as_ours(server, server.address.database)
        return [
            _row(server, users, others, script, size)
            for users in (USERS if not size.quick else (2,))
            for others in (OTHERS if not size.quick else (1,))
        ]


def _row(server: Loaded, users: int, others: int, script: Sequence[str], size: Size) -> Ratio:
    seconds = size.count(8, 1)
    order = generator_values(users, server.workload.warehouses)
    with _spinning(others):
        ours, theirs = in_turn(
            size.count(7, 1),
            lambda: own_turn(order, server.address, seconds),
            lambda: pgbench_turn(server, server.address, users, seconds, script),
        )
    beside = f"beside {others} busy processes" if others else "alone"
    found = turns([turn.per_s for turn in ours], [turn.per_s for turn in theirs])
    return at_least(
        f"transactions per second, {users} users, {beside}",
        found,
        AIM,
        note=NOTE,
        unit="x",
        **_beside("ours", ours),
        **_beside("pgbench", theirs),
    )


def _beside(whose: str, of: Sequence[Turn]) -> dict[str, float]:
    return {
        f"{whose}_per_s": median(turn.per_s for turn in of),
        f"{whose}_us": median(turn.cpu_us for turn in of),
        f"{whose}_switches": median(turn.switches_each for turn in of),
    }


@contextlib.contextmanager
def _spinning(count: int) -> Iterator[None]:
    """So many processes that take all CPU time they are given."""
    started = [subprocess.Popen([sys.executable, "-c", SPINNING]) for _ in range(count)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()
