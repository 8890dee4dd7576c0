"""Outcome of a campaign: failed checks, rungs that may not be used, configurations that are not
compared, missing figures, and the exit code that follows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations
from math import exp, log
from statistics import fmean
from typing import NamedTuple

from kneebench.analysis.background import background_checks
from kneebench.analysis.comparison import called
from kneebench.analysis.databases import by_database
from kneebench.analysis.durability import loses
from kneebench.analysis.knee import knee
from kneebench.analysis.query_times import numbers, of_queries, runs
from kneebench.analysis.quoted_load import REPEATED
from kneebench.analysis.still_warming import still_moving, still_warming
from kneebench.analysis.sweep import swept_configurations
from kneebench.analysis.wording import by_finding, listed, named, number_of_users
from kneebench.errors import CheckFailed, InvalidMeasurement, OrdersLost
from kneebench.records import Check, Climb, Configuration, Phase, Remark, Results, Rung
from kneebench.units import size


class MissingFigure(NamedTuple):
    """A configuration without a usable figure; `sentence` gives the reason."""

    configuration: Configuration
    sentence: str


def exit_code(results: Results) -> int:
    """0, or that of CheckFailed, OrdersLost or InvalidMeasurement: a failed check weighs most, for
    it puts every figure in doubt.
    """
    if any(failed_checks(results)):
        return CheckFailed.exit_code
    if any(loses(cuts) for cuts in results.campaign.cuts.values()):
        return OrdersLost.exit_code
    return (
        InvalidMeasurement.exit_code
        if any(map(_too_few_valid, results.climbs))
        or any(without_figure(results))
        or never_steady(results)
        else 0
    )


VALID_ROUNDS = 0.75
"""Of the rounds of one storage: so many must be valid. Of other rungs all must be."""


def _too_few_valid(climb: Climb) -> bool:
    """Whether rungs of a climb are invalid, beyond the few that rounds may lose."""
    if any(rung.invalid and not rung.order.restore for rung in climb.rungs):
        return True
    rounds = [[rung for rung in climb.of(phase) if rung.order.restore] for phase in REPEATED]
    return any(sum(not rung.invalid for rung in some) < VALID_ROUNDS * len(some) for some in rounds)


def conditions(climb: Climb) -> Iterator[tuple[str, tuple[Check, ...]]]:
    """(when, checks): the consistency conditions (TPC-C 3.3.2) after the climb, after each final
    run, whose figures are quoted, and after the load levels.
    """
    yield "after the climb", climb.checks
    orders = [rung.order for rung in (*climb.rungs, *climb.superseded)]
    repeats = {order.key: order.repeat for order in orders if order.phase != "load_level"}
    users = {order.repeat: order.users for order in orders if order.phase == "final_run"}
    for key, checks in climb.final_checks.items():
        repeat = repeats.get(key)
        at = f" at {number_of_users(users[repeat])}" if repeat in users else ""
        levels = f"{climb.id}.load_level-" in key
        after = f"final run {repeat}{at}" if repeat else "the load levels" if levels else key
        yield f"after {after}", checks


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
            place = f"{climb.configuration.name}, {rung_name(rung)}"
            yield from (f"{place}: {check.sentence}" for check in rung.checks if not check.passed)


def rung_name(rung: Rung) -> str:
    """Its phase and users, or its query, within a sentence."""
    at = f"{named(rung.order.phase)} at {number_of_users(rung.users)}"
    return rung.order.of_query or at


def invalid_rungs(results: Results) -> Iterator[str]:
    """A sentence for each rung that must not be used."""
    for climb in results.climbs:
        for rung in climb.rungs:
            if rung.invalid:
                yield f"{climb.configuration.name}, {rung_name(rung)}: {rung.invalid}"


def never_steady(results: Results) -> dict[str, Remark]:
    """By configuration what was still warming: it is not compared, or in a sweep a lower bound."""
    apart = _apart(results)
    bounds, left_out = _still_warming(results)
    said = {
        climb.id: _warming(climb, f"is a lower bound in its sweep{apart}: {why}")
        for climb, why in bounds
    }
    return said | {
        climb.id: _warming(climb, f"is not compared: {still_warming(climb)}") for climb in left_out
    }


def _warming(climb: Climb, words: str) -> Remark:
    """With how it moved; a reference that only read more than the largest size has no number."""
    said = f"{climb.configuration.name} {words}"
    found = still_moving(climb) or Remark(kind="colder", severity="caveat", words=said)
    return found.model_copy(update={"words": said})


def never_steady_caveats(results: Results) -> Iterator[str]:
    """The same: one sentence for all lower bounds, and one for all that are not compared."""
    swept, apart = _still_warming(results)
    bounds = [(climb.configuration, why) for climb, why in swept]
    every = len(results.climbs)
    left_out = [
        (climb.configuration, moving.words) for climb in apart if (moving := still_moving(climb))
    ]
    if len(bounds) < 2 and len(left_out) < 2:
        yield from (one.words for one in never_steady(results).values())
        return
    if bounds:
        names = listed([one.name for one, _ in bounds])
        yield (
            f"Lower bounds in their sweep{_apart(results)}, as they were still warming: {names}:"
            f" {by_finding(bounds, every)}"
        )
    if left_out:
        yield (
            f"{listed([one.name for one, _ in left_out])} are not compared: they never became"
            f" steady within their warm-up limit: {by_finding(left_out, every)}"
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


def _still_warming(results: Results) -> tuple[list[tuple[Climb, str]], list[Climb]]:
    """(the configurations of sweeps that were still warming, and why; the others that were)."""
    swept = swept_configurations(results)
    found = [(climb, swept.get(climb.id)) for climb in results.climbs]
    bounds = [(climb, one.warming) for climb, one in found if one and one.warming]
    return bounds, [climb for climb, one in found if not one and still_warming(climb)]


def without_figure(results: Results) -> Iterator[str]:
    """A sentence for each storage of a finished campaign that has no usable figure."""
    yield from (f"{one.configuration.name}: {one.sentence}" for one in missing_figures(results))


def missing_figures(results: Results) -> tuple[MissingFigure, ...]:
    """The configurations whose final runs gave no figure, in running order; none while a campaign
    is unfinished, for its figures are still to come.
    """
    if not results.finished:
        return ()
    if results.campaign.resolved.workload == "tproc-h":
        return tuple(_without_times(results))
    return tuple(
        MissingFigure(climb.configuration, f"no usable figure: {_why(climb)}")
        for climb in results.climbs
        if knee(climb) is None
    )


def _without_times(results: Results) -> Iterator[MissingFigure]:
    every = numbers(results)
    for climb in results.climbs:
        if lacking := [number for number in every if not runs(climb, "query", number)]:
            words = f"no usable time of {of_queries(lacking)}"
            yield MissingFigure(climb.configuration, words)


def _why(climb: Climb) -> str:
    if found := climb.of("final_run"):
        return (
            f"none of the {len(found)} final runs is valid (first: {found[0].invalid})"
            if found[0].invalid
            else "no final run has a latency"
        )
    ended = climb.ended_by
    return ended.sentence if ended else "no load could be chosen for the final runs"


# Whether the transactions compared were equally heavy, by the bytes of log that each took.
#
# After a checkpoint the first change of each page logs the whole page, so log per transaction falls
# with the transactions since then. A slow storage has fewer of them at the same time: it is
# measured on heavier transactions than a fast one. Windows that begin after as many transactions,
# or contain whole cycles of the same length, avoid it. What is left is said, and where it may be
# the whole difference in NOPM the comparison fails a check.

LOG, WRITTEN = "log.bytes_per_transaction", "device.write_bytes_per_transaction"
WORDS = {LOG: "log", WRITTEN: "writes to its devices"}
SAID = 1.10
"""Times the bytes of the other configuration: said from here."""
MOST = 1.25
"""Times the bytes of log: from here the check fails, where NOPM does not differ by far more."""


class Weight(NamedTuple):
    """Two configurations of which one had heavier transactions: names, bytes per transaction, and
    how many times the NOPM the lighter one had. `phase`: of the runs that say so.
    """

    quantity: str
    heavier: str
    lighter: str
    bytes: tuple[float, float]
    nopm_ratio: float
    phase: Phase = "final_run"

    @property
    def times(self) -> float:
        """How much heavier."""
        return self.bytes[0] / self.bytes[1]

    @property
    def matters(self) -> bool:
        """Whether it may be what the comparison shows."""
        if self.phase == "fixed_rate":  # NOPM are the same by the plan
            return False
        whole = abs(log(self.nopm_ratio))
        return self.quantity == LOG and log(self.times) > max(log(MOST), whole)

    @property
    def sentence(self) -> str:
        """Both figures."""
        more, less = (size(value) for value in self.bytes)
        at = " at the fixed rate" if self.phase == "fixed_rate" else ""
        return (
            f"{WORDS[self.quantity]} per transaction{at}: {more} on {self.heavier}, {less} on"
            f" {self.lighter} ({self.times:.2f}x)"
        )


def order_weights(results: Results) -> Iterator[Weight]:
    """For each quantity the two configurations of one database that differ most, if by more than a
    tenth; and those of which heavier transactions may explain the difference in NOPM. At the fixed
    rate the log alone counts: it is what the latency there waits for.
    """
    every: tuple[tuple[str, Phase], ...] = (
        (LOG, "final_run"),
        (WRITTEN, "final_run"),
        (LOG, "fixed_rate"),
    )
    for part in by_database(results).values():
        for quantity, phase in every:
            pairs = sorted(_pairs(part.climbs, quantity, phase), key=lambda one: -one.times)
            pairs = [one for one in pairs if one.times > SAID]
            yield from dict.fromkeys([*pairs[:1], *(one for one in pairs if one.matters)])


def _pairs(climbs: Sequence[Climb], quantity: str, phase: Phase) -> Iterator[Weight]:
    known = [(climb, found) for climb in climbs if (found := _means(climb, quantity, phase))]
    for (climb, (ours, nopm)), (other, (theirs, other_nopm)) in permutations(known, 2):
        if not _compared(climb, other):
            continue
        if ours > theirs and (quantity == LOG or _as_much_memory(climb, other)):
            both = (ours, theirs)
            yield Weight(quantity, called(climb), called(other), both, other_nopm / nopm, phase)


def _compared(one: Climb, other: Climb) -> bool:
    """Whether the brief compares the two: storages under one constraint, or constraints of one
    storage.
    """
    ours, theirs = one.configuration, other.configuration
    return ours.storage == theirs.storage or ours.constraint == theirs.constraint


def _as_much_memory(one: Climb, other: Climb) -> bool:
    """With less memory changed pages are written more often: no transaction is heavier for that."""
    ours, theirs = one.configuration, other.configuration
    return (ours.memory_bytes, ours.engine_memory_bytes) == (
        theirs.memory_bytes,
        theirs.engine_memory_bytes,
    )


def _means(climb: Climb, quantity: str, phase: Phase) -> tuple[float, float] | None:
    """(bytes per transaction, NOPM) of its runs of a phase, geometric means; None where one is not
    known.
    """
    runs = [rung for rung in climb.of(phase) if not rung.invalid and rung.tally.nopm > 0]
    values = [value for rung in runs if (value := rung.quantity(quantity))]
    if not values or len(values) < len(runs):
        return None
    return exp(fmean(map(log, values))), exp(fmean(log(rung.tally.nopm) for rung in runs))


def weight_checks(results: Results) -> tuple[Check, ...]:
    """The check of a finished comparison that heavier transactions do not explain it; none where
    the log was not measured, or nothing is compared.
    """
    if len(results.climbs) < 2 or not results.finished:
        return ()
    if not any(rung.quantity(LOG) for climb in results.climbs for rung in climb.of("final_run")):
        return ()
    found = [one for one in order_weights(results) if one.matters]
    seen = "; ".join(one.sentence for one in found)
    return (
        Check(
            name="equally heavy transactions",
            passed=not found,
            seen=seen or "alike",
            limit=f"{MOST}x, or the difference in NOPM",
            sentence=f"the transactions compared are not equally heavy: {seen}"
            if found
            else "the transactions compared are about equally heavy",
        ),
    )
