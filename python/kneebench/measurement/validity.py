"""Whether a rung may be used: what makes it invalid, and what ends the campaign instead.

An invalid rung is kept with its reason and never quoted. A server that has run out of room, memory or connections makes every
rung after it as bad: the campaign stops, and goes on at the same rung once there is enough.
"""

from __future__ import annotations

from kneebench.analysis.bottleneck import CLIENT_BUSY
from kneebench.errors import InvalidMeasurement
from kneebench.measurement.underway import described
from kneebench.records import Order, Tally

JUDGED_BY_THE_STOP = ("scout", "fixed")
"""Phases whose errors the errors stop judges: they may say where a climb ends, and are not quoted."""
STARVED = {
    "53": "give the server what its words name (room, memory, connections)",
    "57P": "see in the server's log why it was shut down or could not be reached",
    "58": "see the server's log, and the state of the drive under its files",
}
"""What to do, by the beginning of the SQLSTATE (PostgreSQL, appendix A): 53 insufficient resources, 57P operator intervention, 58 system error."""


def invalid(order: Order, tally: Tally, most_errors: float) -> str:
    """Why the rung must not be used; empty where it may. `most_errors` is the limit of the errors stop.

    A rung that only warms up is used for nothing, and may have more users than the climb ever reaches.
    """
    if order.phase == "warm_up":
        return ""
    if tally.client_busy > CLIENT_BUSY:
        return f"the load generator was {100 * tally.client_busy:.0f} % busy (limit {100 * CLIENT_BUSY:.0f} %): it was measured, not the database"
    if tally.lost_users:
        return f"{tally.lost_users} of {tally.users} users lost their connection: the load was not the one ordered"
    if not tally.window.completed:
        return "no transaction ended within the window"
    return "" if order.phase in JUDGED_BY_THE_STOP else _errors(tally, most_errors)


def _errors(tally: Tally, most_errors: float) -> str:
    whole = tally.whole
    lost = whole.failed + whole.unknown
    if lost <= most_errors * whole.started:
        return ""
    first = f"; the first: {tally.errors[0].first}" if tally.errors else ""
    return f"{lost:,} of {whole.started:,} transactions failed ({100 * lost / whole.started:.2g} %, limit {100 * most_errors:g} %){first}"


def refuse_starved(order: Order, tally: Tally) -> None:
    """Raises InvalidMeasurement where the server had not what it needs, or was being shut down."""
    for error in tally.errors:
        for beginning, do in STARVED.items():
            if error.code.startswith(beginning):
                seen = f"{error.count:,} transactions failed with {error.code}: {error.first}"
                raise InvalidMeasurement(described(order), seen=seen, do=f"{do}; what was measured before is kept, and the same command goes on from there")
