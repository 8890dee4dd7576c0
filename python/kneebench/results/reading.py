"""A campaign's folder read: whole, unfinished or copied from elsewhere, years later."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from kneebench.errors import KneebenchError
from kneebench.plan import Plan
from kneebench.records import Campaign, Cell, Climb, Phase, Record, Results, Rung, Series
from kneebench.results.formats import Finished, KeptClimb, KeptRung, read_kept
from kneebench.results.tables import read_series

CLIMBING: tuple[Phase, ...] = ("scout", "bisection", "drift")


class Listed(Record):
    """One line of `kneebench list`. `exit_code` is None while unfinished; `damaged` says what could not be read."""

    folder: Path
    id: str
    question: str = ""
    started_at: str = ""
    simulated: bool = False
    finished: bool = False
    exit_code: int | None = None
    rungs: int = 0
    damaged: str = ""


def load(folder: Path) -> Results:
    """A campaign as its folder holds it. Rungs are in the order measured; cells without rungs yet are there, empty."""
    campaign, finished = read_kept(folder / "campaign.json", Campaign), _finished(folder)
    rungs = kept_rungs(folder)
    kept = {climb.cell.id: climb for climb in kept_climbs(folder)}
    planned = _planned(campaign.plan, [*kept, *(rung.order.cell for rung in rungs)])
    cells = {**planned, **{cell: climb.cell for cell, climb in kept.items()}}
    climbs = tuple(_climb(kept.get(id_), cell, rungs) for id_, cell in cells.items())
    return Results(campaign=campaign, climbs=climbs, folder=folder, finished=finished is not None)


def _finished(folder: Path) -> Finished | None:
    """How the campaign ended, if it did. Raises KneebenchError where it has not the rungs that it had then: fewer or more change the answer."""
    file = folder / "finished.json"
    if not file.exists():
        return None
    end = read_kept(file, Finished)
    there = len(rung_files(folder))
    if end.rungs and there != end.rungs:
        raise KneebenchError(
            f"reading {folder}",
            seen=f"{there} files in rungs/, where {end.rungs} were measured",
            do="restore the folder from a copy, or measure anew with --fresh",
        )
    return end


def rung_files(folder: Path) -> list[Path]:
    """A file for each rung that is kept."""
    return sorted((folder / "rungs").glob("*.json"))


def _climb(kept: Climb | None, cell: Cell, rungs: Iterable[Rung]) -> Climb:
    own = of_last_climb(rung for rung in rungs if rung.order.cell == cell.id)
    return kept.model_copy(update={"rungs": own}) if kept else Climb(cell=cell, rungs=own)


def of_last_climb(rungs: Iterable[Rung]) -> tuple[Rung, ...]:
    """Of the rungs kept on one cell those that count: where it was climbed again, those of the earlier climb do not."""
    kept = tuple(rungs)
    last = max((rung.order.repeat for rung in kept if rung.order.phase == "scout"), default=0)
    return tuple(rung for rung in kept if rung.order.phase not in CLIMBING or rung.order.repeat >= last)


def _planned(plan: dict[str, Any], measured: Iterable[str]) -> dict[str, Cell]:
    """The plan's cells in running order; a plan of another version that no longer reads still names those measured."""
    from kneebench.plan.cells import cells

    try:
        named = {cell.id: cell for cell in cells(Plan.model_validate(plan))}
    except ValidationError:
        named = {}
    return named | {id_: Cell(id=id_, storage=id_) for id_ in measured if id_ not in named}


def kept_rungs(folder: Path) -> tuple[Rung, ...]:
    """The rungs of a campaign, in the order measured."""
    kept = {file: read_kept(file, KeptRung) for file in rung_files(folder)}
    for file, one in kept.items():
        if file.stem != one.rung.order.key:
            raise KneebenchError(f"reading {file}", seen=f"it holds the rung {one.rung.order.key}", do="remove the file: it is a copy of another")
    return tuple(one.rung for one in sorted(kept.values(), key=lambda one: one.number))


def kept_climbs(folder: Path) -> tuple[Climb, ...]:
    """The climbs that ended, without their rungs."""
    return tuple(read_kept(file, KeptClimb).climb for file in sorted((folder / "climbs").glob("*.json")))


def point(campaign: Campaign) -> str:
    """What a campaign's report measures: a knee that a climb found, or the load that the plan fixed."""
    ladder = campaign.plan.get("ladder")
    return "fixed load" if isinstance(ladder, dict) and isinstance(ladder.get("users"), int) else "knee"


def series(results: Results, rung: Rung, *quantities: str) -> tuple[Series, ...]:
    """What the meters read through a rung, a value a second; nothing where results are in no folder."""
    return read_series(results.folder / "series" / f"{rung.order.key}.parquet", quantities) if results.folder else ()


def campaigns(root: Path) -> list[Listed]:
    """The campaigns in a folder, newest first; a damaged one is listed with what is wrong."""
    found = [_listed(file.parent) for file in sorted(root.glob("*/campaign.json"))]
    return sorted(found, key=lambda one: (one.started_at, one.id), reverse=True)


def _listed(folder: Path) -> Listed:
    try:
        head = read_kept(folder / "campaign.json", Campaign)
        end = _finished(folder)
    except KneebenchError as error:
        return Listed(folder=folder, id=folder.name, damaged=str(error))
    return Listed(
        folder=folder,
        id=head.id,
        question=str(head.plan.get("question", "")),
        started_at=head.started_at,
        simulated=head.simulated,
        finished=end is not None,
        exit_code=end.exit_code if end else None,
        rungs=len(rung_files(folder)),
    )
