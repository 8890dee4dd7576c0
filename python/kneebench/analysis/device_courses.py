"""The devices of a volume through a rung, second by second: courses to draw, and the one device
that is much slower or busier than the others of its volume.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from statistics import fmean, median
from typing import NamedTuple

from kneebench import units
from kneebench.analysis.devices import BUSY, KINDS, OPS, QUEUE, TIMES, DeviceLoad
from kneebench.analysis.wording import percent, plural
from kneebench.records import Series

QUANTITIES = (*OPS.values(), *TIMES.values(), QUEUE, BUSY)
FACTOR = 2.0
"""A device differs if it is beyond so many times the median of the others"""
MOST_OF = 0.5
"""in more than this share of the window's seconds."""
LEAST_S = 5
"""Shortest window that can show it."""
LEAST_OPS = 20
"""I/Os of a second that give an await."""
STEP_S = 1e-3
"""The kernel counts their time in steps of 1 ms."""
LEAST_BUSY = 0.2
"""Utilization below which a device is idle, whatever the others are."""

Point = tuple[float, float | None]


class Courses:
    """The readings of a rung by device and second; `at_s` are its seconds in order."""

    def __init__(self, series: Iterable[Series]) -> None:
        self._read: dict[tuple[str, str], dict[int, float]] = {
            (one.quantity, one.source): dict(zip(map(round, one.at_s), one.value, strict=True))
            for one in series
            if one.quantity in QUANTITIES
        }
        self.at_s = sorted(
            {at for (quantity, _), one in self._read.items() if quantity == BUSY for at in one}
        )

    def parts(self, most: int) -> list[list[int]]:
        """The seconds in order, neighbours together, in at most so many parts."""
        step = -(-len(self.at_s) // most) or 1
        return [self.at_s[n : n + step] for n in range(0, len(self.at_s), step)]

    def total(self, quantity: str, devices: Sequence[str], seconds: Sequence[int]) -> float:
        """The sum over devices and seconds; what was not read counts 0."""
        return sum(
            self._read.get((quantity, device), {}).get(at, 0.0)
            for device in devices
            for at in seconds
        )

    def wait_s(self, kind: str, devices: Sequence[str], seconds: Sequence[int]) -> float | None:
        """Mean await of the I/Os that ended; None if none did."""
        ops = self.total(OPS[kind], devices, seconds)
        return self.total(TIMES[kind], devices, seconds) / ops if ops else None

    def queue(self, devices: Sequence[str], seconds: Sequence[int]) -> float:
        """Mean number of I/Os in flight on all devices together."""
        return self.total(QUEUE, devices, seconds) / len(seconds)

    def busy(self, devices: Sequence[str], seconds: Sequence[int]) -> float:
        """Mean utilization of the devices."""
        return self.total(BUSY, devices, seconds) / len(seconds) / len(devices)


class OddDevice(NamedTuple):
    """A device that differs from the others of its volume; `says` are its differences. `which`
    of them, where it is not compared with all.
    """

    device: str
    others: int
    says: tuple[str, ...]
    which: str = ""

    @property
    def sentence(self) -> str:
        """In words.

        >>> OddDevice("sdc", 3, ("write await 9.1 ms vs. 2.2 ms",)).sentence
        'sdc differs from the other 3 drives of its volume: write await 9.1 ms vs. 2.2 ms.'
        """
        others = f"the other {plural(self.others, 'drive') if self.others > 1 else 'drive'}"
        return (
            f"{self.device} differs from {others} of its volume{self.which}:"
            f" {'; '.join(self.says)}."
        )


def odd_devices(
    courses: Courses, loads: Sequence[DeviceLoad], window: tuple[float, float]
) -> Iterator[OddDevice]:
    """The devices of a volume whose await or utilization is more than twice the median of the
    others with the same directories, over the window and in most of its seconds.

    An await needs 20 I/Os in a second, on the device and on another. `window` is from and to in
    seconds of the rung; nothing is said of one below 5 s, and of a volume of one device.
    """
    seconds = [at for at in courses.at_s if window[0] < at <= window[1]]
    if len(seconds) < LEAST_S:
        return
    for load in loads:
        alike = [one for one in loads if one.directories == load.directories]
        others = [one for one in alike if one is not load]
        if others and (says := tuple(_differences(courses, load, others, seconds))):
            which = "" if len(alike) == len(loads) else " with the same contents"
            yield OddDevice(load.device, len(others), says, which)


def _differences(
    courses: Courses, load: DeviceLoad, others: Sequence[DeviceLoad], seconds: Sequence[int]
) -> Iterator[str]:
    names = [other.device for other in others]
    for kind in KINDS:
        mine = getattr(load, f"{kind}_await_s")
        theirs = [s for one in others if (s := getattr(one, f"{kind}_await_s")) is not None]

        def slower(at: int, kind: str = kind) -> bool:
            return _is_slower(courses, kind, load.device, names, at)

        if mine and theirs and mine > FACTOR * median(theirs) and _mostly(slower, seconds):
            yield f"{kind} await {units.time(mine)} vs. {units.time(median(theirs))} (median)"
    typical = median(one.busy for one in others)

    def busier(at: int) -> bool:
        rest = median(courses.busy([name], [at]) for name in names)
        return courses.busy([load.device], [at]) > max(LEAST_BUSY, FACTOR * rest)

    if load.busy > max(LEAST_BUSY, FACTOR * typical) and _mostly(busier, seconds):
        rates = load.ops_per_s, fmean(one.ops_per_s for one in others)
        at = " vs. ".join(map(units.count, rates))
        yield f"utilization {percent(load.busy)} vs. {percent(typical)} at {at} I/Os per s"


def _is_slower(courses: Courses, kind: str, device: str, others: Sequence[str], at: int) -> bool:
    """In one second, also if the others' time was cut off by a step of the kernel's counter."""
    ops = courses.total(OPS[kind], [device], [at])
    rest = [
        (courses.total(TIMES[kind], [one], [at]) + STEP_S) / count
        for one in others
        if (count := courses.total(OPS[kind], [one], [at])) >= LEAST_OPS
    ]
    if ops < LEAST_OPS or not rest:
        return False
    return courses.total(TIMES[kind], [device], [at]) / ops > FACTOR * median(rest)


def _mostly(differs: Callable[[int], bool], seconds: Sequence[int]) -> bool:
    return sum(map(differs, seconds)) > MOST_OF * len(seconds)
