"""The command that measures a drive without a database: profile."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from kneebench.commands.erasing import WITHOUT_ASKING, confirm_drives
from kneebench.commands.measuring import clean_up, confirm
from kneebench.commands.options import Json
from kneebench.commands.output import ReadingProgress, print_line, show_json, show_page
from kneebench.commands.run_options import SetKeys, Yes
from kneebench.commands.trusting import TrustPlan, trusted
from kneebench.directories import make_directory

if TYPE_CHECKING:
    from kneebench.brief.rendering import Page
    from kneebench.measurement.profile import Profile, ProfileRow, Target, Together, TogetherRow
    from kneebench.plan.study import Study
    from kneebench.records import Event

EVERY_S = 30.0
"""Between two lines of how long preconditioning still takes."""

Size = Annotated[
    str, typer.Option("--size", help="Size of the file that is read and written in a directory.")
]
Seconds = Annotated[
    int,
    typer.Option("--seconds", min=1, max=3600, help="Measured time per row, after a ramp of 1 s."),
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        metavar="PATH",
        help="Also write the page (FILE.html), the profile with fio's own documents (FILE.json), or"
        " both into this directory.",
        show_default=False,
    ),
]
Sheet = Annotated[
    str | None,
    typer.Option(
        "--datasheet",
        metavar="FILE.TOML",
        help="Compare with the maker's figures in this file, or with a shipped data sheet by name.",
        show_default=False,
    ),
]

HELP = """Measure what a drive can do without a database.

fio reads and writes one file in the directory: sequential and random, the mixes of drive
reviews, queue depths, block sizes, and log writes with a sync after each. Then 2,000 small
files are copied. No root is needed; everything is removed at the end.

A whole drive is only read, unless --write. It needs root, and nothing may use the drive.

\b
Examples:
  kneebench profile                       the drive under this directory
  kneebench profile /mnt/nvme --size 64GiB --seconds 30
  kneebench profile /mnt/nvme --datasheet nvme.toml --out nvme.html
  kneebench profile /mnt/nvme0 /mnt/nvme1     each alone, then together
  kneebench profile nvme1n1                   a whole drive, read only
  kneebench profile nvme1n1 --write --precondition snia
  kneebench profile plan.toml                 each storage of a plan

For quotable figures use a file larger than the drive's own cache, and a drive in its steady
state: new or freshly trimmed flash is faster.
"""


def profile(
    places: Places = None,
    size: Size = "1GiB",
    seconds: Seconds = 3,
    datasheet: Sheet = None,
    out: Out = None,
    as_json: Json = False,
    yes: Yes = False,
    write: Write = False,
    erase: EraseDrives = None,
    erase_without_asking: EraseUnasked = None,
    precondition: Precondition = "",
    storage: StorageName = None,
    set_keys: SetKeys = None,
    trust_plan: TrustPlan = False,
) -> None:
    """Measure what a drive can do without a database; `HELP` has the rest."""
    clean_up()
    unasked = tuple(erase_without_asking or ())
    asked = _Asked(seconds, datasheet, _outputs(out), as_json, yes, unasked)
    if plan := plan_of(places or [], storage, set_keys, sure=trust_plan):
        _storages(plan, _size_bytes(size), asked)
        return
    options = DriveOptions(write, (*(erase or ()), *unasked), precondition)
    targets = targets_of(places or ["."], _size_bytes(size), options)
    measure = _several if len(targets) > 1 else _one
    measure(targets, asked)


class _Asked(NamedTuple):
    """The options, checked."""

    seconds: int
    datasheet: str | None
    files: list[Path]
    as_json: bool
    yes: bool
    unasked: tuple[str, ...]


def _one(targets: list[Target], asked: _Asked) -> None:
    from kneebench.brief.profile import ProfilePage
    from kneebench.measurement import profile as measuring

    sheet = measuring.read_datasheet(asked.datasheet) if asked.datasheet else None
    [target] = targets
    takes_s = measuring.expected_s(target, asked.seconds)
    [target] = _begin(targets, takes_s, measuring.writing_s(target, asked.seconds), asked)

    found = measuring.profile(target, asked.seconds, _print_row, progress=PreconditioningLines())
    found = found.beside(sheet) if sheet else found
    show_page(page := ProfilePage(found), as_json=asked.as_json)
    _write(found, page, asked.files)


def _storages(study: Study, size_bytes: int, asked: _Asked) -> None:
    """Each storage of a plan by itself, on volumes that are made of its drives and removed."""
    from kneebench.brief.profile import ProfilePage
    from kneebench.errors import PlanError
    from kneebench.lab.journal import Journal
    from kneebench.lab.volumes import Volumes
    from kneebench.measurement import profile as measuring
    from kneebench.plan.configurations import configuration_id

    sheet = measuring.read_datasheet(asked.datasheet) if asked.datasheet else None
    if sheet and max(one.number_of_drives for one in study.storages.values()) > 1:
        do = "add --storage with one of a single drive"
        raise PlanError("--datasheet", seen="a data sheet is of one drive", do=do)
    ids, documents = dict[str, str](), dict[str, Any]()
    for name in study.storages:
        ids[name] = configuration_id([name], [*ids.values()])
    each = measuring.DirectoryTarget(Path.cwd(), size_bytes)
    takes_s = len(ids) * measuring.expected_s(each, asked.seconds)
    _begin([], takes_s, len(ids) * measuring.writing_s(each, asked.seconds), asked)

    with closing(Volumes(Journal(), study.emulated_path)) as volumes:
        for name, storage in study.storages.items():
            print_line(f"storage {name}", err=True)
            with volumes.mounted(name, storage, PreconditioningLines()) as there:
                target = measuring.DirectoryTarget(there.paths[0], size_bytes)
                found = measuring.profile(target, asked.seconds, _print_row).of_storage(name, study)
            found = found.beside(sheet) if sheet else found
            documents[name] = (page := ProfilePage(found)).document()
            if not asked.as_json:
                show_page(page)
            own = [one.with_stem(f"{one.stem}-{ids[name]}") for one in asked.files]
            _write(found, page, own if len(ids) > 1 else asked.files)
    if asked.as_json:
        show_json({"storages": documents})


def _print_row(row: ProfileRow) -> None:
    from kneebench.brief.profile.row_table import row_line

    print_line(row_line(row), err=True)


def _several(targets: list[Target], asked: _Asked) -> None:
    from kneebench.brief.profile import TogetherPage
    from kneebench.brief.profile.together import row_line
    from kneebench.errors import PlanError
    from kneebench.measurement import profile as measuring

    if asked.datasheet:
        raise PlanError("--datasheet", seen="a data sheet is of one drive", do="name one drive")
    takes_s = measuring.expected_together_s(targets, asked.seconds)
    measuring.require_different_drives(targets)
    writes_s = measuring.writing_together_s(targets, asked.seconds)
    targets = _begin(targets, takes_s, writes_s, asked)

    def watch(row: TogetherRow) -> None:
        print_line(row_line(row), err=True)

    found = measuring.profile_together(
        targets, asked.seconds, watch, progress=PreconditioningLines()
    )
    show_page(page := TogetherPage(found), as_json=asked.as_json)
    _write(found, page, asked.files)


def _begin(targets: list[Target], takes_s: float, writes_s: float, asked: _Asked) -> list[Target]:
    """The targets, ready: nothing else prevents the profile, a long one is confirmed, and drives
    that may lose their data are erased. Prints how long it takes.
    """
    from kneebench.campaign.preflight import require_alone
    from kneebench.measurement.profile import found_fio
    from kneebench.units import rough_time

    for target in targets:
        target.require()
    found_fio()
    require_alone()
    confirm(takes_s, asked.yes or asked.as_json)
    ready = erase_agreed(targets, asked.unasked)
    writes = f"writes to the drive for {rough_time(writes_s)} of them" if writes_s else "only reads"
    print_line(f"about {rough_time(takes_s)}; {writes}. Ctrl-C ends it cleanly", err=True)
    return ready


class PreconditioningLines:
    """Prints a line per step of preconditioning, and every half minute how long it still takes."""

    def __init__(self) -> None:
        self._printed_s = time.monotonic()

    def __call__(self, event: Event) -> None:
        from kneebench.units import rough_time

        now_s, left = time.monotonic(), ""
        if event.kind == "progress":
            if now_s - self._printed_s < EVERY_S or event.left_s is None:
                return
            left = f", about {rough_time(event.left_s)} remaining"
        self._printed_s = now_s
        print_line(f"{event.doing}{left}", err=True)


def _size_bytes(size: str) -> int:
    from kneebench.errors import PlanError
    from kneebench.units import parse_size

    try:
        found = parse_size(size)
    except ValueError as error:
        raise PlanError(f"--size {size}", seen=str(error), do="write it as 1GiB") from None
    if found < 64 * 2**20:
        raise PlanError(f"--size {size}", seen="too small to measure", do="use at least 64MiB")
    return found


def _outputs(out: Path | None) -> list[Path]:
    """The files to write. Raises PlanError, before anything is measured, where one cannot be, and
    Refused where one is a drive.
    """
    from kneebench.errors import PlanError
    from kneebench.results.atomic_write import require_no_drive

    if out is None:
        return []
    require_no_drive(out)
    if out.is_dir() or not (out.suffix or out.exists()):
        files = [out / "profile.html", out / "profile.json"]
    elif out.suffix in (".html", ".json"):
        files = [out]
    else:
        raise PlanError(
            f"cannot write {out}",
            seen=f"unsupported format {out.suffix!r}",
            do="use .html, .json, or a directory for both",
        )
    if not out.parent.is_dir():
        raise PlanError(
            f"cannot write {out}",
            seen=f"no directory {out.parent}",
            do="create it, or choose another path",
        )
    for file in files:
        require_no_drive(file)
    return files


def _write(found: Profile | Together, page: Page, files: list[Path]) -> None:
    from kneebench.results.atomic_write import write_text

    for file in files:
        make_directory(file.parent)
        if file.suffix == ".json":
            write_text(file, found.model_dump_json(indent=1))
        else:
            page.write(file)
        print_line(f"written: {file}", err=True)


# What `profile` is asked to measure: directories and whole drives, the latter erased if its user
# agrees.

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kneebench.measurement.profile import Target
    from kneebench.plan.study import Study
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


def plan_of(
    places: list[str], storage: str | None, set_keys: list[str] | None, *, sure: bool
) -> Study | None:
    """The plan that was named in place of drives, with one of its storages if one was named; None
    for drives. Raises PlanError and Refused where its storages cannot be measured here, and as
    `trusted` does.
    """
    from kneebench.campaign.preflight import as_study, published_findings, refuse
    from kneebench.commands.run_options import overrides
    from kneebench.errors import PlanError
    from kneebench.lab.volumes import volume_findings

    if [Path(one).suffix for one in places] != [".toml"]:
        if storage or set_keys:
            do = "name a plan, as in: kneebench profile plan.toml"
            raise PlanError("--storage and --set", seen="no plan", do=do)
        return None
    file, keys = Path(places[0]), overrides(set_keys)
    study = trusted(file, lambda: as_study(file, keys), sure=sure)
    if storage and storage not in study.storages:
        do = f"use one of: {', '.join(study.storages)}"
        raise PlanError(f"--storage {storage}", seen="no such storage in the plan", do=do)
    if study.servers or study.hosts.database.ssh or not study.measures_real_hardware:
        do = "profile a directory on these drives, where they are"
        raise PlanError(places[0], seen="its drives are not drives of this machine", do=do)
    kept = {storage: study.storages[storage]} if storage else study.storages
    study = study.changed(storages=kept, baseline="")
    refuse([*volume_findings(study), *published_findings(study)])
    return study


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
