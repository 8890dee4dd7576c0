"""What the server's sessions wait for at the moment of asking, by class and by the
database's own name for the wait: a sample a second, not a sum."""

from __future__ import annotations

from typing import get_args

from kneebench.engine_properties import WaitClass
from kneebench.measurement.meters.meter import Meter, MeterContext, only_by_server

QUANTITIES = tuple(f"waits.{name}" for name in get_args(WaitClass))


def open_meter(context: MeterContext) -> Meter:
    """Only a server can answer this."""
    return only_by_server("waits", QUANTITIES)
