"""Commands that measure, or tell what measuring would do: run, check, clean, parts."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from kneebench.commands.asked import asked_plan
from kneebench.commands.options import CAMPAIGNS, Json, PlanFile
from kneebench.commands.printing import show_json, show_json_line, show_parts
from kneebench.commands.written import write

if TYPE_CHECKING:
    from kneebench.records import Results


def run(
    plan: PlanFile = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder that holds campaigns; each has a folder of its own in it.")] = CAMPAIGNS,
    fresh: Annotated[bool, typer.Option("--fresh/--resume", help="Begin anew, or go on with an unfinished campaign of the same plan.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON event a line, for programs.")] = False,
    brief: Annotated[bool, typer.Option("--brief/--no-brief", help="Write the brief at the end.")] = True,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before a run of more than an hour.")] = False,
) -> None:
    """Measure what the plan asks for, and write the brief.

    Whatever is measured is kept at once. After Ctrl-C, or after a crash, the same command goes on at
    the next rung. Everything that was changed on the machine is put back.

    \b
    Examples:
      kneebench run                          the disk under this directory against memory
      kneebench run plan.toml --out /srv/results
      kneebench run plan.toml --fresh        do not go on with an unfinished campaign
      kneebench run plan.toml --json | jq .  for programs: an event a line
    """
    from kneebench import campaign
    from kneebench.lab.host import host
    from kneebench.plan.duration import expected
    from kneebench.screen.watching import watching

    _clean()
    asked = asked_plan(plan, None if fresh else out)
    expecting = expected(asked, host())
    _ask(expecting.total_s, yes or as_json)
    with watching(asked, expecting, as_json=as_json) as watch:
        results = campaign.run(asked, out, watch, fresh)
    _tell(results, brief, as_json)


def check(plan: PlanFile = None, as_json: Json = False) -> None:
    """Say what is missing, what would be written, how long it takes.

    Nothing is changed, nothing is started.

    \b
    Examples:
      kneebench check                what `kneebench run` would do here
      kneebench check plan.toml
    The exit code is 0 when the plan can be run, 2 when something is wrong, 5 when it would be refused.
    """
    from kneebench import catalogue
    from kneebench.findings import findings
    from kneebench.lab.journal import Journal

    asked, journal = asked_plan(plan, CAMPAIGNS), Journal()
    found = findings(asked, catalogue.engine(asked, journal), journal)
    if as_json:
        show_json([finding.model_dump() for finding in found])
    else:
        from kneebench.screen import tables

        show_parts(tables.findings(found))
    levels = {finding.level for finding in found}
    raise typer.Exit(5 if "refused" in levels else 2 if "error" in levels else 0)


def clean() -> None:
    """Undo what a killed run left on this machine.

    That is servers, directories, data in memory. Only what kneebench wrote into its journal before it made it is touched; results are not.
    Of what cannot be removed now it says why and what to do: a drive to be mounted, a database on a server by URL to be dropped.
    """
    from kneebench.lab.journal import Journal

    journal = Journal()
    undone = journal.clean(lambda event: typer.echo(event.doing, err=True) if event.kind == "warning" else None)
    for entry in undone:
        typer.echo(f"removed: {entry.what}" + (f" ({entry.path})" if entry.path else f" (process {entry.pid})"))
    if not undone and not journal.leftovers():
        typer.echo("nothing was left over")


def parts(as_json: Json = False) -> None:
    """List the engines, meters, stops and sections that there are.

    Their names are those that plans use.
    """
    from kneebench.catalogue import SHELVES, names

    if as_json:
        show_json({shelf: names(shelf) for shelf in SHELVES})
        return
    for shelf in SHELVES:
        typer.echo(f"{shelf + 's':10} {', '.join(names(shelf))}")


def _clean() -> None:
    """Before the default plan is sized by what is free: what a killed run left takes the disk and the memory."""
    from kneebench.lab.journal import Journal

    Journal().clean(lambda event: typer.echo(event.doing, err=True))


def _ask(expected_s: float, sure: bool) -> None:
    """Before more than an hour, where somebody can answer."""
    from kneebench import units

    if expected_s > 3600 and not sure and sys.stdin.isatty() and sys.stderr.isatty():
        typer.confirm(f"This will take about {units.time(expected_s)}. Go on?", default=True, abort=True, err=True)


def _tell(results: Results, brief: bool, as_json: bool) -> NoReturn:
    """The answer first, then the brief: should that fail, what was measured has been told."""
    from kneebench.outcome import exit_code
    from kneebench.screen.summary import printed, results_json

    if as_json:
        path = str(write(results)) if brief else ""
        show_json_line({"kind": "result", "doing": "finished", "brief": path, "data": results_json(results)})
    else:
        show_parts(*printed(results))
        typer.echo(f"\nresults: {results.folder}")
        if brief:
            typer.echo(f"brief:   {write(results)}")
    raise typer.Exit(exit_code(results))
