"""Partitions: several volumes of one storage on the same drives, each of its own size."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from contextlib import AbstractContextManager

from kneebench.lab.changes.table import WrittenTable, show_partitions
from kneebench.lab.drives import size_bytes
from kneebench.lab.inventory import identities, named
from kneebench.lab.journal import Journal
from kneebench.lab.programs import done
from kneebench.plan.storage import Storage
from kneebench.records import WholeDrive

MIB = 2**20
AROUND_BYTES = 2 * MIB
"""For the table at both ends of a drive, and to begin the first partition at a whole MiB."""


def by_drive(storage: Storage) -> dict[WholeDrive, dict[str, int]]:
    """The partitions of each drive: bytes by the key of the volume's path, in their order.

    Raises PlanError for a drive that is not here.
    """
    volumes = {key: one for key, one in storage.volumes_by_path.items() if one.size}
    here, found = identities() if volumes else [], dict[WholeDrive, dict[str, int]]()
    for key, volume in volumes.items():
        for name in volume.named_drives:
            found.setdefault(named(here, name), {})[key] = volume.size or 0
    return found


def recorded_table(
    journal: Journal, drive: WholeDrive, volumes: Sequence[str]
) -> AbstractContextManager[WrittenTable]:
    """A table that is about to be written to a drive that was claimed; it is removed at the end.
    `volumes`: UUIDs of what is made in its partitions.
    """
    facts = {"device": drive.path, "wwid": drive.key, "table": str(uuid.uuid4())}
    return journal.made(WrittenTable, "a partition table", **facts, volumes=tuple(volumes))


def write_table(table: WrittenTable, sizes: Sequence[int]) -> list[str]:
    """The devices of its partitions, of so many bytes each, with nothing in them. Raises OSError
    where it cannot be written.
    """
    lines = ["label: gpt", f"label-id: {table.table}", *(f"size={n // MIB}MiB" for n in sizes)]
    always = ("--wipe", "always", "--wipe-partitions", "always")
    done("sfdisk", "--quiet", *always, table.device, given="\n".join(lines) + "\n")
    made = show_partitions(table.device)
    if list(map(size_bytes, made)) != list(sizes):  # sfdisk makes the last one fit
        raise OSError(f"sfdisk made no partitions of these sizes on {table.device}")
    for partition in made:
        done("wipefs", "--all", partition)  # what an earlier volume left at the same place
    return made
