"""Whether a drive may be written to.

A drive that something uses is refused, and the drive that this machine runs from, whatever a plan
says. One that contains anything may be erased only if its owner names it. One that cannot be read
is refused: nobody knows what is on it.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from kneebench.lab.inventory.signatures import REMAINS
from kneebench.records import Holder, Signature, WholeDrive

State = Literal["in use", "contains data", "blank", "read-only", "unknown"]
USES = {
    "mount": "mounted on {by}",
    "swap": "used as swap",
    "array": "part of {by}",
    "file system": "mounted ({by}) where this process cannot see it",
    "loop": "behind {by}",
    "process": "open for writing in {by}",
    "export": "exported by NVMe target {by}",
    "kernel": "in use by the kernel, perhaps for another mount namespace",
}
CALLED = {"dos": "partition table (dos)", "gpt": "partition table (gpt)", "PMBR": "protective MBR"}
"""wipefs's types of what is no file system."""


class DriveState(NamedTuple):
    """A drive's state, and why, in words."""

    state: State
    why: str

    @property
    def contains_data(self) -> bool:
        """Whether it may be written to once it is erased."""
        return self.state == "contains data"


def drive_state(drive: WholeDrive) -> DriveState:
    """What prevents writing to a drive; "blank" if nothing was found.

    >>> drive_state(WholeDrive(name="sdb", path="/dev/sdb", signatures=()))
    DriveState(state='blank', why='no signature, and all samples are zero')
    """
    uses = [*(["this machine runs from it"] if drive.system else []), *map(_use, drive.holders)]
    if uses:
        return DriveState("in use", ", ".join(dict.fromkeys(uses)))
    if drive.read_only:
        return DriveState("read-only", "the kernel refuses writes")
    if drive.signatures is None:
        return DriveState("unknown", drive.unreadable or "its content was not read")
    if drive.signatures and all(one.type == REMAINS for one in drive.signatures):
        return DriveState("blank", "only remains of a volume that kneebench removed")
    if drive.signatures:
        return DriveState("contains data", ", ".join(dict.fromkeys(map(content, drive.signatures))))
    return DriveState("blank", "no signature, and all samples are zero")


def content(signature: Signature) -> str:
    """What was found, in words.

    >>> content(Signature(device="sdb1", type="ext4", offset=1080, label="backup"))
    'ext4 "backup" on sdb1'
    """
    called = CALLED.get(signature.type, signature.type)
    if signature.type == "data":
        called = f"unknown data at byte {signature.offset:,}"
    label = f' "{signature.label}"' if signature.label else ""
    return f"{called}{label} on {signature.device}"


def _use(holder: Holder) -> str:
    return f"{holder.device} is {USES[holder.kind].format(by=holder.by)}"
