"""Where a transaction's time goes: its mean latency, divided among the classes of waits in which
its session was found.

By Little's law the sessions in a class, divided by the throughput, are the seconds that a
transaction spends in it. What is left of the latency is the rest: the network and the load
generator.

A session that has not yet read its request counts as idle in the database, however long it waits
for a core. So the CPU's part is at least what the kernel counted for the server's processes: their
time on a core and their time ready for one. Its background work is in it, and a session that is
ready again may still be seen in its wait: so the CPU gets no more than the waits leave.
"""

from __future__ import annotations

from kneebench.analysis.knee_readings import SAMPLED, KneeReadings
from kneebench.records import TimeShare

CLASSES = {
    "cpu": "CPU",
    "log": "log writes",
    "data_read": "data reads",
    "data_write": "data writes",
    "lock": "row locks",
    "lightweight_lock": "lightweight locks",
    "queue": "queue for a connection",
    "other": "other waits",
    "rest": "rest",
}
"""In the order in which they are drawn, and what people read. "cpu": a session runs, or waits for a
core. Older results have lightweight locks and data writes among the other waits."""


def counted_cpu_share(readings: KneeReadings) -> float | None:
    """What the kernel counted for the server's processes, on a core or ready for one, as a share of
    the transactions' time. Background work is in it. None if it was not measured.
    """
    counted = readings.on_or_ready_for_a_core
    return None if counted is None else counted / readings.at_once


def time_split(readings: KneeReadings) -> dict[str, TimeShare]:
    """The parts of a transaction's mean time in the order of CLASSES; empty without waits or
    transactions.

    Where sampled waits exceed the latency by chance, they are all of it, and no more.
    """
    if not readings.waits_measured or not readings.latency_s or not readings.throughput_per_s:
        return {}
    seconds = {
        name: readings.sessions(f"waits.{name}") / readings.throughput_per_s for name in SAMPLED
    }
    seconds["queue"] = readings.queue_s
    left = readings.latency_s - sum(seconds.values())
    ready = readings.on_or_ready_for_a_core
    if ready is not None and left > 0:
        counted = ready / readings.throughput_per_s
        seconds["cpu"] += min(left, max(0.0, counted - seconds["cpu"]))
    whole = readings.at_once / readings.throughput_per_s
    seconds["rest"] = max(0.0, whole - sum(seconds.values()))
    shares = {name: seconds[name] / whole for name in CLASSES if seconds[name] > 0}
    return {
        name: TimeShare(share=share, seconds=share * readings.latency_s)
        for name, share in shares.items()
    }
