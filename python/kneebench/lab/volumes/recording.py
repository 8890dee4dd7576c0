"""Drives of this machine in the journal: each entry keeps how far kneebench has written them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TypeVar

from kneebench.lab.changes.drive import ChangedDrive
from kneebench.lab.drives import write_count
from kneebench.lab.journal import Journal
from kneebench.lab.permission import WritableDevice

Kind = TypeVar("Kind", bound=ChangedDrive)


@contextlib.contextmanager
def recorded(
    journal: Journal, kind: type[Kind], what: str, device: WritableDevice, key: str, **facts: object
) -> Iterator[Kind]:
    """A change to a drive until the end of the block. After each program that wrote to it the
    kernel's count is written down, so that a later run knows whether somebody else wrote since.
    """
    known = {"device": device.path, "wwid": key, "identity": device.opened.identity}
    so_far = write_count(device.path)
    with journal.made(kind, what, **known, writes=so_far, **facts) as change:

        def keep() -> None:
            journal.rewrite(change.model_copy(update={"writes": write_count(device.path)}))

        device.on_written = keep
        try:
            yield change
        finally:
            device.on_written = lambda: None
