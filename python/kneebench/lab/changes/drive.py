"""A change to a drive of this machine, which is known again by its WWID."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator

from kneebench.errors import KneebenchError
from kneebench.lab.changes.change import Change
from kneebench.lab.drives import WHOLE_DEVICES
from kneebench.lab.inventory import identities
from kneebench.lab.inventory.signatures import mark_of
from kneebench.lab.processes import boot
from kneebench.lab.programs import done, wait_until


class ChangedDrive(Change):
    """A drive by its WWID, or by the kernel's name in one boot; `device`: where it was."""

    device: str
    wwid: str

    @property
    def where(self) -> str:
        """Its device."""
        return self.device

    def require_gone(self, forget: str) -> None:
        """Raises OSError if the drive is not plugged in."""
        if self.is_out_of_reach():
            raise FileNotFoundError(
                f"drive {self.wwid} was {self.device} and is not here now: plug it in and run"
                f" `kneebench clean` again; if it no longer exists: {forget}"
            )

    def is_out_of_reach(self) -> bool:
        """Whether it is not plugged in, or cannot be told from others."""
        return not self.found()

    def found(self) -> str:
        """Where the drive is now, whatever it was called before a restart; empty if nowhere.

        Raises OSError where the drives cannot be listed.
        """
        try:
            here = [one for one in identities() if one.key == self.wwid]
        except KneebenchError as error:
            raise OSError(str(error)) from error
        known = len(here) == 1 and (here[0].wwid or self.boot == boot())
        return here[0].path if known else ""


def write_mark(device: str, wwid: str) -> None:
    """Write the mark of a drive that may be used again; raises OSError while it is in use."""
    handle = os.open(device, os.O_RDWR | os.O_EXCL | os.O_CLOEXEC)
    try:
        os.pwrite(handle, mark_of(wwid), 0)
        os.fsync(handle)
    finally:
        os.close(handle)


def digits(uuid: str) -> str:
    """A UUID to compare: md writes it with colons, file systems with hyphens."""
    return uuid.replace("-", "").replace(":", "").lower()


@contextlib.contextmanager
def locked(device: str) -> Iterator[None]:
    """A whole drive that udev leaves alone (flock, as systemd documents it): it would assemble an
    array again from members whose signatures are being removed.
    """
    handle = os.open(device, os.O_RDONLY | os.O_CLOEXEC)
    try:
        wait_until(lambda: _has_lock(handle))
        yield
    finally:
        os.close(handle)


def _has_lock(handle: int) -> bool:
    with contextlib.suppress(BlockingIOError):
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


def stop_arrays(uuid: str) -> bool:
    """Stop the arrays with that UUID, whatever they are called; whether there was one. Raises
    OSError while one is in use.
    """
    found = list(_arrays(uuid))
    for name in found:
        done("mdadm", "--stop", f"/dev/{name}")
    return bool(found)


def _arrays(uuid: str) -> Iterator[str]:
    """The kernel's names of the arrays with that UUID, also of one that is not started. It is read
    from their members.
    """
    for folder in sorted(WHOLE_DEVICES.glob("md*")):
        members = [f"/dev/{member.name}" for member in (folder / "slaves").glob("*")]
        if any(digits(_array_of(member)) == digits(uuid) for member in members):
            yield folder.name


def _array_of(member: str) -> str:
    """The UUID of the array that a device belongs to; empty if it has none."""
    try:
        printed = done("mdadm", "--examine", "--export", member)
    except OSError:
        return ""
    lines = (line.partition("=") for line in printed.splitlines())
    return next((value for key, _, value in lines if key == "MD_UUID"), "")
