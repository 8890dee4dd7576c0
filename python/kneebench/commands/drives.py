"""The command that lists this machine's drives: drives."""

from __future__ import annotations

from typing import Annotated

import typer

from kneebench.commands.options import Json
from kneebench.commands.output import ReadingProgress, show_json, show_parts

Names = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="DRIVE",
        help="Drives in detail: by name, path, by-id path, or WWID.",
        show_default=False,
    ),
]


def drives(names: Names = None, as_json: Json = False) -> None:
    """List the drives of this machine, their health and content.

    Of a plan's database host: call it there.

    Nothing is written. Run it as root for all facts: smartctl (smartmontools) and nvme (nvme-cli)
    report wear, errors and bytes written, and only root can read what is on a drive. What cannot be
    read is unknown, and null in JSON, never 0.

    \b
    Examples:
      kneebench drives                       all drives, one per row
      sudo kneebench drives nvme0n1          all facts of one drive
      kneebench drives --json                for programs
    """
    from kneebench.lab.host import described, host
    from kneebench.lab.inventory import inventory
    from kneebench.screen import drives as screen

    found = inventory(names or None, watch=ReadingProgress())
    machine = described(host())
    if as_json:
        show_json(screen.document(found, machine))
    else:
        show_parts(*(screen.detailed if names else screen.printed)(found, machine))
