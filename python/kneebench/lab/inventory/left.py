"""Drives as kneebench left them: what lies on a marked drive is ours as long as nothing was written
to it since.

That is seen by the checksum of its samples and by a counter of written bytes: the kernel's, which
is exact, while the drive is plugged in; after a restart the drive's own. Without either, the mark
alone proves nothing.
"""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from kneebench.directories import make_private, state_directory, write_private
from kneebench.records import DeviceIdentity, Record, WholeDrive, WriteCount

Kind = TypeVar("Kind", bound=Record)


class Left(Record):
    """A drive when kneebench left it. `writes`: as the kernel counted in that boot;
    `written_bytes`: as the drive counts, in coarse units, None if it does not report that.
    """

    drive: str
    identity: DeviceIdentity
    samples: str
    boot: str
    writes: WriteCount
    written_bytes: int | None


def remember_left(drive: WholeDrive) -> None:
    """Keep what a drive is and has on it, now that kneebench leaves it."""
    if drive.identity and drive.samples:
        keep(drive_file(drive.key), _left(drive, drive.identity))


def is_as_left(drive: WholeDrive) -> bool:
    """Whether nothing was written to a drive since kneebench left it, as far as that can be told:
    False where it cannot.
    """
    then = kept(drive_file(drive.key), Left)
    if then is None or drive.identity is None:
        return False
    now = _left(drive, drive.identity)
    if (then.boot, then.identity) == (now.boot, now.identity):
        unwritten = then.writes.device_bytes is not None and then.writes == now.writes
    else:
        unwritten = then.written_bytes is not None and then.written_bytes == now.written_bytes
    return unwritten and _kept(then) == _kept(now)


def keep(file: Path, record: Record) -> None:
    """Write a record about a drive; readable by this user only."""
    make_private(file.parent)
    write_private(file, record.model_dump_json())


def kept(file: Path, kind: type[Kind]) -> Kind | None:
    """The record in a file; None if there is none that can be read."""
    with contextlib.suppress(OSError, ValidationError):
        return kind.model_validate_json(file.read_text())
    return None


def drive_file(key: str, what: str = "left") -> Path:
    """The file that keeps something about a drive, by its key."""
    name = hashlib.sha256(key.encode()).hexdigest()[:16]
    return state_directory() / "drives" / f"{name}.{what}.json"


def _left(drive: WholeDrive, identity: DeviceIdentity) -> Left:
    return Left(
        drive=drive.key,
        identity=identity,
        samples=drive.samples,
        boot=drive.boot,
        writes=drive.writes,
        written_bytes=drive.health.written_bytes,
    )


def _kept(left: Left) -> tuple[str, str, int, int | None]:
    """What a drive keeps over a restart: its name, content and size, the inode of a loop device's
    file.
    """
    file = left.identity.file
    return left.drive, left.samples, left.identity.size_bytes, file.inode if file else None
