"""Targets of a profile: a directory, by a file of our own in it, or a whole drive."""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import time
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from kneebench.databases.managed.copying import drop_caches, write_out
from kneebench.databases.managed.disk_space import free_bytes
from kneebench.directories import make_directory
from kneebench.errors import KneebenchError, PlanError, Refused
from kneebench.lab.changes.format import FormattedDrive
from kneebench.lab.drives import IN_MEMORY, file_system_of, whole_devices
from kneebench.lab.folder import Folder
from kneebench.lab.inventory import drives_under
from kneebench.lab.inventory.erasable import drive_state
from kneebench.lab.journal import Journal
from kneebench.lab.permission import WritableDevice, claim, require_blank, require_no_obstacle
from kneebench.lab.removal import empty
from kneebench.lab.volumes import Preconditioner, preconditioning_cost
from kneebench.lab.volumes.fio_on_drives import file_of
from kneebench.lab.volumes.recording import record_change
from kneebench.measurement.profile.fio import Fio, with_working_engine
from kneebench.measurement.profile.jobs import Job
from kneebench.measurement.profile.rows import ProfileRow, Traffic
from kneebench.plan.volume import Volume
from kneebench.records import Event, Preconditioned, Watch, WholeDrive
from kneebench.units import size

LEAST_BYTES = 64 * 2**20
"""Of a drive that is written to."""
SPARE = 0.1
"""Share of the file system that stays free."""
FILL_BYTES_PER_S = 300e6
"""For the time that is expected: a slow SSD."""


class DirectoryTarget(NamedTuple):
    """A directory: its file is written in full first, so that reads find data, and removed at the
    end, also after a crash.
    """

    path: Path
    size_bytes: int

    @property
    def what(self) -> str:
        return file_system_of(self.path)

    @property
    def drives(self) -> tuple[WholeDrive, ...]:
        return drives_under([self.path])

    @property
    def devices(self) -> tuple[str, ...]:
        return whole_devices([self.path])

    @property
    def filled_s(self) -> float:
        """About how long it takes to write the file."""
        return self.size_bytes / FILL_BYTES_PER_S

    def jobs(self, jobs: Sequence[Job]) -> Sequence[Job]:
        return jobs

    def require(self, *, small_files: bool = True) -> None:
        """Raises PlanError where the directory cannot hold the file, with the small files of a
        tree that is copied as well, or has no drive.
        """
        what = f"cannot profile {self.path}"
        if not self.path.is_dir():
            raise PlanError(what, seen="no such directory or drive", do="name one on the drive")
        if self.what in IN_MEMORY:
            raise PlanError(
                what, seen="its files are in memory, on no drive", do="name one on the drive"
            )
        needed = self.size_bytes + (2 * FILES * FILE_BYTES if small_files else 0)
        free = free_bytes(self.path)
        if needed > free * (1 - SPARE):
            raise PlanError(
                what,
                seen=f"{size(needed)} needed, {size(free)} free",
                do="use a smaller --size, or free some space",
            )

    @contextlib.contextmanager
    def opened(self, program: str, watch: Watch) -> Iterator[Fio]:
        """fio on the file, which is written in full."""
        with _folder(self.path.resolve()) as place:
            fio = with_working_engine(Fio(program, place, "file", self.size_bytes, ""))
            fio.fill()
            yield fio


class DriveTarget(NamedTuple):
    """A whole drive that nothing uses. It is read only, unless `writes`; then it must be blank, is
    preconditioned as `precondition` says, and is marked as one that may be overwritten at the end.
    `erase`: its user allows that its data are lost; they are erased before it is opened.
    """

    drive: WholeDrive
    writes: bool = False
    precondition: str = ""
    erase: bool = False

    @property
    def path(self) -> Path:
        return Path(self.drive.path)

    @property
    def size_bytes(self) -> int:
        return self.drive.size_bytes

    @property
    def what(self) -> str:
        """No file system."""
        return "raw drive"

    @property
    def drives(self) -> tuple[WholeDrive, ...]:
        return (self.drive,)

    @property
    def devices(self) -> tuple[str, ...]:
        return (self.drive.name,)

    @property
    def filled_s(self) -> float:
        """About how long preconditioning takes, if it was not done before."""
        return preconditioning_cost(self._volume, restores=0).seconds

    def jobs(self, jobs: Sequence[Job]) -> Sequence[Job]:
        """Those that it allows."""
        return [job for job in jobs if self.writes or not job.writes]

    def require(self) -> None:
        """Raises Refused while something uses the drive, and for writes if it is not blank and
        must not be erased; PlanError for who is not root.
        """
        what, found = f"cannot profile {self.path}", drive_state(self.drive)
        if os.geteuid() != 0:
            do = "run it as root, or profile a directory on it"
            raise PlanError(what, seen="only root may open a whole drive", do=do)
        if found.state == "in use":
            do = "profile a directory on it, or use another drive (kneebench drives)"
            raise Refused(what, seen=found.why, do=do)
        if self.writes and self.size_bytes < LEAST_BYTES:
            seen = f"it has {size(self.size_bytes)}"
            do = f"use a drive of at least {size(LEAST_BYTES)}"
            raise PlanError(what, seen=seen, do=do)
        if self.writes:
            require_no_obstacle(self.drive)
        if self.writes and not (self.erase and found.needs_consent):
            require_blank(self.drive, found, f"add --erase {shlex.quote(self.drive.key)}")

    @contextlib.contextmanager
    def opened(self, program: str, watch: Watch) -> Iterator[Fio]:
        """fio on the drive, which is claimed if it is written to."""
        journal = Journal()
        with contextlib.ExitStack() as stack:
            place = stack.enter_context(_folder(Path.cwd()))
            device = self._claim(journal, stack, watch) if self.writes else None
            file, reads_only = file_of(self.drive.path), not self.writes
            yield with_working_engine(
                Fio(program, place, file, self.size_bytes, "", reads_only, device)
            )

    def _claim(self, journal: Journal, stack: contextlib.ExitStack, watch: Watch) -> WritableDevice:
        [device] = claim([self.drive.path], watch)
        preconditioner = Preconditioner(journal)
        stack.callback(preconditioner.leave, device.path)
        stack.enter_context(device)
        id = str(uuid.uuid4())
        stack.enter_context(record_change(journal, FormattedDrive, "a profile", device, volume=id))
        preconditioner.prepare([device], self._volume, watch)
        stack.enter_context(device.alone())
        return device

    @property
    def _volume(self) -> Volume:
        return Volume(drives=(self.drive.path,), precondition=self.precondition)


Target = DirectoryTarget | DriveTarget


class PreconditioningWatcher:
    """A watcher that keeps how drives were preconditioned, and passes events on."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self.drives: tuple[Preconditioned, ...] = ()

    def __call__(self, event: Event) -> None:
        """Take in what happened."""
        if isinstance(done := event.data.get("written"), Preconditioned):
            self.drives = (*self.drives, done)
        self._watch(event)


@contextlib.contextmanager
def _folder(parent: Path) -> Iterator[Path]:
    """A folder of our own."""
    folder = parent / f".kneebench-profile-{uuid.uuid4().hex[:8]}"
    with Journal().directory(folder, "a profile's files") as place:
        yield place


# Copying a tree of many small files, as restores and deployments do: `cp -r`, then a sync of the
# file system.

FILES, FOLDERS = 2_000, 20
FILE_BYTES = 32 * 1024


def tree_copy(place: Path) -> ProfileRow:
    """Copy a tree of 2,000 files of 32 KiB that is not in the page cache; both are removed.

    Raises KneebenchError where cp fails.
    """
    source, target = place / "tree", place / "copy"
    _make(source)
    began_s = time.monotonic()
    done = subprocess.run(
        ["cp", "-r", "--reflink=never", source, target], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise KneebenchError(
            f"cannot copy {source}", seen=done.stderr.strip(), do="see kneebench drives"
        )
    with Folder.at(target) as copied, _explained(target):
        write_out([copied])
    took_s = time.monotonic() - began_s
    for tree in (source, target):
        with Folder.at(tree) as folder:
            empty(folder)
        tree.rmdir()
    per_s = FILES / took_s
    side = Traffic(iops=per_s, bytes_per_s=per_s * FILE_BYTES, n=FILES, mean_s=1 / per_s)
    return ProfileRow(
        name=f"copy of {FILES:,} files of 32 KiB",
        group="copy",
        block_bytes=FILE_BYTES,
        write=side,
        files_per_s=per_s,
    )


def _make(tree: Path) -> None:
    data = os.urandom(FILE_BYTES)
    folders = [make_directory(tree / f"{number}") for number in range(FOLDERS)]
    for number in range(FILES):
        (folders[number % FOLDERS] / f"{number}").write_bytes(data)
    with Folder.at(tree) as made, _explained(tree):
        drop_caches([made])


@contextlib.contextmanager
def _explained(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise KneebenchError(
            f"cannot write out {folder}",
            seen=error.strerror or str(error),
            do="see kneebench drives",
        ) from error
