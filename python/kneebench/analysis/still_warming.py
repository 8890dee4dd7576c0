"""Configurations that never became steady: their final runs are shown. Storages are not compared by
them; in a sweep they are lower bounds.

A final run whose warm-up reached its limit is "not steady". That alone does not forbid a
comparison: short warm-ups end so by scatter. A configuration is still warming if all of its final
runs are not steady and, on average (records.Moved),

- New-Orders still rose by more than the noise floor, or
- device reads still fell by more than the noise floor, and by more than 10% (READ_DRIFT), while
  they took a share of the users' time.

Short rounds have a warm-up of fixed length, which nothing judges: it is as long as that of the
climb's first rung. With less memory than the machine has, that rung stands for them.

A reference without a limit is also still warming if it read more per transaction than the largest
configuration with one (`colder`): with more memory it would read no more once that is full.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from kneebench.analysis.drift import FLOOR
from kneebench.analysis.estimate import scatter
from kneebench.analysis.final_estimates import short
from kneebench.analysis.knee import quoted_rungs
from kneebench.analysis.steady import READ_DRIFT, READ_TIME
from kneebench.analysis.wording import percent, plural
from kneebench.records import Climb, Moved, Remark, Rung
from kneebench.units import size


def still_warming(climb: Climb) -> str:
    """Why a configuration is not compared, as the end of a sentence; empty for one that is, and
    where nothing says how its load moved.
    """
    moving = still_moving(climb)
    return f"it never became steady within its warm-up limit: {moving.words}" if moving else ""


def first_warming(climbs: Sequence[Climb]) -> Climb | None:
    """The first of several configurations that is still warming; None for one alone: it has nothing
    to be compared with.
    """
    return next(filter(still_warming, climbs), None) if len(climbs) > 1 else None


def still_moving(climb: Climb) -> Remark | None:
    """How the load of such a configuration still moved, with the rise of NOPM, or else the fall of
    its reads; None for any other.
    """
    rungs = _judged(climb)
    moves = [rung.moved for rung in rungs if rung.moved and not rung.steady]
    if not rungs or len(moves) < len(rungs):
        return None
    floor = _floor(climb)
    found = [one for one in (_rise(moves, floor), _fall(moves, floor)) if one]
    if not found:
        return None
    runs = plural(len(rungs), "final run" if rungs[0].order.phase != "warm_up" else "warm-up rung")
    said = " and ".join(one.words for one in found)
    return found[0].model_copy(update={"words": f"{said} in {runs} (noise floor {percent(floor)})"})


def colder(reference: Climb, largest: Climb) -> str:
    """Why a configuration without a limit is still warming in comparison with one of less memory,
    as the end of a sentence: each of its final runs read more per transaction than all of the
    other, and on average by more than 10% (READ_DRIFT). Empty if not, and where reads were not
    measured or took hardly any of the users' time (READ_TIME).
    """
    own, other = (_reads(one) for one in (reference, largest))
    if not own or not other or _time_in_reads(reference) <= READ_TIME:
        return ""
    if min(own) <= max(other) or fmean(own) <= (1 + READ_DRIFT) * fmean(other):
        return ""
    more, less = size(fmean(own)), size(fmean(other))
    return (
        f"it read {more} per transaction, and {largest.configuration.name} with less memory {less}"
    )


def _reads(climb: Climb) -> list[float]:
    """Bytes that the device read per transaction, by final run."""
    found = (rung.quantity("device.read_bytes_per_transaction") for rung in quoted_rungs(climb))
    return [one for one in found if one is not None]


def _time_in_reads(climb: Climb) -> float:
    """The share of the users' time in device reads; 1 if it was not measured."""
    shares = [
        found / rung.users
        for rung in quoted_rungs(climb)
        if (found := rung.quantity("device.read_time")) is not None
    ]
    return fmean(shares) if shares else 1.0


def _judged(climb: Climb) -> tuple[Rung, ...]:
    quoted = quoted_rungs(climb)
    if not short(quoted):
        return quoted
    limited = climb.configuration.memory_bytes or climb.configuration.engine_memory_bytes
    return climb.of("warm_up")[:1] if limited else ()


def _floor(climb: Climb) -> float:
    """The noise floor of NOPM: of the final runs among each other, and of the machine."""
    machine = climb.noise_floor.shares.get("nopm", 0.0) if climb.noise_floor else 0.0
    return max(FLOOR, machine, scatter([[rung.tally.nopm for rung in quoted_rungs(climb)]]))


def _rise(moves: Sequence[Moved], floor: float) -> Remark | None:
    rise = fmean(one.nopm for one in moves)
    return _beyond(floor, rise, f"NOPM still rose by {percent(rise)}")


def _fall(moves: Sequence[Moved], floor: float) -> Remark | None:
    reads = [one.reads for one in moves if one.reads is not None]
    fall = -fmean(reads) if reads else 0.0
    words = f"device reads fell by {percent(fall)} of their mean"  # a steep fall: more than 100%
    return _beyond(max(floor, READ_DRIFT), fall, words)


def _beyond(limit: float, share: float, words: str) -> Remark | None:
    if share <= limit:
        return None
    return Remark(
        kind="still_warming", severity="caveat", words=words, value=share, limit=limit, unit="share"
    )
