"""What the functions cost the database: NOPM for each transaction of pgbench's TPC-B that the same
server does in a second.
"""

from __future__ import annotations

import contextlib
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from bench.ratio import Ratio, Size, at_least, medians
from bench.scripts import MIX, random_scripts
from bench.servers import Loaded, loaded
from bench.turn import Turn, generator_values, in_turn, own_turn, pgbench_turn, sessions_as_ours
from kneebench.databases.engines.postgres.server_address import PostgresAddress
from kneebench.plan.workload import Workload

NAME = "orders"
ABOUT = "NOPM for each TPC-B transaction a second"
AIM = 16.3
WISHED = 20.0
SETTINGS = {"synchronous_commit": "on", "max_wal_size": "16GB", "checkpoint_timeout": "1h"}
SHARE = MIX["new_order"] / sum(MIX.values())
"""Of New-Orders in the mix."""
NOTE = (
    f"goal: {WISHED:g}; 8 users, load generator on the server's cores; TPC-B of scale 20, prepared;"
    " shared_buffers 4 GB, synchronous_commit on, no checkpoint between the turns; medians;"
    " afterwards the twelve consistency conditions held"
)


class Cost(NamedTuple):
    """A turn, and what each of its transactions cost the server."""

    turn: Turn
    cpu_us: float
    log_bytes: float
    written_bytes: float


def measure(size: Size) -> list[Ratio]:
    """Our crew, and our functions driven by pgbench, each beside TPC-B."""
    settings = {**SETTINGS, "shared_buffers": "256MB" if size.quick else "4GB"}
    seconds, warehouses, clients = size.count(20, 1), size.count(10, 1), size.count(8, 2)
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        script = random_scripts(folder, warehouses)
        server = stack.enter_context(
            loaded(size, Workload(warehouses=warehouses, profile="hammerdb"), settings)
        )
        sessions_as_ours(server, server.address.database)
        tpcb = _tpcb(server, size.count(20, 1))
        order = generator_values(clients, warehouses)
        sides = (
            _costed(server, lambda: own_turn(order, server.address, seconds)),
            _costed(
                server, lambda: pgbench_turn(server, tpcb, clients, seconds, ["-b", "tpcb-like"])
            ),
            _costed(server, lambda: pgbench_turn(server, server.address, clients, seconds, script)),
        )
        if not size.quick:
            in_turn(
                1, *sides
            )  # what a first turn writes (images of whole pages) and reads is not repeated
        ours, theirs, driven = in_turn(size.count(7, 1), *sides)
        server.require_consistent()
    return [
        _row(
            "NOPM for each TPC-B transaction a second",
            [cost.turn.nopm for cost in ours],
            ours,
            theirs,
        ),
        _row(
            "the same, our functions driven by pgbench",
            [60 * SHARE * cost.turn.per_s for cost in driven],
            driven,
            theirs,
        ),
    ]


def _tpcb(server: Loaded, scale: int) -> PostgresAddress:
    """A database with pgbench's own tables."""
    address = server.empty("tpcb")
    where = ["-h", address.host, "-p", str(address.port), "-U", address.user, address.database]
    subprocess.run(
        [server.build.bin_dir / "pgbench", "-i", "-q", "-s", str(scale), *where],
        check=True,
        capture_output=True,
    )
    return address


def _costed(server: Loaded, turn: Callable[[], Turn]) -> Callable[[], Cost]:
    """A turn that also tells what it cost the server."""

    def costed() -> Cost:
        before = (server.cpu_s(), server.log_bytes(), server.written_bytes())
        done = turn()
        after = (server.cpu_s(), server.log_bytes(), server.written_bytes())
        cpu_s, log_bytes, written_bytes = (
            (b - a) / done.in_all for a, b in zip(before, after, strict=True)
        )
        return Cost(done, 1e6 * cpu_s, log_bytes, written_bytes)

    return costed


def _row(name: str, nopm: Sequence[float], ours: Sequence[Cost], theirs: Sequence[Cost]) -> Ratio:
    return at_least(
        name,
        medians(nopm, [cost.turn.per_s for cost in theirs]),
        AIM,
        note=NOTE,
        unit="NOPM/tps",
        NOPM=median(nopm),
        TPC_B_per_s=median(cost.turn.per_s for cost in theirs),
        server_us=median(cost.cpu_us for cost in ours),
        client_us=median(cost.turn.cpu_us for cost in ours),
        log_bytes=median(cost.log_bytes for cost in ours),
        written_bytes=median(cost.written_bytes for cost in ours),
        rolled_back_per_mille=median(
            1000 * cost.turn.rolled_back / cost.turn.transactions for cost in ours
        ),
        TPC_B_server_us=median(cost.cpu_us for cost in theirs),
        TPC_B_log_bytes=median(cost.log_bytes for cost in theirs),
    )
