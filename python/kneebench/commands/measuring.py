"""Commands that measure, or show what measuring would do: run, check, clean, components."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from kneebench.commands.erasing import confirm_erasing
from kneebench.commands.following import Live, Prometheus, followed, page_address
from kneebench.commands.options import Json, PlanFile
from kneebench.commands.output import (
    print_line,
    show_json,
    show_json_line,
    show_parts,
    write,
)
from kneebench.commands.plan_selection import selected_plan, single_load
from kneebench.commands.resuming import Resumable
from kneebench.directories import CAMPAIGNS

if TYPE_CHECKING:
    from kneebench.campaign.machines.machine import DatabaseMachine
    from kneebench.plan import Plan
    from kneebench.plan.duration import Expected
    from kneebench.records import Results


Out = Annotated[
    Path,
    typer.Option("--out", "-o", help="Folder for campaigns; each campaign has its own subfolder."),
]
Fresh = Annotated[
    bool,
    typer.Option(
        "--fresh/--resume", help="Start over, or resume an unfinished campaign of the same plan."
    ),
]
JsonEvents = Annotated[
    bool, typer.Option("--json", help="Print one JSON event per line, for programs.")
]
WithBrief = Annotated[bool, typer.Option("--brief/--no-brief", help="Write the brief at the end.")]
Yes = Annotated[
    bool,
    typer.Option("--yes", "-y", help="Skip the confirmation before a run of more than an hour."),
]
Erase = Annotated[
    bool,
    typer.Option(
        "--erase",
        help="Erase the drives that the plan lists under `erase`, after showing what is on them.",
    ),
]
Prove = Annotated[
    bool,
    typer.Option(
        "--prove",
        help="Then relieve what limits each knee (log in memory, more cores, ...) and measure what"
        " that gains, in turn with the knee as it was.",
    ),
]
Relieve = Annotated[
    list[str] | None,
    typer.Option(
        "--relieve",
        metavar="RELIEF",
        help="With --prove: relieve this, in place of what looks short. Can be repeated.",
        show_default=False,
    ),
]
Users = Annotated[
    int | None,
    typer.Option(
        "--users",
        min=1,
        max=100_000,
        help="Measure this many users once per storage, no climb. Requires --for.",
        show_default=False,
    ),
]
Window = Annotated[
    str | None,
    typer.Option(
        "--for", metavar="TIME", help="Length of that window, such as 5min.", show_default=False
    ),
]


CleanedPlan = Annotated[
    Path | None,
    typer.Argument(metavar="[PLAN.TOML]", help="Plan file whose database host is cleaned up."),
]
Try = Annotated[
    bool,
    typer.Option("--try", help="Try out the plan's external server, on one warehouse."),
]


def run(
    plan: PlanFile = None,
    out: Out = CAMPAIGNS,
    fresh: Fresh = False,
    as_json: JsonEvents = False,
    brief: WithBrief = True,
    yes: Yes = False,
    users: Users = None,
    window: Window = None,
    erase: Erase = False,
    prove: Prove = False,
    relieve: Relieve = None,
    live: Live = False,
    prometheus: Prometheus = None,
) -> None:
    """Measure the plan and write the brief.

    After Ctrl-C, an error or a crash, the same command without --fresh resumes, or writes the brief
    if only that is missing. All changes to the machine are undone.

    \b
    Examples:
      kneebench run                          this directory's disk against memory
      kneebench run plan.toml --json | jq .  one event per line
      kneebench run --users 8 --for 5min     8 users, once on each storage
      kneebench run drives.toml --erase      its drives' data may be lost
      kneebench run plan.toml --live         watch it in a browser
    """
    from kneebench.campaign import flow

    reliefs, page = _reliefs(relieve or [], wanted=prove), page_address(prometheus, live=live)
    clean_up()
    selected = selected_plan(plan, None if fresh else out, single_load(users, window), brief=brief)
    with flow.machine_of(selected) as machine, Resumable() as resumable:
        _write_missing_brief(machine, selected, out, wanted=brief and not fresh, as_json=as_json)
        expecting = confirmed_duration(machine, selected, sure=yes or as_json)
        drives = confirm_erasing(machine, selected, wanted=erase)
        with followed(resumable, selected, expecting, page, as_json=as_json) as watch:
            results = flow.run_on(machine, selected, out, watch, fresh, brief, drives, reliefs)
        _print_results(results, brief, as_json)


def check(plan: PlanFile = None, as_json: Json = False, trial: Try = False) -> None:
    """Dry run: prerequisites, paths, disk space, duration.

    Nothing is changed or started. The machine's current load is measured for one second.

    With --try, the plan's external server is tried out: one warehouse is loaded into a database
    that kneebench creates and drops; every transaction, reading and consistency condition, backup
    and restore are run once. It takes about a minute. Several databases are tried in turn.

    \b
    Examples:
      kneebench check                what `kneebench run` would do here
      kneebench check plan.toml
      kneebench check --try plan.toml
    Exit code 0: the plan can run; 2: something is wrong; 5: the run would be
    refused. With --try also 4: something does not work on this server.
    """
    from kneebench.commands.checking import print_findings
    from kneebench.commands.trying import try_out

    if trial:
        try_out(plan, as_json=as_json)
    print_findings(plan, as_json=as_json)


def clean(plan: CleanedPlan = None) -> None:
    """Clean up what a killed run left on this machine, or on a plan's database host.

    Only what kneebench's journal lists is undone: servers are ended, directories and data removed,
    volumes taken apart, kernel settings restored. Results are kept. For anything that cannot be
    undone now, the reason and the fix are printed: a drive to mount, or a database on an external
    server to drop. Damaged journal entries are named; the others are still processed.

    With a plan that has hosts.database.ssh, this is done on that host.
    """
    from kneebench.campaign.machines.machine import ThisMachine
    from kneebench.campaign.machines.opening import machine_of
    from kneebench.campaign.preflight import read_plan

    warnings = list[str]()
    with machine_of(read_plan(plan)) if plan else contextlib.nullcontext(ThisMachine()) as machine:
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


def confirmed_duration(machine: DatabaseMachine, selected: Plan, *, sure: bool) -> Expected:
    """How long the plan takes, once that is agreed to."""
    expecting = machine.expected_duration(selected)
    confirm(expecting.total_s, sure)
    return expecting


def _reliefs(names: list[str], *, wanted: bool) -> tuple[str, ...] | None:
    """The reliefs to prove with: none for what looks short, None without a proof. Raises PlanError
    for a name that is none.
    """
    from kneebench.errors import PlanError
    from kneebench.plan.relief import RELIEFS

    if names and not wanted:
        raise PlanError("--relieve", seen="no --prove", do="add --prove")
    if odd := [name for name in names if name not in RELIEFS]:
        do = f"use one of: {', '.join(RELIEFS)}"
        raise PlanError("--relieve", seen=f"no relief {odd[0]!r}", do=do)
    return tuple(names) if wanted else None


def _write_missing_brief(
    machine: DatabaseMachine, selected: Plan, out: Path, *, wanted: bool, as_json: bool
) -> None:
    """Where the newest campaign of this plan is finished and only its brief was interrupted: write
    that, and leave.
    """
    from kneebench.results import Store, load
    from kneebench.results.campaign_folders import find_unfinished, is_finished

    host = machine.host(selected.paths, whole=False)
    found = find_unfinished(out, selected, host, brief=True) if wanted else None
    if found and is_finished(found):
        typer.echo(
            f"{found} is finished; writing its missing brief. To measure again, use --fresh",
            err=True,
        )
        with Store.open(found):
            _print_results(load(found), True, as_json)


def confirm(expected_s: float, sure: bool) -> None:
    """Before more than an hour, where somebody can answer."""
    from kneebench.units import rough_time

    if expected_s > 3600 and not sure and sys.stdin.isatty() and sys.stderr.isatty():
        typer.confirm(
            f"About {rough_time(expected_s)}. Start?", default=False, abort=True, err=True
        )


def _print_results(results: Results, brief: bool, as_json: bool) -> NoReturn:
    """The answer first, then the brief: if that fails, the answer has been printed."""
    from kneebench.analysis.outcome import exit_code
    from kneebench.screen.summary import printed, results_json

    if as_json:
        path = str(write(results)) if brief else ""
        show_json_line(
            {"kind": "result", "doing": "finished", "brief": path, "data": results_json(results)}
        )
    else:
        show_parts(*printed(results))
        print_line(f"\nresults: {results.folder}")
        if brief:
            print_line(f"brief:   {write(results)}")
    raise typer.Exit(exit_code(results))
