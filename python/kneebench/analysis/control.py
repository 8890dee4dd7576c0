"""The control of a fixed load: the database's cores must be busy, else fewer cores limit nothing.

The published method sweeps memory at a fixed number of users and a number of cores that this load
keeps above 97% busy, and checks that on every cell.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kneebench.analysis.wording import by_finding, capital, plural
from kneebench.records import Check, Climb, Results

QUANTITY = "database.busy"


def control(climb: Climb) -> Check | None:
    """Whether the least busy core was busy enough in every valid run of a cell with a fixed load
    and a constraint on its cores; None for any other cell.
    """
    runs = [rung for rung in climb.of("fixed_load", "final_run") if not rung.invalid]
    if not climb.cell.cores or not climb.of("fixed_load") or not runs:
        return None
    limit = f"{100 * climb.limits.cores_busy:g}%"
    busy = [value for rung in runs if (value := rung.quantity(QUANTITY)) is not None]
    if not busy:
        return _check(False, "not measured", limit, "the load of the cores was not measured")
    seen = f"{100 * min(busy):.3g}%"
    where = f"in the least busy of {plural(len(busy), 'run')}" if busy[1:] else "in its run"
    words = f"the least busy database core was {seen} busy {where} (limit: {limit})"
    return _check(min(busy) >= climb.limits.cores_busy, seen, limit, words)


def controls(climbs: Sequence[Climb]) -> dict[str, Check]:
    """The control of each cell that has one, by cell id."""
    return {climb.cell.id: found for climb in climbs if (found := control(climb))}


def control_caveats(results: Results) -> Iterator[str]:
    """A sentence for all cells whose cores were not busy enough: not the cores limited them."""
    found = {climb.cell.name: control(climb) for climb in results.climbs}
    failed = [(name, one) for name, one in found.items() if one and not one.passed]
    if len(failed) == 1:
        [(name, one)] = failed
        yield f"{capital(name)}: {one.sentence}; something other than its cores limits it"
    elif failed:
        limit, seen = failed[0][1].limit, [(name, f"{one.seen} busy") for name, one in failed]
        yield (
            "Something other than their cores limits these configurations: the least busy database"
            f" core, in the least busy run, was {by_finding(seen, len(found))} (limit: {limit})"
        )


def _check(passed: bool, seen: str, limit: str, sentence: str) -> Check:
    return Check(name="busy cores", passed=passed, seen=seen, limit=limit, sentence=sentence)
