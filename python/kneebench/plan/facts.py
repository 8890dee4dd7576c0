"""The facts of a plan that people look for first, as rows of a table."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from kneebench import units
from kneebench.plan.database import Database
from kneebench.plan.ladder import Ladder
from kneebench.plan.storage import Storage
from kneebench.plan.workload import Workload


def plan_facts(
    storages: Mapping[str, Storage],
    databases: Mapping[str, Database],
    workload: Workload,
    constraints: Collection[str],
    ladder: Ladder,
) -> Iterator[tuple[str, str]]:
    """What is compared, on which databases, under which load, and for how long each is measured."""
    for name, storage in storages.items():
        places = ", ".join(_places(storage))
        yield "Storage", f"{name} ({places})" if places else name
    for name, database in databases.items():
        yield "Database", f"{name} ({database.engine})" if name else database.engine
    yield "Warehouses", f"{workload.warehouses:,}"
    if constraints:
        yield "Constraints", ", ".join(constraints)
    first = ladder.first or "the number of cores"
    yield "Users", str(first) if ladder.fixed else f"{first} to {ladder.last}"
    runs = f"{ladder.fewest_repeats} to {ladder.most_repeats}"
    if ladder.fewest_repeats == ladder.most_repeats:
        runs = str(ladder.most_repeats)
    yield "Final runs", f"{runs} of {units.time(ladder.final_window)} on each storage"


def _places(storage: Storage) -> Iterator[str]:
    """Its directories, or its drives."""
    yield from map(str, storage.paths)
    for volume in storage.volumes:
        yield from volume.named_drives
        yield from ["emulated drives"] if volume.emulated_drives else []
