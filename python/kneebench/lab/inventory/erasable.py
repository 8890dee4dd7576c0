"""What a drive's state is: whether it may be written to at all, and whether only with its owner's
consent.

A drive that something uses is refused, and the drive that this machine runs from, whatever a plan
says. One that contains anything, or of which only samples were read, may be erased only if its
owner names it. One that cannot be read is refused: nobody knows what is on it.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from kneebench.lab.inventory.content import BLOCK_BYTES, DATA, MARK, number_of_samples
from kneebench.records import Holder, Obstacle, Signature, WholeDrive, WriteCount

State = Literal["in use", "contains data", "perhaps blank", "blank", "read-only", "unknown"]
USES = {
    "mount": "mounted on {by}",
    "swap": "used as swap",
    "array": "part of {by}",
    "file system": "mounted ({by}) where this process cannot see it",
    "loop": "behind {by}",
    "process": "open for writing in {by}",
    "export": "exported by {by}",
    "kernel": "in use by the kernel, perhaps for another mount namespace",
    "file": "over a file that is {by}",
    "path": "the same drive as {by}, which may be in use",
}
CALLED = {"dos": "partition table (dos)", "gpt": "partition table (gpt)", "PMBR": "protective MBR"}
"""wipefs's types of what is no file system."""


class DriveState(NamedTuple):
    """A drive's state, and why, in words."""

    state: State
    why: str

    @property
    def needs_consent(self) -> bool:
        """Whether it may be written to only once its owner has agreed to lose what is on it."""
        return self.state in ("contains data", "perhaps blank")


def drive_state(drive: WholeDrive) -> DriveState:
    """What prevents writing to a drive; "blank" if there is nothing on it that is not ours.

    >>> drive_state(WholeDrive(name="sdb", path="/dev/sdb", signatures=(), read_whole=True))
    DriveState(state='blank', why='every block is zero')
    """
    uses = [*(["this machine runs from it"] if drive.system else []), *map(_use, drive.holders)]
    if uses:
        return DriveState("in use", ", ".join(dict.fromkeys(uses)))
    if drive.read_only:
        return DriveState("read-only", "the kernel refuses writes")
    if drive.signatures is None:
        return DriveState("unknown", drive.unreadable or "its content was not read")
    if is_ours(drive):
        return DriveState("blank", "only remains of a volume that kneebench removed")
    if drive.signatures:
        return DriveState("contains data", ", ".join(dict.fromkeys(map(content, drive.signatures))))
    if drive.read_whole:
        return DriveState("blank", "every block is zero")
    samples = number_of_samples(drive.size_bytes)
    why = f"no signature, and {samples} samples are zero; the rest was not read"
    return DriveState("perhaps blank", why)


def obstacle(drive: WholeDrive) -> Obstacle | None:
    """Why a drive that nothing else prevents writing to may not be written to, whatever is on it:
    what others write to it could not be seen, or kneebench's mark does not fit.
    """
    state = drive_state(drive)
    if not (state.state == "blank" or state.needs_consent):
        return None
    if 0 < drive.size_bytes < BLOCK_BYTES:
        seen = f"it has {drive.size_bytes:,} bytes"
        return Obstacle(seen=seen, do=f"use a drive of at least {BLOCK_BYTES:,} bytes")
    return drive.uncounted


def is_ours(drive: WholeDrive) -> bool:
    """Whether a drive has only what kneebench left on it: our mark, and nothing written since."""
    marked = bool(drive.signatures) and all(one.type == MARK for one in drive.signatures or ())
    return marked and drive.as_left


def content(signature: Signature) -> str:
    """What was found, in words.

    >>> content(Signature(device="sdb1", type="ext4", offset=1080, label="backup"))
    'ext4 "backup" on sdb1'
    """
    called = CALLED.get(signature.type, signature.type)
    if signature.type == DATA:
        called = f"unknown data at byte {signature.offset:,}"
    if signature.type == MARK:
        called = "remains of kneebench, perhaps with data that others wrote since,"
    label = f' "{signature.label}"' if signature.label else ""
    return f"{called}{label} on {signature.device}"


def changes_since(seen: WholeDrive, now: WholeDrive) -> str:
    """How a drive differs from what its owner was shown, in words; empty if it does not."""
    if (seen.key, seen.identity) != (now.key, now.identity):
        return "it is another drive, or has another file behind it"
    before, after = set(seen.signatures or ()), set(now.signatures or ())
    found = [f"{_exactly(one)} was added" for one in sorted(after - before, key=_place)]
    found += [f"{_exactly(one)} was removed" for one in sorted(before - after, key=_place)]
    if not found and seen.samples != now.samples:
        found.append("its samples have other data")
    if not found and (written := _written_since(seen, now)):
        found.append(written)
    return ", ".join(found)


def _written_since(seen: WholeDrive, now: WholeDrive) -> str:
    """What was written to a drive, or that it is unknown; empty if nothing was."""
    if now.uncounted or now.writes.device_bytes is None:
        return "what is written to it is not counted any more"
    if seen.writes.device_bytes is None:
        return "perhaps it was written to, which was not counted"
    return _written(now.writes.device_bytes - seen.writes.device_bytes, seen.writes, now.writes)


def _written(more_bytes: int, seen: WriteCount, now: WriteCount) -> str:
    if more_bytes:
        began = "its count of written bytes began at 0 again"
        return f"{more_bytes:,} bytes were written to it" if more_bytes > 0 else began
    if seen.below != now.below:
        return "the device below it was written to"
    return "its file was changed" if seen != now else ""


def _place(signature: Signature) -> tuple[str, int, str]:
    return signature.device, signature.offset, signature.type


def _exactly(signature: Signature) -> str:
    return content(signature) + (f" (UUID {signature.uuid})" if signature.uuid else "")


def _use(holder: Holder) -> str:
    return f"{holder.device} is {USES[holder.kind].format(by=holder.by)}"
