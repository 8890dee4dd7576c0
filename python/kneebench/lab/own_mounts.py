"""A program with mounts of its own that keeps no drive busy.

Its mounts begin as copies of the machine's (mount_namespaces(7)). A copy keeps its drive busy when
the original is unmounted, until the program ends.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from pathlib import Path

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
