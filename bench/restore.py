"""Restoring: a plain copy over `cp -a`, a clone in seconds, and what the clone's copy on write
costs the run that follows.

Both copies begin with nothing of the image in the page cache and end written out and dropped from
it. The clone and the run after it live on an XFS with reflinks on a loop device (direct I/O, so
that nothing is cached twice): root only.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Literal

from bench.ratio import Ratio, Size, alone, at_least, at_most, told, turns
from bench.servers import unwatched
from bench.turn import in_turn
from kneebench.databases.engines.postgres.engine import OwnPostgres
from kneebench.databases.managed.copying import drop_caches, duplicate
from kneebench.lab.folder import Folder
from kneebench.lab.journal import Journal
from kneebench.measurement.measure import measure as measure_rung
from kneebench.plan import Plan
from kneebench.plan.configurations import configurations
from kneebench.plan.study import Study
from kneebench.records import Order

NAME = "restore"
ABOUT = "a plain copy over cp -a, a clone in seconds, and what the clone costs the run"
COPY_AIM, CLONE_AIM_S = 0.8, 2.0
ROOM = 1.5
"""Of the loop device over what is put on it."""
BYTES_PER_WAREHOUSE = 130_000_000
USERS = 8
RUN = {"warm_up": "20s", "window": "25s", "final_window": "25s", "checkpoints": 0}
CHECKPOINTS = {"checkpoint_timeout": "30s", "checkpoint_completion_target": 0.5}
"""One whole checkpoint within a window: what is written to a clone's blocks costs only when it is
written."""


def measure(size: Size) -> list[Ratio]:
    """The copy; with root and mkfs.xfs also the clone and the run from it."""
    with _scratch() as folder:
        images = size.images or folder / "images"
        image = _image(images, folder, size.count(50, 1))
        rows = [_copied(image, folder / "copies", size)]
        if missing := _no_clone():
            print(f"{NAME}: clones skipped, {missing}", file=sys.stderr)
            return rows
        warehouses, run_on = size.count(50, 1), size.count(10, 1)
        with _xfs(
            folder, int(ROOM * BYTES_PER_WAREHOUSE * (warehouses + 3 * run_on)) + 2**30
        ) as point:
            return [
                *rows,
                _cloned(image, point, size),
                _cost(point, run_on, image.parent, size),
            ]


@contextlib.contextmanager
def _scratch() -> Iterator[Path]:
    here = Path(".kneebench").absolute()
    here.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="bench-restore-", dir=here) as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def _plan(
    images: Path,
    storage: Path,
    warehouses: int,
    how: str = "copy",
    run: dict[str, object] | None = None,
) -> Plan:
    database = {"base_image_path": str(images), "restore": how, "settings": CHECKPOINTS}
    ladder = {"users": USERS, **(run or RUN)}
    return Plan.model_validate(
        {
            "database": database,
            "workload": {"warehouses": warehouses},
            "ladder": ladder,
            "storages": {"drive": {"path": str(storage)}},
        }
    )


def _engine(plan: Plan, journal: Path) -> OwnPostgres:
    return OwnPostgres(Study(plan).only_database, Journal(journal))


def _image(images: Path, folder: Path, warehouses: int) -> Path:
    """The data directory of an image."""
    facts = _engine(_plan(images, folder, warehouses), folder / "journal").prepare(unwatched)
    return images / facts["key"] / "data"


# --- the copy -------------------------------------------------------------------------------------


def _copied(image: Path, copies: Path, size: Size) -> Ratio:
    copies.mkdir()
    ours, theirs = in_turn(
        size.count(5, 1),
        lambda: _timed(image, copies / "copy", lambda target: _duplicate(image, target, "copy")),
        lambda: _timed(
            image,
            copies / "copy",
            lambda target: subprocess.run(["cp", "-a", image, target], check=True),
        ),
    )
    found = turns(theirs, ours)
    gb = sum(path.stat().st_size for path in image.rglob("*") if path.is_file()) / 1e9
    note = "cp's seconds / ours; cold image, until written out and dropped from the cache"
    return at_least(
        "plain copy over cp -a",
        found,
        COPY_AIM,
        note=note,
        GB=gb,
        ours_s=median(ours),
        cp_s=median(theirs),
    )


def _duplicate(source: Path, target: Path, how: Literal["copy", "clone"]) -> None:
    target.mkdir(mode=0o700)
    with Folder.at(source) as given, Folder.at(target) as made:
        duplicate(given, made, how, unwatched)


def _cool(*folders: Path) -> None:
    with contextlib.ExitStack() as opened:
        drop_caches([opened.enter_context(Folder.at(folder)) for folder in folders])


def _timed(image: Path, target: Path, copy: Callable[[Path], object]) -> float:
    """Seconds from a cold image to a copy that is written out and cold; the copy is removed."""
    _cool(image)
    began = time.monotonic()
    copy(target)
    _cool(image, target)
    seconds = time.monotonic() - began
    shutil.rmtree(target)
    return seconds


# --- the clone ------------------------------------------------------------------------------------


def _no_clone() -> str:
    """Why no file system with reflinks can be made here; empty where it can."""
    if os.geteuid() != 0:
        return "mounting a file system needs root"
    if missing := [tool for tool in ("mkfs.xfs", "losetup", "mount") if not shutil.which(tool)]:
        return f"{', '.join(missing)} is missing (Debian: xfsprogs, mount)"
    return ""


@contextlib.contextmanager
def _xfs(folder: Path, size_bytes: int) -> Iterator[Path]:
    """An XFS with reflinks on a loop device, gone at the end."""
    drive, point = folder / "drive.img", folder / "xfs"
    point.mkdir()
    with drive.open("wb") as file:
        file.truncate(size_bytes)
    with contextlib.ExitStack() as ends:
        loop = subprocess.run(
            ["losetup", "--find", "--show", "--direct-io=on", drive],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
        ends.callback(_run, "losetup", "--detach", loop)
        _run("mkfs.xfs", "-q", "-m", "reflink=1", loop)
        _run("mount", loop, point)
        ends.callback(_run, "umount", point)
        yield point


def _run(*command: str | Path) -> None:
    subprocess.run(command, check=True)


def _cloned(image: Path, point: Path, size: Size) -> Ratio:
    there = point / "image"
    _duplicate(image, there, "copy")
    shared: list[float] = []

    def clone(target: Path) -> None:
        began = time.monotonic()
        _duplicate(there, target, "clone")
        shared.append(time.monotonic() - began)

    found = alone([_timed(there, point / "clone", clone) for _ in range(size.count(5, 1))])
    shutil.rmtree(there)
    name = f"a clone of {size.count(50, 1)} warehouse{'' if size.quick else 's'}"
    return at_most(
        name,
        found,
        CLONE_AIM_S,
        unit="s",
        note="XFS on a loop device; reflinks, then written out",
        reflinks_s=median(shared),
    )


# --- the run from a clone -------------------------------------------------------------------------


def _cost(point: Path, warehouses: int, image: Path, size: Size) -> Ratio:
    """NOPM from a clone over NOPM from a plain copy, both on the same file system, in turn.

    Quick ones run on a copy of the image that is there.
    """
    run = {**RUN, "warm_up": "1s", "window": "2s", "final_window": "2s"} if size.quick else RUN
    plans = {
        how: _plan(point / "images", point / "run", warehouses, how, run)
        for how in ("clone", "copy")
    }
    for name in ("run", "images"):
        (point / name).mkdir()
    if size.quick:
        _run("cp", "-a", "--reflink=never", image, point / "images" / image.name)
    engines = {how: _engine(plan, point.parent / "journal") for how, plan in plans.items()}
    nopm: dict[str, list[float]] = {"clone": [], "copy": []}
    for pair in range(size.count(6, 1)):
        for how in ("clone", "copy") if pair % 2 == 0 else ("copy", "clone"):
            nopm[how].append(_nopm(engines[how], plans[how], pair))
    note = (
        f"NOPM, {warehouses} warehouses, {USERS} users, one checkpoint in each window; no aim: what"
        " it costs"
    )
    return told(
        "a run from a clone over one from a plain copy",
        turns(nopm["clone"], nopm["copy"]),
        note=note,
        clone_NOPM=median(nopm["clone"]),
        copy_NOPM=median(nopm["copy"]),
    )


def _nopm(engine: OwnPostgres, plan: Plan, repeat: int) -> float:
    (configuration,) = configurations(plan)
    with engine.restored(configuration, unwatched) as server:
        order = Order(
            configuration=configuration.id, phase="fixed_load", users=USERS, repeat=repeat
        )
        rung = measure_rung(order, Study(plan).rungs(configuration), server, unwatched).rung
    if rung.invalid:
        print(f"{NAME}: {rung.invalid}", file=sys.stderr)
    return rung.tally.nopm
