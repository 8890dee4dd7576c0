"""Arguments that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

CAMPAIGNS = Path("kneebench-results")
"""Where campaigns are kept when no other folder is named."""

PlanFile = Annotated[Path | None, typer.Argument(metavar="PLAN.TOML", help="The plan; without one, the default plan of this directory.", show_default=False)]
CampaignName = Annotated[str, typer.Argument(metavar="CAMPAIGN", help="A campaign's folder, or its name within --in.", show_default=False)]
Root = Annotated[Path, typer.Option("--in", help="The folder that holds campaigns.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
