"""What `profile` is asked to measure: directories and whole drives, the latter erased if its user
agrees.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from kneebench.commands.erasing import confirmed_drives

if TYPE_CHECKING:
    from kneebench.measurement.profile import Target
    from kneebench.records import WholeDrive

Places = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="DIRECTORY|DRIVE",
        help="Directory on the drive to be measured, or a whole drive that nothing uses (see"
        " kneebench drives); several: on different drives. [default: .]",
        show_default=False,
    ),
]
Write = Annotated[
    bool,
    typer.Option(
        "--write",
        help="Also write to whole drives, which must be blank. Without it they are only read.",
    ),
]
EraseDrives = Annotated[
    list[str] | None,
    typer.Option(
        "--erase",
        metavar="WWID",
        help="With --write: this drive contains data that may be lost. For each such drive.",
        show_default=False,
    ),
]
Precondition = Annotated[
    str,
    typer.Option(
        "--precondition",
        metavar="HOW",
        help='With --write: first write the drives, as a plan would: "sequential 1, random 2", or'
        " snia.",
        show_default=False,
    ),
]


class DriveOptions(NamedTuple):
    """The options about whole drives."""

    write: bool
    erase: tuple[str, ...]
    precondition: str

    def require_sense(self) -> None:
        """Raises PlanError for options that do not go together."""
        from kneebench.errors import PlanError
        from kneebench.plan.volume import Preconditioning

        if (self.erase or self.precondition) and not self.write:
            raise PlanError("--erase and --precondition", seen="no --write", do="add --write")
        try:
            Preconditioning.read(self.precondition)
        except ValueError:
            seen, do = repr(self.precondition), 'use "sequential 1, random 2", or snia'
            raise PlanError("--precondition", seen=seen, do=do) from None


def targets_of(places: list[str], size_bytes: int, options: DriveOptions) -> list[Target]:
    """Directories; what is none is a drive, if there is one of that name. Drives that contain data
    are erased here, if their user agrees. Raises PlanError or Refused.
    """
    from kneebench.measurement.profile import DirectoryTarget, DriveTarget

    options.require_sense()
    drives = {place: drive for place in places if (drive := _drive(place))}
    if options.write and _erase(tuple(drives.values()), options.erase):
        drives = {place: drive for place in drives if (drive := _drive(place))}
    return [
        DriveTarget(drives[place], options.write, options.precondition)
        if place in drives
        else DirectoryTarget(Path(place), size_bytes)
        for place in places
    ]


def _drive(place: str) -> WholeDrive | None:
    """The drive of that name; None for a directory, and for a name that no drive has."""
    from kneebench.errors import PlanError
    from kneebench.lab.inventory import inventory, named

    if Path(place).is_dir():
        return None
    try:
        return named(inventory(), place)
    except PlanError:
        return None


def _erase(drives: tuple[WholeDrive, ...], allowed: tuple[str, ...]) -> bool:
    """Whether any was erased: those that contain data, that the options name, and whose erasing
    the user confirms.
    """
    from kneebench.lab.inventory.erasable import drive_state
    from kneebench.lab.volumes import erase_drives

    erased = confirmed_drives(
        tuple(
            drive
            for drive in drives
            if drive.wwid in allowed and drive_state(drive).state == "contains data"
        )
    )
    erase_drives(erased)
    return bool(erased)
