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
        metavar="FILE.JSON",
        help="Also write the profile here, with fio's own documents.",
        show_default=False,
    ),
]


def profile(
    directory: Directory = Path(),
    size: Size = "1GiB",
    seconds: Seconds = 3,
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
      kneebench profile /mnt/nvme --out nvme.json

    For quotable figures use a file larger than the drive's own cache, and a drive in its steady
    state: new or freshly trimmed flash is faster.
    """
    from kneebench.measurement.profile import expected_s
    from kneebench.results.atomic_write import write_text
    from kneebench.screen import profile as screen

    size_bytes = _size_bytes(size)
    if out is not None:
        _require_json(out)
    takes_s = expected_s(size_bytes, seconds)
    confirm(takes_s, yes or as_json)
    found = _measured(directory, size_bytes, seconds, takes_s)
    if out is not None:
        write_text(out, found.model_dump_json(indent=1))
    if as_json:
        show_json(screen.document(found))
    else:
        show_parts(*screen.printed(found))


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


def _require_json(out: Path) -> None:
    from kneebench.errors import PlanError

    if out.suffix != ".json" or not out.parent.is_dir():
        raise PlanError(
            f"writing {out}",
            seen="no .json file in an existing directory",
            do="name a file such as profile.json",
        )
