"""Whether a rung may be used: what makes it invalid, and what ends the campaign instead.

An invalid rung is kept with its reason and never quoted. A server that has run out of room, memory
or connections makes every rung after it as bad: the campaign stops, and goes on at the same rung
once there is enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kneebench.analysis import disturbance
from kneebench.analysis.bottleneck import LOAD_GENERATOR_BUSY
from kneebench.analysis.wording import number_of_users, plural
from kneebench.engine_properties import EngineProperties, ErrorClass
from kneebench.errors import InvalidMeasurement
from kneebench.measurement import delay
from kneebench.measurement.held_window import HeldWindow
from kneebench.measurement.rung_runner import described
from kneebench.records import Order, Rung, Tally
from kneebench.units import rounded

JUDGED_BY_THE_STOP = ("search", "fixed_load")
"""Phases whose errors the errors stop judges: they may say where a climb ends, and are not quoted.
"""
STARVED: dict[ErrorClass, str] = {
    "full": "give the server the resource that the message names (disk space, memory, connections)",
    "stopped": "see the server's log for why it was shut down or unreachable",
    "broken": "check the server's log and the drive under its files",
}
"""What to do about errors that end the campaign, by the class that the engine gives them."""


def invalid(order: Order, tally: Tally, most_errors: float) -> str:
    """Why the rung must not be used; empty where it may.

    `most_errors` is the limit of the errors stop.

    A rung that only warms up is used for nothing, and may have more users than the climb ever
    reaches.
    """
    if order.phase == "warm_up":
        return ""
    if tally.load_generator_busy > LOAD_GENERATOR_BUSY:
        return (
            f"the load generator was {100 * tally.load_generator_busy:.0f}% busy (limit"
            f" {100 * LOAD_GENERATOR_BUSY:.0f}%) and limited the throughput"
        )
    if tally.lost_users:
        return (
            f"{tally.lost_users} of {number_of_users(tally.users)} lost their connection, so the"
            " load was incomplete"
        )
    if not tally.window.completed:
        return "no transaction completed within the window"
    if delayed := delay.invalid(tally):
        return delayed
    return "" if order.phase in JUDGED_BY_THE_STOP else _errors(tally, most_errors)


def judged(rung: Rung, held: HeldWindow) -> tuple[Rung, str]:
    """The rung with what disturbed it from outside; and that alone, where it makes the rung
    invalid.
    """
    outside = disturbed(rung, held)
    reasons = "; ".join(filter(None, (outside, rung.invalid)))
    notes = (*rung.notes, *disturbance.notes(rung), *_made_notes(rung, held))
    return rung.model_copy(update={"invalid": reasons, "notes": notes}), outside


def _made_notes(rung: Rung, held: HeldWindow) -> Iterator[str]:
    """A sentence where the log's files could not be made before the window."""
    if not held.log_ready and rung.order.phase != "warm_up" and (made := _log_made(rung)):
        yield f"{made}, filled with zeros while all users waited"


def with_faults(rung: Rung, found: Sequence[str]) -> Rung:
    """The rung, invalid if there are faults of its storage by now: it ran from memory, or
    elsewhere.
    """
    return rung.model_copy(update={"invalid": "; ".join(filter(None, (rung.invalid, *found)))})


def disturbed(rung: Rung, held: HeldWindow) -> str:
    """External disturbance that invalidates the rung and may not recur; empty if none."""
    return "" if rung.order.phase == "warm_up" else "; ".join(_disturbances(rung, held))


def _disturbances(rung: Rung, held: HeldWindow) -> Iterator[str]:
    longer_s = rung.tally.window_s - held.ordered_s
    if held.late_s > disturbance.LATE_S:
        yield f"the load generator stalled for {held.late_s:.1f} s (limit {disturbance.LATE_S:g} s)"
    if longer_s > max(disturbance.LONGER_S, disturbance.LONGER * held.ordered_s):
        limit = f"{100 * disturbance.LONGER:.0f}% and {disturbance.LONGER_S:g} s longer"
        yield (
            f"the window lasted {rung.tally.window_s:.1f} s instead of {held.ordered_s:.1f} s"
            f" (limit {limit})"
        )
    if held.log_ready and (made := _log_made(rung)):
        yield f"{made}, while all users waited"
    stolen = disturbance.STOLEN.of(rung)
    if stolen and stolen[0] > disturbance.STEAL_MOST:
        yield (
            f"the hypervisor took {100 * stolen[0]:.0f}% of {stolen[1]} (limit"
            f" {100 * disturbance.STEAL_MOST:.0f}%)"
        )


def _log_made(rung: Rung) -> str:
    """What the server made of its log in the window; empty for nothing, or if it is not known."""
    made = round(rung.quantity("log.segments_made") or 0.0)
    return f"the server made {plural(made, 'log segment')} in the window" if made else ""


def _errors(tally: Tally, most_errors: float) -> str:
    whole = tally.whole
    lost = whole.failed + whole.unknown
    if lost <= most_errors * whole.started:
        return ""
    first = f"; first error: {tally.errors[0].first}" if tally.errors else ""
    seen = rounded(100 * lost / whole.started, 2)
    return (
        f"{lost:,} of {whole.started:,} transactions failed ({seen}%,"
        f" limit {100 * most_errors:g}%){first}"
    )


def refuse_starved(order: Order, tally: Tally, engine: EngineProperties) -> None:
    """Raises InvalidMeasurement where the server had not what it needs, or was being shut down."""
    for error in tally.errors:
        if do := STARVED.get(engine.error_class(error.code)):
            seen = f"{error.count:,} transactions failed with {error.code}: {error.first}"
            raise InvalidMeasurement(described(order), seen=seen, do=do)
