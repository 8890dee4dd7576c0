"""Records small campaigns on the embedded PostgreSQL, as archives beside it: `python
tests/recorded/record.py [NAME ...]`.

Real ones, unlike that of make.py: with noise, and figures that no formula gave. The tests read them
and expect of them what must hold on a busy machine too, not figures. Each takes a minute or two,
with one warehouse and windows of 3 s.
"""

from __future__ import annotations

import contextlib
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from kneebench import load, run
from kneebench.plan.reader import parse_plan
from kneebench.records import Event, Results

HERE = Path(__file__).parent
MOST_BYTES = 200_000
PLAN = """
question = "A small campaign for the tests"
[workload]
warehouses = 1
[ladder]
users = [4, 32]
step = 2
warm_up = "2s"
window = "3s"
final_window = "3s"
checkpoints = 0
repeats = 2
[storages]
disk = { path = "disk" }
memory = { path = "memory" }
"""


RECORDINGS = {"interrupted": 4}
"""The recordings by name, with the number of rungs after which Ctrl-C ends them (0: none does)."""


def record(name: str) -> Path:
    """Run a campaign and pack its folder; the archive.

    Raises SystemExit where it did not end as it should, or is too large.
    """
    rungs = RECORDINGS[name]
    with _directories() as place, contextlib.chdir(place):
        with contextlib.suppress(KeyboardInterrupt):
            run(parse_plan(PLAN), "campaigns", _interrupting(rungs), fresh=True)
        (folder,) = Path("campaigns").iterdir()
        results = load(folder)
        if results.finished == bool(rungs):
            raise SystemExit(f"{name}: finished is {results.finished}")
        archive = HERE / f"{name}.tar.xz"
        with tarfile.open(archive, "w:xz", preset=9) as packed:
            packed.add(folder, name, filter=_kept)
    if archive.stat().st_size > MOST_BYTES:
        raise SystemExit(f"{archive} has {archive.stat().st_size} bytes, more than {MOST_BYTES}")
    return archive


def recorded(name: str, root: Path) -> Results:
    """The results of a recording, unpacked below `root`."""
    with tarfile.open(HERE / f"{name}.tar.xz") as archive:
        archive.extractall(root, filter="data")
    return load(root / name)


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
