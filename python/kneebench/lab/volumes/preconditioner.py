"""Which drives are written before their first volume is made: each once per campaign, and again
only if others wrote to it.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kneebench.errors import KneebenchError
from kneebench.lab.inventory import drives_called, look_at
from kneebench.lab.inventory.erasable import is_ours
from kneebench.lab.journal import Journal
from kneebench.lab.permission import WritableDevice
from kneebench.lab.volumes.preconditioning import write_drives
from kneebench.lab.volumes.remembered import (
    is_preconditioned,
    remember,
    remember_burn_in,
    was_burnt_in,
)
from kneebench.lab.volumes.sustained_load import Sustained, load_drives
from kneebench.plan.volume import Volume
from kneebench.records import DriveLoad, Event, Preconditioned, Watch, WholeDrive

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
