"""A loop device that was attached: undone by detaching it."""

from __future__ import annotations

import contextlib
import fcntl
from typing import Literal

from kneebench.lab.changes.change import Change
from kneebench.lab.drives import WHOLE_DEVICES, name_in
from kneebench.lab.open_device import OpenDevice
from kneebench.lab.programs import wait_until

_DETACH = 0x4C01
"""LOOP_CLR_FD of linux/loop.h; losetup(8) does no more, but opens the device by its number."""


class AttachedLoop(Change):
    """The loop devices over a file that only we have."""

    VERBS = ("detach", "detached")
    kind: Literal["loop"] = "loop"
    file: str

    @property
    def where(self) -> str:
        return self.file

    def undo(self) -> bool:
        """Detach them; of one that is in use the kernel waits for the last user."""
        devices = loops_of(self.file)
        for device in devices:
            with OpenDevice(device) as opened:
                if device in loops_of(self.file):  # as long as it is open, it has no other file
                    with contextlib.suppress(OSError):  # somebody else has just detached it
                        fcntl.ioctl(opened.handle, _DETACH)
        if not wait_until(lambda: not loops_of(self.file)):
            raise OSError(f"{', '.join(loops_of(self.file))} over {self.file} is still in use")
        return bool(devices)

    def require_gone(self, forget: str) -> None:
        """Loop devices over another file are not ours."""


def loops_of(file: str) -> list[str]:
    """The loop devices over a file; the kernel adds a word to the name of one that was removed."""
    return [
        f"/dev/{backing.parents[1].name}"
        for backing in sorted(WHOLE_DEVICES.glob("loop*/loop/backing_file"))
        if name_in(backing).removesuffix(" (deleted)") == file
    ]


KIND = AttachedLoop
