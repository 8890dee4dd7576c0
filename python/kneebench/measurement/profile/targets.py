"""Targets of a profile: a directory, by a file of our own in it, or a whole drive."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from kneebench.databases.managed.disk_space import free_bytes
from kneebench.errors import PlanError, Refused
from kneebench.lab.changes.format import FormattedDrive
from kneebench.lab.drives import IN_MEMORY, file_system_of, whole_devices
from kneebench.lab.inventory import drives_under
from kneebench.lab.inventory.erasable import drive_state
from kneebench.lab.journal import Journal
from kneebench.lab.volumes import Preconditioner, claimed
from kneebench.measurement.profile.fio import Fio, chosen
from kneebench.measurement.profile.jobs import Job
from kneebench.measurement.profile.tree_copy import FILE_BYTES, FILES
from kneebench.plan.volume import Volume
from kneebench.records import Event, Watch, WholeDrive
from kneebench.units import size

SPARE = 0.1
"""Share of the file system that stays free."""


class DirectoryTarget(NamedTuple):
    """A directory: its file is written in full first, so that reads find data, and removed at the
    end, also after a crash.
    """

    path: Path
    size_bytes: int

    @property
    def what(self) -> str:
        """Its file system."""
        return file_system_of(self.path)

    @property
    def drives(self) -> tuple[WholeDrive, ...]:
        """The drives under it."""
        return drives_under([self.path])

    @property
    def devices(self) -> tuple[str, ...]:
        """Their names."""
        return whole_devices([self.path])

    def jobs(self, jobs: Sequence[Job]) -> Sequence[Job]:
        """All of them."""
        return jobs

    def require(self) -> None:
        """Raises PlanError where the directory cannot hold the file, or has no drive."""
        doing = f"profiling {self.path}"
        if not self.path.is_dir():
            raise PlanError(doing, seen="no such directory or drive", do="name one on the drive")
        if self.what in IN_MEMORY:
            raise PlanError(
                doing, seen="its files are in memory, on no drive", do="name one on the drive"
            )
        needed, free = self.size_bytes + 2 * FILES * FILE_BYTES, free_bytes(self.path)
        if needed > free * (1 - SPARE):
            raise PlanError(
                doing,
                seen=f"{size(needed)} needed, {size(free)} free",
                do="use a smaller --size, or free some space",
            )

    @contextlib.contextmanager
    def opened(self, program: str, watch: Watch) -> Iterator[Fio]:
        """fio on the file, which is written in full."""
        with _folder(self.path.resolve()) as place:
            fio = chosen(Fio(program, place, "file", self.size_bytes, ""))
            fio.fill()
            yield fio


class DriveTarget(NamedTuple):
    """A whole drive that nothing uses. It is read only, unless `writes`; then it must be blank, is
    preconditioned as `precondition` says, and is marked as one that may be overwritten at the end.
    """

    drive: WholeDrive
    writes: bool = False
    precondition: str = ""

    @property
    def path(self) -> Path:
        """Its device."""
        return Path(self.drive.path)

    @property
    def size_bytes(self) -> int:
        """All of it."""
        return self.drive.size_bytes

    @property
    def what(self) -> str:
        """No file system."""
        return "raw drive"

    @property
    def drives(self) -> tuple[WholeDrive, ...]:
        """Itself."""
        return (self.drive,)

    @property
    def devices(self) -> tuple[str, ...]:
        """Its name."""
        return (self.drive.name,)

    def jobs(self, jobs: Sequence[Job]) -> Sequence[Job]:
        """Those that it allows."""
        return [job for job in jobs if self.writes or not job.writes]

    def require(self) -> None:
        """Raises Refused while something uses the drive."""
        found = drive_state(self.drive)
        if found.state == "in use":
            raise Refused(
                f"profiling {self.path}",
                seen=found.why,
                do="profile a directory on it, or use another drive (kneebench drives)",
            )

    @contextlib.contextmanager
    def opened(self, program: str, watch: Watch) -> Iterator[Fio]:
        """fio on the drive, which is claimed if it is written to."""
        journal = Journal()
        with contextlib.ExitStack() as stack:
            place = stack.enter_context(_folder(Path.cwd()))
            if self.writes:
                self._claim(journal, stack, watch)
            yield chosen(Fio(program, place, str(self.path), self.size_bytes, "", not self.writes))

    def _claim(self, journal: Journal, stack: contextlib.ExitStack, watch: Watch) -> None:
        claimed([self.drive.path])
        facts = {"device": self.drive.path, "wwid": self.drive.key, "volume": str(uuid.uuid4())}
        preconditioner = Preconditioner(journal)
        stack.callback(preconditioner.leave, self.drive.path)
        stack.enter_context(journal.made(FormattedDrive, "a profile", **facts))
        volume = Volume(drives=(self.drive.path,), precondition=self.precondition)
        preconditioner.prepare([self.drive.path], volume, watch)


Target = DirectoryTarget | DriveTarget


def filled_bytes(target: Target) -> int:
    """What is written before the first row, preconditioning apart."""
    return target.size_bytes if isinstance(target, DirectoryTarget) else 0


def unwatched(event: Event) -> None:
    """A watcher that does nothing."""


@contextlib.contextmanager
def _folder(parent: Path) -> Iterator[Path]:
    """A folder of our own."""
    folder = parent / f".kneebench-profile-{uuid.uuid4().hex[:8]}"
    with Journal().directory(folder, "a profile's files") as place:
        yield place
