"""One climb: users are added until a stop fires, one bisection narrows down the knee, and a repeat
of the first rung shows drift.

A generator: it yields orders and is sent rungs, so it neither measures nor waits. A killed campaign
is resumed by sending it the saved rungs. The same rungs always give the same orders.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import NamedTuple, TypeVar

from kneebench.analysis.bottleneck import LOAD_GENERATOR_BUSY
from kneebench.analysis.elasticity import elasticity
from kneebench.analysis.wording import number_of_users, percent, stop_reason
from kneebench.ladder import steps, stops
from kneebench.ladder.stops import saturation
from kneebench.plan.ladder import Ladder
from kneebench.records import Cell, Climb, Order, Phase, Rung, StopResult
from kneebench.shelf import STOPS

WARMED = 0.25
"""More throughput at the first rung, repeated last, than two short rungs differ by on a noisy
machine: the cache was still warming."""
Climbing = Generator[Order, Rung, Climb]
Followed = TypeVar("Followed")


class KneePosition(NamedTuple):
    """Position of the knee among the search rungs: `at` is its index, below 0 if not even the first
    rung passed.
    """

    at: int
    stop: str


def climb(cell: Cell, ladder: Ladder, database_cores: int) -> Climbing:
    """Yield the orders of a climb on one cell, be sent a rung for each, return the climb.

    The first rung has many users: it warms the database and is not judged ("warm_up"). Search rungs
    start at the plan's first number of users, or at the number of database cores if that is 0; each
    has `ladder.step` times the users of the one before, until a stop fires. One rung between the
    knee and the next rung follows, then the first rung again ("drift_check").

    An invalid rung ends the climb at once: it did not measure the database, but mostly the load
    generator. A climb during which the database was still warming is repeated once
    (`ladder.climb_again`). With one number as `ladder.users` the climb is one rung of that many
    users ("fixed_load").
    """
    if ladder.fixed:
        return (yield from _fixed(cell, ladder))
    users = steps.first((ladder.first, ladder.last), database_cores), ladder.last
    warm_up = yield from _warm_up(cell, steps.warming(users, database_cores))
    climbed = yield from _once(cell, ladder, users, 0)
    why = _warmed(climbed, ladder.budget) if ladder.climb_again else None
    if why:
        again = yield from _once(cell, ladder, users, 1)
        climbed = again.model_copy(update={"stop_results": (*again.stop_results, why)})
    return climbed.model_copy(update={"rungs": (*warm_up, *climbed.rungs)})


def followed(
    steps: Generator[Order, Rung, Followed], measured: Callable[[Order], Rung]
) -> Followed:
    """The result of `steps` when every order is measured: for a climb, the Climb."""
    try:
        order = next(steps)
        while True:
            order = steps.send(measured(order))
    except StopIteration as end:
        found: Followed = end.value
        return found


def _warm_up(cell: Cell, users: int | None) -> Generator[Order, Rung, tuple[Rung, ...]]:
    """The rung that fills the cache; nothing is judged by it."""
    return ((yield _order(cell, "warm_up", users)),) if users else ()


def _once(cell: Cell, ladder: Ladder, users: tuple[int, int], repeat: int) -> Climbing:
    """The climb from its first rung to that rung again."""
    search_rungs, invalid = yield from _search(cell, ladder, users, repeat)
    stop_results = _judged(search_rungs, ladder) if search_rungs else ()
    if invalid:
        return _ended_invalid(cell, search_rungs, invalid, stop_results)
    position = _knee_position(search_rungs, ladder, stop_results)
    if position.at < 0:
        return Climb(
            cell=cell,
            rungs=tuple(search_rungs),
            stop_results=stop_results,
            stopped_by=position.stop,
        )
    middle = yield from _bisect(cell, search_rungs, position, repeat)
    last = yield _order(cell, "drift_check", search_rungs[0].users, repeat)
    knee, bracket = _refined(search_rungs, position.at, middle, ladder)
    rungs = (*search_rungs, *([middle] if middle else []), last)
    return Climb(
        cell=cell,
        rungs=rungs,
        stop_results=stop_results,
        stopped_by=position.stop,
        knee_users=knee,
        bracket=bracket,
    )


def _order(cell: Cell, phase: Phase, users: int, repeat: int = 0) -> Order:
    return Order(cell=cell.id, phase=phase, users=users, repeat=repeat)


def _search(
    cell: Cell, ladder: Ladder, bounds: tuple[int, int], repeat: int
) -> Generator[Order, Rung, tuple[list[Rung], Rung | None]]:
    """The search rungs up to the one where a stop fired, and the invalid one that ended them if
    any.
    """
    search_rungs: list[Rung] = []
    users, last = bounds
    while True:
        rung = yield _order(cell, "search", users, repeat)
        if rung.invalid:
            return search_rungs, rung
        search_rungs.append(rung)
        if any(v.fired for v in _judged(search_rungs, ladder)):
            return search_rungs, None
        users = steps.following(users, ladder.step, last)


def _judged(
    rungs: Sequence[Rung], ladder: Ladder, *, but: Sequence[str] = ()
) -> tuple[StopResult, ...]:
    """What every stop on the shelf says, those that fired first."""
    found = [
        stops.find(name).judge(rungs, stops.limits(name, ladder))
        for name in STOPS.names()
        if name not in but
    ]
    return tuple(sorted(found, key=lambda v: not v.fired))


def _knee_position(
    search_rungs: Sequence[Rung], ladder: Ladder, stop_results: Sequence[StopResult]
) -> KneePosition:
    """The lowest knee of the stops that fired.

    The budget only tells that one was not found: it yields to any other.
    """
    fired = [v.stop for v in stop_results if v.fired]
    named = [name for name in fired if name != "budget"] or fired
    return min(
        KneePosition(
            len(search_rungs)
            - 1
            - stops.find(name).beyond(search_rungs, stops.limits(name, ladder)),
            name,
        )
        for name in named
    )


def _bisect(
    cell: Cell, search_rungs: Sequence[Rung], position: KneePosition, repeat: int
) -> Generator[Order, Rung, Rung | None]:
    """One more rung between the knee and the rung after it, where there is one and users between
    them.
    """
    if position.at + 1 >= len(search_rungs):
        return None
    users = steps.between(search_rungs[position.at].users, search_rungs[position.at + 1].users)
    return (yield _order(cell, "bisection", users, repeat)) if users else None


def _refined(
    search_rungs: Sequence[Rung], at: int, middle: Rung | None, ladder: Ladder
) -> tuple[int, tuple[int, int]]:
    """(the knee's users, the users between which it lies).

    The middle is the knee if throughput grew up to it and nothing fires on it.

    Where growth ends between two rungs, the one it still reached may lie on either side of the
    bend: the bracket goes from the rung before the knee to the one after it.
    """
    below = search_rungs[max(0, at - 1)].users
    above = search_rungs[min(len(search_rungs) - 1, at + 1)].users
    knee = search_rungs[at]
    if middle is None or middle.invalid:
        return knee.users, (below, above)
    grew = elasticity(knee, middle) >= ladder.stops.plateau.elasticity
    if grew and not any(
        v.fired for v in _judged([*search_rungs[: at + 1], middle], ladder, but=("budget",))
    ):
        return middle.users, (knee.users, above)
    return knee.users, (below, middle.users)


def _ended_invalid(
    cell: Cell, search_rungs: Sequence[Rung], invalid: Rung, stop_results: Sequence[StopResult]
) -> Climb:
    """The climb up to the invalid rung; the last valid one stands in for a knee that was not
    reached.
    """
    generator = (invalid.quantity("load_generator.busy") or 0.0) > LOAD_GENERATOR_BUSY
    stop, why = (
        ("load_generator", "Load generator bottleneck")
        if generator
        else ("invalid", "Invalid rung")
    )
    after = (
        "The fixed load was not measured"
        if invalid.order.phase == "fixed_load"
        else "The climb ended there; the true knee may be higher"
    )
    sentence = f"{why} at {number_of_users(invalid.users)}: {invalid.invalid}. {after}"
    result = StopResult(
        stop=stop, fired=True, seen=invalid.invalid, limit="a valid rung", sentence=sentence
    )
    knee = search_rungs[-1].users if search_rungs else None
    bracket = (
        (search_rungs[max(0, len(search_rungs) - 2)].users, invalid.users) if search_rungs else None
    )
    return Climb(
        cell=cell,
        rungs=(*search_rungs, invalid),
        stop_results=(result, *stop_results),
        stopped_by=stop,
        knee_users=knee,
        bracket=bracket,
    )


def _fixed(cell: Cell, ladder: Ladder) -> Climbing:
    """One rung at the plan's load; how busy the database's cores were is the control that every
    cell is checked by.
    """
    users = ladder.last
    rung = yield _order(cell, "fixed_load", users)
    if rung.invalid:
        return _ended_invalid(cell, [], rung, ())
    load = number_of_users(users)
    sentence = f"Fixed load of {load}, not a knee; {saturation.seen(rung)}"
    fixed = StopResult(stop="fixed_load", fired=True, seen=load, limit=load, sentence=sentence)
    others = _judged([rung], ladder, but=("budget", "plateau", "saturation"))
    failed = any(v.fired and v.stop == "errors" for v in others)
    return Climb(
        cell=cell,
        rungs=(rung,),
        stop_results=(fixed, *others),
        stopped_by="errors" if failed else "fixed_load",
        knee_users=None if failed else users,
        bracket=None if failed else (users, users),
    )


def _warmed(climbed: Climb, budget_s: float) -> StopResult | None:
    """Reason to repeat the climb; None if the first rung, rerun at the end, gave similar throughput
    or was not rerun.

    While a database is still filling its cache, throughput may be flat where it would grow once
    warm: the drive is busy with reads that the cache will soon make unnecessary. The plateau stop
    then ends the climb too early, and the final runs would quote a knee that is none. Nor is it
    made again where both would take longer than the plan's budget, or a check failed: that must
    stay in the results.
    """
    first, last = climbed.of("search")[0], climbed.rungs[-1]
    if 2 * sum(rung.tally.whole_s for rung in climbed.rungs) > budget_s or not all(
        check.passed for rung in climbed.rungs for check in rung.checks
    ):
        return None
    if last.order.phase != "drift_check" or last.invalid or not first.tally.throughput_per_s:
        return None
    more = last.tally.throughput_per_s / first.tally.throughput_per_s - 1
    if more <= WARMED:
        return None
    seen, limit = f"{percent(more)} more", f"{percent(WARMED)} more"
    sentence = (
        f"Climb repeated: rerunning the first rung ({number_of_users(first.users)}) gave {seen}"
        f" throughput (limit {limit}), so the cache was still warming. The {len(climbed.rungs)}"
        f" rungs of the first climb (stop reason: {stop_reason(climbed.stopped_by)}) are in the"
        " campaign folder, not in the results"
    )
    return StopResult(
        stop="warming", fired=False, seen=seen, limit=limit, sentence=sentence, flag=True
    )
