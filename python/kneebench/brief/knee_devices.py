"""The devices of a storage at its knee: what the figure, the table and the JSON of devices show."""

from __future__ import annotations

from typing import NamedTuple

from kneebench.analysis.devices import (
    QUANTITIES,
    Courses,
    DeviceLoad,
    OddDevice,
    device_loads,
    name_of,
    odd_devices,
    volume_load,
    volumes,
)
from kneebench.analysis.knee import final_rungs
from kneebench.analysis.knee_readings import KneeReadings
from kneebench.brief.view_model import ViewModel
from kneebench.records import Climb, Rung


class SeenVolume(NamedTuple):
    """A volume: its name, what it and its devices did in the windows at the knee (means), and
    devices that differ in the rung that stands for them.
    """

    name: str
    whole: DeviceLoad
    loads: tuple[DeviceLoad, ...]
    odd: tuple[OddDevice, ...]


class KneeDevices(NamedTuple):
    """The volumes of a storage at its knee, the rung that stands for it, and courses of that."""

    rung: Rung
    volumes: tuple[SeenVolume, ...]
    courses: Courses


def knee_devices(view: ViewModel, climb: Climb) -> KneeDevices | None:
    """None if no device was measured at the knee."""
    rung = view.at_the_knee(climb)
    found = volumes(rung) if rung else ()
    if rung is None or not found:
        return None
    courses = Courses(view.series(rung, *QUANTITIES))
    window = rung.warm_up_s, rung.warm_up_s + rung.tally.window_s
    readings = KneeReadings(final_rungs(climb))
    loads = [device_loads(readings, volume) for volume in found]
    seen = tuple(
        SeenVolume(
            name_of(volume, found),
            volume_load(readings, volume),
            each,
            tuple(odd_devices(courses, each, window)),
        )
        for volume, each in zip(found, loads, strict=True)
    )
    return KneeDevices(rung, seen, courses)
