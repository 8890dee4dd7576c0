"""Evidence on the storage: log writes, data reads, data writes, and the device below them.

A device's statistics do not see every wait (a cgroup's limit is above them), and a utilization of
100% is no limit of a drive with many queues (busy_device.py). So the database's own times decide;
the device's load decides between reads and writes that wait behind each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kneebench.analysis.devices import log_is_with_the_data, writes_with_data
from kneebench.analysis.evidence import Decided, busy, evidence, joined, of_the_time, share, waited
from kneebench.analysis.knee import metered
from kneebench.analysis.knee_readings import KneeReadings
from kneebench.analysis.raw_share import NEAR, SLOWED, RawShare, raw_shares
from kneebench.analysis.resources import (
    BESIDE_A_BUSY_DEVICE,
    DATA_READS,
    DATA_WRITES,
    DEVICE,
    DEVICE_BUSY,
    LOG,
)
from kneebench.analysis.wording import listed
from kneebench.records import Climb, ResourceEvidence
from kneebench.units import count, rounded, significant, time

DATA_AND_LOG = "data and log writes"
"""What a device's writes are where it has both."""


def log(readings: KneeReadings, climb: Climb) -> ResourceEvidence:
    """A write takes longer than the plan's limit, or more than half of the users' time is spent in
    waits for the log.
    """
    limit_s = climb.limits.log_write_s
    waits, flushes = readings.waiting("waits.log"), readings.value("log.flushes")
    latency, commits = (
        metered(readings.rungs, name) for name in ("log.write_latency", "log.commits_per_flush")
    )
    write_s, shared = (found.value if found else None for found in (latency, commits))
    late, waiting = write_s is not None and write_s > limit_s, (waits or 0.0) > LOG.limit
    short = late or waiting
    limit = f", limit {time(limit_s)}" if late or not waiting else ""
    took = f"a log write took {time(write_s)} (mean of the window{limit})"
    why = [
        took if write_s is not None else "",
        waited(waits, "the log", LOG.limit, readings.samples),
    ]
    why = why[::-1] if waiting and not late else why
    return evidence(
        LOG,
        None if write_s is None and waits is None else short,
        joined(why) if any(why) else "log write time and log waits were not measured",
        by=Decided(write_s, limit_s, "s") if late or waits is None else Decided(waits, LOG.limit),
        utilization=(
            f"{count(flushes)} log flushes/s by the database" if flushes is not None else "",
            _raw(readings, climb, "log writes"),
        ),
        saturation=(
            f"{time(write_s)} per write" if write_s is not None else "",
            f"{count(shared)} commits per flush" if shared is not None else "",
            of_the_time(waits),
        ),
    )


def data_reads(readings: KneeReadings, climb: Climb) -> ResourceEvidence:
    """More than half of the users' time in reads; or, on a device without time left, a fifth of it
    where most of the device's queue is reads.

    Without waits, the time in reads is that of the device.
    """
    waits = _read_share(readings)
    if waits is None:
        return evidence(DATA_READS, None, "device reads and read waits were not measured")
    await_s = await_of_the_data(readings, "read")
    each = readings.value("device.reads_per_transaction")
    device, behind = busy_device(readings, climb), share_of_writes(readings)
    first = _limits(device) and behind is not None and behind <= 0.5
    blocked = _behind_writes(readings, device)
    limit = BESIDE_A_BUSY_DEVICE if first else DATA_READS.limit
    says = waited(waits, "reads", limit, readings.samples)
    says += f", {rounded(each, 2)} device reads per transaction" if each is not None else ""
    says += f", {time(await_s)} each" if each is not None and await_s is not None else ""
    if device and not blocked:
        says += f", on a device that was {device.why}"
    if blocked:
        says += f", behind writes, which were {share(behind)} of the device's queue"
    return evidence(
        DATA_READS,
        waits > limit and not blocked,
        says,
        by=Decided(waits, limit),
        utilization=(_per_s(readings, "device.reads"), _raw(readings, climb, "reads")),
        saturation=(
            f"read await {time(await_s)}" if await_s is not None else "",
            of_the_time(waits),
        ),
    )


def data_writes(readings: KneeReadings, climb: Climb) -> ResourceEvidence:
    """More than half of the users' time in writes of data; or, on a device without time left, a
    fifth of it in reads and writes where most of the device's queue is writes.
    """
    waits = _write_share(readings)
    behind, await_s = share_of_writes(readings), await_of_the_data(readings, "write")
    device, both = busy_device(readings, climb), _read_share(readings) or 0.0
    both += waits or 0.0
    behind_writes = _behind_writes(readings, device)
    by_waits, with_log = (waits or 0.0) > DATA_WRITES.limit, log_is_with_the_data(readings.rungs)
    short = by_waits or (behind_writes and both > BESIDE_A_BUSY_DEVICE)
    those = " (the log's among them)" if with_log else ""
    kept = short and not by_waits
    says = ["" if kept else waited(waits, "writes of data", DATA_WRITES.limit, readings.samples)]
    by = Decided(waits, DATA_WRITES.limit)
    if device and behind is not None and behind > 0.5:
        limit = BESIDE_A_BUSY_DEVICE if _limits(device) else DATA_READS.limit
        says.append(
            f"writes{those} were {share(behind)} of the queue of a device that was {device.why},"
            f" and users spent {share(both)} of their time in reads and writes"
            f" (limit {share(limit)}){_in_writes(device, waits)}"
        )
        by = by if by_waits else Decided(both, limit)
    elif waits is None and behind is not None:
        says.append(
            f"writes{those} were {share(behind)} of the device's queue, which is not its limit"
        )
    return evidence(
        DATA_WRITES,
        None if waits is None and behind is None else short,
        joined(says) if any(says) else "waits for writes of data were not measured",
        called=DATA_AND_LOG if with_log and not by_waits else "",
        by=by,
        utilization=(_writes_per_s(readings, climb), _raw(readings, climb, "writes")),
        saturation=(
            f"write await {time(await_s)}" if await_s is not None else "",
            of_the_time(waits),
        ),
    )


def device(readings: KneeReadings, climb: Climb) -> ResourceEvidence:
    """Most of what the storage did without a database, in reads, writes or log writes, while users
    wait for it; or more than half of the users' time in its reads and writes together, where
    neither alone is that much.

    Without a raw profile and without such waits it is not judged.
    """
    name, used = busiest(readings)
    queue = readings.sources("device.queue_depth").get(name, readings.value("device.queue_depth"))
    shares = knee_raw_shares(readings, climb)
    most = max(shares, key=lambda one: one.share, default=None)
    parts = (_read_share(readings) or 0.0, readings.waiting("waits.data_write") or 0.0)
    both, found = sum(parts), busy_device(readings, climb)
    one_of_them = _limits(found) or _behind_writes(readings, found)
    limit, waiting = DATA_READS.limit, both + (readings.waiting("waits.log") or 0.0)
    together = both > limit >= max(parts) and not one_of_them
    raw = f"{share(most.share)} of the storage's raw {most.what}" if most else ""
    limited = f"{raw} (limit {share(DEVICE.limit)})"
    why = [limited if most else "the storage was not measured without a database"]
    near = most is not None and most.near and waiting > BESIDE_A_BUSY_DEVICE
    if together:
        these = waited(both, "reads and writes of data", limit, readings.samples)
        why = [these, *(why if most else ())]
    by = Decided(both, limit) if together else Decided(most and most.share, DEVICE.limit)
    return evidence(
        DEVICE,
        near or together or (False if most else None),
        joined(why),
        by=by,
        utilization=(
            f"{name} {busy(used)}".strip() if used is not None else "",
            f"{share(most.share)} of raw {most.what}" if most else "",
        ),
        saturation=(
            f"queue {count(queue)}" if queue is not None else "",
            _pressure(readings.sources("pressure.io")),
            *(f"{one.what} {one.slowed:.0f}x as long as raw" for one in shares if one.slowed),
        ),
    )


def _pressure(scopes: dict[str, float]) -> str:
    """The machine's, with the kernel's `some` and `full`; empty where it was not measured."""
    said = ", ".join(f"{scope} {share(value)}" for scope, value in scopes.items())
    return f"I/O pressure on the machine ({said})" if said else ""


def _read_share(readings: KneeReadings) -> float | None:
    """The share of the users' time in reads: by the database, else by the device."""
    if (waits := readings.waiting("waits.data_read")) is not None:
        return waits
    each = readings.value("device.reads_per_transaction")
    await_s = readings.value("device.read_await")
    if each is None or await_s is None or not readings.latency_s:
        return None
    return min(1.0, each * await_s / readings.latency_s)


def _write_share(readings: KneeReadings) -> float | None:
    """The share of the users' time in writes of data, where they have a class of their own."""
    return readings.waiting("waits.data_write") if readings.waits_split else None


def _in_writes(device: BusyDevice, waits: float | None) -> str:
    """The second condition where nobody knows whether the device is the limit."""
    if _limits(device) or waits is None:
        return ""
    return f", {share(waits)} in writes alone (limit {share(BESIDE_A_BUSY_DEVICE)})"


def _limits(device: BusyDevice | None) -> bool:
    return device is not None and bool(device.limits)


def _behind_writes(readings: KneeReadings, device: BusyDevice | None) -> bool:
    """Whether reads wait behind writes, which are most of the queue of a busy device.

    Where nobody knows whether the device is the limit, users spend more than half of their time in
    both, and wait for writes as well.
    """
    behind = share_of_writes(readings)
    if device is None or device.limits is False or behind is None or behind <= 0.5:
        return False
    writes = _write_share(readings) or 0.0
    both = writes + (_read_share(readings) or 0.0)
    return bool(device.limits) or (both > DATA_READS.limit and writes > BESIDE_A_BUSY_DEVICE)


def _per_s(readings: KneeReadings, quantity: str) -> str:
    per_s = of_the_data(readings, quantity)
    return f"{count(per_s)} {quantity.partition('.')[2]}/s" if per_s is not None else ""


def _writes_per_s(readings: KneeReadings, climb: Climb) -> str:
    """From those that carry data to all that the kernel counts, flushes among them; where volumes
    share their limits, those of all.
    """
    if climb.raw and climb.raw.shared:
        found = (one for one in knee_raw_shares(readings, climb) if one.what == "writes")
        return next((f"{count(one.per_s)} writes/s, the log's among them" for one in found), "")
    counted = of_the_data(readings, "device.writes")
    if counted is None:
        return ""
    least = count(writes_with_data(counted, of_the_data(readings, "device.flushes")))
    most = count(counted)
    return f"{most} writes/s" if least == most else f"{least} to {most} writes/s"


def _raw(readings: KneeReadings, climb: Climb, what: str) -> str:
    found = (one for one in knee_raw_shares(readings, climb) if one.what == what)
    return next((f"{share(one.share)} of raw" for one in found), "")


# Whether a busy device was the limit of what waits for it.
#
# Utilization is the share of the time with an I/O in flight. A drive that serves one at a time has
# no time left at 100%; one that serves many has, and its utilization says next to nothing
# (Documentation/admin-guide/iostats.rst, field 10). So a busy device counts where its I/O takes far
# longer than without a database. What does most of what the storage can do counts however busy it
# looks, and so does what reaches the limit of its emulated drives. Without a raw profile a busy
# device counts if it serves one I/O at a time.

ONE_AT_A_TIME = 1.5
"""I/Os in flight on a busy device up to which it serves hardly more than one at a time; own."""


REACHED = 0.9
"""Own: share of a class's limit from which it is reached; a throttle never lets all through."""


class BusyDevice(NamedTuple):
    """A device of the data that is busy nearly all of the time, or does most of what it can.
    `limits`: whether that is evidence of a bottleneck; None if nobody knows. `why`: in words, to be
    read after "a device that was".
    """

    limits: bool | None
    why: str


def busy_device(readings: KneeReadings, climb: Climb) -> BusyDevice | None:
    """The busiest device that holds data; None if it was not measured, or is busy in less than 90%
    of the time and far from what the storage does without a database, and from its class's limits.
    """
    name, used = busiest(readings)
    shares = [one for one in knee_raw_shares(readings, climb) if one.what != "log writes"]
    near = any(one.near for one in shares)
    if used is not None and not near and (reached := _at_class_limits(readings, climb)):
        return BusyDevice(True, f"{busy(used)}, at {listed(reached)} that its class allows")
    if used is None or (used < DEVICE_BUSY and not near):
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


def _at_class_limits(readings: KneeReadings, climb: Climb) -> list[str]:
    """The limits of its class of emulated drives that the data reached: "1,600 of 1,600 writes/s".
    A device counts flushes among its writes; a class does not.
    """
    flushes = of_the_data(readings, "device.flushes")
    reads, writes = (of_the_data(readings, f"device.{kind}s") for kind in ("read", "write"))
    did = {"read": reads, "write": writes and writes_with_data(writes, flushes)}
    return [
        f"{count(per_s)} of {count(limit)} {kind}s/s"
        for kind, limit in climb.class_limits.items()
        if (per_s := did[kind]) and per_s >= REACHED * limit
    ]


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
