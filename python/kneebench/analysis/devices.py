"""The devices under a storage: their volumes, and what each of them did in the windows of rungs.

Devices are one volume if they share a directory of the server, also through others: data mirrored
on two drives, with the log on a partition of one of them, is one volume of two. Its own figures
count every I/O once: rates, bytes and queues are sums, an await is the mean over all its I/Os,
utilization is the mean of its devices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from statistics import fmean, median
from typing import NamedTuple, get_args

from kneebench import units
from kneebench.analysis.knee_readings import KneeReadings
from kneebench.analysis.wording import listed, percent, plural
from kneebench.records import CountedDevice, Record, Role, Rung, Series

KINDS = ("read", "write", "flush")
OPS = {"read": "device.reads", "write": "device.writes", "flush": "device.flushes"}
TIMES = {"read": "device.read_time", "write": "device.write_time", "flush": "device.flush_time"}
"""Quantities by kind: I/Os that ended, and the time that they took in all."""
QUEUE, BUSY = "device.queue_depth", "device.busy"

Volume = tuple[CountedDevice, ...]


class DeviceLoad(Record):
    """Means of windows for one device, or for all of a volume (`device` is empty).

    Await: from the block layer's queue to the end of the I/O; None where none ended, or the kernel
    does not count them. `queue_depth`: I/Os in flight; `busy`: the share of the time with any.
    `devices`: how many these are; `roles`: what they hold.
    """

    device: str = ""
    drive: str = ""
    directories: tuple[int, ...] = ()
    roles: tuple[Role, ...] = ()
    devices: int = 1
    reads_per_s: float = 0.0
    writes_per_s: float = 0.0
    flushes_per_s: float | None = None
    read_bytes_per_s: float = 0.0
    write_bytes_per_s: float = 0.0
    read_await_s: float | None = None
    write_await_s: float | None = None
    flush_await_s: float | None = None
    queue_depth: float = 0.0
    busy: float = 0.0

    @property
    def ops_per_s(self) -> float:
        """Reads and writes."""
        return self.reads_per_s + self.writes_per_s

    @property
    def data_writes_per_s(self) -> float:
        """About how many of the writes carry data, mostly a lower bound."""
        return writes_with_data(self.writes_per_s, self.flushes_per_s)

    @property
    def data_write_await_s(self) -> float | None:
        """The mean time of one of these, at most: that of the flushes among the writes is in it."""
        if not self.data_writes_per_s or self.write_await_s is None:
            return None
        return self.write_await_s * self.writes_per_s / self.data_writes_per_s


def writes_with_data(writes_per_s: float, flushes_per_s: float | None) -> float:
    """About how many of the writes carry data: the kernel counts a flush without data as a write,
    too. Where a write carries its flush, as a journal's commit does, this leaves it out; where
    several such flushes are sent to the device as one, it counts the others.

    >>> writes_with_data(900.0, 400.0), writes_with_data(300.0, 400.0), writes_with_data(9.0, None)
    (500.0, 0.0, 9.0)
    """
    return max(0.0, writes_per_s - (flushes_per_s or 0.0))


def volumes(rung: Rung) -> tuple[Volume, ...]:
    """The devices that were read during a rung, by volume, the data's first.

    Of a model nothing says what a device holds: there each is a volume.
    """
    read = rung.quantities[BUSY].sources if BUSY in rung.quantities else {}
    known = {device.name: device for device in rung.devices}
    found: list[Volume] = []
    for name in read:
        device = known.get(name) or CountedDevice(name=name)
        sharing = [one for one in found if {*directories_of(one)} & {*device.directories}]
        others = [one for one in found if one not in sharing]
        found = [*others, (*chain.from_iterable(sharing), device)]
    return tuple(sorted(found, key=lambda one: directories_of(one) or (0,)))


def directories_of(volume: Sequence[CountedDevice]) -> tuple[int, ...]:
    """The server's directories on any of these devices; empty of a model."""
    return tuple(sorted({number for device in volume for number in device.directories}))


def roles_of(volume: Sequence[CountedDevice]) -> tuple[Role, ...]:
    """What these devices hold; where roles are unknown only that one has nothing but data."""
    held = {role for device in volume for role in device.roles}
    if not held and directories_of(volume) == (0,):
        return ("data",)
    return tuple(role for role in get_args(Role) if role in held)


def name_of(volume: Volume, among: Sequence[Volume]) -> str:
    """A volume's name within its storage: what it holds, unless that goes without saying or holds
    for another one too; else its first device.
    """
    roles = roles_of(volume)
    if len(among) == 1 and len(roles) < 2:
        return "all drives" if len(volume) > 1 else volume[0].name
    alone = len(among) == len(volume) == 1
    alike = [one for one in among if roles_of(one) == roles]
    return listed([*roles]) if roles and not alone and len(alike) == 1 else volume[0].name


def device_loads(readings: KneeReadings, volume: Volume) -> tuple[DeviceLoad, ...]:
    """What each device of a volume did in the windows."""
    return tuple(_load(readings, [device], device.name, device.drive) for device in volume)


def volume_load(readings: KneeReadings, volume: Volume) -> DeviceLoad:
    """What the devices of a volume did together in the windows."""
    return _load(readings, volume)


def _load(
    readings: KneeReadings, devices: Sequence[CountedDevice], name: str = "", drive: str = ""
) -> DeviceLoad:
    def values(quantity: str) -> list[float]:
        sources = readings.sources(quantity)
        return [sources[device.name] for device in devices if device.name in sources]

    def total(quantity: str) -> float:
        return sum(values(quantity))

    waits = {
        f"{kind}_await_s": total(TIMES[kind]) / ops if (ops := total(OPS[kind])) else None
        for kind in KINDS
    }
    return DeviceLoad(
        device=name,
        drive=drive,
        directories=directories_of(devices),
        roles=roles_of(devices),
        devices=len(devices),
        reads_per_s=total("device.reads"),
        writes_per_s=total("device.writes"),
        flushes_per_s=total("device.flushes") if values("device.flushes") else None,
        read_bytes_per_s=total("device.read_bytes"),
        write_bytes_per_s=total("device.write_bytes"),
        queue_depth=total(QUEUE),
        busy=fmean(values(BUSY) or [0.0]),
        **waits,
    )


def log_is_with_the_data(rungs: Sequence[Rung]) -> bool:
    """Whether each device that holds data holds the log as well, so that its writes are both's:
    the log has no directory of its own, or one on the same devices. False where nobody knows.
    """
    devices = [one for rung in rungs for one in rung.devices]
    data = [one for one in devices if 0 in one.directories]
    if not any(one.roles for one in devices):
        return bool(data) and {*chain.from_iterable(one.directories for one in devices)} == {0}
    if not any("log" in one.roles for one in devices):
        return bool(data)
    return bool(data) and all("log" in one.roles for one in data)


# The devices of a volume through a rung, second by second: courses to draw, and the one device
# that is much slower or busier than the others of its volume.

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
