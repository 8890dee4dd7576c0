"""Running a campaign from Python, with its progress where people can see it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from kneebench.campaign import flow
from kneebench.campaign.machines.machine import DatabaseMachine
from kneebench.campaign.preflight import as_plan
from kneebench.notebook.loaded import LoadedResults, loaded
from kneebench.notebook.progress_line import in_notebook, progress_line
from kneebench.plan import Plan
from kneebench.records import Event, Watch, WholeDrive, unwatched
from kneebench.screen.watching import watching


def run(
    plan: Plan | str | Path,
    folder: str | Path | None = None,
    *,
    watch: Watch = unwatched,
    fresh: bool = False,
    progress: bool | None = None,
    erase: Sequence[WholeDrive] = (),
    reliefs: Sequence[str] | None = None,
) -> LoadedResults:
    """Measure a whole campaign, by a plan or the path of its file, and give its results.

    `folder` holds campaigns, `kneebench-results` unless it is given; an unfinished one of the same
    plan, image and kneebench is resumed unless `fresh`. `watch` receives each event. `progress`:
    shown in one line of a notebook, or on stderr as the command line shows it; unless given, only
    in a notebook. `erase`: drives agreed to be erased. `reliefs`: what to relieve at each knee to
    prove what limits it, none for what looks short; None for no proof.

    Raises PlanError or Refused before any change; InvalidMeasurement for a lost database. Whatever
    ends it, the machine is put back; what was measured stays.

    >>> from kneebench import preset, run
    >>> results = run(preset("simulated"), folder="kneebench-results")
    >>> results.finished, results.campaign.simulated
    (True, True)
    """
    plan = as_plan(plan)
    shown = in_notebook() if progress is None else progress
    with flow.machine_of(plan) as machine, _shown(machine, plan, wanted=shown) as screen:
        both = _to_both(watch, screen)
        results = flow.run_on(machine, plan, folder, both, fresh, False, erase, reliefs)
        return loaded(results)


@contextlib.contextmanager
def _shown(machine: DatabaseMachine, plan: Plan, *, wanted: bool) -> Iterator[Watch]:
    """A watcher that shows progress, or nothing where it is not wanted."""
    if not wanted:
        yield unwatched
        return
    expected = machine.expected_duration(plan)
    with progress_line(plan, expected) if in_notebook() else watching(plan, expected) as watch:
        yield watch


def _to_both(one: Watch, other: Watch) -> Watch:
    def watch(event: Event) -> None:
        one(event)
        other(event)

    return watch
