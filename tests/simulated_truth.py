"""What is true of a model: bounds, the throughput of any number of users, where it peaks and where
its knee lies.

For the tests of ladder and analysis, which must find what is known. Three ways that know nothing of
one another:

- bound: no resource works more than all the time (operational analysis: Denning and Buzen,
  Computing Surveys 10, 1978).
- mva: mean value analysis, exact for exponential service and no log (Reiser and Lavenberg, JACM 27,
  1980).
- throughput: the model itself, without noise, warm, for 200,000 transactions: good to about 0.3%.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache

from kneebench._core import GeneratorSpec
from kneebench.analysis.elasticity import between
from kneebench.databases.engines.simulated.engine import simulated_server
from kneebench.databases.engines.simulated.storage import SimulatedStorage
from kneebench.plan.stops import Plateau
from kneebench.plan.workload import Workload
from kneebench.records import Tally

COMMITS = {"spec": (0.99 * 45 + 43 + 4) / 100, "hammerdb": (0.99 * 10 + 10 + 1) / 23}
"""Share of transactions that wait for the log: all but those that read only and the orders that
roll back."""
TRANSACTIONS = 200_000
WARM_UP_S = 2
DEFAULT = Workload()
DEFAULT_PLATEAU = Plateau()


def bound(storage: SimulatedStorage, workload: Workload = DEFAULT) -> float:
    """Transactions a second that no number of users can exceed, by the scarcest resource.

    >>> bound(SimulatedStorage(cores=4, cpu_per_transaction="2ms"))
    2000.0
    """
    return 1 / max(_demands(storage, workload).values())


def scarcest(storage: SimulatedStorage, workload: Workload = DEFAULT) -> str:
    """The resource that binds: "cores", "data device" or "log".

    >>> scarcest(SimulatedStorage(read_latency="10ms", read_channels=2))
    'data device'
    """
    demands = _demands(storage, workload)
    return max(demands, key=demands.__getitem__)


def _demands(storage: SimulatedStorage, workload: Workload) -> dict[str, float]:
    """Seconds that a transaction takes of each resource as a whole."""
    reads = storage.reads_per_transaction
    written_s = storage.writes_per_transaction * storage.write_latency
    return {
        "cores": (storage.cpu_per_transaction + reads * storage.cpu_beside_read) / storage.cores,
        "data device": (reads * storage.read_latency + written_s) / storage.read_channels,
        "log": storage.log_time_per_commit * COMMITS[workload.profile],
    }


def alone_s(storage: SimulatedStorage, workload: Workload = DEFAULT) -> float:
    """Mean latency of one user with the server to itself: the sum of the stages.

    >>> storage = SimulatedStorage(cpu_per_transaction="2ms", log_time_per_commit="0ms")
    >>> round(1e3 * alone_s(storage), 4)
    2.6578
    """
    flush_s = storage.log_latency + storage.cpu_per_flush + storage.cpu_after_flush
    log_s = COMMITS[workload.profile] * (flush_s + storage.log_time_per_commit)
    return (
        storage.cpu_per_transaction + storage.reads_per_transaction * storage.read_latency + log_s
    )


def mva(storage: SimulatedStorage, users: int, workload: Workload = DEFAULT) -> float:
    """Throughput by mean value analysis with load-dependent stations; the log is taken as a mere
    delay of one flush.

    Exact where service is exponential, the same for all, and nobody shares the log; else near.
    An affinity of 1 makes each core a station of its own.

    >>> one = SimulatedStorage()
    >>> round(mva(one, 1) * alone_s(one), 6)
    1.0
    """
    cpu_s, cores = storage.cpu_per_transaction, storage.cores
    stations = [
        *([(cpu_s / cores, 1)] * cores if storage.affinity == 1 else [(cpu_s, cores)]),
        (storage.reads_per_transaction * storage.read_latency, storage.read_channels),
    ]
    delay_s = alone_s(storage, workload) - sum(demand_s for demand_s, _ in stations)
    held = [[1.0] for _ in stations]  # held[s][j]: the chance that j users are at station s
    per_s = 0.0
    for population in range(1, users + 1):
        stays_s = [
            _stay_s(chances, *station) for chances, station in zip(held, stations, strict=True)
        ]
        per_s = population / (delay_s + math.fsum(stays_s))
        held = [
            _one_more(chances, demand_s * per_s, servers)
            for chances, (demand_s, servers) in zip(held, stations, strict=True)
        ]
    return per_s


def _stay_s(chances: list[float], demand_s: float, servers: int) -> float:
    """How long someone stays who finds j others there with these chances."""
    return demand_s * math.fsum((j + 1) / min(j + 1, servers) * p for j, p in enumerate(chances))


def _one_more(chances: list[float], load: float, servers: int) -> list[float]:
    above = [load / min(j + 1, servers) * p for j, p in enumerate(chances)]
    return [max(0.0, 1 - math.fsum(above)), *above]


@lru_cache(maxsize=4096)
def throughput(
    storage: SimulatedStorage,
    users: int,
    workload: Workload = DEFAULT,
    transactions: int = TRANSACTIONS,
) -> float:
    """Transactions a second of so many users in the long run, without noise and with a warm
    cache.
    """
    expected_per_s = min(bound(storage, workload), users / alone_s(storage, workload))
    return long_run(
        storage, users, math.ceil(transactions / expected_per_s), workload
    ).throughput_per_s


def long_run(
    storage: SimulatedStorage,
    users: int,
    window_s: int,
    workload: Workload = DEFAULT,
    seed: int = 1,
) -> Tally:
    """The tally of so many seconds without noise, from a warm cache."""
    calm = storage.model_copy(
        update={"noise": 0.0, "restore_noise": 0.0, "cold_reads_per_transaction": 0.0}
    )
    server = simulated_server(calm, workload, seed)
    generator = server.load_generator(_spec(users, workload, seed))
    generator.ready()
    generator.go()
    for second in range(WARM_UP_S + window_s):
        if second == WARM_UP_S:
            generator.mark("window")
        generator.tick()
    generator.mark("cool_down")
    return Tally.model_validate(generator.stop())


def _spec(users: int, workload: Workload, seed: int) -> GeneratorSpec:
    return GeneratorSpec(
        users=users,
        warehouses=workload.warehouses,
        profile=workload.profile,
        home=workload.home,
        retries=10,
        seed=seed,
        stream=0,
        workers=1,
    )


def rungs(first: int, last: int, step: float) -> Iterator[int]:
    """The numbers of users that a climb tries.

    >>> list(rungs(2, 16, 1.5))
    [2, 3, 5, 8, 12, 16]
    """
    users = first
    while users < last:
        yield users
        users = min(last, max(users + 1, math.floor(users * step + 0.5)))
    yield last


def knee(
    storage: SimulatedStorage,
    first: int = 1,
    last: int = 512,
    step: float = 1.33,
    plateau: Plateau = DEFAULT_PLATEAU,
) -> tuple[int, float]:
    """(users, throughput) of the last rung before the plateau rule fires, as a climb without noise
    would find it.
    """
    flat, before, found = 0, 0, (first, throughput(storage, first))
    for users in rungs(first, last, step):
        per_s = throughput(storage, users)
        if before:
            flat = (
                flat + 1
                if between(before, throughput(storage, before), users, per_s) < plateau.elasticity
                else 0
            )
        if not flat:
            found = (users, per_s)
        if flat == plateau.steps:
            return found
        before = users
    return found


def peak(
    storage: SimulatedStorage, last: int = 512, step: float = 1.33, near: float = 0.005
) -> tuple[int, float]:
    """(users, throughput) of the first rung that is near the highest: the peak where contention
    makes one, else where the plateau begins.
    """
    found = [(users, throughput(storage, users)) for users in rungs(1, last, step)]
    highest = max(per_s for _, per_s in found)
    return next((users, per_s) for users, per_s in found if per_s >= (1 - near) * highest)
