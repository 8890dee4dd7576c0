"""The plan that a command was given, or the default one of this directory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kneebench.plan import Plan


def asked_plan(file: Path | None) -> Plan:
    """Raises PlanError with everything that is wrong with it."""
    from kneebench.findings import read_plan
    from kneebench.lab.host import host
    from kneebench.plan.default import default_plan

    return read_plan(file) if file else default_plan(host(), Path())
