"""What a transaction costs the load generator, on the same functions of the same server.

Ours beside pgbench, and our session beside tokio-postgres in the same load generator.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from bench.ratio import Ratio, Size, at_least, at_most, turns
from bench.scripts import constant_scripts
from bench.servers import MEMORY, SEED, Loaded, loaded
from bench.sessions import session_turns, sessions_program
from bench.turn import Turn, generator_values, in_turn, own_turn, pgbench_turn, sessions_as_ours
from kneebench.databases.engines.postgres.server_address import PostgresAddress
from kneebench.plan.workload import Workload

NAME = "clients"
ABOUT = "load generator CPU per transaction, kneebench vs. pgbench, own session vs. tokio-postgres"
AIM, THROUGHPUT_AIM = 1.0, 1.0
SESSION_AIM = 0.95
"""Our own session stays only where it saves more than 5% of the load generator's CPU."""
CLIENT, SERVER = (0,), (1,)
"""Cores: disjoint, so that neither takes the other's turn."""
SETTINGS = {
    "shared_buffers": "2GB",
    "max_wal_size": "8GB",
    "synchronous_commit": "off",
    "checkpoint_timeout": "1h",
}
PINNED = "from the first second to the last, closed loop, 1 thread each on a core of its own"
NOTE = f"{PINNED}; pgbench sends constants, we send drawn arguments"
SESSION_NOTE = f"{PINNED}; one program, one load generator, drawn arguments; Unix socket"


def measure(size: Size) -> list[Ratio]:
    """Rows for each kind of functions and each number of connections."""
    warehouses = size.count(10, 1)
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        script, program = constant_scripts(folder, warehouses, SEED), sessions_program()
        place = MEMORY if MEMORY.is_dir() else None
        server = stack.enter_context(
            loaded(
                size, Workload(warehouses=warehouses, profile="hammerdb"), SETTINGS, SERVER, place
            )
        )
        addresses = {"the functions": server.address}
        if not size.quick:
            addresses["functions that do nothing"] = server.stood_in()
        for address in addresses.values():
            sessions_as_ours(server, address.database)
        cases = [
            (what, address, users)
            for what, address in addresses.items()
            for users in ((16, 64) if not size.quick else (4,))
        ]
        return [
            *(_row(server, *case, script, size) for case in cases),
            *(row for case in cases for row in _session_rows(server, *case, program, size)),
        ]


def _session_rows(
    server: Loaded, what: str, address: PostgresAddress, users: int, program: Path, size: Size
) -> list[Ratio]:
    """Our session beside tokio-postgres: CPU with its socket and with ours, and throughput."""
    sides = session_turns(
        program,
        generator_values(users, server.workload.warehouses),
        address,
        size.count(8, 1),
        CLIENT,
    )
    own, library, over_ours = in_turn(size.count(8, 1), *sides)
    where = f"{what}, {users} connections"
    return [
        _cpu_row(
            f"load generator CPU, own session vs. tokio-postgres, {where}",
            SESSION_AIM,
            SESSION_NOTE,
            own=own,
            library=library,
        ),
        _cpu_row(
            f"the same, tokio-postgres over our socket, {where}",
            SESSION_AIM,
            SESSION_NOTE,
            own=own,
            library=over_ours,
        ),
        at_least(
            f"transactions per second, own session vs. tokio-postgres, {where}",
            turns([t.per_s for t in own], [t.per_s for t in library]),
            THROUGHPUT_AIM,
            note=SESSION_NOTE,
            own_per_s=fmean(t.per_s for t in own),
            library_per_s=fmean(t.per_s for t in library),
            library_over_ours_per_s=fmean(t.per_s for t in over_ours),
        ),
    ]


def _cpu_row(name: str, aim: float, note: str, **sides: Sequence[Turn]) -> Ratio:
    """The CPU per transaction of the first side over the second's; each side by its name."""
    ours, theirs = sides.values()
    beside: dict[str, float] = {}
    for side, found in sides.items():
        beside[f"{side}_us"] = fmean(t.cpu_us for t in found)
        beside[f"{side}_switches"] = fmean(t.switches_each for t in found)
        beside[f"{side}_per_s"] = fmean(t.per_s for t in found)
    cpu = turns([t.cpu_us for t in ours], [t.cpu_us for t in theirs])
    return at_most(name, cpu, aim, note=note, unit="x", **beside)


def _row(
    server: Loaded,
    what: str,
    address: PostgresAddress,
    users: int,
    script: Sequence[str],
    size: Size,
) -> Ratio:
    seconds = size.count(8, 1)
    order = generator_values(users, server.workload.warehouses)
    ours, theirs = in_turn(
        size.count(6, 1),
        lambda: own_turn(order, address, seconds, CLIENT),
        lambda: pgbench_turn(server, address, users, seconds, script, CLIENT),
    )
    name = f"load generator CPU per transaction, {what}, {users} connections"
    return _cpu_row(name, AIM, NOTE, ours=ours, pgbench=theirs)
