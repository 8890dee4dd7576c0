"""The configurations of a plan: every storage with every database under every constraint, and the
order they are measured in.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kneebench.plan.constraints import UNLIMITED
from kneebench.plan.plan import Plan
from kneebench.records import Configuration


def configurations(plan: Plan) -> tuple[Configuration, ...]:
    """One configuration per storage, database and constraint: the baseline first and the other
    storages as the plan lists them, each with the databases and their constraints in the plan's
    order; ids are fit for file names.

    >>> storages = {"2x NVMe": {"path": "a"}, "2X nvme!": {"path": "b"}}
    >>> [one.id for one in configurations(Plan.model_validate({"storages": storages}))]
    ['2x-nvme', '2x-nvme-2']
    >>> sweep = {"constraints": {"cores": [1, 2]}, "storages": {"disk": {"path": "."}}}
    >>> [(one.id, one.name) for one in configurations(Plan.model_validate(sweep))]
    [('disk-1-core', 'disk (1 core)'), ('disk-2-cores', 'disk (2 cores)')]
    >>> several = {"databases": {"18": {}, "15": {}}, "storages": {"disk": {"path": "."}}}
    >>> [(one.id, one.name) for one in configurations(Plan.model_validate(several))]
    [('disk-18', 'disk, 18'), ('disk-15', 'disk, 15')]
    """
    storages = sorted(plan.storages, key=lambda name: name != plan.base)
    databases = {
        name: plan.constraints_of(database) or {"": UNLIMITED}
        for name, database in plan.databases_by_name.items()
    }
    found: list[Configuration] = []
    for storage in storages:
        for database, constraints in databases.items():
            for name, constraint in constraints.items():
                names = (storage, database, name)
                id = configuration_id(names, [one.id for one in found])
                place = {"id": id, "storage": storage, "database": database}
                found.append(constraint.model_copy(update=place))
    return tuple(found)


def running_order(configurations: Sequence[Configuration]) -> tuple[Configuration, ...]:
    """The configurations as they are measured, so that what drifts with time falls on neither end
    of a sweep: a block for each constraint, with all storages and databases in it (A B, then B A);
    every other constraint on the way there, the rest on the way back. References without a
    constraint come last: they warm at least as long as the largest configuration beside them.

    >>> def sweep(a):
    ...     return [Configuration(id=f"{a}{n}", storage=a, constraint=str(n)) for n in range(5)]
    >>> " ".join(one.id for one in running_order(sweep("a")))
    'a0 a2 a4 a3 a1'
    >>> " ".join(one.id for one in running_order([*sweep("a"), *sweep("b")]))
    'a0 b0 b2 a2 a4 b4 b3 a3 a1 b1'
    """
    by_constraint: dict[str, list[Configuration]] = {}
    for one in configurations:
        by_constraint.setdefault(one.constraint, []).append(one)
    limited = [block for block in by_constraint.values() if not block[0].reference]
    references = [block for block in by_constraint.values() if block[0].reference]
    blocks = [*limited[::2], *reversed(limited[1::2]), *references]
    return tuple(
        one for n, block in enumerate(blocks) for one in (reversed(block) if n % 2 else block)
    )


def largest_beside(
    reference: Configuration, every: Sequence[Configuration]
) -> Configuration | None:
    """The configuration of the same storage and database with the most memory, then the most cores;
    None beside a configuration that is no reference.

    >>> def limited(n): return Configuration(id=f"disk-{n}", storage="disk", memory_bytes=n)
    >>> free = Configuration(id="free", storage="disk", reference=True)
    >>> largest_beside(free, [limited(1), limited(4), limited(2)]).id
    'disk-4'
    """
    place = (reference.storage, reference.database)
    limited = [one for one in every if not one.reference and (one.storage, one.database) == place]
    if not reference.reference or not limited:
        return None
    return max(
        limited,
        key=lambda configuration: (
            configuration.memory_bytes or 0,
            configuration.engine_memory_bytes or 0,
            configuration.databases or 0,
            configuration.cores or 0,
        ),
    )


def configuration_id(names: Sequence[str], taken: Sequence[str]) -> str:
    """An id that is not taken, of the names of a storage, a database and a constraint; the latter
    two may be empty.
    """
    return _free("-".join(map(_slug, (names[0], *filter(None, names[1:])))), taken)


def _slug(name: str) -> str:
    """Lower-case letters and digits of ASCII, joined by hyphens; at most 40 characters, never
    empty.
    """
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40].strip("-") or "storage"


def _free(slug: str, taken: Sequence[str]) -> str:
    return next(
        name
        for name in (slug, *(f"{slug}-{n}" for n in range(2, len(taken) + 3)))
        if name not in taken
    )
