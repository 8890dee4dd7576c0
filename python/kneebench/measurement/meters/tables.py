"""Tables as the database's statistics tell them: cache hits, sequential scans, and what the engine
counts of its own (`engine_properties.EngineProperties.own_quantities`).

Scans by table: a plan that flips to a sequential scan of a large table makes a run several times
too slow without any other sign.
"""

from __future__ import annotations

from kneebench.measurement.meters.meter import Meter, MeterContext, only_by_server

QUANTITIES = (
    "cache.hits",
    "cache.reads",
    "tables.sequential_scans",
    "tables.spilled",
)


def open_meter(context: MeterContext) -> Meter:
    """Only a server can answer this."""
    return only_by_server("tables", QUANTITIES)
