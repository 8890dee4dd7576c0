"""The model: the simulated engine without its noise, warm, and with row locks.

It is a queueing network: cores, a data device with channels, a log with group commit, locks of
districts and warehouses. It is simulated event by event, so that its tails come with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from kneebench.databases.engines.simulated.engine import simulated_server
from kneebench.databases.engines.simulated.storage import SimulatedStorage
from kneebench.plan.workload import Workload
from kneebench.prediction.observed import Observed
from kneebench.records import Order
from kneebench.workload import generator_spec

if TYPE_CHECKING:
    from kneebench._core import Report

QUIET: dict[str, object] = {
    "noise": 0.0,
    "restore_noise": 0.0,
    "cold_reads_per_transaction": 0.0,
    "checkpoint_every": 0.0,
    "row_locks": True,
}
"""What makes a simulation the model."""
TRANSACTIONS = 8_000
"""Of a simulation of the fit: its throughput is then known to about 1.5%."""
PRECISE = 8 * TRANSACTIONS
"""Of a simulation whose throughput is predicted. The jackknife takes the chance in it for
uncertainty, the more so the more models it has."""
SHORTEST_S, LONGEST_S = 2, 60
"""Of a simulation of the fit."""


class SimulatedLoad(NamedTuple):
    """A simulated number of users, and what only the model tells: NOPM and the 99.9th percentile
    of the latency.
    """

    seen: Observed
    nopm: float
    p999_s: float


class Simulation:
    """The model under one workload. The same figures always give the same result."""

    def __init__(self, workload: Workload) -> None:
        self.workload = workload
        self._kept: dict[tuple[str, int, int], SimulatedLoad] = {}

    def at(
        self, model: SimulatedStorage, users: int, transactions: int = TRANSACTIONS
    ) -> SimulatedLoad:
        """So many users on a model, for about as many transactions."""
        key = model.model_dump_json(), users, transactions
        if key not in self._kept:
            self._kept[key] = _simulated(model, self.workload, users, transactions)
        return self._kept[key]


def _simulated(
    model: SimulatedStorage, workload: Workload, users: int, transactions: int
) -> SimulatedLoad:
    server = simulated_server(model, workload, seed=1)
    order = Order(configuration="model", phase="search", users=users)
    load = server.load_generator(generator_spec(workload, 1, order))
    load.ready()
    load.go()
    load.tick()
    before = server.readings()
    load.mark("window")
    for _ in range(_seconds(model, users, transactions)):
        load.tick()
    grown = {name: value - before[name] for name, value in server.readings().items()}
    load.mark("cool_down")
    return _counted(users, load.stop(), grown)


def _counted(users: int, tally: Report, grown: Mapping[str, float]) -> SimulatedLoad:
    """A window by the load generator's counts and the rise of the server's counters."""
    latency = tally["latency"] or {"mean_s": 0.0, "p999_s": 0.0}
    counts = [one["window"] for one in tally["transactions"].values()]
    done = sum(one["committed"] + one["rolled_back"] for one in counts)
    flushes, reads = grown["log.flushes|database"], grown["device.reads|sim0"]
    seen = Observed(
        users=users,
        throughput_per_s=done / tally["window_s"],
        latency_s=latency["mean_s"],
        cpu_s=grown["processes.cpu|server"] / done,
        beside_s=0.0,
        flush_s=grown["log.flush_time|database"] / max(1, flushes),
        flushes=flushes / done,
        reads=reads / done,
        read_s=grown["device.read_time|sim0"] / max(1, reads),
    )
    orders = tally["transactions"]["new_order"]["window"]["committed"]
    return SimulatedLoad(seen, 60 * orders / tally["window_s"], latency["p999_s"])


def _seconds(model: SimulatedStorage, users: int, transactions: int) -> int:
    """Whole seconds in which about as many transactions are done."""
    alone_s = (
        model.cpu_per_transaction
        + model.reads_per_transaction * model.read_latency
        + model.log_latency
        + model.cpu_per_flush
    )
    device_s = model.reads_per_transaction * model.read_latency / model.read_channels
    per_s = 1 / max(alone_s / users, model.cpu_per_transaction / model.cores, device_s, 1e-6)
    longest_s = LONGEST_S * transactions // TRANSACTIONS
    return min(longest_s, max(SHORTEST_S, round(transactions / per_s)))
