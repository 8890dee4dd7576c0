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
    from kneebench.analysis.knee import knee
    from kneebench.brief import Brief
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
    from kneebench.notebook.campaigns import (
        AcceptedCampaign,
        CampaignTrends,
        ComparedCampaigns,
        accept,
        compare,
        load,
        trend,
    )
    from kneebench.notebook.frame import Frame, UnknownColumn
    from kneebench.notebook.loaded import LoadedResults as Results
    from kneebench.notebook.loaded import UnknownConfiguration
    from kneebench.notebook.running import run
    from kneebench.plan import Plan
    from kneebench.plan.reader import with_keys
    from kneebench.records import Climb, Comparison, Estimate, Knee, Rung
    from kneebench.results import campaigns

    __version__: str

_HOMES = {
    "analysis.knee": ("knee",),
    "brief": ("Brief",),
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
    "notebook.campaigns": (
        "AcceptedCampaign",
        "CampaignTrends",
        "ComparedCampaigns",
        "accept",
        "compare",
        "load",
        "trend",
    ),
    "notebook.frame": ("Frame", "UnknownColumn"),
    "notebook.loaded": ("LoadedResults", "UnknownConfiguration"),
    "notebook.running": ("run",),
    "plan": ("Plan",),
    "plan.reader": ("with_keys",),
    "records": ("Climb", "Comparison", "Estimate", "Knee", "Rung"),
    "results": ("campaigns",),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}
_INNER = {"Results": "LoadedResults"}
"""Names within the package, where they differ: there `Results` is what is measured, without what
Python adds to it."""

__all__ = [
    "AcceptedCampaign",
    "Brief",
    "CampaignTrends",
    "CheckFailed",
    "Climb",
    "ComparedCampaigns",
    "Comparison",
    "DatabaseLost",
    "Estimate",
    "Frame",
    "InvalidMeasurement",
    "Knee",
    "KneebenchError",
    "Plan",
    "PlanError",
    "Refused",
    "Results",
    "Rung",
    "UnknownColumn",
    "UnknownConfiguration",
    "UnknownPart",
    "accept",
    "campaigns",
    "compare",
    "knee",
    "load",
    "preset",
    "read_plan",
    "run",
    "trend",
    "with_keys",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("importlib.metadata").version("kneebench")
    inner = _INNER.get(name, name)
    if inner not in _HOME:
        raise AttributeError(f"module 'kneebench' has no attribute {name!r}")
    found = getattr(import_module(f"kneebench.{_HOME[inner]}"), inner)
    if rebuild := getattr(found, "model_rebuild", None):
        rebuild()  # a record is compiled at its first use, and only then `help` shows its fields
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
