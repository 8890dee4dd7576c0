"""A plan of two storages on the simulated engine."""

from __future__ import annotations

from kneebench.plan import Plan

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
