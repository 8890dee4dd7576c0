"""What a killed suite left: the next one ends its processes, takes its devices apart, and removes
its folders. Whose something is is known by the suite's process, in the environment of all that it
started, in the names of its folders, and in pytest's lock.
"""

from __future__ import annotations

import contextlib
import getpass
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil

from tests.loop_devices import drop_partitions

NAME = "KNEEBENCH_TESTS"
SUITE = os.environ.setdefault(NAME, str(os.getpid()))
MEMORY = Path("/dev/shm")
FOLDER = re.compile(r"kneebench-[a-z-]+-(\d+)-\w+")


def folder(name: str, where: Path | None = None) -> str:
    """A new folder of this suite."""
    return tempfile.mkdtemp(prefix=f"kneebench-{name}-{SUITE}-", dir=where)


def remove() -> None:
    """Remove what suites left that no longer run."""
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            suite = process.environ().get(NAME, "")
            if suite and not _runs(suite, process.create_time()):
                process.kill()
    for left in [*_folders()]:
        _unmount(left)
        for device in [*_loop_devices(left)]:
            _take_apart(device)
            drop_partitions(Path("/dev", device))
            _done("losetup", "--detach", f"/dev/{device}")
        shutil.rmtree(left, ignore_errors=True)


def _runs(suite: str, since_s: float) -> bool:
    """Whether a suite's process is the one that had this number then."""
    try:
        return psutil.Process(int(suite)).create_time() <= since_s
    except (psutil.Error, ValueError):
        return False


def _folders() -> Iterator[Path]:
    """Those of suites that no longer run."""
    temporary = Path(tempfile.gettempdir())
    for one in (*temporary.glob("kneebench-*"), *MEMORY.glob("kneebench-*")):
        if (found := FOLDER.fullmatch(one.name)) and not _runs(found[1], one.stat().st_mtime):
            yield one
    for lock in (temporary / f"pytest-of-{getpass.getuser()}").glob("pytest-*/.lock"):
        with contextlib.suppress(OSError):
            if not _runs(lock.read_text(), lock.stat().st_mtime):
                yield lock.parent


def _unmount(place: Path | str) -> None:
    """All file systems in a folder, or of a device, the innermost first."""
    mounts = [line.split()[:2] for line in Path("/proc/self/mounts").read_text().splitlines()]
    for source, target in reversed(mounts):
        if Path(target).is_relative_to(place) or Path(source).is_relative_to(place):
            _done("umount", "--lazy", target)


def _loop_devices(left: Path) -> Iterator[str]:
    """Those whose file is, or was, in a folder."""
    for file in Path("/sys/block").glob("loop*/loop/backing_file"):
        with contextlib.suppress(OSError):
            if Path(file.read_text().strip()).is_relative_to(left):
                yield file.parts[3]


def _take_apart(device: str) -> None:
    """End what is on a device and on its partitions: mounts, arrays, mappings."""
    _unmount(f"/dev/{device}")
    block = Path("/sys/class/block") / device
    for part in block.glob(f"{device}p*"):
        _take_apart(part.name)
    for holder in block.glob("holders/*"):
        _take_apart(holder.name)
        _done("mdadm", "--stop", f"/dev/{holder.name}")
        _done("dmsetup", "remove", f"/dev/{holder.name}")


def _done(*command: str) -> None:
    with contextlib.suppress(OSError):  # a machine without that program has none of its devices
        subprocess.run(command, capture_output=True, check=False, timeout=30)
