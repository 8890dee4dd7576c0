"""The command that looks at the other machines of a plan: hosts check."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kneebench.commands.options import Json
from kneebench.commands.output import show_json, show_parts
from kneebench.commands.trusting import TrustPlan, trusted

PlanFile = Annotated[
    Path, typer.Argument(metavar="PLAN.TOML", help="Plan file with a table [hosts].")
]


def check(plan: PlanFile, as_json: Json = False, trust_plan: TrustPlan = False) -> None:
    """Say of each other machine whether it can be used, and what it is.

    Reachable by ssh, Python, cores, memory, rights, how far its clock is ahead, and whether load
    hosts reach the database. Kneebench's files (7 MB on a load host, 100 MB on a database host)
    are put below ~/.cache of its account if they are not there. The network is measured at full
    speed, unless another kneebench run is active on the database host: then it is refused.

    \b
    Examples:
      kneebench hosts check plan.toml
      kneebench hosts check plan.toml --json
    """
    from kneebench.campaign.machines.opening import other_machines
    from kneebench.campaign.preflight import as_study
    from kneebench.errors import PlanError, Refused
    from kneebench.screen import tables

    selected = trusted(plan, lambda: as_study(plan), sure=trust_plan, starts=("hosts.",))
    if not selected.hosts.apart:
        do = 'name some: [hosts] load = [{ ssh = "bench@load1" }]'
        raise PlanError("hosts", seen="the plan has no other machines", do=do)
    found = list(other_machines(selected))
    if as_json:
        show_json([finding.model_dump() for finding in found])
    else:
        show_parts(*tables.findings(found))
    levels = {finding.level for finding in found}
    for level, kind in (("refused", Refused), ("error", PlanError)):
        if level in levels:
            raise typer.Exit(kind.exit_code)
