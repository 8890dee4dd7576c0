"""Outcome of a campaign: failed checks, rungs that may not be used, configurations that are not
compared, missing figures, and the exit code that follows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kneebench.analysis.background import background_checks
from kneebench.analysis.knee import knee
from kneebench.analysis.order_weight import weight_checks
from kneebench.analysis.still_warming import still_moved, still_warming
from kneebench.analysis.sweep import swept_configurations
from kneebench.analysis.wording import by_finding, listed, named, number_of_users
from kneebench.errors import CheckFailed, InvalidMeasurement
from kneebench.records import Check, Climb, Configuration, Phase, Results


class MissingFigure(NamedTuple):
    """A configuration without a usable figure; `sentence` gives the reason."""

    configuration: Configuration
    sentence: str


def exit_code(results: Results) -> int:
    """0, or that of CheckFailed, or that of InvalidMeasurement: a failed check weighs more, for it
    puts every figure in doubt.
    """
    if any(failed_checks(results)):
        return CheckFailed.exit_code
    return (
        InvalidMeasurement.exit_code
        if any(map(_too_few_valid, results.climbs))
        or any(without_figure(results))
        or any(never_steady(results))
        else 0
    )


VALID_ROUNDS = 0.75
"""Of the rounds of one storage: so many must be valid. Of other rungs all must be."""


def _too_few_valid(climb: Climb) -> bool:
    """Whether rungs of a climb are invalid, beyond the few that rounds may lose."""
    if any(rung.invalid and not rung.order.restore for rung in climb.rungs):
        return True
    phases: tuple[Phase, ...] = ("final_run", "fixed_rate")
    rounds = [[rung for rung in climb.of(phase) if rung.order.restore] for phase in phases]
    return any(sum(not rung.invalid for rung in some) < VALID_ROUNDS * len(some) for some in rounds)


def conditions(climb: Climb) -> Iterator[tuple[str, tuple[Check, ...]]]:
    """(when, checks): the consistency conditions (TPC-C 3.3.2) after the climb, and after each
    final run, whose figures are quoted.
    """
    yield "after the climb", climb.checks
    orders = [rung.order for rung in (*climb.rungs, *climb.superseded)]
    repeats = {order.key: order.repeat for order in orders}
    users = {order.repeat: order.users for order in orders if order.phase == "final_run"}
    for key, checks in climb.final_checks.items():
        repeat = repeats.get(key)
        at = f" at {number_of_users(users[repeat])}" if repeat in users else ""
        yield f"after final run {repeat}{at}" if repeat else f"after {key}", checks


def comparison_checks(results: Results) -> tuple[Check, ...]:
    """The self-checks of a comparison as a whole."""
    return (*background_checks(results), *weight_checks(results))


def failed_checks(results: Results) -> Iterator[str]:
    """A sentence for each self-check that failed, of the comparison, of a rung or of the data after
    a climb or a final run, with where it was seen.
    """
    yield from (
        f"comparison: {check.sentence}" for check in comparison_checks(results) if not check.passed
    )
    for climb in results.climbs:
        for when, checks in conditions(climb):
            yield from (
                f"{climb.configuration.name}, {when}: {check.sentence}"
                for check in checks
                if not check.passed
            )
        for rung in climb.rungs:
            phase, at = named(rung.order.phase), number_of_users(rung.users)
            place = f"{climb.configuration.name}, {phase} at {at}"
            yield from (f"{place}: {check.sentence}" for check in rung.checks if not check.passed)


def invalid_rungs(results: Results) -> Iterator[str]:
    """A sentence for each rung that must not be used."""
    for climb in results.climbs:
        for rung in climb.rungs:
            if rung.invalid:
                yield (
                    f"{climb.configuration.name}, {named(rung.order.phase)} at"
                    f" {number_of_users(rung.users)}: {rung.invalid}"
                )


def never_steady(results: Results) -> Iterator[str]:
    """A sentence for each configuration that was still warming: it is not compared, or in a sweep a
    lower bound.
    """
    apart = _apart(results)
    for name, why in _lower_bounds(results):
        yield f"{name} is a lower bound in its sweep{apart}: {why}"
    for climb in _not_compared(results):
        yield f"{climb.configuration.name} is not compared: {still_warming(climb)}"


def never_steady_caveats(results: Results) -> Iterator[str]:
    """The same: one sentence for all lower bounds, and one for all that are not compared."""
    bounds, every = _lower_bounds(results), len(results.climbs)
    left_out = [(climb.configuration.name, still_moved(climb)) for climb in _not_compared(results)]
    if len(bounds) < 2 and len(left_out) < 2:
        yield from never_steady(results)
        return
    if bounds:
        names = listed([name for name, _ in bounds])
        yield (
            f"Lower bounds in their sweep{_apart(results)}, as they were still warming: {names}:"
            f" {by_finding(bounds, every)}"
        )
    if left_out:
        yield (
            f"{listed([name for name, _ in left_out])} are not compared: they never became steady"
            f" within their warm-up limit: {by_finding(left_out, every)}"
        )


def _apart(results: Results) -> str:
    several = (
        len(
            {
                (climb.configuration.storage, climb.configuration.database)
                for climb in results.climbs
            }
        )
        > 1
    )
    return " and not compared with other storages" if several else ""


def _lower_bounds(results: Results) -> list[tuple[str, str]]:
    """The configurations of sweeps that were still warming, and why."""
    swept = swept_configurations(results)
    found = [(climb.configuration.name, swept.get(climb.id)) for climb in results.climbs]
    return [(name, one.warming) for name, one in found if one and one.warming]


def _not_compared(results: Results) -> list[Climb]:
    swept = swept_configurations(results)
    return [
        one for one in results.climbs if one.configuration.id not in swept and still_warming(one)
    ]


def without_figure(results: Results) -> Iterator[str]:
    """A sentence for each storage of a finished campaign that has no usable figure."""
    yield from (f"{one.configuration.name}: {one.sentence}" for one in missing_figures(results))


def missing_figures(results: Results) -> tuple[MissingFigure, ...]:
    """The configurations whose final runs gave no figure, in running order; none while a campaign
    is unfinished, for its figures are still to come.
    """
    if not results.finished:
        return ()
    return tuple(
        MissingFigure(climb.configuration, f"no usable figure: {_why(climb)}")
        for climb in results.climbs
        if knee(climb) is None
    )


def _why(climb: Climb) -> str:
    if found := climb.of("final_run"):
        return (
            f"none of the {len(found)} final runs is valid (first: {found[0].invalid})"
            if found[0].invalid
            else "no final run has a latency"
        )
    fired = next(
        (
            result.sentence
            for result in climb.stop_results
            if result.fired and result.stop == climb.stopped_by
        ),
        "",
    )
    return fired or "no load could be chosen for the final runs"
