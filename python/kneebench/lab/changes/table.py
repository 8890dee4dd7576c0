"""A partition table that was written to a drive: undone by removing it, with the signatures in its
partitions.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Literal

from kneebench.lab.changes.drive import ChangedDrive, digits
from kneebench.lab.device_writes import run_on
from kneebench.lab.drives import block_folder
from kneebench.lab.inventory.content import wipefs
from kneebench.lab.own_devices import is_partition_of
from kneebench.lab.permission import WritableDevice, made
from kneebench.lab.programs import run_program, wait_until

TABLE_TYPES = "gpt,PMBR"


class WrittenTable(ChangedDrive):
    """The table with this UUID, on a drive that was blank when it was claimed; `volumes`: UUIDs of
    what was made in its partitions.
    """

    kind: Literal["table"] = "table"
    table: str
    volumes: tuple[str, ...] = ()

    @property
    def made_on_it(self) -> tuple[str, ...]:
        """The volumes in its partitions."""
        return self.volumes

    def release(self, device: WritableDevice) -> None:
        """Empty the partitions and take them from the kernel. Raises OSError while the drive is in
        use, or where a partition contains something that is not ours.
        """
        if not is_table(device.path, self.table):
            return
        shown = show_partitions(device)
        if self.volumes and len(shown) != len(self.volumes):
            raise OSError(f"{device.path} has another number of partitions than kneebench made")
        for partition in shown:
            for one in wipefs(partition):
                if digits(one["uuid"] or "") not in {digits(volume) for volume in self.volumes}:
                    seen = f"{partition} contains {one['type']}, which is not kneebench's"
                    raise OSError(seen)
        for partition in shown:
            with made(partition, is_partition_of(device)) as writable:
                writable.drives = device.drives
                run_on([writable], "wipefs", "--all", partition)
        if not wait_until(lambda: _hide(device)):
            run_on([device], "partx", "--delete", device.path)
        run_on([device], "wipefs", "--all", "--types", TABLE_TYPES, device.path)

    def remove_signatures(self, device: WritableDevice) -> None:
        """They went before the mark was written."""


def is_table(device: str, uuid: str) -> bool:
    """Whether the partition table on a drive has this UUID; no table has none."""
    try:
        found = run_program(
            "blkid", "--probe", "--output", "value", "--match-tag", "PTUUID", device
        )
    except OSError:  # its answer if there is nothing at all
        return False
    return digits(found.strip()) == digits(uuid)


def show_partitions(drive: WritableDevice) -> list[str]:
    """The devices of a drive's partitions, in their order; made here where the kernel has not made
    them: not every kernel reads GPT, nor looks for partitions on every loop device.

    Raises OSError where it refuses them.
    """
    folder = block_folder(drive.path)
    with contextlib.suppress(OSError):
        run_on([drive], "partx", "--update", drive.path)
    if not _numbered(folder):
        run_on([drive], "partx", "--add", drive.path)
    names = [name for _, name in sorted(_numbered(folder).items())]
    found = [f"/dev/{name}" for name in names]
    if not wait_until(lambda: all(Path(one).exists() for one in found)):
        raise OSError(f"{', '.join(found)} did not appear")
    return found


def _hide(drive: WritableDevice) -> bool:
    """One attempt to take its partitions from the kernel: another program may be looking at them,
    as lsblk does.
    """
    folder = block_folder(drive.path)
    with contextlib.suppress(OSError):
        if _numbered(folder):
            run_on([drive], "partx", "--delete", drive.path)
    return not _numbered(folder)


def _numbered(folder: Path) -> dict[int, str]:
    return {int(one.read_text()): one.parent.name for one in folder.glob("*/partition")}


KIND = WrittenTable
