"""Commands over what was measured: list, show, compare, brief."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kneebench.commands.options import CAMPAIGNS, CampaignName, Json, Root
from kneebench.commands.printing import show_json, show_parts
from kneebench.commands.written import write

if TYPE_CHECKING:
    from kneebench.records import Results


def list_campaigns(root: Root = CAMPAIGNS, as_json: Json = False) -> None:
    """List the campaigns in a folder, newest first.

    \b
    Examples:
      kneebench list
      kneebench list --in /srv/results --json
    """
    from kneebench.results import campaigns

    found = campaigns(root)
    if as_json:
        show_json([one.model_dump(mode="json") for one in found])
    elif found:
        from kneebench.screen import tables

        show_parts(tables.campaigns(found))
    else:
        where = f"{root}" if root.is_dir() else f"{root} (there is no such folder)"
        typer.echo(f"no campaigns in {where}; `kneebench run` makes one")


def show(campaign: CampaignName, root: Root = CAMPAIGNS, as_json: Json = False) -> None:
    """Show a campaign: the answer for each storage, and every rung.

    \b
    Examples:
      kneebench show 2025-06-01-what-does-this-storage-buy
      kneebench show ./copied/campaign --json
    """
    from kneebench.screen.summary import printed, results_json

    results = _load(campaign, root)
    if as_json:
        show_json(results_json(results))
    else:
        show_parts(*printed(results, every_rung=True))


def compare(a: CampaignName, b: CampaignName, root: Root = CAMPAIGNS, as_json: Json = False) -> None:
    """Compare two campaigns, storage by storage.

    Refused where the plans differ in what shapes a figure (the first such field is named), or the
    server's major versions do. Other differences of machine and settings are told below the table.

    \b
    Example:
      kneebench compare before after
    """
    from kneebench.results import across, differences
    from kneebench.screen.compared import document, printed

    both = [_load(a, root), _load(b, root)]
    found, differing = across(both), differences(*both)
    if as_json:
        show_json(document(found, differing))
    else:
        show_parts(*printed(found, differing))


def write_brief(
    campaign: CampaignName,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The file to write: .html or .json. [default: brief.html in the campaign]", show_default=False)
    ] = None,
    root: Root = CAMPAIGNS,
) -> None:
    """Write a campaign's brief again, from its folder alone.

    \b
    Examples:
      kneebench brief 2025-06-01-what-does-this-storage-buy
      kneebench brief ./copied/campaign --out brief.json
    """
    typer.echo(str(write(_load(campaign, root), out)))


def _load(name: str, root: Path) -> Results:
    from kneebench.errors import PlanError
    from kneebench.results import load

    folder = next((path for path in (Path(name), root / name) if (path / "campaign.json").exists()), None)
    if folder is None:
        raise PlanError(f"opening the campaign {name}", seen=f"neither {name} nor {root / name} holds one", do="`kneebench list` names those there are")
    return load(folder)
