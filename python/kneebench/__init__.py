"""What does this storage buy my database?

The public names, and nothing else. Each is loaded when it is first used, so that the command line
starts at once.

>>> import kneebench
>>> plan = kneebench.preset("simulated")
>>> sorted(plan.storages)
['fast drive', 'slow drive']
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kneebench.analysis.comparison import compare
    from kneebench.analysis.knee import knee
    from kneebench.brief import Brief
    from kneebench.campaign.flow import run
    from kneebench.campaign.preflight import preset, read_plan
    from kneebench.errors import (
        CheckFailed,
        DatabaseLost,
        InvalidMeasurement,
        KneebenchError,
        PlanError,
        Refused,
        UnknownPart,
    )
    from kneebench.plan import Plan
    from kneebench.records import Climb, Comparison, Estimate, Knee, Results, Rung
    from kneebench.results import campaigns, load
    from kneebench.results.acceptance import accept

    __version__: str

_HOMES = {
    "analysis.comparison": ("compare",),
    "analysis.knee": ("knee",),
    "brief": ("Brief",),
    "campaign.flow": ("run",),
    "campaign.preflight": ("preset", "read_plan"),
    "errors": (
        "CheckFailed",
        "DatabaseLost",
        "InvalidMeasurement",
        "KneebenchError",
        "PlanError",
        "Refused",
        "UnknownPart",
    ),
    "plan": ("Plan",),
    "records": ("Climb", "Comparison", "Estimate", "Knee", "Results", "Rung"),
    "results": ("campaigns", "load"),
    "results.acceptance": ("accept",),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Brief",
    "CheckFailed",
    "Climb",
    "Comparison",
    "DatabaseLost",
    "Estimate",
    "InvalidMeasurement",
    "Knee",
    "KneebenchError",
    "Plan",
    "PlanError",
    "Refused",
    "Results",
    "Rung",
    "UnknownPart",
    "accept",
    "campaigns",
    "compare",
    "knee",
    "load",
    "preset",
    "read_plan",
    "run",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("importlib.metadata").version("kneebench")
    if name not in _HOME:
        raise AttributeError(f"module 'kneebench' has no attribute {name!r}")
    return getattr(import_module(f"kneebench.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
