"""The command that measured it, and the whole plan."""

from __future__ import annotations

import json

from kneebench.brief.reading import Reading
from kneebench.brief.section import Section

PLACE = 130


def section(reading: Reading) -> Section:
    """To be repeated by anyone; passwords were never kept."""
    command = reading.campaign.command or "kneebench run plan.toml"
    plan = json.dumps(reading.campaign.plan, indent=2, ensure_ascii=False)
    return Section(name="repeat", title="To repeat it", sentences=("The command, and the plan with every default filled in.",), code=(command, plan), fold=True)
