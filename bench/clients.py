"""What a transaction costs the load generator: ours beside pgbench, on the same functions of the same server."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from bench.ratio import Ratio, Size, at_most, turns
from bench.scripts import constant_scripts
from bench.servers import MEMORY, SEED, Loaded, loaded
from bench.turn import generator_values, in_turn, own_turn, pgbench_turn, sessions_as_ours
from kneebench.plan.plan import Workload
from kneebench.records import Address

NAME = "clients"
ABOUT = "load generator CPU per transaction, kneebench vs. pgbench"
AIM = 1.0
CLIENT, SERVER = (0,), (1,)
"""Cores: disjoint, so that neither takes the other's turn."""
SETTINGS = {"shared_buffers": "2GB", "max_wal_size": "8GB", "synchronous_commit": "off", "checkpoint_timeout": "1h"}
NOTE = "from the first second to the last, closed loop, 1 thread each on a core of its own; pgbench sends constants, we send drawn arguments"


def measure(size: Size) -> list[Ratio]:
    """A row for each kind of functions and each number of connections."""
    warehouses = size.count(10, 1)
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        script = constant_scripts(folder, warehouses, SEED)
        place = MEMORY if MEMORY.is_dir() else None
        server = stack.enter_context(loaded(size, Workload(warehouses=warehouses, profile="hammerdb"), SETTINGS, SERVER, place))
        addresses = {"the functions": server.address, "functions that do nothing": server.stood_in()}
        for address in addresses.values():
            sessions_as_ours(server, address.database)
        return [_row(server, what, address, users, script, size) for what, address in addresses.items() for users in ((16, 64) if not size.quick else (4,))]


def _row(server: Loaded, what: str, address: Address, users: int, script: Sequence[str], size: Size) -> Ratio:
    seconds = size.count(8, 1)
    order = generator_values(users, server.workload.warehouses)
    ours, theirs = in_turn(
        size.count(6, 1), lambda: own_turn(order, address, seconds, CLIENT), lambda: pgbench_turn(server, address, users, seconds, script, CLIENT)
    )
    found = turns([t.cpu_us for t in ours], [t.cpu_us for t in theirs])
    return at_most(
        f"load generator CPU per transaction, {what}, {users} connections",
        found,
        AIM,
        note=NOTE,
        ours_us=fmean(t.cpu_us for t in ours),
        pgbench_us=fmean(t.cpu_us for t in theirs),
        ours_per_s=fmean(t.per_s for t in ours),
        pgbench_per_s=fmean(t.per_s for t in theirs),
    )
