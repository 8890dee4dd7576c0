"""The command that makes a result archive of a campaign: pack."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kneebench.commands.campaigns import load_named
from kneebench.commands.options import CampaignName, Json, Root
from kneebench.commands.output import print_line, require_directory, show_json, show_parts
from kneebench.directories import CAMPAIGNS

if TYPE_CHECKING:
    from kneebench.results.redaction import Replacement

ArchiveFile = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        help="Result archive to write. [default: the id in it with .kneebench, here]",
        show_default=False,
    ),
]
Redact = Annotated[
    bool,
    typer.Option(
        "--redact",
        help="Replace names of hosts, users, authors, drives and paths by stand-ins.",
    ),
]


def pack(
    campaign: CampaignName,
    out: ArchiveFile = None,
    redact: Redact = False,
    root: Root = CAMPAIGNS,
    as_json: Json = False,
) -> None:
    """Pack a campaign into one file, a result archive, for others or to keep.

    `show`, `compare`, `accept`, `brief` and kneebench.load() read it as they read a folder. Reading
    one is safe, whoever made it. With --redact, host names, user names, authors, MAC addresses,
    serial numbers, WWIDs and paths have stand-ins, which are printed; the names of storages and
    your own sentences stay, unless they contain one of these.

    \b
    Examples:
      kneebench pack latest
      kneebench pack before --out before.kneebench
      kneebench pack before --redact --out public.kneebench
      kneebench show before.kneebench
      kneebench accept before.kneebench latest
    """
    from kneebench.results.redaction import pack as packed
    from kneebench.units import size

    results = load_named(campaign, root)
    file, replaced = packed(results, out and _checked(out), redact=redact)
    if as_json:
        show_json({"archive": str(file), "replaced": [one._asdict() for one in replaced]})
        return
    _show_replaced(replaced)
    print_line(f"{file} ({size(file.stat().st_size)})")


def _checked(file: Path) -> Path:
    """Raises PlanError for a file that would not be read as a result archive."""
    from kneebench.errors import PlanError
    from kneebench.plan.values import ARCHIVE

    if file.suffix != ARCHIVE:
        seen, do = f"a result archive ends in {ARCHIVE}", f"use {file.with_suffix(ARCHIVE)}"
        raise PlanError(f"cannot write {file}", seen=seen, do=do)
    require_directory(file)
    return file


def _show_replaced(replaced: Sequence[Replacement]) -> None:
    from kneebench.brief.section import Row, Table, columns
    from kneebench.brief.terminal import Fitted

    if replaced:
        rows = tuple(Row(cells=(one.kind, one.name, one.stand_in)) for one in replaced)
        show_parts(Fitted(Table(columns=columns("kind", "name", "stand-in"), rows=rows)))
