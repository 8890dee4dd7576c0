"""A partition table that was written to a drive: undone by removing it, with the signatures in its
partitions.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Literal

from kneebench.lab.changes.drive import ChangedDrive, digits, locked, stop_arrays, write_mark
from kneebench.lab.drives import block_folder
from kneebench.lab.inventory.signatures import wipefs
from kneebench.lab.processes import boot
from kneebench.lab.programs import done, wait_until

TABLE_TYPES = "gpt,PMBR"


class WrittenTable(ChangedDrive):
    """The table with this UUID, on a drive that was blank when it was claimed; `volumes`: UUIDs of
    what was made in its partitions.
    """

    kind: Literal["table"] = "table"
    table: str
    volumes: tuple[str, ...] = ()

    def undo(self) -> bool:
        """Remove our table and what is in it, and mark the drive; another table stays.

        In the same boot the mark is written also where no table is found: the drive was blank.
        Raises OSError while the drive is in use, or where a partition contains something that is
        not ours.
        """
        device = self.found()
        if not device:
            return False
        for volume in self.volumes:
            stop_arrays(volume)
        with locked(device):
            return self._erased(device)

    def _erased(self, device: str) -> bool:
        if not is_table(device, self.table):
            if self.boot == boot() and not wipefs(device):
                write_mark(device, self.wwid)
            return False
        os.close(os.open(device, os.O_RDWR | os.O_EXCL | os.O_CLOEXEC))
        shown = show_partitions(device)
        self._require_ours(shown)
        for partition in shown:
            done("wipefs", "--all", partition)
        if not wait_until(lambda: _hidden(device)):
            done("partx", "--delete", device)
        done("wipefs", "--all", "--types", TABLE_TYPES, device)
        write_mark(device, self.wwid)
        return True

    def _require_ours(self, partitions: list[str]) -> None:
        ours = {digits(one) for one in self.volumes}
        for partition in partitions:
            for one in wipefs(partition):
                if digits(one["uuid"] or "") not in ours:
                    raise OSError(f"{partition} contains {one['type']}, which is not kneebench's")


def is_table(device: str, uuid: str) -> bool:
    """Whether the partition table on a drive has this UUID; no table has none."""
    try:
        found = done("blkid", "--probe", "--output", "value", "--match-tag", "PTUUID", device)
    except OSError:  # its answer if there is nothing at all
        return False
    return digits(found.strip()) == digits(uuid)


def show_partitions(device: str) -> list[str]:
    """The devices of a drive's partitions, in their order; made here where the kernel has not made
    them: not every kernel reads GPT, nor looks for partitions on every loop device.

    Raises OSError where it refuses them.
    """
    folder = block_folder(device)
    with contextlib.suppress(OSError):
        done("partx", "--update", device)
    if not _numbered(folder):
        done("partx", "--add", device)
    names = [name for _, name in sorted(_numbered(folder).items())]
    found = [f"/dev/{name}" for name in names]
    if not wait_until(lambda: all(Path(one).exists() for one in found)):
        raise OSError(f"{', '.join(found)} did not appear")
    return found


def _hidden(device: str) -> bool:
    """One attempt to take its partitions from the kernel: another program may be looking at them,
    as lsblk does.
    """
    folder = block_folder(device)
    with contextlib.suppress(OSError):
        if _numbered(folder):
            done("partx", "--delete", device)
    return not _numbered(folder)


def _numbered(folder: Path) -> dict[int, str]:
    return {int(one.read_text()): one.parent.name for one in folder.glob("*/partition")}


KIND = WrittenTable
