"""Plans of TPROC-H that are measured in seconds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kneebench import Plan
from tests.loaded import shared_images

PLAN: dict[str, Any] = {
    "question": "How fast does my database scan?",
    "workload": {"type": "tproc-h", "scale": 0.02, "queries": [6, 1]},
    "ladder": {"repeats": 2},
    "meters": ["cores", "devices", "processes", "pressure", "waits"],
}


def plan_on(place: Path, engine: str, **workload: object) -> Plan:
    storages = {name: {"path": str(place / name)} for name in ("disk", "other")}
    for name in storages:
        (place / name).mkdir(exist_ok=True)
    database = {"engine": engine, "base_image_path": str(shared_images())}
    changed = {**PLAN["workload"], **workload}
    return Plan.model_validate(
        {**PLAN, "database": database, "storages": storages, "workload": changed}
    )
