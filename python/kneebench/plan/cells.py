"""The cells of a plan: every storage with every database under every constraint, and the order they
are measured in.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kneebench.plan.constraints import Constraint
from kneebench.plan.plan import Plan
from kneebench.records import Cell, IoAllowance


def cells(plan: Plan) -> tuple[Cell, ...]:
    """One cell per storage, database and constraint: the baseline first and the other storages as
    the plan lists them, each with the databases and their constraints in the plan's order; ids are
    fit for file names.

    >>> storages = {"2x NVMe": {"path": "a"}, "2X nvme!": {"path": "b"}}
    >>> [cell.id for cell in cells(Plan.model_validate({"storages": storages}))]
    ['2x-nvme', '2x-nvme-2']
    >>> sweep = {"constraints": {"cores": [1, 2]}, "storages": {"disk": {"path": "."}}}
    >>> [(cell.id, cell.name) for cell in cells(Plan.model_validate(sweep))]
    [('disk-1-core', 'disk (1 core)'), ('disk-2-cores', 'disk (2 cores)')]
    >>> several = {"databases": {"18": {}, "15": {}}, "storages": {"disk": {"path": "."}}}
    >>> [(cell.id, cell.name) for cell in cells(Plan.model_validate(several))]
    [('disk-18', 'disk, 18'), ('disk-15', 'disk, 15')]
    """
    storages = sorted(plan.storages, key=lambda name: name != plan.base)
    databases = {
        name: one.constraints_by_name or {"": Constraint()}
        for name, one in plan.by_database.items()
    }
    found: list[Cell] = []
    for storage in storages:
        for database, constraints in databases.items():
            for name, constraint in constraints.items():
                names = (storage, *filter(None, (database, name)))
                id = _free("-".join(map(_slug, names)), [cell.id for cell in found])
                found.append(_cell(id, (storage, database, name), constraint))
    return tuple(found)


def _cell(id: str, names: tuple[str, str, str], constraint: Constraint) -> Cell:
    storage, database, name = names
    return Cell(
        id=id,
        storage=storage,
        database=database,
        constraint=name,
        cores=constraint.cores,
        memory_bytes=constraint.memory_bytes,
        engine_memory_bytes=constraint.engine_memory_bytes,
        reference=constraint.reference,
        siblings=constraint.siblings,
        numa_node=constraint.numa_node,
        io=IoAllowance(**constraint.io.model_dump()) if constraint.io else None,
        other_limits=constraint.other_limits,
    )


def running_order(cells: Sequence[Cell]) -> tuple[Cell, ...]:
    """The cells as they are measured, so that what drifts with time falls on neither end of a
    sweep: a block for each constraint, with all storages and databases in it (A B, then B A);
    every other constraint on the way there, the rest on the way back. References without a
    constraint come last: they warm at least as long as the largest cell beside them.

    >>> def sweep(a):
    ...     return [Cell(id=f"{a}{n}", storage=a, constraint=str(n)) for n in range(5)]
    >>> " ".join(cell.id for cell in running_order(sweep("a")))
    'a0 a2 a4 a3 a1'
    >>> " ".join(cell.id for cell in running_order([*sweep("a"), *sweep("b")]))
    'a0 b0 b2 a2 a4 b4 b3 a3 a1 b1'
    """
    by_constraint: dict[str, list[Cell]] = {}
    for cell in cells:
        by_constraint.setdefault(cell.constraint, []).append(cell)
    limited = [block for block in by_constraint.values() if not block[0].reference]
    references = [block for block in by_constraint.values() if block[0].reference]
    blocks = [*limited[::2], *reversed(limited[1::2]), *references]
    return tuple(
        cell for n, block in enumerate(blocks) for cell in (reversed(block) if n % 2 else block)
    )


def largest_beside(reference: Cell, every: Sequence[Cell]) -> Cell | None:
    """The cell of the same storage and database with the most memory, then the most cores; None
    beside a cell that is no reference.

    >>> cells = [Cell(id=f"disk-{n}", storage="disk", memory_bytes=n) for n in (1, 4, 2)]
    >>> largest_beside(Cell(id="free", storage="disk", reference=True), cells).id
    'disk-4'
    """
    place = (reference.storage, reference.database)
    limited = [
        cell for cell in every if not cell.reference and (cell.storage, cell.database) == place
    ]
    if not reference.reference or not limited:
        return None
    return max(
        limited,
        key=lambda cell: (cell.memory_bytes or 0, cell.engine_memory_bytes or 0, cell.cores or 0),
    )


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
