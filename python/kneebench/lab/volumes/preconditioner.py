"""Which drives are written before their first volume is made: each once per campaign, and again
only if others wrote to it.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from kneebench.errors import KneebenchError
from kneebench.lab.inventory import drives_called, look_at
from kneebench.lab.inventory.erasable import is_ours
from kneebench.lab.inventory.left import drive_file, keep, kept
from kneebench.lab.journal import Journal
from kneebench.lab.permission import WritableDevice
from kneebench.lab.processes import boot
from kneebench.lab.volumes.preconditioning_time import write_drives
from kneebench.lab.volumes.sustained_load import Sustained, load_drives
from kneebench.plan.volume import Volume
from kneebench.records import DriveLoad, Event, Preconditioned, Record, Watch, WholeDrive

Drives = Mapping[WritableDevice, WholeDrive]
"""Devices with what they are."""


class Preconditioner:
    """Preconditions the drives of a campaign's volumes, and remembers what it did."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._how: dict[str, str] = {}
        self._burnt_in: set[str] = set()
        self._unsteady: set[str] = set()
        """Written without becoming steady: the next campaign writes them again."""

    def prepare(self, devices: Sequence[WritableDevice], volume: Volume, watch: Watch) -> None:
        """Write the drives as the plan says, where this was not done before. Each drive is
        reported to the watcher. Raises OSError where fio fails.
        """
        how = volume.precondition
        drives = _described(one for one in devices if how and self._how.get(one.path) != how)
        known = {one for one, drive in drives.items() if _was_preconditioned(drive, how)}
        self._write({one: drives[one] for one in drives if one not in known}, volume, watch)
        for device in known:
            names = {"drive": drives[device].key, "device": device.path, "how": how}
            watch(_preconditioned(Preconditioned(**names, remembered=True)))
        self._how |= {device.path: how for device in drives}
        self._burn_in(devices, volume, watch)
        if volume.drain:
            self._load(_described(devices), Sustained("drain", volume.drain), watch)

    def forget(self, devices: Iterable[str]) -> None:
        """Emulated drives are gone: others may get their names."""
        for device in devices:
            self._how.pop(device, None)
            self._burnt_in.discard(device)
            self._unsteady.discard(device)

    def leave(self, device: str) -> None:
        """Remember a drive of this machine when its volume has been taken apart."""
        with contextlib.suppress(KneebenchError, OSError):  # unremembered, it is only written again
            if device in self._how and device not in self._unsteady:
                [drive] = drives_called([device])
                remember(drive, self._how[device])

    def _write(self, drives: Drives, volume: Volume, watch: Watch) -> None:
        if not drives:
            return
        began_s = time.monotonic()
        with _all_alone(drives):
            written = write_drives(self._journal, [*drives], volume.preconditioning, watch)
        took_s = round(time.monotonic() - began_s, 1)
        for drive, one in zip(drives.values(), written, strict=True):
            names = {"drive": drive.key, "device": drive.path, "how": volume.precondition}
            if one.steady is False:
                self._unsteady.add(drive.path)
            facts = {**names, **one._asdict(), "took_s": took_s}
            watch(_preconditioned(Preconditioned.model_validate(facts)))

    def _burn_in(self, devices: Sequence[WritableDevice], volume: Volume, watch: Watch) -> None:
        how = Sustained("burn-in", volume.burn_in)
        new = (one for one in devices if how.limit_s and one.path not in self._burnt_in)
        drives = _described(new)
        known = {one for one, drive in drives.items() if was_burnt_in(drive, how.limit_s)}
        for device in known:
            names = {"drive": drives[device].key, "device": device.path, "kind": how.kind}
            watch(_loaded(DriveLoad.model_validate({**names, "remembered": True})))
        self._load({one: drives[one] for one in drives if one not in known}, how, watch)
        self._burnt_in |= {device.path for device in drives}

    def _load(self, drives: Drives, how: Sustained, watch: Watch) -> None:
        if not drives:
            return
        with _all_alone(drives):
            done = load_drives(self._journal, [*drives], how, watch)
        for drive, one in zip(drives.values(), done, strict=True):
            watch(_loaded(one))
            if how.kind == "burn-in" and not (one.media_errors or one.throttled):
                remember_burn_in(drive, how.limit_s)


def _described(devices: Iterable[WritableDevice]) -> Drives:
    """Devices with what they are, in their order."""
    known = list(devices)
    return dict(zip(known, drives_called([one.path for one in known]), strict=True))


@contextlib.contextmanager
def _all_alone(devices: Iterable[WritableDevice]) -> Iterator[None]:
    """Nobody else may mount them or make arrays of them meanwhile."""
    with contextlib.ExitStack() as stack:
        for device in devices:
            stack.enter_context(device.alone())
        yield


def _was_preconditioned(drive: WholeDrive, how: str) -> bool:
    """Whether an earlier run did it, and nothing was written to the drive since. A trimmed drive
    has no mark, and its counters do not show the trim.
    """
    return is_preconditioned(drive, how) and is_ours(look_at(drive, ours=False))


def _preconditioned(done: Preconditioned) -> Event:
    said = "was preconditioned by an earlier run" if done.remembered else "is preconditioned"
    doing = f"{done.device} {said} ({done.how})"
    return Event(kind="end", doing=doing, data={"written": done})


def _loaded(done: DriveLoad) -> Event:
    said = " by an earlier run" if done.remembered else ""
    return Event(kind="end", doing=f"{done.device}: {done.kind} done{said}", data={"written": done})


# What kneebench remembers of drives: how each was preconditioned, how much had been written to it
# when kneebench left it, and how long it was burnt in.


class RememberedDrive(Record):
    """One drive. `boot_written_bytes`: the kernel's count in that boot; `written_bytes`: the
    drive's own, in coarse units, None if it does not report one.
    """

    drive: str
    how: str
    boot: str
    boot_written_bytes: int | None
    written_bytes: int | None


class BurnIn(Record):
    """The longest burn-in of a drive. One without a WWID is known in that boot only."""

    drive: str
    seconds: float
    boot: str


def remember(drive: WholeDrive, how: str) -> None:
    """The drive is preconditioned, and kneebench is about to leave it."""
    keep(_file(drive), _memory(drive, how))


def is_preconditioned(drive: WholeDrive, how: str) -> bool:
    """Whether an earlier run preconditioned the drive in the same way, and nothing was written to
    it since, as far as is known. After a restart only the drive's own count shows that.
    """
    if (then := kept(_file(drive), RememberedDrive)) is None:
        return False
    now = _memory(drive, how)
    if then.boot != now.boot:
        without = {"boot": "", "boot_written_bytes": None}
        then, now = (one.model_copy(update=without) for one in (then, now))
    return then == now and (now.boot_written_bytes, now.written_bytes) != (None, None)


def remember_burn_in(drive: WholeDrive, seconds: float) -> None:
    """The drive was burnt in for so long. Later writes do not undo that."""
    longest_s = max(seconds, _burnt_in_s(drive))
    keep(_burn_in_file(drive), BurnIn(drive=drive.key, seconds=longest_s, boot=boot()))


def was_burnt_in(drive: WholeDrive, seconds: float) -> bool:
    """Whether an earlier run burnt the drive in for at least as long."""
    return _burnt_in_s(drive) >= seconds


def _burnt_in_s(drive: WholeDrive) -> float:
    found = kept(_burn_in_file(drive), BurnIn)
    return found.seconds if found and (drive.wwid or found.boot == boot()) else 0.0


def _memory(drive: WholeDrive, how: str) -> RememberedDrive:
    return RememberedDrive(
        drive=drive.key,
        how=how,
        boot=boot(),
        boot_written_bytes=drive.boot_written_bytes,
        written_bytes=drive.health.written_bytes,
    )


def _burn_in_file(drive: WholeDrive) -> Path:
    return drive_file(drive.key, "burn-in")


def _file(drive: WholeDrive) -> Path:
    return drive_file(drive.key, "preconditioned")
