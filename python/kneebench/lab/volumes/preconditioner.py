"""Which drives are preconditioned: each once per campaign, and again only if others wrote to it."""

from __future__ import annotations

import contextlib
import time

from kneebench.errors import KneebenchError
from kneebench.lab.inventory import content_of, drives_called
from kneebench.lab.inventory.signatures import REMAINS
from kneebench.lab.journal import Journal
from kneebench.lab.volumes.claiming import held
from kneebench.lab.volumes.preconditioning import write_drives
from kneebench.lab.volumes.remembered import is_preconditioned, remember
from kneebench.plan.volume import Volume
from kneebench.records import Event, Preconditioned, Watch, WholeDrive


class Preconditioner:
    """Preconditions the drives of a campaign's volumes, and remembers what it did."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._how: dict[str, str] = {}

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
            watch(_told(Preconditioned(**names, remembered=True)))
        self._how |= {drive.path: how for drive in drives}

    def leave(self, device: str) -> None:
        """Remember a drive of this machine when its volume has been taken apart."""
        with contextlib.suppress(KneebenchError, OSError):  # unremembered, it is only written again
            if device in self._how:
                [drive] = drives_called([device])
                remember(drive, self._how[device])

    def _write(self, drives: list[WholeDrive], volume: Volume, watch: Watch) -> None:
        if not drives:
            return
        began_s, devices = time.monotonic(), [drive.path for drive in drives]
        with contextlib.ExitStack() as stack:
            for drive in drives:
                stack.enter_context(held(drive))
            written = write_drives(self._journal, devices, volume.preconditioning, watch)
        took_s = round(time.monotonic() - began_s, 1)
        for drive, one in zip(drives, written, strict=True):
            names = {"drive": drive.key, "device": drive.path, "how": volume.precondition}
            facts = {**names, **one._asdict(), "took_s": took_s}
            watch(_told(Preconditioned.model_validate(facts)))


def _has_our_remains(drive: WholeDrive) -> bool:
    """A drive that was trimmed has nothing; its counters do not tell."""
    return any(one.type == REMAINS for one in content_of(drive))


def _told(done: Preconditioned) -> Event:
    said = "was preconditioned by an earlier run" if done.remembered else "is preconditioned"
    doing = f"{done.device} {said} ({done.how})"
    return Event(kind="end", doing=doing, data={"preconditioned": done})
