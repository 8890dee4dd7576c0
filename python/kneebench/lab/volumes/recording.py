"""Drives of this machine in the journal: from then on it is noted how far kneebench wrote them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TypeVar

from kneebench.errors import Refused
from kneebench.lab.changes.drive import ChangedDrive
from kneebench.lab.drives import block_folder
from kneebench.lab.journal import Journal
from kneebench.lab.own_writes import are_all_ours
from kneebench.lab.permission import WritableDevice

Kind = TypeVar("Kind", bound=ChangedDrive)


@contextlib.contextmanager
def recorded(
    journal: Journal, kind: type[Kind], what: str, device: WritableDevice, **facts: object
) -> Iterator[Kind]:
    """A change to a claimed drive until the end of the block."""
    known = {"device": device.path, "wwid": device.key, "identity": device.opened.identity}
    if not are_all_ours(device.opened):
        file = block_folder(device.path) / "queue/iostats"
        raise Refused(
            f"writing to {device.path}",
            seen="the kernel does not count what is written to it",
            do=f"echo 1 > {file}",
        )
    with journal.made(kind, what, **known, **facts) as change:
        yield change
