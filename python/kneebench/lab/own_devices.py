"""How kneebench recognizes a device that it made; faults of those under a server's directories."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from kneebench.lab.drives import BLOCK_DEVICES, block_folder, devices_under, mount_of, text_in
from kneebench.lab.open_device import OpenDevice, has_its_number
from kneebench.lab.permission import WritableDevice


def is_over(image: Path) -> Callable[[OpenDevice], bool]:
    """Whether a device is a loop device over that file."""
    seen = image.stat()

    def found(device: OpenDevice) -> bool:
        file = device.identity.file
        return file is not None and (file.device, file.inode) == (seen.st_dev, seen.st_ino)

    return found


def is_array_of(members: Sequence[WritableDevice]) -> Callable[[OpenDevice], bool]:
    """Whether a device is an array of exactly these members."""
    names = {block_folder(one.path).name for one in members}

    def found(device: OpenDevice) -> bool:
        slaves = {one.name for one in (block_folder(device.path) / "slaves").glob("*")}
        return slaves == names and has_its_number(device)

    return found


def is_partition_of(drive: WritableDevice) -> Callable[[OpenDevice], bool]:
    """Whether a device is a partition of that drive, which is still the same."""

    def found(device: OpenDevice) -> bool:
        drive.opened.require_same()
        parent = block_folder(device.path).resolve().parent.name
        return parent == block_folder(drive.path).name and has_its_number(device)

    return found


# A program with mounts of its own that keeps no drive busy.
#
# Its mounts begin as copies of the machine's (mount_namespaces(7)). A copy keeps its drive busy
# when the original is unmounted, until the program ends.

OWN_MOUNTS = ("unshare", "--mount", "--propagation", "slave")
"""Where the machine's mounts are shared, as systemd makes them, what is unmounted outside goes in
there too."""
POINT = "/run/kneebench-{}/volume"
"""Where the volume of that name is mounted; every account can enter /run."""


def without_volumes(needed: Iterable[Path] = ()) -> str:
    """The shell line that unmounts the volumes of other runs in there, but not the ones that hold
    a needed path: the mounts of most containers are not shared.

    >>> without_volumes([Path("/run/kneebench-a/volume/data")]).splitlines()[1]
    'case "$volume" in /run/kneebench-a/volume|"") continue;; esac'
    """
    kept = [
        shlex.quote(str(above))
        for path in needed
        for above in (path, *path.parents)
        if above.match(POINT.format("*"))
    ]
    return f"""for volume in {POINT.format("*")}; do
case "$volume" in {"|".join((*kept, '""'))}) continue;; esac
umount --lazy "$volume" 2>/dev/null || :
done
"""


# Faults under a server's directories: a device that refuses writes, a volume that is gone.


def storage_faults(paths: Iterable[Path]) -> tuple[str, ...]:
    """What is wrong under these paths now, in words: a kernel that met errors on a drive, or an
    administrator, made it read-only, or a volume of ours was unmounted.
    """
    return tuple(dict.fromkeys(fault for path in paths for fault in _faults(path)))


def _faults(path: Path) -> Iterator[str]:
    if path.match(POINT.format("*")) and not os.path.ismount(path):
        yield f"the volume on {path} is no longer mounted"
        return
    mount = mount_of(path)
    if "ro" in mount.options:
        yield f"the file system on {mount.point} became read-only"
    for device in sorted(devices_under(path)):
        if text_in(BLOCK_DEVICES / device, "ro") == "1":
            yield f"{device} became read-only"
