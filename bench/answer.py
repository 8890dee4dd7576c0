"""The time to an answer, on the simulated engine: how long the search takes to its knee, and
whether that knee is the right one.

Twenty models whose cores, drives, contention and noise (1 to 3%) differ. The search is the
product's own: the warm-up rung, automatic warm-ups, windows of 30 s, the stops, the bisection, the
drift check, and a second climb where one is made, all counted, on the simulated clock. The fixed
ladder measures the search's range of users at the same steps, with 2 minutes of ramp and 5 minutes
of window at each. The dense ladder (steps of 1.1) is without noise.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from statistics import median
from typing import NamedTuple

import numpy as np

from bench.ratio import Ratio, Size, at_most, largest, turns
from bench.servers import unwatched
from kneebench.analysis.elasticity import between
from kneebench.databases.engines.simulated.storage import SimulatedStorage, drives_of
from kneebench.databases.several import engine_of
from kneebench.lab.journal import Journal
from kneebench.ladder.climb import climb, measure_orders
from kneebench.ladder.steps import Climbed
from kneebench.measurement.measure import measure as measure_rung
from kneebench.measurement.warm_up import Beginning, ColdStart
from kneebench.plan import Plan
from kneebench.plan.configurations import configurations
from kneebench.plan.stops import Plateau
from kneebench.plan.study import Study
from kneebench.records import Estimate
from tests.simulated_truth import alone_s, bound, rungs, throughput

NAME = "answer"
ABOUT = "time of the search to the knee vs. a fixed ladder, and the quality of that knee"
TIME_AIM, THROUGHPUT_AIM = 0.2, 3.0
RUNG_S = 120 + 300
"""Of the fixed ladder: ramp and window."""
DENSE_STEP, DENSE_REACH = 1.1, 3
CURVES = 20
SEED, MOST_USERS = 9300, 60


class Answer(NamedTuple):
    """One model, climbed: the search's seconds, the fixed ladder's, and how far the throughput at
    the search's knee is off.
    """

    search_s: float
    fixed_s: float
    off: float
    rungs: int


def measure(size: Size) -> list[Ratio]:
    """Time; then throughput at the knee, in the middle and at worst."""
    found = [_answer(seed, storage) for seed, storage in enumerate(storages(size.count(CURVES, 1)))]
    off = sorted(100 * one.off for one in found)
    time = turns([one.search_s for one in found], [one.fixed_s for one in found])
    error = "throughput error at the search's knee"
    note = "|true NOPM at the search's knee / at the dense ladder's knee - 1|"
    return [
        at_most(
            "time to the knee, search vs. fixed ladder",
            time,
            TIME_AIM,
            note="simulated seconds; every rung of both climbs, at the default windows",
            search_s=median([one.search_s for one in found]),
            fixed_s=median([one.fixed_s for one in found]),
            worst=max(one.search_s / one.fixed_s for one in found),
            rungs=median([one.rungs for one in found]),
        ),
        at_most(f"{error} (median)", _middle(off), THROUGHPUT_AIM, note=note, unit="%"),
        at_most(f"{error} (worst)", largest(off), THROUGHPUT_AIM, note=note, unit="%"),
    ]


def _middle(values: Sequence[float]) -> Estimate:
    """The median of sorted values; its interval is that of order statistics."""
    reach = 0.98 * math.sqrt(len(values))
    low = max(0, math.floor(len(values) / 2 - reach))
    high = min(len(values) - 1, math.ceil(len(values) / 2 + reach) - 1)
    return Estimate(
        value=median(values),
        low=values[low],
        high=values[high],
        n=len(values),
        method="median; order statistics",
    )


def storages(count: int) -> Iterator[SimulatedStorage]:
    """Models whose knee lies within the ladder's users: where one user's time and the scarcest
    resource's throughput meet.
    """
    rng = np.random.default_rng(SEED)
    while count:
        model = SimulatedStorage(
            cores=int(rng.choice([2, 4, 8, 16])),
            cpu_per_transaction=float(rng.uniform(2e-3, 8e-3)),
            read_latency=float(10 ** rng.uniform(-3.4, -1.9)),
            read_channels=int(rng.choice([2, 4, 16, 64])),
            log_latency=float(10 ** rng.uniform(-4, -2.4)),
            contention=float(rng.choice([0.0, 0.005, 0.02])),
            cold_reads_per_transaction=8.0,
            warm_after=int(10 ** rng.uniform(3.3, 5)),
            noise=float(rng.uniform(0.01, 0.03)),
        )
        if 1.5 * model.cores < bound(model) * alone_s(model) < MOST_USERS:
            count -= 1
            yield model


def _answer(seed: int, storage: SimulatedStorage) -> Answer:
    plan = Plan.model_validate(
        {
            "seed": seed,
            "database": {"engine": "simulated"},
            "workload": {"warehouses": 2000},
            "storages": {"drive": {"simulated": storage.model_dump()}},
        }
    )
    climbed, search_s = _make_climb(plan)
    search_rungs = [rung for rung in climbed.rungs if rung.order.phase == "search"]
    users = [rung.users for rung in search_rungs]
    dense = _dense(storage, min(users), 2 * max(users))
    off = throughput(storage, climbed.knee_users or 1) / dense - 1
    return Answer(search_s, RUNG_S * len(search_rungs), abs(off), len(climbed.rungs))


def _make_climb(plan: Plan) -> tuple[Climbed, float]:
    """The climb, and its seconds on the simulated clock."""
    (configuration,) = configurations(plan)
    storage = drives_of(plan.storages[configuration.storage])
    own = Study(plan).rungs(configuration)
    with engine_of(Study(plan).databases, Journal()).restored(configuration, unwatched) as server:
        climbed = measure_orders(
            climb(plan.ladder, storage.cores if storage else 1),
            lambda step: (
                measure_rung(
                    step.on(configuration.id),
                    own,
                    server,
                    unwatched,
                    Beginning(cold=ColdStart() if step.phase == "warm_up" else None),
                ).rung
            ),
        )
        return climbed, server.now_s()


def _dense(storage: SimulatedStorage, first: int, last: int) -> float:
    """Transactions a second at the knee of the dense ladder: its first rung beyond which a third
    more users no longer gain as much as the plateau rule asks.

    Growth only falls along these curves, so the rung is found by halving, and few of the ladder's
    rungs need to be simulated.
    """
    users = list(rungs(first, last, DENSE_STEP))

    def flat(at: int) -> bool:
        few, more = users[at], users[at + DENSE_REACH]
        return (
            between(few, throughput(storage, few), more, throughput(storage, more))
            < Plateau().elasticity
        )

    return throughput(storage, users[bisect_left(range(len(users) - DENSE_REACH), True, key=flat)])
