"""Drives of this machine in the journal: from then on it is noted how far kneebench wrote them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TypeVar

from kneebench.lab.changes.drive import ChangedDrive
from kneebench.lab.journal import Journal
from kneebench.lab.permission import WritableDevice

Kind = TypeVar("Kind", bound=ChangedDrive)


@contextlib.contextmanager
def record_change(
    journal: Journal, kind: type[Kind], what: str, device: WritableDevice, **facts: object
) -> Iterator[Kind]:
    """A change to a claimed drive until the end of the block. Raises Refused if another program has
    written to it since it was claimed.
    """
    known = {"device": device.path, "wwid": device.key, "identity": device.opened.identity}
    device.require_same()
    with journal.made(kind, what, **known, **facts) as change:
        yield change
