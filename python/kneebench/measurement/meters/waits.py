"""What the server's sessions wait for at the moment of asking, by wait event: a sample a second, not a sum."""

from __future__ import annotations

from kneebench.measurement.meters.meter import Meter, MeterContext, only_by_server

QUANTITIES = ("waits.sessions",)


def open_meter(context: MeterContext) -> Meter:
    """Only a server can answer this."""
    return only_by_server("waits", QUANTITIES)
