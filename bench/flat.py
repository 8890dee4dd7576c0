"""What many users cost: a transaction at 1,000 users beside one at 16, and the memory of each user
that waits.
"""

from __future__ import annotations

import time
from statistics import fmean, median

from bench.ratio import Ratio, Size, alone, at_most, turns
from bench.servers import MEMORY, SEED, loaded
from bench.turn import generator_values, in_turn, own_turn, resident_bytes
from kneebench._core import GeneratorSpec
from kneebench.databases.engines.postgres.server_address import PostgresAddress
from kneebench.databases.engines.simulated.engine import simulated_server
from kneebench.databases.engines.simulated.storage import SimulatedStorage
from kneebench.plan.workload import Workload
from kneebench.workload import RunningLoad, running_load

NAME = "flat"
ABOUT = "cost at 1,000 users over that at 16; memory a user"
AIM, AIM_KIB, LEDGER_NS = 1.2, 64.0, 150.0
FEW, MANY, CONNECTIONS = 16, 1000, 200
WAREHOUSES = 500
"""No function of these servers reads a table: the number only shapes the inputs."""
RATE_PER_S = 3000.0
CLIENT, SERVER = (0,), (1,)


def measure(size: Size) -> list[Ratio]:
    """On the simulated engine; and, where users can share connections, on PostgreSQL."""
    rows = [_simulated(size), _ledger(size)]
    with loaded(
        size,
        Workload(warehouses=1),
        {"shared_buffers": "256MB"},
        SERVER,
        MEMORY if MEMORY.is_dir() else None,
    ) as server:
        address = server.stood_in()
        return [*rows, _shared(address, size), _memory(address, size)]


def _simulated(size: Size) -> Ratio:
    few, many = in_turn(
        size.count(9, 2), lambda: _simulated_us(FEW, size), lambda: _simulated_us(MANY, size)
    )
    note = (
        "closed loop, CPU of the whole process with the simulated database's own, the same number"
        " of transactions"
    )
    beside = {f"us_at_{FEW}": fmean(few), f"us_at_{MANY}": fmean(many)}
    return _beside(
        at_most(
            f"CPU per transaction at {MANY:,} users over {FEW}, simulated",
            turns(many, few),
            AIM,
            note=note,
        ),
        beside,
    )


def _ledger(size: Size) -> Ratio:
    """What the ledger of `kneebench durability` costs the load generator."""
    kept, without = in_turn(
        size.count(15, 2),
        lambda: _simulated_us(FEW, size, ledger=True),
        lambda: _simulated_us(FEW, size),
    )
    differences = [1000 * (a - b) for a, b in zip(kept, without, strict=True)]
    note = "CPU with less CPU without it, in turn; one on a real server takes 15 to 50 µs"
    return at_most(
        "ledger of orders, CPU per transaction",
        alone(differences),
        LEDGER_NS,
        unit="ns",
        note=note,
        us_with=fmean(kept),
        us_without=fmean(without),
    )


def _simulated_us(users: int, size: Size, *, ledger: bool = False) -> float:
    """CPU microseconds a transaction of users on the simulated engine."""
    server = simulated_server(SimulatedStorage(), Workload(warehouses=WAREHOUSES), SEED)
    generator = server.load_generator(
        GeneratorSpec(**generator_values(users, WAREHOUSES, ledger=ledger))
    )
    generator.ready()
    with running_load(generator) as load:
        _completed(load, size.count(8_000, 1_000))
        before_s = time.process_time()
        done = _completed(load, size.count(200_000, 10_000))
        return 1e6 * (time.process_time() - before_s) / done


def _completed(load: RunningLoad, wanted: int) -> int:
    """Let seconds pass until so many transactions are done, and how many that were."""
    done = 0
    while done < wanted:
        done += sum(second.committed + second.rolled_back for second in load.tick().seconds)
    return done


def _shared(address: PostgresAddress, size: Size) -> Ratio:
    """Both sides send at the same rate, so that what a second costs by itself weighs the same on
    both.
    """
    rate, seconds = size.pick(RATE_PER_S, 300.0), size.count(8, 1)
    few_order = generator_values(FEW, WAREHOUSES, rate_per_s=rate)
    many_order = generator_values(MANY, WAREHOUSES, rate_per_s=rate, connections=CONNECTIONS)
    few, many = in_turn(
        size.count(7, 1),
        *(
            lambda order=order: own_turn(order, address, seconds, CLIENT)
            for order in (few_order, many_order)
        ),
    )
    note = f"open loop, both at {rate:,.0f} transactions per second of functions that do nothing"
    found = turns([turn.cpu_us for turn in many], [turn.cpu_us for turn in few])
    beside = {
        f"us_at_{FEW}": fmean(t.cpu_us for t in few),
        f"us_at_{MANY}": fmean(t.cpu_us for t in many),
        "per_s": fmean(t.per_s for t in many),
    }
    return _beside(
        at_most(
            f"load generator CPU per transaction, {MANY:,} users on {CONNECTIONS} connections over"
            f" {FEW} on {FEW}",
            found,
            AIM,
            note=note,
        ),
        beside,
    )


def _memory(address: PostgresAddress, size: Size) -> Ratio:
    """Users with think times; what the process takes without them is what it takes with as many
    users as connections.
    """
    users, base = size.count(5000, 400), CONNECTIONS
    orders = (
        generator_values(n, WAREHOUSES, think_times=True, connections=CONNECTIONS)
        for n in (users, base)
    )
    many, few = in_turn(
        size.count(5, 1),
        *(lambda order=order: resident_bytes(order, address, size.count(5, 1)) for order in orders),
    )
    each = [(a - b) / (users - base) / 1024 for a, b in zip(many, few, strict=True)]
    note = (
        f"resident memory of a process with {users:,} users with think times on {CONNECTIONS}"
        f" connections, less that of one with {base}"
    )
    return at_most(
        "memory a user",
        alone(each),
        AIM_KIB,
        unit="KiB",
        note=note,
        MiB_in_all=median(many) / 2**20,
        MiB_without=median(few) / 2**20,
    )


def _beside(row: Ratio, figures: dict[str, float]) -> Ratio:
    return row.model_copy(update={"beside": figures})
