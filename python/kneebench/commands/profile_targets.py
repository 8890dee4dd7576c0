"""What `profile` is asked to measure: directories and whole drives, the latter erased if its user
agrees.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from kneebench.commands.erasing import WITHOUT_ASKING, confirm_drives
from kneebench.commands.output import ReadingProgress

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kneebench.measurement.profile import Target
    from kneebench.plan import Plan
    from kneebench.records import WholeDrive

Places = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="DIRECTORY|DRIVE|PLAN.TOML",
        help="Directory on the drive to be measured, or a whole drive that nothing uses (see"
        " kneebench drives); several: on different drives. Or a plan: each of its storages.",
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
        help="With --write: this drive contains data that may be lost, once you have seen what and"
        ' typed "erase 1 drive" (or piped it); --yes does not answer that. For each such drive.',
        show_default=False,
    ),
]
EraseUnasked = Annotated[
    list[str] | None,
    typer.Option(
        WITHOUT_ASKING,
        metavar="WWID",
        help="As --erase, and do not ask: for unattended jobs. For each such drive.",
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


StorageName = Annotated[
    str | None,
    typer.Option(
        "--storage", metavar="NAME", help="With a plan: this storage alone.", show_default=False
    ),
]


def plan_of(places: list[str], storage: str | None, set_keys: list[str] | None) -> Plan | None:
    """The plan that was named in place of drives, with one of its storages if one was named; None
    for drives. Raises PlanError and Refused where its storages cannot be measured here.
    """
    from kneebench.campaign.preflight import published_findings, read_plan, refuse
    from kneebench.commands.run_options import overrides
    from kneebench.errors import PlanError
    from kneebench.lab.volumes import volume_findings

    if [Path(one).suffix for one in places] != [".toml"]:
        if storage or set_keys:
            do = "name a plan, as in: kneebench profile plan.toml"
            raise PlanError("--storage and --set", seen="no plan", do=do)
        return None
    plan = read_plan(places[0], overrides(set_keys))
    if storage and storage not in plan.storages:
        do = f"use one of: {', '.join(plan.storages)}"
        raise PlanError(f"--storage {storage}", seen="no such storage in the plan", do=do)
    if plan.servers or plan.hosts.database.ssh or not plan.measures_real_hardware:
        do = "profile a directory on these drives, where they are"
        raise PlanError(places[0], seen="its drives are not drives of this machine", do=do)
    kept = {storage: plan.storages[storage]} if storage else plan.storages
    plan = plan.model_copy(update={"storages": kept, "baseline": ""})
    refuse([*volume_findings(plan), *published_findings(plan)])
    return plan


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
    """Directories; what is none is a drive. Nothing is written. Raises PlanError for a name of
    neither, and for a drive to be erased that is not among them.
    """
    from kneebench.errors import PlanError
    from kneebench.measurement.profile import DirectoryTarget, DriveTarget

    options.require_sense()
    found: list[Target] = []
    for place in places:
        if drive := _drive(place):
            erase = drive.wwid in options.erase
            found.append(DriveTarget(drive, options.write, options.precondition, erase))
        else:
            found.append(DirectoryTarget(Path(place), size_bytes))
    named = {one.drive.wwid for one in found if isinstance(one, DriveTarget)}
    if others := sorted({*options.erase} - named):
        do = f"use the WWID of a drive that is profiled: {', '.join(sorted(named)) or 'none here'}"
        raise PlanError(f"--erase {others[0]}", seen="no such drive in this command", do=do)
    return found


def erase_agreed(targets: list[Target], unasked: Sequence[str]) -> list[Target]:
    """The targets, once drives that contain data were erased, which their user confirms, or has
    confirmed by WWID.

    Raises PlanError for a WWID that several drives have; Refused as `confirm_drives` does.
    """
    from kneebench.lab.inventory import drives_called, inventory, named
    from kneebench.lab.volumes import erase_drives, to_be_erased
    from kneebench.measurement.profile import DriveTarget

    drives = [one.drive for one in targets if isinstance(one, DriveTarget) and one.erase]
    drives_called(unasked)
    shown = to_be_erased(drives, {one.wwid for one in drives})
    if not (agreed := confirm_drives(shown, unasked)):
        return targets
    erase_drives(agreed)
    here = inventory([one.path for one in agreed])
    return [
        one._replace(drive=named(here, one.drive.path))
        if isinstance(one, DriveTarget) and one.drive in agreed
        else one
        for one in targets
    ]


def _drive(place: str) -> WholeDrive | None:
    """The drive of that name; None for a directory, and for the path of what is no device.

    Raises PlanError with the drives that there are.
    """
    from kneebench.lab.inventory import inventory

    path = Path(place)
    if path.is_dir() or ("/" in place and not path.is_block_device()):
        return None
    return inventory([place], watch=ReadingProgress())[0]
