"""The quantities: their names, units, and how a window of readings becomes one number.

A meter reads *counters* (cumulative) and *gauges* by "quantity|source". The series keep, per
second, a counter's rate and a gauge's value; a *ratio* is the quotient of two sums over the window,
never a mean of quotients. A *histogram* has a count (cumulative) by bucket, none for 0. The
quantities here are every database's; those of one engine are among its properties.
"""

from __future__ import annotations

from typing import NamedTuple

from kneebench.engine_properties import Quantity, engine_properties
from kneebench.shelf import ENGINES


class Ratio(NamedTuple):
    """A quotient of what was read; several numerators are added up.

    `instead`: the ratio that takes its place where a part of it was not read, as the kernel's time
    of flushes where the database has none. `reading`: as a quantity's.
    """

    unit: str
    numerators: tuple[str, ...]
    denominators: tuple[str, ...]
    instead: str = ""
    reading: str = ""


READ: dict[str, Quantity] = {
    "cores.busy": Quantity("share", "counter", "mean"),
    "cores.user": Quantity("share", "counter", "mean"),
    "cores.system": Quantity("share", "counter", "mean"),
    "cores.irq": Quantity("share", "counter", "mean"),
    "cores.iowait": Quantity("share", "counter", "mean"),
    "cores.steal": Quantity("share", "counter", "mean"),
    "threads.cpu": Quantity("share", "gauge", "max"),
    "run_queue.length": Quantity("tasks", "gauge"),
    "context_switches.rate": Quantity("1/s", "counter"),
    "cpu.frequency": Quantity("Hz", "gauge", "mean"),
    "cpu.throttled": Quantity("1/s", "counter"),
    "temperature.cpu": Quantity("°C", "gauge", "max"),
    "processes.cpu": Quantity("cores", "counter"),
    "processes.run_delay": Quantity("tasks", "counter"),
    "processes.io": Quantity("B/s", "counter"),
    "device.reads": Quantity("1/s", "counter"),
    "device.writes": Quantity("1/s", "counter"),
    "device.flushes": Quantity("1/s", "counter"),
    "device.read_bytes": Quantity("B/s", "counter"),
    "device.write_bytes": Quantity("B/s", "counter"),
    "device.read_time": Quantity("s/s", "counter"),
    "device.write_time": Quantity("s/s", "counter"),
    "device.flush_time": Quantity("s/s", "counter"),
    "device.busy": Quantity("share", "counter", "max"),
    "device.queue_depth": Quantity("requests", "counter"),
    "network.received": Quantity("B/s", "counter"),
    "network.sent": Quantity("B/s", "counter"),
    "network.packets": Quantity("1/s", "counter"),
    "network.errors": Quantity("1/s", "counter"),
    "network.retransmitted": Quantity("1/s", "counter"),
    "network.busy": Quantity("share", "counter", "max"),
    "log.flushes": Quantity("1/s", "counter"),
    "log.writes": Quantity("1/s", "counter"),
    "log.write_time": Quantity("s/s", "counter"),
    "log.flush_time": Quantity("s/s", "counter"),
    "log.bytes": Quantity("B/s", "counter"),
    "log.records": Quantity("1/s", "counter"),
    "log.full_page_images": Quantity("1/s", "counter"),
    "log.kernel_flushes": Quantity("1/s", "counter"),
    "log.kernel_time": Quantity("s/s", "counter"),
    "log.kernel_histogram": Quantity("flushes", "histogram"),
    "database.commits": Quantity("1/s", "counter"),
    "database.rollbacks": Quantity("1/s", "counter"),
    "cache.hits": Quantity("blocks/s", "counter"),
    "cache.reads": Quantity("blocks/s", "counter"),
    "checkpoints.timed": Quantity("1/s", "counter"),
    "checkpoints.requested": Quantity("1/s", "counter"),
    "checkpoints.buffers": Quantity("blocks/s", "counter"),
    "tables.sequential_scans": Quantity("1/s", "counter"),
    "tables.spilled": Quantity("B/s", "counter", reading="Spilled bytes"),
    "waits.log": Quantity("sessions", "gauge"),
    "waits.data_read": Quantity("sessions", "gauge"),
    "waits.data_write": Quantity("sessions", "gauge"),
    "waits.lock": Quantity("sessions", "gauge"),
    "waits.lightweight_lock": Quantity("sessions", "gauge"),
    "waits.cpu": Quantity("sessions", "gauge"),
    "waits.other": Quantity("sessions", "gauge"),
    "waits.samples": Quantity("1/s", "gauge"),
    "waits.reads_unseen": Quantity("share", "gauge"),
    "pressure.cpu": Quantity("share", "counter", "max"),
    "pressure.io": Quantity("share", "counter", "max"),
    "pressure.memory": Quantity("share", "counter", "max"),
    "group.memory": Quantity("B", "gauge"),
    "group.page_cache": Quantity("B", "gauge"),
    "group.limit_hits": Quantity("1/s", "counter"),
    "group_pressure.cpu": Quantity("share", "counter", "max"),
    "group_pressure.io": Quantity("share", "counter", "max"),
    "group_pressure.memory": Quantity("share", "counter", "max"),
    "server.core_busy": Quantity("share", "counter", "max", reading="Busiest core"),
    "server.host_busy": Quantity("share", "gauge", "max", reading="Server's machine, busy"),
    "server.runnable": Quantity("tasks", "gauge", reading="Tasks ready for a core"),
    "data.reads": Quantity("1/s", "counter", reading="Data file reads"),
    "data.read_bytes": Quantity("B/s", "counter", reading="Data file bytes read"),
    "data.read_time": Quantity("s/s", "counter"),
    "data.writes": Quantity("1/s", "counter", reading="Data file writes"),
    "data.write_bytes": Quantity("B/s", "counter", reading="Data file bytes written"),
    "data.write_time": Quantity("s/s", "counter"),
    "server.energy": Quantity("W", "counter"),
    "load.transactions": Quantity("1/s", "counter"),
    "load_hosts.received": Quantity("B/s", "counter"),
    "load_hosts.sent": Quantity("B/s", "counter"),
    "load_hosts.packets": Quantity("1/s", "counter"),
    "load_hosts.retransmitted": Quantity("1/s", "counter"),
    "meters.read_time": Quantity("s", "gauge"),
}
for _engine in ENGINES.names():
    READ.update(engine_properties(_engine).own_quantities)

RATIOS: dict[str, Ratio] = {
    "log.write_latency": Ratio(
        "s",
        ("log.write_time", "log.flush_time"),
        ("log.flushes",),
        instead="log.kernel_write_latency",
    ),
    "log.kernel_write_latency": Ratio("s", ("log.kernel_time",), ("log.kernel_flushes",)),
    # Both of the users' transactions: a database's own count lags by up to a second.
    "log.commits_per_flush": Ratio("commits", ("load.transactions",), ("log.flushes",)),
    "log.bytes_per_transaction": Ratio("B", ("log.bytes",), ("load.transactions",)),
    "device.read_await": Ratio("s", ("device.read_time",), ("device.reads",)),
    "device.write_await": Ratio("s", ("device.write_time",), ("device.writes",)),
    "device.flush_await": Ratio("s", ("device.flush_time",), ("device.flushes",)),
    "device.reads_per_transaction": Ratio("reads", ("device.reads",), ("load.transactions",)),
    "device.read_bytes_per_transaction": Ratio("B", ("device.read_bytes",), ("load.transactions",)),
    "device.write_bytes_per_transaction": Ratio(
        "B", ("device.write_bytes",), ("load.transactions",)
    ),
    "data.read_await": Ratio(
        "s", ("data.read_time",), ("data.reads",), reading="Data file read latency"
    ),
    "data.write_await": Ratio(
        "s", ("data.write_time",), ("data.writes",), reading="Data file write latency"
    ),
    "cache.hit_ratio": Ratio("share", ("cache.hits",), ("cache.hits", "cache.reads")),
    "log.full_page_image_share": Ratio("share", ("log.full_page_images",), ("log.records",)),
}
