"""Partitions: several volumes of one storage on the same drives, each of its own size."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack

from kneebench.lab.changes.table import WrittenTable, show_partitions
from kneebench.lab.device_writes import run_on
from kneebench.lab.drives import size_bytes
from kneebench.lab.inventory import identities, named
from kneebench.lab.journal import Journal
from kneebench.lab.own_devices import is_partition_of
from kneebench.lab.permission import WritableDevice, made
from kneebench.lab.volumes.recording import record_change
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
    journal: Journal, device: WritableDevice, volumes: Sequence[str]
) -> AbstractContextManager[WrittenTable]:
    """A table that is about to be written to a drive; it is removed at the end. `volumes`: UUIDs of
    what is made in its partitions.
    """
    facts = {"table": str(uuid.uuid4()), "volumes": tuple(volumes)}
    return record_change(journal, WrittenTable, "a partition table", device, **facts)


def write_table(
    table: WrittenTable, device: WritableDevice, sizes: Sequence[int], stack: ExitStack
) -> list[WritableDevice]:
    """Its partitions, of so many bytes each, with nothing in them, open until the stack ends.
    Raises OSError where it cannot be written.
    """
    lines = ["label: gpt", f"label-id: {table.table}", *(f"size={n // MIB}MiB" for n in sizes)]
    always = ("--wipe", "always", "--wipe-partitions", "always")
    script = "\n".join(lines) + "\n"
    run_on([device], "sfdisk", "--quiet", *always, device.path, given=script)
    shown = show_partitions(device)
    if list(map(size_bytes, shown)) != list(sizes):  # sfdisk makes the last one fit
        raise OSError(f"sfdisk made no partitions of these sizes on {device.path}")
    partitions = [stack.enter_context(made(one, is_partition_of(device))) for one in shown]
    for partition in partitions:
        partition.drives = device.drives
        run_on([partition], "wipefs", "--all", partition.path)  # an earlier volume's at that place
    return partitions
