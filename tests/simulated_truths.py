"""Random truths for the model of `what-if`: simulated databases with known parameters, measured by
a climb, with the noise that the simulated engine has from second to second.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from kneebench import Plan, Results, run
from kneebench.databases.engines.simulated.storage import SimulatedStorage

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
