"""Storages of a finished campaign for which no figure may be quoted, and why."""

from __future__ import annotations

from typing import NamedTuple

from kneebench.analysis.knee import knee
from kneebench.records import Cell, Climb, Results


class MissingFigure(NamedTuple):
    """A cell without a usable figure; `sentence` gives the reason."""

    cell: Cell
    sentence: str


def missing_figures(results: Results) -> tuple[MissingFigure, ...]:
    """The cells whose final runs gave no figure, in running order; none while a campaign is unfinished, for its figures are still to come."""
    if not results.finished:
        return ()
    return tuple(MissingFigure(climb.cell, f"no usable figure: {_why(climb)}") for climb in results.climbs if knee(climb) is None)


def _why(climb: Climb) -> str:
    if found := climb.of("final_run"):
        return f"none of the {len(found)} final runs is valid (first: {found[0].invalid})" if found[0].invalid else "no final run has a latency"
    fired = next((result.sentence for result in climb.stop_results if result.fired and result.stop == climb.stopped_by), "")
    return fired or "no load could be chosen for the final runs"
