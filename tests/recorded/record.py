"""Records small campaigns on the embedded PostgreSQL, as archives beside it: `python
tests/recorded/record.py [NAME ...]`.

They have noise, and figures that no formula gave. What a test expects of one it works out from the
recording itself, so that a recording can be made again. Each takes one to five minutes, with one to
four warehouses and windows of 3 s.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from kneebench import load, preset, run
from kneebench.analysis.outcome import exit_code
from kneebench.plan import Plan
from kneebench.plan.reader import parse_plan
from kneebench.records import Event, Results

HERE = Path(__file__).parent
MOST_BYTES = 500_000
PLAN = """
question = "A small campaign for the tests"
[workload]
warehouses = {warehouses}
{workload}
[database]
{database}
[ladder]
users = [2, 64]
step = 2
warm_up = "2s"
window = "3s"
final_window = "3s"
checkpoints = 0
repeats = {repeats}
{stops}
[storages]
{storages}
"""
DISK, MEMORY = 'disk = { path = "disk" }', 'memory = { path = "memory" }'


class Recording(NamedTuple):
    """A campaign to record, and what it is an example of."""

    storages: tuple[str, ...] = ()
    stopped_by: str = ""
    """Stop condition that must have ended one of its climbs; empty if it does not matter."""
    stops: str = ""
    database: str = ""
    workload: str = ""
    warehouses: int = 1
    repeats: int = 2
    sound: bool = False
    """Whether every rung must be valid and every check passed."""
    interrupted_after: int = 0
    """Number of rungs after which Ctrl-C ends it; 0: it finishes."""
    hogs: int = 0
    """Number of other processes that use a whole core each meanwhile."""
    preset: str = ""
    """A preset that is recorded as it is: as root, in the time that it takes."""

    @property
    def plan(self) -> Plan:
        """The plan that is run."""
        if self.preset:
            return preset(self.preset)
        values = {**self._asdict(), "storages": "\n".join(self.storages)}
        return parse_plan(PLAN.format(**values))


RECORDINGS = {
    "plateau": Recording(
        (DISK, MEMORY),
        "plateau",
        "[ladder.stops.saturation]\nbusy = 1",
        repeats=3,
        sound=True,
    ),
    "log_bound": Recording(
        (DISK,),
        "log_latency",
        '[ladder.stops.plateau]\nsteps = 5\n[ladder.stops.log_latency]\nlimit = "1.6ms"',
        warehouses=4,
    ),
    "saturated": Recording(
        (MEMORY,),
        "saturation",
        "[ladder.stops.plateau]\nsteps = 5\n[ladder.stops.saturation]\nbusy = 0.9",
        "cores = [0]",
        "load_generator_cores = [1]",
    ),
    "noisy": Recording((DISK, MEMORY), hogs=1),
    "interrupted": Recording((DISK, MEMORY), interrupted_after=4),
    "emulated": Recording(preset="emulated"),
}


def record(name: str) -> Path:
    """Run a campaign and pack its folder; the archive.

    Raises SystemExit where it did not end as it should, or is too large.
    """
    recording = RECORDINGS[name]
    with _directories() as place, contextlib.chdir(place), _hogs(recording.hogs):
        with contextlib.suppress(KeyboardInterrupt):
            watch = _interrupting(recording.interrupted_after)
            run(recording.plan, "campaigns", watch=watch, fresh=True)
        (folder,) = Path("campaigns").iterdir()
        if reason := why_not(recording, load(folder)):
            raise SystemExit(f"{name}: {reason}")
        return pack(folder, name)


def pack(folder: Path, name: str) -> Path:
    """The archive of a campaign's folder. Raises SystemExit where it is too large."""
    archive = HERE / f"{name}.tar.xz"
    with tarfile.open(archive, "w:xz", preset=9) as packed:
        packed.add(folder, name, filter=_kept)
    if archive.stat().st_size > MOST_BYTES:
        raise SystemExit(f"{archive} has {archive.stat().st_size} bytes, more than {MOST_BYTES}")
    return archive


def why_not(recording: Recording, results: Results) -> str:
    """Why a campaign is no example of what it was recorded for; empty if it is."""
    stopped_by = {climb.stopped_by for climb in results.climbs}
    if results.finished == bool(recording.interrupted_after):
        return f"finished is {results.finished}"
    if recording.stopped_by and recording.stopped_by not in stopped_by:
        return f"stopped by {stopped_by}, not by {recording.stopped_by}"
    if recording.sound and exit_code(results):
        return "a rung is invalid, or a check failed"
    return ""


def unpack(name: str, root: Path) -> Path:
    """The folder of a recording, unpacked below `root`."""
    with tarfile.open(HERE / f"{name}.tar.xz") as archive:
        archive.extractall(root, filter="data")
    return root / name


@contextlib.contextmanager
def _directories() -> Iterator[Path]:
    """A directory with a storage on the disk and one in memory, that a server's account may
    enter.
    """
    with (
        tempfile.TemporaryDirectory(prefix="kneebench-") as place,
        tempfile.TemporaryDirectory(prefix="kneebench-", dir="/dev/shm") as memory,
    ):
        for folder in (place, memory):
            Path(folder).chmod(0o755)
        (Path(place) / "disk").mkdir()
        (Path(place) / "memory").symlink_to(memory)
        yield Path(place)


@contextlib.contextmanager
def _hogs(number: int) -> Iterator[None]:
    """Other processes that compute all the time, each on any core."""
    code = [sys.executable, "-c", "while True: pass"]
    hogs = [subprocess.Popen(code) for _ in range(number)]
    try:
        yield
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()


def _interrupting(rungs: int) -> Callable[[Event], None]:
    """A watcher that prints the rungs, and presses Ctrl-C after so many."""
    seen: list[str] = []

    def watch(event: Event) -> None:
        if event.kind == "rung":
            seen.append(event.doing)
            print(event.doing, flush=True)
            if len(seen) == rungs:
                raise KeyboardInterrupt

    return watch


def _kept(file: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Without the owner, and without what the tests do not read: seconds, schemas, and the series
    of all but the final runs.
    """
    path = Path(file.name)
    if {"seconds", "schema", "lock"} & {*path.parts} or (
        path.parent.name == "series" and ".final_run-" not in path.name
    ):
        return None
    file.uid = file.gid = 0
    file.uname = file.gname = ""
    return file


if __name__ == "__main__":
    for name in sys.argv[1:] or RECORDINGS:
        made = record(name)
        print(f"{made.name}: {made.stat().st_size} bytes")
