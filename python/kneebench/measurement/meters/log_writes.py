"""The database's own log writes, as its statistics tell them: what a flush costs the database, not
the device.

A device's flush await understated the time of an fdatasync 3.5 times here; PostgreSQL's own times
agree with an eBPF histogram of the system call within 2%. A flush is write plus sync; what a
transaction waits for its commit is another quantity.
"""

from __future__ import annotations

from kneebench.measurement.meters.meter import Meter, MeterContext, only_by_server

QUANTITIES = (
    "log.flushes",
    "log.writes",
    "log.write_time",
    "log.flush_time",
    "log.bytes",
    "log.records",
    "log.full_page_images",
    "database.commits",
    "database.rollbacks",
)


def open_meter(context: MeterContext) -> Meter:
    """Only a server can answer this."""
    return only_by_server("log_writes", QUANTITIES)
