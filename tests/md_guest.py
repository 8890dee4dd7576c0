"""Runs in user-mode Linux for tests/test_md.py: volumes on md, made, killed and cleaned."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kneebench.lab.changes.array import MadeArray
from kneebench.lab.drives import whole_devices
from kneebench.lab.inventory import inventory
from kneebench.lab.inventory.erasable import drive_state
from kneebench.lab.journal import Journal
from kneebench.lab.volumes import Volumes, building, erase_drives
from kneebench.plan.storage import Storage
from kneebench.records import Event

DRIVES = [f"/dev/ubd{letter}" for letter in "abcd"]
JOURNAL = Journal(Path("/run/journal"))
VOLUMES = Volumes(JOURNAL, Path("/run/emulated"))


def answer(name: str, value: object) -> None:
    print(f"\nkneebench-answers {name} {json.dumps(value)}", flush=True)


def unwatched(event: Event) -> None:
    """Nobody looks."""


def done(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def states() -> list[str]:
    return [drive_state(one).state for one in inventory() if one.path in DRIVES]


def why() -> list[str]:
    return [drive_state(one).why for one in inventory() if one.path in DRIVES]


def arrays() -> list[str]:
    lines = Path("/proc/mdstat").read_text().splitlines()
    return [line for line in lines if line.startswith("md")]


def left() -> dict[str, Any]:
    files = [file.name for file in JOURNAL.folder.iterdir()]
    mounted = [line for line in Path("/proc/mounts").read_text().splitlines() if "volume" in line]
    return {"journal": files, "arrays": arrays(), "mounts": mounted, "states": states()}


def storage(drives: list[str], layout: str, kind: str = "ext4", **more: object) -> Storage:
    table = {"drives": drives, "layout": layout, "file_system": {"type": kind}, **more}
    return Storage.model_validate(table)


def used(one: Storage) -> dict[str, Any]:
    """What is seen of a volume while it is mounted and written to."""
    data = os.urandom(100_000)
    with VOLUMES.mounted("new", one, unwatched) as mounted:
        [path] = mounted.paths
        (path / "file").write_bytes(data)
        os.sync()
        Path("/proc/sys/vm/drop_caches").write_text("3")
        [array] = [name.name for name in Path("/sys/block").glob("md*")]
        return {
            "same": (path / "file").read_bytes() == data,
            "drives": whole_devices([path]),
            "array": arrays(),
            "read_ahead": (Path("/sys/block") / array / "queue/read_ahead_kb").read_text(),
            "states": states(),
        }


def killed(one: Storage, before_it_is_mounted: bool = False) -> None:
    """A volume whose maker is killed."""
    if child := os.fork():
        os.waitpid(child, 0)
        return
    if before_it_is_mounted:
        building.mkfs_command = lambda *given: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore
    with VOLUMES.mounted("new", one, unwatched):
        os.kill(os.getpid(), signal.SIGKILL)


def cleaned() -> dict[str, Any]:
    said: list[str] = []
    JOURNAL.clean(lambda event: said.append(event.doing) if event.kind == "warning" else None)
    return {**left(), "warnings": said}


def stripes() -> None:
    settings = {"read_ahead": "64KiB"}
    answer("stripe", used(storage(DRIVES[:2], "stripe", "xfs", drive_settings=settings)))
    answer("stripe_left", left())


def killed_while_mounted() -> None:
    """The entry of the array is done, but it was assembled again: as udev may, from its members."""
    killed(storage(DRIVES, "raid10"))
    answer("killed", left())
    for change in JOURNAL.leftovers():
        if isinstance(change, MadeArray):
            JOURNAL.forget(change)
    answer("killed_cleaned", cleaned())
    erase_drives([one for one in inventory(DRIVES) if drive_state(one).needs_consent])
    answer("killed_erased", left())


def assembled_under_another_name() -> None:
    """As after a power loss: nothing is mounted, and one member is in an array of another name that
    is not started.
    """
    killed(storage(DRIVES[:2], "mirror"), before_it_is_mounted=True)
    answer("mirror", arrays())
    done("mdadm", "--stop", "--scan")
    answer("members", why()[:2])
    done("mdadm", "--incremental", DRIVES[0])
    answer("renamed", [arrays(), states()[0], why()[0]])
    answer("renamed_cleaned", cleaned())


def device_mapper() -> None:
    done("dmsetup", "create", "orders", "--table", f"0 1000 linear {DRIVES[3]} 0")
    answer("mapped", why()[3])
    done("dmsetup", "remove", "orders")


def main(*parts: Callable[[], None]) -> None:
    for part in parts:
        try:
            part()
        except BaseException:
            answer(part.__name__, traceback.format_exc())


def require_guest() -> None:
    """On a real machine this would stop its arrays."""
    if "User Mode Linux" not in Path("/proc/cpuinfo").read_text():
        raise SystemExit("this runs in user-mode Linux only: see tests/test_md.py")


if __name__ == "__main__":
    require_guest()
    main(
        stripes,
        killed_while_mounted,
        assembled_under_another_name,
        device_mapper,
    )
