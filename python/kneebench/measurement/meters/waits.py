"""What the server's sessions wait for at the moment of asking, by class and by the database's own
name for the wait: a real server is sampled 10 times per second, and a reading is the mean."""

from __future__ import annotations

from typing import get_args

from kneebench.engine_properties import WaitClass
from kneebench.measurement.meters.meter import Meter, MeterContext, only_by_server

QUANTITIES = (*(f"waits.{name}" for name in get_args(WaitClass)), "waits.samples")
EVERY_S = 0.1


def open_meter(context: MeterContext) -> Meter:
    """Only a server can answer this."""
    return only_by_server("waits", QUANTITIES)
