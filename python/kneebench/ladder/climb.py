"""One climb: users are added until a stop fires, a few rungs narrow down the knee and confirm
it, and a repeat of the first rung shows drift.

A generator: it yields steps and is sent rungs, so it neither measures nor waits, and knows no
configuration. A killed campaign is resumed by sending it the saved rungs. The same rungs always
give the same steps.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from typing import NamedTuple, TypeVar

from kneebench.analysis.elasticity import elasticity
from kneebench.ladder import narrowing, steps, stops
from kneebench.ladder.steps import Climbed, ClimbStep
from kneebench.ladder.stops import fixed_load, invalid, load_generator, warming
from kneebench.plan.ladder import Ladder
from kneebench.records import Rung, StopResult

Climbing = Generator[ClimbStep, Rung, Climbed]
Ordered = TypeVar("Ordered")
Followed = TypeVar("Followed")


class KneePosition(NamedTuple):
    """Position of the knee among the search rungs: `at` is its index, below 0 if not even the first
    rung passed.
    """

    at: int
    stop: str


def climb(
    ladder: Ladder, database_cores: int, *, confirms: bool = True, warms: bool = True
) -> Climbing:
    """Yield the steps of a climb, be sent a rung for each, return what they found.

    The first rung has many users: it warms the database and is not judged ("warm_up"). Search rungs
    start at the plan's first number of users, or at the number of database cores if that is 0; each
    has `ladder.step` times the users of the one before, until a stop fires. If the first rung shows
    no rise, search rungs with fewer users follow; then rungs halfway between two search rungs near
    the knee ("bisection"), turns of the knee with numbers of users that may be better
    ("confirmation"), then the first rung again ("drift_check").

    An invalid rung ends the climb at once: it did not measure the database, but mostly the load
    generator. A climb during which throughput changed is repeated once (`ladder.climb_again`). With
    one number as `ladder.users` the climb is one rung of that many users ("fixed_load"). Without
    `confirms` no candidates take turns; without `warms` nothing is done to fill the cache.
    """
    if ladder.fixed:
        return (yield from _fixed(ladder))
    users = steps.first((ladder.first, ladder.last), database_cores), ladder.last
    warm_up = yield from _warm_up(steps.warming(users, database_cores) if warms else None)
    climbed = yield from _once(ladder, users, 0, confirms=confirms)
    flags: tuple[StopResult, ...] = ()
    why = warming.judge(climbed, ladder)
    if why and warming.may_repeat(climbed, ladder):
        flags = (warming.repeated(climbed, why),)
        climbed = yield from _once(ladder, users, 1, confirms=confirms)
        why = warming.judge(climbed, ladder)
    results = (*climbed.stop_results, *flags, *((why,) if why else ()))
    return climbed._replace(rungs=(*warm_up, *climbed.rungs), stop_results=results)


def measure_orders(
    steps: Generator[Ordered, Rung, Followed], measured: Callable[[Ordered], Rung]
) -> Followed:
    """The result of `steps` when every order is measured: for a climb, what it found."""
    try:
        order = next(steps)
        while True:
            order = steps.send(measured(order))
    except StopIteration as end:
        found: Followed = end.value
        return found


def replayed(rungs: Sequence[Rung], ladder: Ladder, database_cores: int) -> Climbed | None:
    """What a climb finds that is sent these rungs; None if it would measure one that is missing. A
    climb without turns of candidates, or without a warm-up, is replayed without them.
    """
    kept = {(rung.order.phase, rung.users, rung.order.repeat): rung for rung in rungs}
    confirms = any(rung.order.phase == "confirmation" for rung in rungs)
    warms = any(rung.order.phase == "warm_up" for rung in rungs)
    with suppress(KeyError):
        steps = climb(ladder, database_cores, confirms=confirms, warms=warms)
        return measure_orders(steps, lambda step: kept[step])
    return None


def _warm_up(users: int | None) -> Generator[ClimbStep, Rung, tuple[Rung, ...]]:
    """The rung that fills the cache; nothing is judged by it."""
    return ((yield ClimbStep("warm_up", users)),) if users else ()


def _once(ladder: Ladder, users: tuple[int, int], repeat: int, *, confirms: bool) -> Climbing:
    """The climb from its first rung to that rung again."""
    search_rungs, unusable = yield from _search(ladder, users, repeat)
    stop_results = _judged(search_rungs, ladder) if search_rungs else ()
    if unusable:
        return _end_invalid(search_rungs, unusable, stop_results)
    position = _knee_position(search_rungs, ladder, stop_results)
    if position.at < 0:
        return Climbed(tuple(search_rungs), stop_results, position.stop)
    found, (knee, bracket) = yield from _refine(
        search_rungs, position, stop_results, ladder, confirms=confirms
    )
    last = yield ClimbStep("drift_check", search_rungs[0].users, repeat)
    rungs = (*search_rungs, *found, last)
    return Climbed(rungs, stop_results, position.stop, knee, bracket)


def _search(
    ladder: Ladder, bounds: tuple[int, int], repeat: int
) -> Generator[ClimbStep, Rung, tuple[list[Rung], Rung | None]]:
    """The search rungs up to the one where a stop fired, and the invalid one that ended them if
    any. A plateau or saturation ends them only if noise does not hide that throughput still grows.
    """
    search_rungs: list[Rung] = []
    users, last = bounds
    while True:
        rung = yield ClimbStep("search", users, repeat)
        if rung.invalid:
            return search_rungs, rung
        search_rungs.append(rung)
        fired = {v.stop for v in _judged(search_rungs, ladder) if v.fired}
        if fired - {"plateau", "saturation"} or (
            fired and narrowing.growth_ended(search_rungs, ladder)
        ):
            return search_rungs, None
        users = steps.following(users, ladder.step, last)


def judged_so_far(climbed: Sequence[Rung], ladder: Ladder) -> tuple[StopResult, ...]:
    """What every stop says of the rungs of a climb that has not ended; nothing before its first.
    Rungs with fewer users than the first are for the knee alone: they come after the search.
    """
    search = [rung for rung in climbed if rung.order.phase == "search" and not rung.invalid]
    upwards = [rung for rung in search if rung.users >= search[0].users]
    return _judged(upwards, ladder) if upwards else ()


def _judged(
    rungs: Sequence[Rung], ladder: Ladder, *, but: Sequence[str] = ()
) -> tuple[StopResult, ...]:
    """What every stop on the shelf says, those that fired first."""
    found = [
        stops.find(name).judge(rungs, stops.limits(name, ladder))
        for name in stops.in_force(ladder)
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


def _refine(
    search_rungs: Sequence[Rung],
    position: KneePosition,
    stop_results: Sequence[StopResult],
    ladder: Ladder,
    *,
    confirms: bool,
) -> Generator[ClimbStep, Rung, tuple[list[Rung], tuple[int, tuple[int, int]]]]:
    """More rungs, and (the knee's users, the users between which it is).

    If throughput stopped growing, all rungs together give the knee, and turns with other candidates
    confirm it or give another one. If a limit or errors ended the climb, one bisection does.
    """
    if all(v.stop in narrowing.STOPS for v in stop_results if v.fired):
        found = yield from narrowing.narrowing(search_rungs, ladder)
        knee = narrowing.narrowed([*search_rungs, *found], ladder)
        if knee and (not confirms or (found and found[-1].invalid)):
            return found, knee
        if knee:
            turns, knee = yield from narrowing.confirming([*search_rungs, *found], knee, ladder)
            return [*found, *turns], knee
    middle = yield from _bisect(search_rungs, position)
    return [middle] if middle else [], _bisect_knee(search_rungs, position.at, middle, ladder)


def _bisect(
    search_rungs: Sequence[Rung], position: KneePosition
) -> Generator[ClimbStep, Rung, Rung | None]:
    """One more rung between the knee and the rung after it, where there is one and users between
    them.
    """
    if position.at + 1 >= len(search_rungs):
        return None
    knee = search_rungs[position.at]
    users = steps.between(knee.users, search_rungs[position.at + 1].users)
    return (yield ClimbStep("bisection", users, knee.order.repeat)) if users else None


def _bisect_knee(
    search_rungs: Sequence[Rung], at: int, middle: Rung | None, ladder: Ladder
) -> tuple[int, tuple[int, int]]:
    """(the knee's users, the users between which it is).

    The middle is the knee if throughput grew up to it and nothing fires on it.

    Where growth ends between two rungs, the one it still reached may be on either side of the
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


def _end_invalid(
    search_rungs: Sequence[Rung], rung: Rung, stop_results: Sequence[StopResult]
) -> Climbed:
    """The climb up to this invalid rung; the last valid one stands in for a knee that was not
    reached.
    """
    result = load_generator.judge(rung) or invalid.judge(rung)
    knee = search_rungs[-1].users if search_rungs else None
    bracket = (
        (search_rungs[max(0, len(search_rungs) - 2)].users, rung.users) if search_rungs else None
    )
    return Climbed((*search_rungs, rung), (result, *stop_results), result.stop, knee, bracket)


def _fixed(ladder: Ladder) -> Climbing:
    """One rung at the plan's load."""
    users = ladder.last
    rung = yield ClimbStep("fixed_load", users)
    if rung.invalid:
        return _end_invalid([], rung, ())
    others = _judged([rung], ladder, but=("budget", "plateau", "saturation"))
    results = (fixed_load.judge(rung), *others)
    if any(v.fired and v.stop == "errors" for v in others):
        return Climbed((rung,), results, "errors")
    return Climbed((rung,), results, "fixed_load", users, (users, users))
