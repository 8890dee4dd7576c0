"""The command that measures this machine's noise: noise."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from kneebench.commands.measuring import clean_up, confirm
from kneebench.commands.output import print_line, show_json, show_json_line, show_parts
from kneebench.commands.resuming import Resumable
from kneebench.commands.run_options import JsonEvents, Out, Yes
from kneebench.commands.trusting import TrustPlan, trusted
from kneebench.directories import CAMPAIGNS

if TYPE_CHECKING:
    from kneebench.plan.study import Study
    from kneebench.records import Host, Results

Storage = Annotated[
    Path,
    typer.Argument(
        metavar="DIRECTORY | PLAN.TOML",
        help="Directory on the storage, or a plan: its baseline is measured with its ladder.",
    ),
]
Pairs = Annotated[int, typer.Option("--pairs", min=1, max=1000, help="A/A pairs to measure.")]
Show = Annotated[bool, typer.Option("--show", help="Print the noise floors of this machine.")]
Forget = Annotated[bool, typer.Option("--forget", help="Remove the noise floors of this machine.")]


def noise(
    storage: Storage = Path(),
    pairs: Pairs = 1,
    out: Out = CAMPAIGNS,
    as_json: JsonEvents = False,
    yes: Yes = False,
    trust_plan: TrustPlan = False,
    show: Show = False,
    forget: Forget = False,
) -> None:
    """Measure the noise floor of this machine (A/A).

    One storage is measured under two names, so any difference is noise. Each pair is a campaign in
    the results folder; without a plan it has the default plan's rounds at a fixed load and takes
    about five minutes. Pairs are kept for this machine and add up; from three on they show how much
    pairs differ. Later campaigns of the same engine and kind of rounds claim no difference below
    the noise floor.

    \b
    Examples:
      kneebench noise                        one pair on this directory's disk
      kneebench noise /mnt/nvme --pairs 3
      kneebench noise plan.toml              with the plan's workload and ladder
      kneebench noise --show                 this machine's noise floors
    """
    from kneebench.lab.host import host
    from kneebench.results import noise_pairs

    machine = host()
    if forget:
        number = noise_pairs.forget(machine)
        print_line(f"removed {number} A/A pair{'' if number == 1 else 's'} of this machine")
    elif show:
        _show(machine, as_json)
    else:
        clean_up()
        file = None if storage.is_dir() else storage
        plan = trusted(file, lambda: _plan(storage, machine), sure=trust_plan)
        confirm(_expected_s(plan, machine, pairs), yes or as_json)
        _print_measured(_measure(plan, machine, pairs, out, as_json), plan, machine, as_json)


def _plan(storage: Path, machine: Host) -> Study:
    from kneebench.campaign.preflight import as_study
    from kneebench.plan.noise import noise_plan, same_twice

    return noise_plan(machine, storage) if storage.is_dir() else same_twice(as_study(storage))


def _expected_s(study: Study, machine: Host, pairs: int) -> float:
    from kneebench.campaign.expected_duration import expected_duration

    parts = expected_duration(study, machine)
    return parts.load_s + parts.drives_s + pairs * (parts.climbs_s + parts.final_runs_s)


def _measure(study: Study, machine: Host, pairs: int, out: Path, as_json: bool) -> list[Results]:
    """Measure pair after pair; each usable one is kept as soon as it is finished."""
    from kneebench.analysis.outcome import exit_code
    from kneebench.plan.noise import of_pair
    from kneebench.results.noise_pairs import keep, kind_of, noise_pairs

    before = sum(one.measured == kind_of(study) for one in noise_pairs(machine).kept)
    found: list[Results] = []
    for number in range(pairs):
        try:
            resumable = Resumable(pairs - number)
            found.append(_one(of_pair(study, before + number), machine, out, as_json, resumable))
        except BaseException as error:
            left = f"measure the others with --pairs {pairs - number}"
            error.add_note(f"A/A pairs measured: {number} of {pairs}; {left}.")
            raise
        if not exit_code(found[-1]):
            keep(machine, study, found[-1])
    return found


def _one(study: Study, machine: Host, out: Path, as_json: bool, resumable: Resumable) -> Results:
    from kneebench.campaign import flow
    from kneebench.campaign.expected_duration import expected_duration
    from kneebench.screen.watching import watching

    shown = watching(study, expected_duration(study, machine), as_json=as_json)
    with flow.machine_of(study) as there, resumable, shown as watch:
        return flow.run(there, study, flow.RunOptions(out), resumable.watcher(watch))


def _print_measured(found: list[Results], study: Study, machine: Host, as_json: bool) -> NoReturn:
    """The pairs of this command, then the floor from all that are kept; the exit code is that of
    the worst campaign.
    """
    from kneebench.analysis.outcome import exit_code
    from kneebench.results.noise_pairs import noise_pairs
    from kneebench.screen import noise as screen

    floor = noise_pairs(machine).floor(study)
    if as_json:
        data = screen.document(found, floor)
        show_json_line({"kind": "result", "doing": "finished", "data": data})
    else:
        show_parts(*screen.printed(found, floor))
    raise typer.Exit(max(map(exit_code, found)))


def _show(machine: Host, as_json: bool) -> None:
    from socket import gethostname

    from kneebench.results.noise_pairs import noise_pairs
    from kneebench.screen import noise as screen

    known = noise_pairs(machine)
    for sentence in known.ignored:
        print_line(sentence, err=True)
    if as_json:
        show_json({"host": gethostname(), **screen.known_document(known)})
    elif known.kept:
        show_parts(*screen.known(known, gethostname()))
    else:
        print_line(f"no A/A pairs of {gethostname()}; `kneebench noise` measures one")
