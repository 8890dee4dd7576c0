"""Arguments that several commands have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from kneebench.commands.completing import campaign_names

PlanFile = Annotated[
    Path | None,
    typer.Argument(
        metavar="PLAN.TOML",
        help="Plan file; without one, the default plan of this directory.",
        show_default=False,
    ),
]
CAMPAIGN_HELP = "Campaign: folder, name (the newest of it), beginning, `latest`, `latest~1`."
CampaignName = Annotated[
    str,
    typer.Argument(
        metavar="CAMPAIGN",
        help=CAMPAIGN_HELP,
        show_default=False,
        autocompletion=campaign_names,
    ),
]
PageFile = Annotated[
    Path | None,
    typer.Option(
        "--page",
        metavar="FILE",
        help="Write the answer as a page, .html, .pdf or .md, or its figures as .csv.",
        show_default=False,
    ),
]
Root = Annotated[Path, typer.Option("--in", help="Folder that contains campaigns.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
Csv = Annotated[bool, typer.Option("--csv", help="Print CSV, in SI units.")]
WantedTags = Annotated[
    list[str] | None,
    typer.Option(
        "--tag",
        metavar="NAME[=VALUE]",
        help="Only campaigns with this tag, such as firmware=1.2 or firmware. Can be repeated.",
        show_default=False,
    ),
]


def has_tags(tags: Mapping[str, str], wanted: Sequence[str]) -> bool:
    """Whether a campaign has all tags of --tag.

    >>> tags = {"firmware": "1.2"}
    >>> has_tags(tags, ["firmware=1.2"]), has_tags(tags, ["firmware"]), has_tags(tags, ["site"])
    (True, True, False)
    """
    pairs = (one.partition("=") for one in wanted)
    return all(name in tags and (not sign or tags[name] == one) for name, sign, one in pairs)
