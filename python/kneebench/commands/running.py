"""The command that measures: run."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import typer

from kneebench.commands.erasing import confirm_erasing
from kneebench.commands.following import followed, page_address
from kneebench.commands.measuring import clean_up, confirmed_duration
from kneebench.commands.options import PlanFile
from kneebench.commands.output import open_page, print_line, show_json_line, show_parts, write
from kneebench.commands.plan_selection import selected_study, single_load
from kneebench.commands.resuming import Resumable
from kneebench.commands.run_options import (
    Changes,
    Consent,
    Continuation,
    Erase,
    Following,
    OpenBrief,
    Out,
    ProofWanted,
    SingleWindow,
)
from kneebench.commands.trusting import trusted
from kneebench.directories import CAMPAIGNS
from kneebench.errors import PlanError

if TYPE_CHECKING:
    from kneebench.campaign.machines.machine import DatabaseMachine
    from kneebench.plan.study import Study
    from kneebench.records import Results


HELP = """\
Measure the plan and write the brief.

After Ctrl-C, an error or a crash, the same command without --fresh resumes, or writes the brief
if only that is missing. All changes to the machine are undone.

\b
Examples:
  kneebench run                          this directory's disk against memory
  kneebench run plan.toml --json | jq .  one event per line
  kneebench run --users 8 --for 5min     8 users, once on each storage
  kneebench run drives.toml --erase      its drives' data may be lost
  kneebench run plan.toml --live         watch it in a browser
  kneebench run plan.toml --name nightly-sata --tag firmware=1.2
  kneebench run plan.toml --set ladder.repeats=5 --quiet --open
"""
"""Help of the command: its signature leaves no room for it there."""


def run(
    *,
    plan: PlanFile = None,
    out: Out = CAMPAIGNS,
    past: Continuation,
    open_brief: OpenBrief = False,
    single: SingleWindow,
    changes: Changes,
    consent: Consent,
    erase: Erase = False,
    proof: ProofWanted,
    follow: Following,
) -> None:
    """Measure the plan and write the brief; `HELP` has the rest."""
    from kneebench.campaign import flow

    (fresh, brief), as_json = past, follow.as_json
    if open_brief and not brief:
        raise PlanError("--open", seen="--no-brief", do="leave one of them out")
    reliefs, page = _reliefs(proof), page_address(follow.prometheus, live=follow.live)
    keys, load = changes.keys, single_load(*single)
    clean_up()
    read = partial(selected_study, plan, None if fresh else out, load, brief=brief, overrides=keys)
    selected = trusted(plan, read, sure=consent.trust_plan)
    with flow.machine_of(selected) as machine, Resumable() as resumable:
        _write_missing_brief(machine, selected, out, wanted=brief and not fresh, as_json=as_json)
        expecting = confirmed_duration(machine, selected, sure=consent.yes or as_json)
        unasked = consent.erase_without_asking or ()
        drives = confirm_erasing(machine, selected, unasked, wanted=erase)
        shown = followed(resumable, selected, expecting, page, as_json=as_json, quiet=follow.quiet)
        with shown as watch:
            asked = flow.RunOptions(out, fresh, brief, drives, reliefs)
            results = flow.run(machine, selected, asked, watch)
        _print_results(results, brief, as_json, open_brief)


def _reliefs(proof: ProofWanted) -> tuple[str, ...] | None:
    """The reliefs to prove with: none for what looks short, None without a proof. Raises PlanError
    for a name that is none.
    """
    from kneebench.plan.relief import RELIEFS

    names, wanted = proof.relieve or [], proof.prove
    if names and not wanted:
        raise PlanError("--relieve", seen="no --prove", do="add --prove")
    if odd := [name for name in names if name not in RELIEFS]:
        do = f"use one of: {', '.join(RELIEFS)}"
        raise PlanError("--relieve", seen=f"no relief {odd[0]!r}", do=do)
    return tuple(names) if wanted else None


def _write_missing_brief(
    machine: DatabaseMachine, study: Study, out: Path, *, wanted: bool, as_json: bool
) -> None:
    """Where the newest campaign of this plan is finished and only its brief was interrupted: write
    that, and leave.
    """
    from kneebench.results import Store, load
    from kneebench.results.campaign_folders import find_unfinished, is_finished

    host = machine.host(study.paths, whole=False)
    found = find_unfinished(out, study, host, brief=True) if wanted else None
    if found and is_finished(found):
        typer.echo(
            f"{found} is finished; writing its missing brief. To measure again, use --fresh",
            err=True,
        )
        with Store(found):
            _print_results(load(found), True, as_json)


def _print_results(
    results: Results, brief: bool, as_json: bool, open_brief: bool = False
) -> NoReturn:
    """The answer first, then the brief: if that fails, the answer has been printed."""
    from kneebench.analysis.outcome import exit_code
    from kneebench.screen.summary import printed, results_json

    written = None
    if as_json:
        written = write(results) if brief else None
        found = {"kind": "result", "doing": "finished", "brief": str(written or "")}
        show_json_line({**found, "data": results_json(results)})
    else:
        show_parts(*printed(results))
        print_line(f"\nresults: {results.folder}")
        if brief:
            written = write(results)
            print_line(f"brief:   {written}")
    if written and open_brief:
        open_page(written)
    raise typer.Exit(exit_code(results))
