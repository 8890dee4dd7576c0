"""The processor: sockets, threads per core and clock, from /sys and /proc."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from kneebench.lab.inventory.sources import Sources
from kneebench.lab.topology import listed

KHZ, MHZ = 1e3, 1e6


class Processor(NamedTuple):
    """What the kernel reports of all cores that are online; None: it does not.

    `threads_per_core`: the most, where cores differ; `clock_base_hz`, `clock_most_hz`: base and
    highest clock; `clock_limit_hz`: a limit below that; `clock_hz`: the clock of a processor that
    has no frequency scaling, such as a virtual one.
    """

    sockets: int | None = None
    threads_per_core: int | None = None
    clock_hz: float | None = None
    clock_base_hz: float | None = None
    clock_most_hz: float | None = None
    clock_limit_hz: float | None = None


def processor(sources: Sources) -> Processor:
    """The processor of this machine."""
    root = sources.sys / "devices" / "system" / "cpu"
    folders = [root / f"cpu{core}" for core in listed(sources.line(root, "online"))]
    sockets = {*_numbers(sources, folders, "topology/physical_package_id")}
    siblings = [listed(sources.line(one, "topology/thread_siblings_list")) for one in folders]
    most = _highest(_numbers(sources, folders, "cpufreq/cpuinfo_max_freq"), KHZ)
    limit = _highest(_numbers(sources, folders, "cpufreq/scaling_max_freq"), KHZ)
    return Processor(
        sockets=len(sockets) or None,
        threads_per_core=max(map(len, siblings), default=0) or None,
        clock_hz=None if most else _clock_hz(sources),
        clock_base_hz=_highest(_numbers(sources, folders, "cpufreq/base_frequency"), KHZ),
        clock_most_hz=most,
        clock_limit_hz=limit if limit and most and limit < most else None,
    )


def _numbers(sources: Sources, folders: Iterable[Path], name: str) -> Iterator[int]:
    """Those of all cores that have one; a socket of -1 is unknown."""
    found = (sources.number(folder, name) for folder in folders)
    return (one for one in found if one is not None and one >= 0)


def _highest(values: Iterable[int], unit: float) -> float | None:
    return max(values, default=0) * unit or None


def _clock_hz(sources: Sources) -> float | None:
    """The mean of all cores, as /proc/cpuinfo has it."""
    lines = sources.line(sources.proc, "cpuinfo").splitlines()
    clocks = [float(line.partition(":")[2]) for line in lines if line.startswith("cpu MHz")]
    return fmean(clocks) * MHZ if clocks else None
