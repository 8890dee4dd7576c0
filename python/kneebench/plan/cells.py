"""The cells of a plan: every storage under every constraint, in running order."""

from __future__ import annotations

import re

from kneebench.plan.plan import Plan
from kneebench.records import Cell


def cells(plan: Plan) -> tuple[Cell, ...]:
    """One cell per storage, the baseline first and the others as the plan lists them; ids are fit
    for file names.

    >>> storages = {"2x NVMe": {"path": "a"}, "2X nvme!": {"path": "b"}}
    >>> [cell.id for cell in cells(Plan.model_validate({"storages": storages}))]
    ['2x-nvme', '2x-nvme-2']
    """
    names = sorted(plan.storages, key=lambda name: name != plan.base)
    ids: list[str] = []
    for name in names:
        ids.append(_free(_slug(name), ids))
    return tuple(Cell(id=id, storage=name) for id, name in zip(ids, names, strict=True))


def _slug(name: str) -> str:
    """Lower-case letters and digits of ASCII, joined by hyphens; at most 40 characters, never
    empty.
    """
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40].strip("-") or "storage"


def _free(slug: str, taken: list[str]) -> str:
    return next(
        name
        for name in (slug, *(f"{slug}-{n}" for n in range(2, len(taken) + 3)))
        if name not in taken
    )
