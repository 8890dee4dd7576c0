"""A sweep made of a recorded campaign: each storage with more and more memory, its throughput and
device reads scaled by a known course; and the plan of a sweep on the simulated engine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import exp

import numpy as np

from kneebench.plan import Plan
from kneebench.records import Climb, Configuration, Results, Rung
from tests.recordings import metered, recorded, with_order, with_throughput

MIB = 2**20
SIZES = tuple(mib * MIB for mib in (128, 256, 384, 512, 768, 1024))
READS = {"read_latency": "2ms", "read_channels": 8, "cores": 4, "warm_after": 200}
BUSY = {"read_latency": "2ms", "read_channels": 64, "cores": 8, "cpu_per_transaction": "1ms"}
"""24 users keep one of its cores busy, and not 8."""
Course = Callable[[float], float]


def sweep_plan(constraints: dict[str, object], **changes: object) -> Plan:
    """A fixed load under these constraints."""
    fields: dict[str, object] = {
        "database": {"engine": "simulated"},
        "workload": {"warehouses": 400},
        "constraints": constraints,
        "storages": {"disk": {"simulated": READS}},
        "ladder": {
            "users": 24,
            "warm_up": "5s",
            "window": "10s",
            "final_window": "10s",
            "checkpoints": 0,
            "repeats": 2,
            "fixed_rate_share": 0,
        },
    }
    return Plan.model_validate({**fields, **changes})


def levelling_off(memory_bytes: float) -> float:
    """Throughput as a share of the most: within 5% of it from 512 MiB on."""
    return 1 - 1.2 * exp(-memory_bytes / (150 * MIB))


def swept(
    course: Course = levelling_off,
    *,
    sizes: Sequence[int] = SIZES,
    scatter: float = 0.01,
    storages: int = 2,
    reference: bool = False,
    seed: int = 1,
) -> Results:
    """The recorded campaign as a sweep; `scatter` is that of a run's throughput."""
    rng, found = np.random.default_rng(seed), recorded()
    climbs = [
        _limited(climb, size, course(size), lambda: exp(scatter * rng.normal()))
        for climb in found.climbs[:storages]
        for size in sizes
    ]
    if reference:
        climbs += [
            _limited(climb, None, course(1e12), lambda: exp(scatter * rng.normal()))
            for climb in found.climbs[:storages]
        ]
    return found.model_copy(update={"climbs": tuple(climbs)})


def _limited(
    climb: Climb, memory_bytes: int | None, share: float, noise: Callable[[], float]
) -> Climb:
    """The climb with so much memory, at a share of one and the same throughput."""
    constraint = "no limit" if memory_bytes is None else f"{memory_bytes // MIB} MiB"
    id_ = f"{climb.id}-{constraint.replace(' ', '-').lower()}"
    configuration = Configuration(
        id=id_,
        storage=climb.configuration.storage,
        constraint=constraint,
        memory_bytes=memory_bytes,
        reference=memory_bytes is None,
    )
    most = climb.of("final_run")[0].tally.throughput_per_s
    rungs = (_scaled(rung, id_, most * share, share, noise) for rung in climb.rungs)
    return climb.model_copy(
        update={"configuration": configuration, "rungs": tuple(rungs), "final_checks": {}}
    )


def _scaled(
    rung: Rung, configuration: str, per_s: float, share: float, noise: Callable[[], float]
) -> Rung:
    if rung.order.phase == "final_run":
        rung = with_throughput(rung, per_s * noise())
    read = 40e6 * max(0.01, 1.02 - share)
    reads = {
        "device__read_bytes": read,
        "device__write_bytes": 12e6 * share,
        "device__read_bytes_per_transaction": read / per_s,
        "cache__hit_ratio": 0.9 + 0.1 * share,
    }
    return with_order(metered(rung, **reads), configuration=configuration)
