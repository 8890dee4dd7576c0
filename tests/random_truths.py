"""Random truths for the model of `what-if`: simulated databases with known parameters, measured by
a climb, with the noise that the simulated engine has from second to second.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from math import log
from pathlib import Path
from typing import Any, NamedTuple

from kneebench import Plan, Results, run
from kneebench.analysis.knee import knee
from kneebench.databases.engines.simulated.storage import SimulatedStorage
from kneebench.prediction.prediction import PARAMETERS, Predictor
from kneebench.prediction.what_if import WhatIf, log_write

LADDER: dict[str, Any] = {
    "users": [1, 128],
    "step": 1.6,
    "warm_up": "2s",
    "window": "6s",
    "final_window": "6s",
    "checkpoints": 0,
    "repeats": 3,
    "climb_again": False,
    "fixed_rate_share": 0,
    "stops": {"log_latency": {"limit": "1s"}},
}


def truth(seed: int, **fixed: object) -> SimulatedStorage:
    """A database on 2 to 8 cores, with row locks; half of them read."""
    draw = random.Random(seed)
    cpu_s = draw.uniform(2e-4, 2e-3)
    reads = draw.choice((0.0, draw.uniform(0.5, 4.0)))
    drawn: dict[str, Any] = {
        "cores": draw.choice((2, 4, 8)),
        "cpu_per_transaction": cpu_s,
        "cpu_per_flush": draw.choice((0.0, draw.uniform(0.1, 0.4) * cpu_s)),
        "contention": draw.choice((0.0, draw.uniform(0.001, 0.01))),
        "affinity": draw.choice((0.0, draw.uniform(0.2, 0.8))),
        "reads_per_transaction": reads,
        "read_latency": draw.uniform(1e-4, 2e-3),
        "read_channels": draw.choice((4, 8, 16)),
        "log_latency": draw.uniform(1e-4, 4e-3),
        "log_time_per_commit": 0.0,
        "cold_reads_per_transaction": 0.0,
        "checkpoint_every": 0.0,
        "restore_noise": 0.0,
        "row_locks": True,
    }
    return SimulatedStorage(**{**drawn, **fixed})


def plan_of(drives: dict[str, SimulatedStorage], **changes: object) -> Plan:
    """A campaign on simulated drives; the first is the baseline."""
    plan: dict[str, object] = {
        "question": "What would a faster drive buy?",
        "baseline": next(iter(drives)),
        "database": {"engine": "simulated"},
        "workload": {"warehouses": 100},
        "ladder": LADDER,
        "storages": {name: {"simulated": one.model_dump()} for name, one in drives.items()},
    }
    return Plan.model_validate({**plan, **changes})


def measured(plan: Plan, folder: Path) -> Results:
    """Its results."""
    return run(plan, folder=folder, fresh=True, progress=False)


def faster(of: SimulatedStorage, log_write_s: float) -> SimulatedStorage:
    """The same on a drive whose log writes take so long."""
    return of.model_copy(update=log_write(of, log_write_s))


class CountedTruths(NamedTuple):
    """Of random truths: how often each parameter came back within its interval, out of how many.
    `off`: of each predicted ratio, its error over half of its interval, as logarithms.
    """

    back: Counter[str]
    every: Counter[str]
    off: tuple[float, ...]

    @property
    def held(self) -> int:
        """Predictions within their intervals."""
        return sum(abs(one) <= 1 for one in self.off)


def counted(seeds: Iterable[int], folder: Path) -> CountedTruths:
    """Random truths, each with a random other drive, fitted and predicted."""
    return added([tried(seed, folder) for seed in seeds])


def added(some: Sequence[CountedTruths]) -> CountedTruths:
    """All of them as one."""
    back = sum((one.back for one in some), Counter[str]())
    every = sum((one.every for one in some), Counter[str]())
    return CountedTruths(back, every, tuple(off for one in some for off in one.off))


def tried(seed: int, folder: Path) -> CountedTruths:
    """One truth: its own climb, and what the other drive really does."""
    one, draw = truth(seed), random.Random(seed + 1000)
    log_write_s = (one.log_latency + one.cpu_per_flush) * draw.choice((0.2, 0.5, 2, 3))
    read_s = one.read_latency * draw.choice((0.25, 0.5, 2))
    other = faster(one, log_write_s).model_copy(update={"read_latency": read_s})
    results = measured(plan_of({"one": one, "other": other}), folder / str(seed))
    base, real = (knee(climb) for climb in results.climbs)
    assert base and real
    found = Predictor(results, results.climbs[0])
    keys = {name: key for key, (name, *_) in PARAMETERS.items()}
    within = {
        keys[each.name]: each.estimate.low
        <= getattr(one, keys[each.name]) + 1e-12
        <= each.estimate.high + 2e-12
        for each in found.parameters
    }
    reads = read_s if one.reads_per_transaction else None
    ratio = found.predict(WhatIf(log_write_s=log_write_s, read_s=reads)).ratio
    off = log(real.nopm.value / base.nopm.value / ratio.value) / log(ratio.high / ratio.value)
    back = Counter(key for key, came in within.items() if came)
    return CountedTruths(back, Counter(within.keys()), (off,))


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--count", type=int, default=100)
    number = options.parse_args().count
    with tempfile.TemporaryDirectory() as place, ProcessPoolExecutor() as pool:
        print(added([*pool.map(partial(tried, folder=Path(place)), range(number))]))
