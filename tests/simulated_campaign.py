"""Plans of two storages on the simulated engine, and their finished campaigns."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
from pathlib import Path

from kneebench import run
from kneebench.plan import Plan
from kneebench.plan.writer import to_toml
from tests.loaded import shared_images

FAST = {"log_latency": "1ms", "cores": 4, "cpu_per_transaction": "4ms"}
SLOW = {**FAST, "read_latency": "10ms", "read_channels": 8}


def plan(**changes: object) -> Plan:
    """Two simulated storages: one bound by its cores, one by its data drive's reads."""
    fields: dict[str, object] = {
        "database": {"engine": "simulated"},
        "workload": {"warehouses": 400},
        "storages": {"fast": {"simulated": FAST}, "slow": {"simulated": SLOW}},
        "ladder": {
            "users": [2, 64],
            "step": 2,
            "warm_up_limit": "10s",
            "window": "6s",
            "final_window": "20s",
            "checkpoints": 0,
        },
    }
    return Plan.model_validate({**fields, **changes})


def nightly(read_latency: str, **tables: object) -> Plan:
    """One storage at a fixed load and a fixed rate: half a second."""
    ladder = {
        "users": [8, 8],
        "warm_up_limit": "10s",
        "window": "6s",
        "final_window": "20s",
        "checkpoints": 0,
        "latency_rate": "200/s",
    }
    disk = {"simulated": {**FAST, "read_latency": read_latency, "read_channels": 4}}
    return plan(storages={"disk": disk}, ladder=ladder, **tables)


def finished(plan: Plan, folder: Path) -> Path:
    """A copy of the folder of a finished campaign of this plan, which is measured once for all
    processes of tests. It is for reading: its origin is another process's.
    """
    folder.mkdir(parents=True, exist_ok=True)
    place = shared_images() / "finished"
    place.mkdir(exist_ok=True)
    key = hashlib.sha256(to_toml(plan).encode()).hexdigest()[:16]
    with (place / f"{key}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / key).exists():
            run(plan, place / f"{key}.draft")
            (place / f"{key}.draft").rename(place / key)
    [measured] = (place / key).iterdir()
    return shutil.copytree(measured, folder / measured.name)
