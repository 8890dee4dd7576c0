"""The command that lists meters of power and what they say: power."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kneebench.commands.options import Json
from kneebench.commands.output import show_json, show_parts
from kneebench.commands.trusting import TrustPlan, trusted

if TYPE_CHECKING:
    from kneebench.measurement.power.now import PowerNow

PlanFile = Annotated[
    Path | None,
    typer.Argument(
        metavar="PLAN.TOML",
        help="Plan file with a table [power]; without one, this machine's own meters.",
        show_default=False,
    ),
]
Seconds = Annotated[
    float, typer.Option(min=1, max=600, help="How long to read, to see how often values change.")
]


def power(
    plan: PlanFile = None,
    seconds: Seconds = 5.0,
    as_json: Json = False,
    trust_plan: TrustPlan = False,
) -> None:
    """List meters of power, and what they say now.

    Each with its scope (wall, dc, cpu, drive), what exactly is read, its power, how often it has a
    new value, and how old that is. Nothing is written. What cannot be read says why.

    A meter of type `command` is a program of the plan: it is started only once you agree to that,
    at a terminal or with --trust-plan.

    \b
    Examples:
      kneebench power                        the meters of this machine
      kneebench power plan.toml              those of a plan
      kneebench power plan.toml --seconds 60 for a BMC with a value per minute
      kneebench power --json                 for programs
    """
    from kneebench.campaign.power_meters import meters_of_this_machine
    from kneebench.errors import PlanError
    from kneebench.screen import power as screen

    found, real = (
        _of_plan(plan, seconds, trust_plan) if plan else (meters_of_this_machine(seconds), True)
    )
    if as_json:
        show_json([one.model_dump() for one in found])
    else:
        show_parts(*screen.meters(found))
    if plan and real and any(one.why and one.facts.rated_w is None for one in found):
        raise typer.Exit(PlanError.exit_code)


def _of_plan(plan: Path, seconds: float, sure: bool) -> tuple[list[PowerNow], bool]:
    """What the meters of a plan say, and whether they are of real hardware."""
    from kneebench.campaign.machines.opening import machine_of
    from kneebench.campaign.power_meters import meters_of_plan
    from kneebench.campaign.preflight import as_study
    from kneebench.errors import PlanError

    starts = ("power meter ", "hosts.database.")
    selected = trusted(plan, lambda: as_study(plan), sure=sure, starts=starts, anybody=True)
    if not selected.power.meters:
        do = 'name some: [power] meters = [{ name = "cpu", type = "rapl" }]'
        raise PlanError("power.meters", seen="the plan has no meters of power", do=do)
    with machine_of(selected) as machine:
        found = meters_of_plan(selected, machine.instruments, seconds, start=True)
    return found, selected.measures_real_hardware
