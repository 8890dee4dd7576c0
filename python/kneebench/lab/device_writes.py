"""Everything that writes to block devices: the programs that do, and bytes of our own.

Each device is one that lab/permission.py has given, and is looked at once more right before the
write: that it is still the same, with the same file and the same programs behind it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence

from kneebench.lab.drives import block_folder
from kneebench.lab.inventory.content import mark_of
from kneebench.lab.open_device import LOOKS_S, identity_of, once_free
from kneebench.lab.permission import WritableDevice
from kneebench.lab.programs import run_program

CHECKED = "kneebench.device.checked"
"""Audit event (PEP 578) of a device that was found to be the same, with its path."""
ENDS_BYTES = 16 * 2**20
"""Erased at both ends of a drive: partition tables, superblocks of file systems, arrays and
volumes. Signatures elsewhere are erased one by one."""
BLOCK_BYTES = 4096
MARK_BYTES = 2**20
"""fio leaves the first bytes alone, where the mark is: in whole blocks of any drive."""
_REREAD_PARTITIONS = 0x125F
"""BLKRRPART of linux/fs.h."""
_PASSES = re.compile(r"\bbusy\b|\bin use\b|\bcannot check mount status\b")
"""What programs say while another one looks at the device; the last: mkfs.btrfs, which looks at
every loop device, of one that was detached at that moment.
"""


def run_on(devices: Sequence[WritableDevice], *command: str, given: str = "") -> str:
    """What a program prints that writes to these devices. It ends with this process, also by
    `kill -9`: by then its owner may have taken a drive back. One that meets another program which
    only looks at a device is run again.

    Raises Refused if a device is another one by now, OSError where the program fails.
    """
    until_s = time.monotonic() + LOOKS_S
    while True:
        with writing(devices):
            try:
                return run_program(*command, given=given, ends_with_us=True)
            except OSError as error:
                if not _PASSES.search(str(error)) or time.monotonic() > until_s:
                    raise
        time.sleep(0.05)


@contextlib.contextmanager
def start_on(
    devices: Sequence[WritableDevice], start: Callable[[], subprocess.Popen[bytes]]
) -> Iterator[subprocess.Popen[bytes]]:
    """A program that writes to these devices, started; killed at the end of the block. Raises
    Refused as `run_on` does.
    """
    with writing(devices):
        process = start()
        try:
            yield process
        finally:
            process.kill()
            process.wait()


@contextlib.contextmanager
def writing(devices: Sequence[WritableDevice]) -> Iterator[None]:
    """The devices are the same at the start of the block; what it wrote is on them at its end."""
    for device in devices:
        device.require_same()
        sys.audit(CHECKED, device.path)
    try:
        yield
    except OSError:  # who wrote to it before the program failed is not known
        raise
    except BaseException:
        note_writes(devices)
        raise
    note_writes(devices)


def note_writes(devices: Sequence[WritableDevice]) -> None:
    """What was written to the devices is on them, and is ours."""
    for device in devices:
        with contextlib.suppress(OSError):
            device.note_writes()


def write_at(device: WritableDevice, *places: tuple[int, bytes]) -> None:
    """Write bytes at these offsets, when nobody else uses the device. Raises Refused if it is
    another one by now, OSError while it is in use.
    """
    with writing([device]), _open_alone(device) as handle:
        for offset, data in places:
            if os.pwrite(handle, data, offset) != len(data):
                raise OSError(f"{device.path} ends before byte {offset + len(data):,}")
        os.fsync(handle)


@contextlib.contextmanager
def _open_alone(device: WritableDevice) -> Iterator[int]:
    flags = os.O_RDWR | os.O_EXCL | os.O_CLOEXEC
    handle = once_free(lambda: os.open(device.path, flags))
    try:
        if identity_of(handle) != device.opened.identity:
            raise OSError(f"{device.path} is another device by now")
        yield handle
    finally:
        os.close(handle)


def write_mark(device: WritableDevice, key: str) -> None:
    """Mark a drive, by its key, as one that has only remains of kneebench. Raises as `write_at`
    does.
    """
    write_at(device, (0, mark_of(key)))


def erase(device: WritableDevice, key: str, offsets: Sequence[int]) -> None:
    """Erase what is on a drive: both ends, and the signatures at these offsets. What lies between
    stays on it; the mark says that it may be overwritten. Raises as `write_at` does.
    """
    size = device.opened.identity.size_bytes
    places = [(0, ENDS_BYTES), (max(0, size - ENDS_BYTES), ENDS_BYTES)]
    places += [(offset, BLOCK_BYTES) for offset in offsets]
    zeros = [(offset, bytes(min(length, size - offset))) for offset, length in places]
    write_at(device, *zeros, (0, mark_of(key)))
    with contextlib.suppress(OSError):  # loop devices without partitions know no such request
        fcntl.ioctl(device.opened.handle, _REREAD_PARTITIONS)
    if any(block_folder(device.path).glob("*/partition")):
        run_on([device], "partx", "--delete", device.path)
