"""Commands around measuring: check, clean, components; and the consent to a long run."""

from __future__ import annotations

import contextlib
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kneebench.commands.options import Json, PlanFile
from kneebench.commands.output import print_line, show_json
from kneebench.commands.run_options import SetKeys, overrides
from kneebench.commands.trusting import TrustPlan, trusted

if TYPE_CHECKING:
    from kneebench.campaign.machines.machine import DatabaseMachine
    from kneebench.plan.duration import Expected
    from kneebench.plan.study import Study


CleanedPlan = Annotated[
    Path | None,
    typer.Argument(metavar="[PLAN.TOML]", help="Plan file whose database host is cleaned up."),
]
Try = Annotated[
    bool,
    typer.Option("--try", help="Try out the plan's external server, on one warehouse."),
]


def check(
    plan: PlanFile = None,
    set_keys: SetKeys = None,
    as_json: Json = False,
    trial: Try = False,
    trust_plan: TrustPlan = False,
) -> None:
    """Dry run: prerequisites, paths, disk space, duration.

    Nothing is changed, and no program that the plan names is started: those that `run` would
    execute are listed, with arguments and account. The machine's current load is measured for one
    second.

    With --try, the plan's external server is tried out: one warehouse is loaded into a database
    that kneebench creates and drops; every transaction, reading and consistency condition, backup
    and restore are run once. It takes about a minute. Several databases are tried in turn.

    \b
    Examples:
      kneebench check                what `kneebench run` would do here
      kneebench check plan.toml
      kneebench check plan.toml --set workload.warehouses=50
      kneebench check --try plan.toml
    Exit code 0: the plan can run; 2: something is wrong; 5: the run would be
    refused. With --try also 4: something does not work on this server.
    """
    from kneebench.commands.checking import print_findings
    from kneebench.commands.trying import try_out

    keys = overrides(set_keys)
    if trial:
        try_out(plan, keys, as_json=as_json, sure=trust_plan)
    print_findings(plan, keys, as_json=as_json)


def clean(plan: CleanedPlan = None, trust_plan: TrustPlan = False) -> None:
    """Clean up what a killed run left on this machine, or on a plan's database host.

    Only what kneebench's journal lists is undone: servers are ended, directories and data removed,
    volumes taken apart, kernel settings restored. Results are kept. For anything that cannot be
    undone now, the reason and the fix are printed: a drive to mount, or a database on an external
    server to drop. Damaged journal entries are named; the others are still processed. Drafts of
    files in the state directory are removed if the process that wrote them was killed.

    With a plan that has hosts.database.ssh, this is done on that host.
    """
    from kneebench.campaign.machines.machine import DatabaseMachine
    from kneebench.campaign.machines.opening import machine_of
    from kneebench.campaign.preflight import as_study

    warnings, selected = list[str](), None
    if plan:
        read, starts = partial(as_study, plan), ("hosts.database.",)
        selected = trusted(plan, read, sure=trust_plan, starts=starts)
    with machine_of(selected) if selected else contextlib.nullcontext(DatabaseMachine()) as machine:
        undone = machine.clean(
            lambda event: warnings.append(event.doing) if event.kind == "warning" else None
        )
    for warning in warnings:
        print_line(warning, err=True)
    for done in undone:
        print_line(done)
    if not (undone or warnings):
        print_line("nothing to clean up")


def components(as_json: Json = False) -> None:
    """List available engines, meters, stop conditions and brief sections.

    In a plan, `database.engine` names an engine, `meters` lists meters, and each stop condition has
    its own table, such as `[ladder.stops.plateau]`. Sections are not part of a plan: a brief
    contains every section that its campaign has data for.
    """
    from kneebench.shelf import SHELVES

    if as_json:
        show_json({kind: shelf.names() for kind, shelf in SHELVES.items()})
        return
    for kind, shelf in SHELVES.items():
        print_line(f"{kind + 's':10} {', '.join(shelf.names())}")


def clean_up() -> None:
    """Before the default plan is sized by what is free: what a killed run left takes the disk and
    the memory.
    """
    from kneebench.lab.journal import Journal

    Journal().clean(lambda event: print_line(event.doing, err=True))


def confirmed_duration(machine: DatabaseMachine, study: Study, *, sure: bool) -> Expected:
    """How long the plan takes, once that is agreed to."""
    expecting = machine.expected_duration(study)
    confirm(expecting.total_s, sure)
    return expecting


def confirm(expected_s: float, sure: bool) -> None:
    """Before more than an hour, where somebody can answer."""
    from kneebench.units import rough_time

    if expected_s > 3600 and not sure and sys.stdin.isatty() and sys.stderr.isatty():
        typer.confirm(
            f"About {rough_time(expected_s)}. Start?", default=False, abort=True, err=True
        )
