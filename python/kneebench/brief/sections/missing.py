"""What an unfinished campaign still lacks."""

from __future__ import annotations

from collections.abc import Iterator

from kneebench.analysis.wording import listed, number_of_users, plural
from kneebench.brief.section import Section
from kneebench.brief.view_model import ViewModel
from kneebench.records import Climb


def section(view: ViewModel) -> Section | None:
    """What was not measured yet; nothing for a finished campaign."""
    if view.results.finished:
        return None
    lacks = tuple(sentence for climb in view.climbs for sentence in _lacks(view, climb))
    again = "The campaign is not finished. Running the same plan again resumes it at the next rung."
    return Section(
        name="missing", title="Unfinished campaign", sentences=(again, *lacks), tone="note"
    )


def _lacks(view: ViewModel, climb: Climb) -> Iterator[str]:
    name = view.name(climb.id)
    if not climb.rungs:
        yield f"{name}: not measured yet."
        return
    if view.plan.workload.type == "tproc-h":
        yield f"{name}: pass {max(climb.repeats('query'), default=0)} was begun."
        return
    if not climb.stopped_by:
        climbed = climb.of("search", "bisection", "fixed_load")
        most = number_of_users(max((r.users for r in climbed), default=0))
        there = f"{plural(len(climbed), 'rung')} up to {most}"
        yield f"{name}: the climb is unfinished ({there}) and has no {view.point}."
        return
    repeats, wanted = len(climb.of("final_run")), view.plan.ladder.fewest_repeats
    if repeats < wanted:
        yield (
            f"{name}: {repeats} of {wanted} final runs at the {view.point} are done; search rungs"
            " are never quoted instead."
        )
    if wanted and not climb.of("fixed_rate"):
        yield f"{name}: latency at the fixed rate was not measured."
    lacking = {*view.plan.ladder.levels} - climb.repeats("load_level")
    if lacking:
        levels = listed([f"{level}%" for level in sorted(lacking)])
        yield f"{name}: latency at {levels} of the {view.point}'s throughput was not measured."
