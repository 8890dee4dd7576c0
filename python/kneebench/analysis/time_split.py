"""Where a transaction's time goes: its mean latency, divided among the classes of waits in which
its session was found.

By Little's law the sessions in a class, divided by the throughput, are the seconds that a
transaction spends in it. What is left of the latency is the rest: the network, the load generator,
and waits for a core before a session begins to work.
"""

from __future__ import annotations

from kneebench.analysis.knee_readings import KneeReadings
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


def time_split(readings: KneeReadings) -> dict[str, TimeShare]:
    """The parts of a transaction's mean time in the order of CLASSES; empty without waits or
    transactions.

    Where sampled waits exceed the latency by chance, they are all of it.
    """
    if not readings.waits_measured or not readings.latency_s or not readings.throughput_per_s:
        return {}
    seconds = {
        name: readings.sessions(f"waits.{name}") / readings.throughput_per_s
        for name in CLASSES
        if name not in ("queue", "rest")
    }
    seconds["queue"] = readings.queue_s
    spent = sum(seconds.values())
    whole = max(readings.latency_s, spent)
    seconds["rest"] = whole - spent
    return {
        name: TimeShare(share=seconds[name] / whole, seconds=seconds[name])
        for name in CLASSES
        if seconds[name] > 0
    }
