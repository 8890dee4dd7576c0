"""Derived metrics: quantities that stop conditions and the bottleneck need and that no meter reads
directly.

- database.busy: utilization of the least busy of the database's cores (sources: each core). Where
  they are another machine's, it is what the server itself counts of each, its own work alone.
- database.steal: share of these cores' time that the hypervisor gave to others (sources: each
  core).
- database.others: share of these cores that neither the server, nor the load generator with its
  programs of emulated drives, nor the kernel's threads that serve drives used, and that was not
  stolen: other processes, other kernel threads. The kernel reports a process's time, not its cores:
  the load generator counts with the part of its cores that are also the database's.
- device.others: share of the I/O on the storage's devices that other processes caused: what they
  read and wrote, but no more than the devices did beyond the server's own. The rest is the kernel
  writing out what the server made dirty earlier.
- load_generator.late: longest delay of the load generator when it was due (its own clock, ten times
  per second).
- load_generator.busy: CPU time of the users' threads, as a share of the time of their cores.
- log.write_latency_10s: the log's write and sync time per flush in the last three windows of 10 s,
  or thirds of a shorter window (sources 1, 2, 3); the value is their median, so that "two of three
  above the limit" is value > limit. Below 15 s one mean over the whole window (source 1): a backend
  reports its counts once per second at most.
- log.segments_made: files of the log that the server made in the window, while users waited.
- server.cpu_per_transaction: CPU time of the server's processes per transaction completed.
- load_generator.cpu_per_transaction: CPU time of the users' threads per transaction completed.
- load_generator.delay: the load generator's own delay per transaction completed: no latency
  includes it (`high` is the P99.9).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import pairwise
from statistics import fmean, median

from kneebench.analysis.resources import KERNEL_DRIVE_THREADS
from kneebench.measurement import delay
from kneebench.measurement.quantities import RATIOS
from kneebench.measurement.summaries import Values, Window, between, quotient
from kneebench.records import Summary, Tally

DEVICE_BYTES = ("device.read_bytes", "device.write_bytes")
OWN_COUNT = "server.core_busy"
NEW_SEGMENTS = "log.new_segments|database"
LOG_WINDOW_S = 10
LOG_WINDOWS = 3
LOG_SHORTEST_S = 5
"""Of a window that a mean of the log's times is taken over (summaries.py: what less than 5 s say of
them is rough)."""


def derived_metrics(
    window: Window,
    tally: Tally,
    cores: Sequence[int],
    load_generator_cores: Sequence[int] = (),
    late_s: float = 0.0,
) -> dict[str, Summary]:
    """All derived metrics of a window; those whose readings are missing are left out.

    No `load_generator_cores`: all cores of the machine.
    """
    found = {
        "database.busy": database_busy(window, cores),
        "database.steal": database_steal(window, cores),
        "database.others": database_others(window, cores, load_generator_cores),
        "device.others": device_others(window),
        "load_generator.late": Summary(unit="s", value=late_s, high=late_s),
        "load_generator.busy": load_generator_busy(tally),
        "log.write_latency_10s": log_write_latency_10s(window),
        "log.segments_made": log_segments_made(window),
        "server.cpu_per_transaction": server_cpu_per_transaction(window, tally),
        "load_generator.cpu_per_transaction": _per_transaction(
            tally.load_generator_cpu_s / tally.window_s, tally
        ),
        "load_generator.delay": delay.quantity(tally),
    }
    return {name: summary for name, summary in found.items() if summary}


def database_busy(window: Window, cores: Sequence[int]) -> Summary | None:
    """Utilization of the least busy of these cores; None without their readings.

    Without cores on this machine, by the server's own count of its cores.
    """
    if cores:
        return _of_cores(window, "cores.busy", cores, min)
    own = [int(core) for core in window.whole.get(OWN_COUNT, {})]
    return _of_cores(window, OWN_COUNT, own, min)


def database_steal(window: Window, cores: Sequence[int]) -> Summary | None:
    """Mean share of these cores' time that the hypervisor took; None without cores or their
    readings.
    """
    return _of_cores(window, "cores.steal", cores, fmean)


def _of_cores(
    window: Window, quantity: str, cores: Sequence[int], over: Callable[[Iterable[float]], float]
) -> Summary | None:
    wanted = {str(core) for core in cores}

    def shares(values: Values) -> dict[str, float]:
        return {core: share for core, share in values.get(quantity, {}).items() if core in wanted}

    whole = shares(window.whole)
    if not whole:
        return None
    seconds = [over(found.values()) for values in window.seconds if (found := shares(values))]
    return Summary(unit="share", value=over(whole.values()), high=max(seconds), sources=whole)


def database_others(
    window: Window, cores: Sequence[int], load_generator_cores: Sequence[int]
) -> Summary | None:
    """Share of these cores that other processes used, kneebench's own programs apart; None if the
    server's processes are not on this machine.
    """

    def left(values: Values) -> float | None:
        busy, used = values.get("cores.busy", {}), values.get("processes.cpu", {})
        here = {str(core) for core in cores} & busy.keys()
        if not here or "server" not in used:
            return None
        generator = {str(core) for core in load_generator_cores} or busy.keys()
        stolen = values.get("cores.steal", {})
        on_them = len(here & generator) / len(generator)
        own = used["server"] + used.get("programs", 0.0)
        own += used.get("load_generator", 0.0) * on_them + _drive_threads(values, here)
        return max(
            0.0, (sum(busy[core] - stolen.get(core, 0.0) for core in here) - own) / len(here)
        )

    whole = left(window.whole)
    if whole is None:
        return None
    return Summary(
        unit="share",
        value=whole,
        high=max(share for s in window.seconds if (share := left(s)) is not None),
    )


def _drive_threads(values: Values, cores: Collection[str]) -> float:
    """How many of these cores the kernel's own threads used for drives, of those that were read."""
    return sum(
        used
        for source, used in values.get("threads.cpu", {}).items()
        if source.rpartition("@")[2] in cores and re.match(KERNEL_DRIVE_THREADS, source)
    )


def device_others(window: Window) -> Summary | None:
    """Share of the I/O on the storage's devices that other processes caused; None without a device,
    without I/O on it, or if the server's processes are not on this machine.
    """

    def share(values: Values) -> float | None:
        device = sum(sum(values.get(name, {}).values()) for name in DEVICE_BYTES)
        by = values.get("processes.io", {})
        if not device or "server" not in by:
            return None
        return min(by["others"], max(0.0, device - by["server"])) / device

    whole = share(window.whole)
    if whole is None:
        return None
    seconds = [found for s in window.seconds if (found := share(s)) is not None]
    return Summary(unit="share", value=whole, high=max(seconds, default=whole))


def load_generator_busy(tally: Tally) -> Summary:
    """Utilization of the load generator's cores, known for the window as a whole: `high` is the
    value.
    """
    return Summary(unit="share", value=tally.load_generator_busy, high=tally.load_generator_busy)


def log_write_latency_10s(window: Window) -> Summary | None:
    """Median of the mean log write over the last three 10 s; over thirds of a shorter window; below
    15 s over all of it.

    None if the log was not measured or never flushed.
    """
    last = window.last
    begin = max(window.first, last - LOG_WINDOW_S * LOG_WINDOWS)
    windows = LOG_WINDOWS if last - begin >= LOG_SHORTEST_S * LOG_WINDOWS else 1
    edges = [begin + round(n * (last - begin) / windows) for n in range(windows + 1)]
    means = {
        str(n): mean
        for n, (a, b) in enumerate(pairwise(edges), start=1)
        if b > a
        and (mean := quotient(between(window.raw_series, a, b), RATIOS["log.write_latency"]))
        is not None
    }
    return (
        Summary(unit="s", value=median(means.values()), high=max(means.values()), sources=means)
        if means
        else None
    )


def log_segments_made(window: Window) -> Summary | None:
    """Segments of the log that the server made in the window; None where that was not counted."""
    for raw in window.raw_series:
        before, after = (raw.values[at].get(NEW_SEGMENTS) for at in (window.first, window.last))
        if before is not None and after is not None:
            return Summary(unit="segments", value=after - before, high=after - before)
    return None


def server_cpu_per_transaction(window: Window, tally: Tally) -> Summary | None:
    """CPU time of the server per transaction; None if the server's processes are not on this
    machine.
    """
    used = window.whole.get("processes.cpu", {}).get("server")
    return None if used is None else _per_transaction(used, tally)


def _per_transaction(cores_used: float, tally: Tally) -> Summary | None:
    """CPU seconds per transaction from the cores kept busy; `high` is the value: a single second
    says little of it.
    """
    if not tally.window.completed:
        return None
    value = cores_used / tally.throughput_per_s
    return Summary(unit="s", value=value, high=value)
