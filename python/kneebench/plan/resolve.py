"""A plan resolved for those who read its results: by its own rules, once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from kneebench.plan.cells import cells
from kneebench.plan.plan import Plan
from kneebench.records import PlannedDatabase, PlannedStorage, ResolvedPlan


def resolve(plan: Plan) -> ResolvedPlan:
    """What the analysis asks of a plan.

    >>> found = resolve(Plan.model_validate({"storages": {"a": {"path": "."}, "b": {"path": "."}}}))
    >>> found.baseline, [one.engine for one in found.databases.values()]
    ('a', ['postgres'])
    """
    ladder, workload = plan.ladder, plan.workload
    return ResolvedPlan(
        question=plan.question,
        baseline=plan.base,
        cells=cells(plan),
        storages={name: _storage(plan, name) for name in plan.storages},
        databases={
            name: PlannedDatabase(
                engine=one.database.engine,
                memory_bytes=getattr(one.database, "memory", None) or None,
            )
            for name, one in plan.by_database.items()
        },
        warehouses=workload.warehouses,
        connections=workload.connections,
        fixed_load=ladder.fixed,
        precision=ladder.precision,
        fewest_rounds=ladder.fewest_repeats,
        most_rounds=ladder.most_repeats,
        sysctls={name: str(value) for name, value in plan.kernel.sysctl.items()},
        emulated=plan.has_emulated_drives,
    )


def _storage(plan: Plan, name: str) -> PlannedStorage:
    storage = plan.storages[name]
    return PlannedStorage(
        limits=plan.ladder_on(name).stops.limits,
        copies=storage.copies,
        log_apart=storage.log_apart,
        shared=storage.shares_emulated_drives,
    )


def resolve_document(document: Mapping[str, Any]) -> ResolvedPlan:
    """The same of a plan's JSON; what can be read of one that this version does not know.

    >>> resolve_document({"question": "Why?", "baseline": "disk", "unknown": 1}).baseline
    'disk'
    """
    try:
        return resolve(Plan.model_validate(document))
    except ValidationError:
        return _what_it_still_says(document)


def _what_it_still_says(document: Mapping[str, Any]) -> ResolvedPlan:
    storages = _table(document, "storages")
    several = _table(document, "databases") or {"": _table(document, "database")}
    databases = {
        name: PlannedDatabase(engine=str(table.get("engine", "")))
        for name, table in several.items()
        if isinstance(table, Mapping)
    }
    volumes = [one for one in storages.values() if isinstance(one, Mapping)]
    volumes += [_table(one, key) for one in volumes for key in ("log", "temporary")]
    return ResolvedPlan(
        question=str(document.get("question", "")),
        baseline=str(document.get("baseline") or next(iter(storages), "")),
        databases=databases,
        fixed_load=isinstance(_table(document, "ladder").get("users"), int),
        emulated=any(_has_emulated_drives(volume.get("drives")) for volume in volumes),
    )


def _table(document: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = document.get(key)
    return found if isinstance(found, Mapping) else {}


def _has_emulated_drives(drives: object) -> bool:
    """Emulated drives are tables, others the names of devices."""
    return isinstance(drives, list | tuple) and any(isinstance(one, Mapping) for one in drives)
