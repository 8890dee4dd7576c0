"""Whether a busy device was the limit of what waits for it.

Utilization is the share of the time with an I/O in flight. A drive that serves one at a time has no
time left at 100%; one that serves many has, and its utilization says next to nothing
(Documentation/admin-guide/iostats.rst, field 10). So a busy device counts where its I/O takes far
longer than without a database. What does most of what the storage can do counts however busy it
looks. Without a raw profile a busy device counts if it serves one I/O at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kneebench.analysis.evidence import busy, share
from kneebench.analysis.knee_readings import KneeReadings
from kneebench.analysis.raw_share import NEAR, SLOWED, RawShare, raw_shares
from kneebench.analysis.resources import DEVICE_BUSY
from kneebench.analysis.wording import listed
from kneebench.records import Climb
from kneebench.units import significant

ONE_AT_A_TIME = 1.5
"""I/Os in flight on a busy device up to which it serves hardly more than one at a time; own."""


class BusyDevice(NamedTuple):
    """A device of the data that is busy nearly all of the time, or does most of what it can.
    `limits`: whether that is evidence of a bottleneck; None if nobody knows. `why`: in words, to be
    read after "a device that was".
    """

    limits: bool | None
    why: str


def busy_device(readings: KneeReadings, climb: Climb) -> BusyDevice | None:
    """The busiest device that holds data; None if it was not measured, or is busy in less than 90%
    of the time and far from what the storage does without a database.
    """
    name, used = busiest(readings)
    shares = [one for one in knee_raw_shares(readings, climb) if one.what != "log writes"]
    if used is None or (used < DEVICE_BUSY and not any(one.near for one in shares)):
        return None
    if shares:
        return _beside_its_raw_profile(busy(used), shares)
    queue = readings.sources("device.queue_depth").get(name)
    queue = readings.value("device.queue_depth") if queue is None else queue
    serial = any(
        one.rotational for rung in readings.rungs for one in rung.devices if one.name == name
    )
    if serial or (queue is not None and queue <= ONE_AT_A_TIME):
        return BusyDevice(True, f"{busy(used)} with one I/O at a time")
    return BusyDevice(None, busy(used))


def _beside_its_raw_profile(used: str, shares: Sequence[RawShare]) -> BusyDevice:
    slow = [one for one in shares if one.slowed]
    near = [one for one in shares if one.near]
    if slow and not near:
        times = max(one.slowed or 0.0 for one in slow)
        what = listed([one.what for one in slow])
        return BusyDevice(
            True,
            f"{used}, with {what} that took up to {significant(times, 2)} times as long as without"
            f" a database at the same depth (limit {SLOWED:.0f})",
        )
    did = listed([f"{share(one.share)} of its raw {one.what}" for one in near or shares])
    if near:
        return BusyDevice(True, f"{used}, at {did} (limit {share(NEAR)})")
    as_fast = f" and none took {SLOWED:.0f} times as long" if all(s.await_s for s in shares) else ""
    return BusyDevice(False, f"{used}, but did only {did}{as_fast}, so it had room")


def knee_raw_shares(readings: KneeReadings, climb: Climb) -> tuple[RawShare, ...]:
    """Empty without a raw profile, or where nothing was measured at the knee."""
    return raw_shares(readings, climb.raw) if climb.raw and readings.rungs else ()


def share_of_writes(readings: KneeReadings) -> float | None:
    """Of the queue of the devices that hold data, the share that is writes; None without I/O."""
    read, written = (of_the_data(readings, f"device.{kind}_time") for kind in ("read", "write"))
    if read is None or written is None or not read + written:
        return None
    return written / (read + written)


def busiest(readings: KneeReadings) -> tuple[str, float | None]:
    """The busiest device of the data, and its utilization; the name is empty where nobody knows
    which devices there are.
    """
    found = _by_data_device(readings, "device.busy")
    if not found:
        return "", readings.value("device.busy")
    return max(found.items(), key=lambda one: one[1])


def of_the_data(readings: KneeReadings, quantity: str) -> float | None:
    """The sum over the devices that hold data; over all where nobody knows which do."""
    found = _by_data_device(readings, quantity)
    return sum(found.values()) if found else readings.value(quantity)


def await_of_the_data(readings: KneeReadings, kind: str) -> float | None:
    """The mean time of a read or a write on the devices that hold data; of all where nobody knows
    which do.
    """
    times = _by_data_device(readings, f"device.{kind}_time")
    ops = _by_data_device(readings, f"device.{kind}s")
    if times and sum(ops.values()):
        return sum(times.values()) / sum(ops.values())
    return readings.value(f"device.{kind}_await")


def _by_data_device(readings: KneeReadings, quantity: str) -> dict[str, float]:
    """By device that holds data; all of them where nobody knows which do."""
    data = {one.name for rung in readings.rungs for one in rung.devices if 0 in one.directories}
    sources = readings.sources(quantity)
    return {name: value for name, value in sources.items() if name in data} or sources
