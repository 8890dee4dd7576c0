"""Evidence on the storage: log writes, data reads, data writes, and the device below them.

A device's statistics do not see every wait (a cgroup's limit is above them), and a utilization of
100% is no limit of a drive with many queues (busy_device.py). So the database's own times decide;
the device's load decides between reads and writes that wait behind each other.
"""

from __future__ import annotations

from kneebench.analysis.busy_device import (
    BusyDevice,
    await_of_the_data,
    busiest,
    busy_device,
    knee_raw_shares,
    of_the_data,
    share_of_writes,
)
from kneebench.analysis.devices import log_is_with_the_data, writes_with_data
from kneebench.analysis.evidence import Decided, busy, evidence, joined, of_the_time, share, waited
from kneebench.analysis.knee import metered
from kneebench.analysis.knee_readings import KneeReadings
from kneebench.analysis.resources import (
    BESIDE_A_BUSY_DEVICE,
    DATA_READS,
    DATA_WRITES,
    DEVICE,
    LOG,
)
from kneebench.records import Climb, ResourceEvidence
from kneebench.units import count, rounded, time

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
