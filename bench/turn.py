"""One turn of a load generator in a process of its own: pgbench, or ours; what it completed and
what CPU it took.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import psutil

from bench.servers import SEED, Loaded, usable
from kneebench._core import SESSION_SETTINGS
from kneebench.databases.engine import ServerAddress, wire_address
from kneebench.databases.engines.postgres.server_address import PostgresAddress
from kneebench.databases.odbc.session import OdbcAddress

SETTLED_S = 1
"""Seconds at the start that do not count: connecting and preparing are no part of a transaction's
cost."""
LOAD_GENERATOR = (sys.executable, "-m", "bench.timed_load")
PROGRESS = re.compile(r"progress: ([\d.]+) s, ([\d.]+) tps")
SWITCHES = re.compile(r"ctxt_switches:\s*(\d+)")


class Turn(NamedTuple):
    """What a load generator did between its first second and its last."""

    seconds: float
    transactions: float
    new_orders: float
    rolled_back: float
    cpu_s: float
    switches: float
    in_all: float
    """Transactions, those before the first second too."""

    @property
    def per_s(self) -> float:
        """Transactions a second."""
        return self.transactions / self.seconds

    @property
    def nopm(self) -> float:
        """New-Orders a minute; 0 of pgbench, which does not tell its scripts apart."""
        return 60 * self.new_orders / self.seconds

    @property
    def cpu_us(self) -> float:
        """Microseconds of the client's CPU for each transaction."""
        return 1e6 * self.cpu_s / self.transactions

    @property
    def switches_each(self) -> float:
        """How often the client was taken from or given a core, for each transaction."""
        return self.switches / self.transactions


class Mark(NamedTuple):
    """The end of a second, as the load generator told it: sums since its start."""

    at_s: float
    transactions: float
    new_orders: float
    rolled_back: float
    cpu_s: float
    switches: float


Telling = Callable[[Iterator[str], int], Iterator[Mark]]
"""From the lines of a load generator, and its process id, to the ends of its seconds."""


T = TypeVar("T")


def in_turn(rounds: int, *sides: Callable[[], T]) -> list[list[T]]:
    """What each side gave, measured A B B A ..., so that what drifts with time falls on all
    alike.
    """
    found: list[list[T]] = [[] for _ in sides]
    for number in range(rounds):
        for side in range(len(sides)) if number % 2 == 0 else reversed(range(len(sides))):
            found[side].append(sides[side]())
    return found


def process_cpu_s(pid: int) -> float:
    """User and system time of a running process, to the nanosecond (clock_getcpuclockid(3))."""
    return time.clock_gettime((~pid << 3) | 2)


def _used(pid: int) -> tuple[float, int]:
    """CPU seconds of a running process, and context switches of its threads
    (proc_pid_status(5)).
    """
    status = "".join(file.read_text() for file in Path(f"/proc/{pid}/task").glob("*/status"))
    return process_cpu_s(pid), sum(map(int, SWITCHES.findall(status)))


def generator_values(users: int, warehouses: int, **changes: object) -> dict[str, Any]:
    """Values of a GeneratorSpec: a closed loop of one worker on the `hammerdb` profile, with
    changes.
    """
    known = {
        "users": users,
        "warehouses": warehouses,
        "profile": "hammerdb",
        "home": "all",
        "think_times": False,
        "retries": 10,
        "seed": SEED,
    }
    return {**known, "stream": 1, "rate_per_s": None, "workers": 1, "cores": (), **changes}


def own_turn(
    values: dict[str, Any], address: ServerAddress, seconds: int, cores: Sequence[int] = ()
) -> Turn:
    """A turn of our own load generator."""
    return program_turn(LOAD_GENERATOR, values, address, seconds, cores)


def program_turn(
    program: Sequence[str],
    values: dict[str, Any],
    address: ServerAddress,
    seconds: int,
    cores: Sequence[int] = (),
) -> Turn:
    """A turn of a program that takes and prints what bench/timed_load.py does."""
    return _turn(_command(program, values, address, seconds + SETTLED_S), cores, _told_by_us)


def resident_bytes(values: dict[str, Any], address: ServerAddress, seconds: int) -> int:
    """The resident memory of a process with our load generator, after some seconds of load."""
    with _started(_command(LOAD_GENERATOR, values, address, seconds)) as (process, lines):
        return max(
            psutil.Process(process.pid).memory_info().rss for _ in _told_by_us(lines, process.pid)
        )


def _command(
    program: Sequence[str], values: dict[str, Any], address: ServerAddress, seconds: int
) -> list[str]:
    if isinstance(address, OdbcAddress):
        given = json.dumps({**values, "address": {"odbc": address.string}})
    else:
        given = json.dumps({**values, "address": {**wire_address(address), "password": None}})
    return [*program, given, str(seconds)]


def pgbench_turn(
    server: Loaded,
    address: PostgresAddress,
    clients: int,
    seconds: int,
    script: Sequence[str],
    cores: Sequence[int] = (),
    threads: int = 1,
) -> Turn:
    """A turn of pgbench with prepared statements; `script` are its options that say what it runs.

    Its sessions are set as ours are.
    """
    where = ["-h", address.host, "-p", str(address.port), "-U", address.user, address.database]
    load = [
        "-n",
        "-M",
        "prepared",
        "-c",
        str(clients),
        "-j",
        str(threads),
        "-T",
        str(seconds + SETTLED_S),
        "-P",
        "1",
        *script,
    ]
    return _turn([str(server.build.bin_dir / "pgbench"), *load, *where], cores, _told_by_pgbench)


def sessions_as_ours(server: Loaded, database: str) -> None:
    """Give every session in a database the settings of the virtual users."""
    for name, value in SESSION_SETTINGS:
        server.run(f"ALTER DATABASE {database} SET {name} = '{value}'")


def pinned(cores: Sequence[int]) -> list[str]:
    """The start of a command that runs on those cores, where this machine has them."""
    if not usable(cores):
        return []
    return [shutil.which("taskset") or "taskset", "--cpu-list", ",".join(map(str, cores))]


def _turn(command: Sequence[str], cores: Sequence[int], told: Telling) -> Turn:
    with _started([*pinned(cores), *command]) as (process, lines):
        marks = list(told(lines, process.pid))
        left = list(lines)
    if process.returncode or len(marks) <= SETTLED_S:
        raise RuntimeError(
            f"{Path(command[0]).name} ended with {process.returncode} after {len(marks)} s:"
            f" {' '.join(left)[-600:]}"
        )
    first, last = marks[SETTLED_S - 1], marks[-1]
    seconds, transactions, new_orders, rolled_back, cpu_s, switches = (
        b - a for a, b in zip(first, last, strict=True)
    )
    return Turn(seconds, transactions, new_orders, rolled_back, cpu_s, switches, last.transactions)


@contextlib.contextmanager
def _started(command: Sequence[str]) -> Iterator[tuple[subprocess.Popen[str], Iterator[str]]]:
    """A process and its lines, errors among them; it is ended however the block ends."""
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            yield process, iter(process.stdout or ())
            process.wait()
        finally:
            if process.poll() is None:
                process.kill()


def _told_by_us(lines: Iterator[str], pid: int) -> Iterator[Mark]:
    """bench/timed_load.py prints its sums each second, as JSON."""
    for line in lines:
        if line.startswith("["):
            at_s, transactions, new_orders, rolled_back = json.loads(line)
            yield Mark(at_s, transactions, new_orders, rolled_back, *_used(pid))
        elif line.startswith("end"):
            return
        else:
            print(line, end="", file=sys.stderr)


def _told_by_pgbench(lines: Iterator[str], pid: int) -> Iterator[Mark]:
    """pgbench prints the rate of each second: rates times seconds are its transactions."""
    before_s, transactions = 0.0, 0.0
    for line in lines:
        if found := PROGRESS.match(line):
            at_s = float(found[1])
            transactions += float(found[2]) * (at_s - before_s)
            before_s = at_s
            yield Mark(at_s, transactions, 0.0, 0.0, *_used(pid))
