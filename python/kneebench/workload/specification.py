"""The specification of a rung's load generator, from the plan."""

from __future__ import annotations

import os
from collections.abc import Sequence
from hashlib import blake2b

from kneebench._core import GeneratorSpec
from kneebench.plan.workload import Workload
from kneebench.records import Order, Phase

CORES_PER_WORKER = 8
"""Cores of the machine that one worker keeps busy: a transaction costs the load generator 20 to 40
us and the database 400 to 500 us of CPU (pgbench on stored functions, 1 to 16 users), so that a
worker is some 40% busy."""

STREAM_NAMES: dict[Phase, str] = {
    "search": "scout",
    "drift_check": "drift",
    "fixed_load": "fixed",
    "final_run": "report",
    "fixed_rate": "latency",
}
"""Phases in the names of random streams, as results format 1 called them: a plan draws the same
inputs with every version."""


def workers_for(users: int, cores: int) -> int:
    """Threads of the load generator: one for every eight cores of the machine, never more than
    users.

    >>> [workers_for(users, cores) for users, cores in ((16, 2), (256, 48), (3, 48))]
    [1, 6, 3]
    """
    return max(1, min(users, -(-cores // CORES_PER_WORKER)))


def stream_of(order: Order) -> int:
    """The random stream of a rung, from its name: the same rung draws the same inputs, two repeats
    do not.

    >>> a, b = (Order(configuration="disk", phase="final_run", users=8, repeat=r) for r in (0, 1))
    >>> stream_of(a) == stream_of(a), stream_of(a) == stream_of(b)
    (True, False)
    """
    name = f"{order.configuration}.{STREAM_NAMES.get(order.phase, order.phase)}-{order.users}" + (
        f"-{order.repeat}" if order.repeat else ""
    )
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest()) >> 1


def on_cores(workload: Workload, cores: Sequence[int]) -> Workload:
    """The workload with its load generator on these cores, with no more threads than it has without
    them.
    """
    if tuple(cores) == workload.load_generator_cores:
        return workload
    most = min(len(cores), -(-len(os.sched_getaffinity(0)) // CORES_PER_WORKER))
    threads = workload.load_generator_threads or most
    update = {"load_generator_cores": tuple(cores), "load_generator_threads": threads}
    return workload.model_copy(update=update)


def generator_spec(
    workload: Workload, seed: int, order: Order, *, ledger: bool = False
) -> GeneratorSpec:
    """Specification of a rung; `seed`: of the random streams, `ledger`: its orders are kept.

    Without a number in the plan, the workers follow its client cores, or else the machine.
    """
    automatic = len(workload.load_generator_cores) or workers_for(
        order.users, len(os.sched_getaffinity(0))
    )
    return GeneratorSpec(
        users=order.users,
        warehouses=workload.warehouses,
        databases=workload.databases,
        profile=workload.profile,
        home=workload.home,
        think_times=workload.think_times,
        retries=workload.retries,
        seed=seed,
        stream=stream_of(order),
        rate_per_s=order.rate_per_s,
        connections=workload.connections,
        workers=workload.load_generator_threads or automatic,
        cores=workload.load_generator_cores,
        ledger=ledger,
    )
