"""Runs that write to drives, killed at random moments; then the owner takes the drive back, and
`clean` is run: `python -m tests.drive_kills --count 60`.

The moments are drawn from the seed in things that the run does (programs started, devices checked),
not in seconds, so that they fall alike on a fast machine and on a busy one.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

from kneebench.lab.inventory import inventory
from kneebench.lab.inventory.erasable import drive_state
from tests.leftovers import SUITE
from tests.loop_devices import MIB, done, drop_partitions, loop_device

SIZE = 560 * MIB
RUN = r"""
import json, os, signal, sys, threading
from contextlib import closing
from pathlib import Path

place, what, doings, delay_s = Path(sys.argv[1]), json.loads(sys.argv[2]), *map(float, sys.argv[3:])

def counted(event, args):
    global doings
    written = event == "open" and isinstance(args[0], str) and args[0].startswith("/dev/")
    if event in ("subprocess.Popen", "kneebench.device.checked") or written:
        doings -= 1
        if doings == 0:
            threading.Timer(delay_s, os.kill, (os.getpid(), signal.SIGKILL)).start()

sys.addaudithook(counted)
if "profile" in what:
    from kneebench.__main__ import main
    sys.argv[1:] = ["profile", what["profile"], "--write", "--seconds", "1", "--out", str(place)]
    main()
else:
    from kneebench.lab.journal import Journal
    from kneebench.lab.volumes import Volumes
    from kneebench.plan.storage import Storage
    with closing(Volumes(Journal(), place / "emulated")) as volumes:
        for _ in range(2):
            with volumes.mounted("new", Storage.model_validate(what), lambda event: None) as made:
                for path in made.paths:
                    (path / "file").write_bytes(os.urandom(2**20))
"""
DOINGS = 60
"""About as many things as the longest of these runs does."""
NEVER = 10**6
"""More than any does: it is not killed."""


class Fault(AssertionError):
    """A byte of the owner's has changed, or his drive counts as blank."""


def written(drive: str) -> dict[str, dict[str, Any]]:
    """What is run on a drive, by name."""
    part = {"drives": [drive], "size": 256 * MIB}
    btrfs = {"file_system": {"type": "btrfs"}}
    return {
        "xfs": {"drives": [drive]},
        "ext4": {"drives": [drive], "file_system": {"type": "ext4"}},
        "btrfs": {"drives": [drive], **btrfs},
        "partitions": {**part, **btrfs, "log": {**part, "file_system": {"type": "ext4"}}},
        "preconditioned": {"drives": [drive], "precondition": "sequential 2"},
        "profile": {"profile": drive},
    }


# --- what an owner does with a drive that he takes back -------------------------------------------

Region = tuple[int, int]
"""Where his bytes begin, and how many they are."""


def raw(drive: str, random: Random, at: int, size: int) -> Region:
    with Path(drive).open("r+b") as device:
        device.seek(at)
        device.write(random.randbytes(size))
    return at, size


TAKES: dict[str, Callable[[str, Random], Region]] = {
    "raw data at the beginning": lambda drive, random: raw(drive, random, 0, 64 * 1024),
    "one block at the beginning": lambda drive, random: raw(drive, random, 0, 4096),
    "a few bytes in the first block": lambda drive, random: raw(drive, random, 700, 13),
    "raw data anywhere": lambda drive, random: raw(
        drive, random, random.randrange(4096, SIZE - MIB), MIB
    ),
    "ext4": lambda drive, random: made_whole("mkfs.ext4", "-q", "-F", drive),
    "xfs": lambda drive, random: made_whole("mkfs.xfs", "-q", "-f", drive),
    "a partition table": lambda drive, random: partitioned(drive),
    "swap": lambda drive, random: made_whole("mkswap", "-f", drive),
}


def made_whole(*command: str) -> Region:
    """Again where another program looks at the drive just now."""
    for _ in range(20):
        ended = subprocess.run(command, capture_output=True, text=True)
        if ended.returncode == 0:
            return 0, SIZE
        time.sleep(0.1)
    raise Fault(f"{command[0]} fails: {ended.stderr}")


def partitioned(drive: str) -> Region:
    script = "label: gpt\nsize=64MiB\n"
    words = ["sfdisk", "--quiet", "--wipe", "always", "--no-reread", drive]
    subprocess.run(words, input=script, text=True, check=True, capture_output=True)
    return 0, SIZE


def freed(drive: str) -> None:
    """The owner unmounts what the killed run left on his drive, and drops its partitions."""
    for line in reversed(Path("/proc/mounts").read_text().splitlines()):
        source, point = line.split()[:2]
        if source == drive or source.startswith(f"{drive}p"):
            done("umount", point)
    if not drop_partitions(Path(drive)):
        raise Fault(f"the partitions of {drive} cannot be dropped")


def content(path: str | Path, region: Region) -> str:
    with Path(path).open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        file.seek(region[0])
        return hashlib.sha256(file.read(region[1])).hexdigest()


# --- one kill -------------------------------------------------------------------------------------


def killed(place: Path, what: dict[str, Any], doings: int, delay_s: float) -> int:
    """The session of the run."""
    command = [sys.executable, "-c", RUN, place, json.dumps(what), str(doings), f"{delay_s:.3f}"]
    with subprocess.Popen(
        command,
        cwd=place,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as run:
        _, said = run.communicate()
    if run.returncode not in (0, -signal.SIGKILL):
        raise Fault(f"it ended with {run.returncode}: {said}")
    return run.pid


def session_of(stat: Path) -> int:
    """The session of a process; 0 for one that has ended, also where nobody has waited for it."""
    try:
        state, _, _, session = stat.read_text().rpartition(")")[2].split()[:4]
    except OSError:
        return 0
    return 0 if state == "Z" else int(session)


def cleaned(place: Path) -> str:
    command = [sys.executable, "-m", "kneebench", "clean"]
    ended = subprocess.run(command, cwd=place, capture_output=True, text=True)
    if ended.returncode or "Traceback" in ended.stderr:
        raise Fault(f"clean ended with {ended.returncode}: {ended.stderr}")
    return ended.stdout + ended.stderr


def take_back_a_drive(place: Path, random: Random) -> str:
    """Kill a run on a drive, take the drive back, clean; what was done. Raises Fault."""
    with loop_device(place / "drive.img", SIZE) as device:
        drive = str(device)
        name, what = random.choice([*written(drive).items()])
        if random.random() < 1 / 2:  # it has our mark from before
            killed(place, {"drives": [drive]}, NEVER, 0.0)
        run = killed(place, what, random.randint(1, DOINGS), random.uniform(0, 0.2))
        while any(session_of(file) == run for file in Path("/proc").glob("[0-9]*/stat")):
            time.sleep(0.02)  # the kernel ends a program when its mount(2) is done
        freed(drive)
        take = random.choice([*TAKES])
        region = TAKES[take](drive, random)
        before = content(drive, region)
        said = cleaned(place)
        story = f"{name}, then {take}: {said}"
        if content(drive, region) != before:
            raise Fault(f"bytes of the owner's have changed; {story}")
        if drive_state(inventory([drive])[0]).state == "blank":
            raise Fault(f"the owner's drive counts as blank; {story}")
        return story


def take_a_loop_number(place: Path, random: Random) -> str:
    """Kill a run on an emulated drive, put a valuable file on its loop number, clean. Raises
    Fault.
    """
    valuable = place / "valuable.img"
    valuable.write_bytes(random.randbytes(MIB) + bytes(319 * MIB))
    kind = random.choice(["sata", "memory"])
    what = {"drives": [{"emulated": kind, "size": 320 * MIB}]}
    killed(place, what, random.randint(1, DOINGS // 2), random.uniform(0, 0.2))
    before, taken = content(valuable, (0, 320 * MIB)), []
    for file in Path("/sys/block").glob("loop*/loop/backing_file"):
        with contextlib.suppress(OSError):
            if f"{place}/" in file.read_text() or ours_in_memory(file, place):
                taken.append(f"/dev/{file.parents[1].name}")
    for device in taken:
        freed(device)
        done("losetup", "--detach", device)
        subprocess.run(["losetup", device, valuable], check=False, capture_output=True)
    said = cleaned(place)
    now = content(valuable, (0, 320 * MIB))
    for device in taken:
        subprocess.run(["losetup", "--detach", device], check=False, capture_output=True)
    if now != before:
        raise Fault(f"the valuable file has changed: {said}")
    return f"{kind}, then its loop number is another file's: {said}"


def ours_in_memory(file: Path, place: Path) -> bool:
    """Whether the journal of this place names the file behind a loop device."""
    entries = (place / "state").rglob("journal/*/*.json")
    return any(json.dumps(file.read_text().strip()) in entry.read_text() for entry in entries)


def kill(seed: int, number: int) -> str:
    """Kill one run and take its drive; what was done. Raises Fault with what reproduces it."""
    random = Random(f"{seed} {number}")
    with (
        tempfile.TemporaryDirectory(prefix=f"kneebench-drive-kills-{SUITE}-") as folder,
        state_in(folder),
    ):
        place = Path(folder)
        act = take_a_loop_number if number % 4 == 3 else take_back_a_drive
        try:
            return act(place, random)
        except Fault as fault:
            again = f"python -m tests.drive_kills --seed {seed} --first {number} --count 1"
            raise Fault(f"{fault}\nagain: {again}") from fault


@contextlib.contextmanager
def state_in(folder: str) -> Iterator[None]:
    before = os.environ.get("XDG_STATE_HOME")
    os.environ["XDG_STATE_HOME"] = f"{folder}/state"
    try:
        yield
    finally:
        os.environ.pop("XDG_STATE_HOME")
        if before:
            os.environ["XDG_STATE_HOME"] = before


def main() -> int:
    parser = argparse.ArgumentParser(description="Kill runs on drives; the owner loses nothing.")
    parser.add_argument("--count", type=int, default=6)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4)), help="printed")
    parser.add_argument("--first", type=int, default=0)
    asked = parser.parse_args()
    print(f"seed {asked.seed}")
    for number in range(asked.first, asked.first + asked.count):
        try:
            print(f"{number}: {' '.join(kill(asked.seed, number).split())}", flush=True)
        except Fault as fault:
            print(fault)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
