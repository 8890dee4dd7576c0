"""Whether a campaign's claims agree with what was measured: its climbs with their rungs, its
quantities with their series.

Where a climb ended, and at which knee, follows from its rungs; a quantity over the window of a rung
follows from its seconds. Both are worked out once more, so a file that was edited or damaged shows.
A kneebench whose ladder ends a climb elsewhere needs a new format number (formats.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf, isfinite
from pathlib import Path

from kneebench.analysis.quoted_load import REPEATED
from kneebench.errors import KneebenchError
from kneebench.ladder.climb import replayed
from kneebench.ladder.steps import Climbed
from kneebench.measurement.quantities import RATIOS, READ
from kneebench.measurement.summaries import combined
from kneebench.records import Campaign, Climb, Rung
from kneebench.results.formats import damaged
from kneebench.results.head import study_of
from kneebench.results.tables import Held, held_in_windows

NEAR = 0.05
"""Of the largest second: rounding, and a window that begins or ends within a second."""
COUNTED_AS = {"database.busy": "cores.busy"}
"""Quantities whose seconds are those of another one."""


def require_climbs(
    folder: Path, campaign: Campaign, kept: Iterable[Climb], rungs: Sequence[Rung]
) -> None:
    """Raise KneebenchError for a climb that ended, or has a knee, where its rungs give another one.
    Climbs under a plan of another version are not judged.
    """
    try:
        study = study_of(campaign)
    except KneebenchError:
        return
    known = {one.id: one for one in study.configurations}
    for climb in kept:
        if climb.id not in known:
            continue
        own = [
            r for r in rungs if r.order.configuration == climb.id and r.order.phase not in REPEATED
        ]
        where = campaign.servers.get(climb.id)
        cores = len(where.cores) if where else 0
        found = replayed(own, study.rungs(known[climb.id]).ladder, cores or 1)
        if said := found and _otherwise(climb, found):
            raise damaged(
                folder / "climbs" / f"{climb.id}.json", f"it contradicts its rungs: {said}"
            )


def _otherwise(climb: Climb, found: Climbed) -> str:
    """The first thing that a climb says otherwise than its rungs; empty if they agree."""
    for name in ("stopped_by", "knee_users", "bracket"):
        stored, again = getattr(climb, name), getattr(found, name)
        if stored != again:
            return f"{name} is {stored} where they give {again}"
    return ""


def require_quantities(folder: Path, rungs: Iterable[Rung]) -> None:
    """Raise KneebenchError for the first quantity of a rung that is beyond all seconds of its
    window: a mean, of rates or of quotients, is between them.
    """
    by_file = {folder / "series" / f"{rung.order.key}.parquet": rung for rung in rungs}
    begins = {file: rung.warm_up_s for file, rung in by_file.items()}
    for file, held in held_in_windows(begins).items():
        if said := next(_beyond(by_file[file], held), ""):
            rung_file = folder / "rungs" / f"{file.stem}.json"
            raise damaged(rung_file, f"it contradicts its series: {said}")


def _beyond(rung: Rung, held: Mapping[tuple[str, str], Held]) -> Iterator[str]:
    """What a quantity says otherwise than its seconds, source by source and over all of them, or
    than its sources together.
    """
    for name, summary in rung.quantities.items():
        for source, value in (*summary.sources.items(), ("", summary.value)):
            seen = _seen(held, name, source)
            if seen and not _within(value, seen):
                called = f"{name} of {source}" if source else name
                lowest, highest = f"{seen.low:.6g}", f"{seen.high:.6g}"
                yield f"{called} is {value:.6g} where its seconds are {lowest} to {highest}"
        together = _together(name, summary.sources)
        if together and not _within(summary.value, together):
            yield f"{name} is {summary.value:.6g} where its sources give {together.high:.6g}"


def _seen(held: Mapping[tuple[str, str], Held], name: str, source: str) -> Held | None:
    """The seconds of a quantity; no highest one for a quotient whose divisor was 0 in a second.
    Such a second has none, and what it would have divided counts in the window: a session reports
    its flushes only once per second.
    """
    found = held.get((COUNTED_AS.get(name, name), source))
    if not found or name not in RATIOS:
        return found
    ratio = RATIOS[name]
    divisors = {*ratio.denominators, *(RATIOS[ratio.instead].denominators if ratio.instead else ())}
    empty = any(one.low == 0 for (divisor, _), one in held.items() if divisor in divisors)
    return Held(found.low, inf) if empty else found


def _together(name: str, sources: Mapping[str, float]) -> Held | None:
    """What a quantity may be over all its sources; None for a quotient, which also counts sources
    that have but one of its parts.
    """
    if name in COUNTED_AS and sources:
        return Held(min(sources.values()), max(sources.values()))
    if name not in READ or not sources:
        return None
    found = combined({name: dict(sources)}, name) or 0.0
    return Held(found, found)


def _within(value: float, seen: Held) -> bool:
    near = NEAR * max(abs(end) for end in seen if isfinite(end)) + 1e-9
    return seen.low - near <= value <= seen.high + near
