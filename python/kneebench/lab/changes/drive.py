"""A change to a drive of this machine, which is known again by its WWID.

After a kill its owner may have taken it back. A later run writes to it only if no other program can
have written to it since. Otherwise it stays as it is, and needs its owner's consent.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from typing import Any

from kneebench.errors import KneebenchError
from kneebench.lab.changes.change import Change
from kneebench.lab.device_writes import run_on, write_mark
from kneebench.lab.drives import WHOLE_DEVICES, block_folder
from kneebench.lab.inventory import drives_called, identities, look_at
from kneebench.lab.inventory.content import wipefs
from kneebench.lab.inventory.left import remember_left
from kneebench.lab.open_device import OpenDevice
from kneebench.lab.own_writes import are_all_ours, note_volume_writes, noted_devices
from kneebench.lab.permission import WritableDevice, left
from kneebench.lab.processes import boot
from kneebench.lab.programs import run_program, wait_until
from kneebench.records import DeviceIdentity


class ChangedDrive(Change):
    """A drive by its WWID, or by the kernel's name in one boot; `device`: where it was.

    `identity`: what it was.
    """

    device: str
    wwid: str
    identity: DeviceIdentity | None = None

    @property
    def where(self) -> str:
        return self.device

    @property
    def made_on_it(self) -> tuple[str, ...]:
        """UUIDs of the volumes that were made on it."""
        return ()

    def remark(self) -> str:
        """That it stays as it is, because its owner may have taken it back; empty if it is ours."""
        device = self.found()
        if not device:
            return ""
        with OpenDevice(device) as opened:
            return "" if self.is_ours(opened) else self._wait_until_alone(device)

    def undo(self) -> bool:
        """Remove what is ours from it, and mark it; whether that was done. Nothing is written if
        another program may have written to it: the run that made the change raises OSError then, a
        later one says so. Raises OSError while it is in use.
        """
        device = self.found()
        if not device:
            return False
        self.stop_arrays()
        with lock_drive(device), contextlib.ExitStack() as stack:
            writable = left(device, self.is_ours)
            if writable is None:
                if self.owner == os.getpid():
                    raise OSError(self._wait_until_alone(device))
                return False
            stack.enter_context(writable)
            writable.drives = (writable,)
            self.release(writable)
            write_mark(writable, self.wwid)
            self.remove_signatures(writable)
            self._remember(writable)
        return True

    def is_ours(self, device: OpenDevice) -> bool:
        """Whether an open device is the one that was changed, and by kneebench only."""
        same = self.identity is not None and device.identity.file == self.identity.file
        return same and are_all_ours(device)

    def _wait_until_alone(self, device: str) -> str:
        return (
            f"{device} ({self.wwid}) is left as it is: its owner or another program may have"
            " written to it since kneebench did; to use it again, name it under erase in a plan"
            " and run with --erase"
        )

    def stop_arrays(self) -> None:
        """Stop what is assembled of it."""
        for volume in self.made_on_it:
            stop_arrays(volume)

    def release(self, device: WritableDevice) -> None:
        """What must go before the mark is written. Raises OSError for what is not ours."""

    def remove_signatures(self, device: WritableDevice) -> None:
        """Remove the signatures of ours that the mark did not overwrite."""
        for one in wipefs(device.path):
            if self.is_our_signature(one):
                run_on([device], "wipefs", "--offset", one["offset"], device.path)

    def is_our_signature(self, signature: dict[str, Any]) -> bool:
        """Whether wipefs has found something that we made."""
        return digits(signature["uuid"] or "") in {digits(one) for one in self.made_on_it}

    def _remember(self, device: WritableDevice) -> None:
        with contextlib.suppress(KneebenchError, OSError):  # unremembered, it needs consent
            seen = look_at(drives_called([device.path])[0], ours=False)
            if are_all_ours(device.opened):
                remember_left(seen)

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
        """Where the drive is now, whatever it was called before a restart; empty if nowhere. A loop
        device over another file is not it.

        Raises OSError where the drives cannot be listed.
        """
        try:
            here = [one for one in identities() if one.key == self.wwid]
        except KneebenchError as error:
            raise OSError(str(error)) from error
        known = len(here) == 1 and (here[0].wwid or self.boot == boot())
        return here[0].path if known and self._has_our_file(here[0].path) else ""

    def _has_our_file(self, device: str) -> bool:
        if self.identity is None or self.identity.file is None:
            return True
        with OpenDevice(device) as opened:
            file = opened.identity.file
        return file is not None and file.inode == self.identity.file.inode


def digits(uuid: str) -> str:
    """A UUID to compare: md writes it with colons, file systems with hyphens."""
    return uuid.replace("-", "").replace(":", "").lower()


@contextlib.contextmanager
def lock_drive(device: str) -> Iterator[None]:
    """A whole drive that udev leaves alone (flock, as systemd documents it): it would assemble an
    array again from members whose signatures are being removed.
    """
    handle = os.open(device, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if not wait_until(lambda: _has_lock(handle)):
            raise OSError(f"{device} is locked by another program")
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
        members = [one.name for one in (WHOLE_DEVICES / name / "slaves").glob("*")]
        with OpenDevice(f"/dev/{name}") as array:
            ours = are_all_ours(array)
        run_program("mdadm", "--stop", f"/dev/{name}")
        under = {*members, *(block_folder(one).resolve().parent.name for one in members)}
        for path in noted_devices(under) if ours else ():
            with OpenDevice(path) as member:
                note_volume_writes(member, under)
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
        printed = run_program("mdadm", "--examine", "--export", member)
    except OSError:
        return ""
    lines = (line.partition("=") for line in printed.splitlines())
    return next((value for key, _, value in lines if key == "MD_UUID"), "")
