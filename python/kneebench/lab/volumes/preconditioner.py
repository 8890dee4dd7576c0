"""Which drives are written before their first volume is made: each once per campaign, and again
only if others wrote to it.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence

from kneebench.errors import KneebenchError
from kneebench.lab.inventory import content_of, drives_called
from kneebench.lab.inventory.signatures import REMAINS
from kneebench.lab.journal import Journal
from kneebench.lab.volumes.claiming import held
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


class Preconditioner:
    """Preconditions the drives of a campaign's volumes, and remembers what it did."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._how: dict[str, str] = {}
        self._burnt_in: set[str] = set()
        self._unsteady: set[str] = set()
        """Written without becoming steady: the next campaign writes them again."""

    def prepare(self, devices: list[str], volume: Volume, watch: Watch) -> None:
        """Write the drives as the plan says, where this was not done before. Each drive is
        reported to the watcher. Raises OSError where fio fails.
        """
        how = volume.precondition
        drives = drives_called(one for one in devices if how and self._how.get(one) != how)
        known = [one for one in drives if is_preconditioned(one, how) and _has_our_remains(one)]
        self._write([one for one in drives if one not in known], volume, watch)
        for drive in known:
            names = {"drive": drive.key, "device": drive.path, "how": how}
            watch(_preconditioned(Preconditioned(**names, remembered=True)))
        self._how |= {drive.path: how for drive in drives}
        self._burn_in(devices, volume, watch)
        if volume.drain:
            self._load(drives_called(devices), Sustained("drain", volume.drain), watch)

    def leave(self, device: str) -> None:
        """Remember a drive of this machine when its volume has been taken apart."""
        with contextlib.suppress(KneebenchError, OSError):  # unremembered, it is only written again
            if device in self._how and device not in self._unsteady:
                [drive] = drives_called([device])
                remember(drive, self._how[device])

    def _write(self, drives: Sequence[WholeDrive], volume: Volume, watch: Watch) -> None:
        if not drives:
            return
        began_s, devices = time.monotonic(), [drive.path for drive in drives]
        with _all_held(drives):
            written = write_drives(self._journal, devices, volume.preconditioning, watch)
        took_s = round(time.monotonic() - began_s, 1)
        for drive, one in zip(drives, written, strict=True):
            names = {"drive": drive.key, "device": drive.path, "how": volume.precondition}
            if one.steady is False:
                self._unsteady.add(drive.path)
            facts = {**names, **one._asdict(), "took_s": took_s}
            watch(_preconditioned(Preconditioned.model_validate(facts)))

    def _burn_in(self, devices: Sequence[str], volume: Volume, watch: Watch) -> None:
        how = Sustained("burn-in", volume.burn_in)
        drives = drives_called(one for one in devices if how.limit_s and one not in self._burnt_in)
        known = [one for one in drives if was_burnt_in(one, how.limit_s)]
        for drive in known:
            names = {"drive": drive.key, "device": drive.path, "kind": how.kind}
            watch(_loaded(DriveLoad.model_validate({**names, "remembered": True})))
        self._load([one for one in drives if one not in known], how, watch)
        self._burnt_in |= {drive.path for drive in drives}

    def _load(self, drives: Sequence[WholeDrive], how: Sustained, watch: Watch) -> None:
        if not drives:
            return
        with _all_held(drives):
            done = load_drives(self._journal, [one.path for one in drives], how, watch)
        for drive, one in zip(drives, done, strict=True):
            watch(_loaded(one))
            if how.kind == "burn-in" and not (one.media_errors or one.throttled):
                remember_burn_in(drive, how.limit_s)


@contextlib.contextmanager
def _all_held(drives: Sequence[WholeDrive]) -> Iterator[None]:
    """Nobody else may open them meanwhile."""
    with contextlib.ExitStack() as stack:
        for drive in drives:
            stack.enter_context(held(drive))
        yield


def _has_our_remains(drive: WholeDrive) -> bool:
    """A trimmed drive has none, and its counters do not show the trim."""
    return any(one.type == REMAINS for one in content_of(drive))


def _preconditioned(done: Preconditioned) -> Event:
    said = "was preconditioned by an earlier run" if done.remembered else "is preconditioned"
    doing = f"{done.device} {said} ({done.how})"
    return Event(kind="end", doing=doing, data={"written": done})


def _loaded(done: DriveLoad) -> Event:
    said = " by an earlier run" if done.remembered else ""
    return Event(kind="end", doing=f"{done.device}: {done.kind} done{said}", data={"written": done})
