"""The command that measures a drive without a database: profile."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kneebench.commands.measuring import Yes, clean_up, confirm
from kneebench.commands.options import Json
from kneebench.commands.output import print_line, show_json, show_parts

if TYPE_CHECKING:
    from kneebench.measurement.profile import Profile

Directory = Annotated[
    Path, typer.Argument(metavar="DIRECTORY", help="Directory on the drive to be measured.")
]
Size = Annotated[str, typer.Option("--size", help="Size of the file that is read and written.")]
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


def profile(
    directory: Directory = Path(),
    size: Size = "1GiB",
    seconds: Seconds = 3,
    datasheet: Sheet = None,
    out: Out = None,
    as_json: Json = False,
    yes: Yes = False,
) -> None:
    """Measure what a directory's drive can do without a database.

    fio reads and writes one file in the directory: sequential and random, the mixes of drive
    reviews, queue depths, block sizes, and log writes with a sync after each. Then 2,000 small
    files are copied. No root is needed; everything is removed at the end.

    \b
    Examples:
      kneebench profile                       the drive under this directory, about two minutes
      kneebench profile /mnt/nvme --size 64GiB --seconds 30
      kneebench profile /mnt/nvme --datasheet nvme.toml --out nvme.html

    For quotable figures use a file larger than the drive's own cache, and a drive in its steady
    state: new or freshly trimmed flash is faster.
    """
    from kneebench.measurement.profile import expected_s, read_datasheet
    from kneebench.screen import profile as screen

    size_bytes = _size_bytes(size)
    files = _outputs(out)
    sheet = read_datasheet(datasheet) if datasheet else None
    takes_s = expected_s(size_bytes, seconds)
    confirm(takes_s, yes or as_json)
    found = _measured(directory, size_bytes, seconds, takes_s)
    found = found.beside(sheet) if sheet else found
    if as_json:
        show_json(screen.document(found))
    else:
        show_parts(*screen.printed(found))
    for file in files:
        _write(found, file)


def _measured(directory: Path, size_bytes: int, seconds: int, takes_s: float) -> Profile:
    """Measure alone on this machine; rows are printed as they come."""
    from kneebench.measurement.profile import profile, writing_s
    from kneebench.preflight import require_alone
    from kneebench.screen.profile import row_line
    from kneebench.units import rough_time

    clean_up()
    require_alone()
    takes, writes = rough_time(takes_s), rough_time(writing_s(seconds))
    print_line(
        f"about {takes}; writes to the drive for {writes} of them. Ctrl-C ends it and removes the"
        " file",
        err=True,
    )
    return profile(directory, size_bytes, seconds, lambda row: print_line(row_line(row), err=True))


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
    """The files to write. Raises PlanError, before anything is measured, where one cannot be."""
    from kneebench.errors import PlanError

    if out is None:
        return []
    if out.is_dir() or not (out.suffix or out.exists()):
        files = [out / "profile.html", out / "profile.json"]
    elif out.suffix in (".html", ".json"):
        files = [out]
    else:
        raise PlanError(
            f"writing {out}",
            seen=f"unsupported format {out.suffix!r}",
            do="use .html, .json, or a directory for both",
        )
    if not out.parent.is_dir():
        raise PlanError(
            f"writing {out}",
            seen=f"no directory {out.parent}",
            do="create it, or choose another path",
        )
    return files


def _write(found: Profile, file: Path) -> None:
    from kneebench.brief.profile import ProfilePage
    from kneebench.results.atomic_write import write_text

    file.parent.mkdir(exist_ok=True)
    if file.suffix == ".json":
        write_text(file, found.model_dump_json(indent=1))
    else:
        ProfilePage(found).write(file)
    print_line(f"written: {file}", err=True)
