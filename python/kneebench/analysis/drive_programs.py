"""What serves a drive (programs of emulated drives, software RAID, ZFS, loop devices, iSCSI), and
whether it waits for a core: a log on such a drive is limited by the CPU.

The device's await includes the time in which they are ready and have no core. By Little's law the
mean number of such threads is compared with the mean number of I/Os in flight. Where the kernel's
run delay is not known they lack a core if they run, and every core of the machine is at its limit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from kneebench.analysis.evidence import share, waited
from kneebench.analysis.knee_readings import KneeReadings
from kneebench.analysis.resources import (
    BESIDE_A_BUSY_DEVICE,
    DELAYED_IO,
    KERNEL_DRIVE_THREADS,
    LEAST_WORK,
)
from kneebench.analysis.wording import listed
from kneebench.records import Climb
from kneebench.units import rounded, time

OWN_THREADS = r"qemu-storage-da|nbdfuse"
"""Programs of emulated drives as the kernel cuts their names."""
MOST_NAMED = 3


def drives_without_a_core(readings: KneeReadings, climb: Climb) -> str:
    """In words, that users wait for the storage and what serves it for a core; empty where that is
    not so, or not known.
    """
    waits = _waits_for_storage(readings, climb)
    if not waits:
        return ""
    found = _delayed(readings) or _on_full_cores(readings, climb.limits.cores_busy)
    return f"{waits}, and {found}" if found else ""


def _waits_for_storage(readings: KneeReadings, climb: Climb) -> str:
    write_s, limit_s = readings.value("log.write_latency"), climb.limits.log_write_s
    waits = readings.waiting("waits.log", "waits.data_read", "waits.data_write")
    if waits is not None and waits > BESIDE_A_BUSY_DEVICE:
        return waited(waits, "the storage", BESIDE_A_BUSY_DEVICE)
    if write_s is not None and write_s > limit_s:
        return f"a log write took {time(write_s)} (limit {time(limit_s)})"
    return ""


def _delayed(readings: KneeReadings) -> str:
    """Of the programs whose run delay is known."""
    delays = _run_delays(readings)
    in_flight = readings.value("device.queue_depth")
    if not delays or not in_flight:
        return ""
    part = sum(delays.values()) / in_flight
    if part <= DELAYED_IO:
        return ""
    return (
        f"{_names(delays)}, which serve it, were ready for a core for"
        f" {share(min(part, 1.0))} of the time of its I/O (limit {share(DELAYED_IO)})"
    )


def _on_full_cores(readings: KneeReadings, limit: float) -> str:
    """Of threads that ran while every core of the machine was at its limit."""
    cores = readings.sources("cores.busy")
    if not cores or min(cores.values()) < limit:
        return ""
    known = KERNEL_DRIVE_THREADS if _run_delays(readings) else _either()
    used: dict[str, float] = {}
    for source, part in readings.sources("threads.cpu").items():
        if re.match(known, name := source.rpartition("@")[0]):
            used[name] = used.get(name, 0.0) + part
    total = sum(used.values())
    if total < LEAST_WORK:
        return ""
    return (
        f"{_names(used)}, which serve it, used {rounded(total, 2)} cores while every core was at"
        f" least {share(min(cores.values()))} busy (limit {share(limit)})"
    )


def _either() -> str:
    return f"{OWN_THREADS}|{KERNEL_DRIVE_THREADS}"


def _run_delays(readings: KneeReadings) -> dict[str, float]:
    """Mean number of threads ready for a core by the program that serves emulated drives."""
    delays = readings.sources("processes.run_delay")
    return {name: tasks for name, tasks in delays.items() if name != "server"}


def _names(used: dict[str, float]) -> str:
    ordered: Iterable[str] = sorted(used, key=lambda name: -used[name])
    return listed([*ordered][:MOST_NAMED])
