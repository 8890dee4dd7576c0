"""The command over many campaigns of one plan: trend."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kneebench.commands.campaigns import load_all
from kneebench.commands.completing import campaign_names
from kneebench.commands.options import Csv, Json, Root, WantedTags, has_tags
from kneebench.commands.output import (
    checked_page,
    print_line,
    require_directory,
    require_one,
    show_campaigns,
)
from kneebench.directories import CAMPAIGNS

if TYPE_CHECKING:
    from kneebench.results.nights import Nights
    from kneebench.results.trend import Trend

CampaignNames = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[CAMPAIGN]...",
        help="Campaigns; without any, all in --in that can be compared with the newest.",
        show_default=False,
        autocompletion=campaign_names,
    ),
]
TrendPageFile = Annotated[
    Path | None,
    typer.Option(
        "--page", metavar="FILE", help="Write charts, as .html or .pdf.", show_default=False
    ),
]
BadgeFile = Annotated[
    Path | None,
    typer.Option(
        "--badge",
        metavar="FILE.svg",
        help="Write a small picture that says whether something changed.",
        show_default=False,
    ),
]
LastNight = Annotated[
    int | None,
    typer.Option(
        "--last-night",
        metavar="CODE",
        help="Exit code of the last night's `accept`: only 0 makes the badge green.",
        show_default=False,
    ),
]


def trend(
    campaigns: CampaignNames = None,
    root: Root = CAMPAIGNS,
    tag: WantedTags = None,
    page: TrendPageFile = None,
    badge: BadgeFile = None,
    last_night: LastNight = None,
    as_csv: Csv = False,
    as_json: Json = False,
) -> None:
    """Show each storage over many campaigns of one plan, oldest first, and where it changed.

    A change point is where two levels differ by more than the campaigns scatter, and by more than
    the noise floor of the machine. At least five campaigns are necessary. What else changed there,
    such as the kernel, is listed. Unfinished campaigns and those of another plan are left out.

    \b
    Examples:
      kneebench trend
      kneebench trend --tag firmware=1.2 --page trend.html
      kneebench trend january february march --csv
      kneebench trend --in /srv/results --badge kneebench.svg --last-night 0
    """
    from kneebench.brief.campaigns import TrendPage
    from kneebench.results.nights import differing_at
    from kneebench.results.trend import trends

    require_one({"--json": as_json, "--csv": as_csv})
    _check(page, badge, last_night)
    chosen = _chosen(campaigns or [], root, tag or [])
    found = trends(chosen.campaigns)
    differing = differing_at(chosen.campaigns, found)
    whole = TrendPage(chosen, found, differing)
    if badge:
        _write_badge(badge, chosen, found, last_night)
    show_campaigns(whole, page, as_csv=as_csv, as_json=as_json)


def _write_badge(
    file: Path, chosen: Nights, found: Sequence[Trend], last_night: int | None
) -> None:
    from kneebench.results.atomic_write import write_where_named
    from kneebench.results.badge import badge

    drawn = badge(found, chosen.label, last_night=last_night, left_out=chosen.left_out)
    write_where_named(file, drawn)
    print_line(f"badge: {file}", err=True)


def _check(page: Path | None, badge: Path | None, last_night: int | None) -> None:
    """Raises PlanError for files that could not be written. An earlier badge is removed: after a
    failure it would show what is no longer so.
    """
    from kneebench.errors import PlanError
    from kneebench.results.atomic_write import is_stream, require_no_drive

    checked_page(page)
    if last_night is not None and not badge:
        raise PlanError("--last-night", seen="no badge is written", do="add --badge FILE.svg")
    if badge:
        require_no_drive(badge)
        require_directory(badge)
        if badge.suffix != ".svg":
            seen, do = f"unsupported format {badge.suffix!r}", "use a name that ends in .svg"
            raise PlanError(f"cannot write {badge}", seen=seen, do=do)
        if not is_stream(badge):
            badge.unlink(missing_ok=True)


def _chosen(names: list[str], root: Path, tags: list[str]) -> Nights:
    """The campaigns that were named, or all in the folder; only those with these tags."""
    from kneebench.errors import PlanError
    from kneebench.results import campaigns
    from kneebench.results.campaign_names import require_folder
    from kneebench.results.nights import in_order, nights, tagged

    if names:
        named = load_all(names, root)
        return in_order((one for one in named if has_tags(one.campaign.tags, tags)), tags)
    require_folder(root)
    found = [one for one in campaigns(root) if has_tags(one.tags, tags)]
    if not found:
        there = f"no campaigns{tagged(tags)} are in {root}"
        raise PlanError(
            "cannot compare campaigns",
            seen=there if root.is_dir() else f"there is no folder {root}",
            do="name their folder with --in; `kneebench list` shows what is in it",
        )
    return nights(found, tags)
