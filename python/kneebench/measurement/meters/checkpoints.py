"""Checkpoints begun, by cause, and the blocks that they wrote, as the database's statistics tell
them.
"""

from __future__ import annotations

from kneebench.measurement.meters.meter import Meter, MeterContext, only_by_server

QUANTITIES = (
    "checkpoints.timed",
    "checkpoints.requested",
    "checkpoints.buffers",
)


def open_meter(context: MeterContext) -> Meter:
    """Only a server can answer this."""
    return only_by_server("checkpoints", QUANTITIES)
