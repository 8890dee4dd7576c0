"""Frequency, throttling and temperature of the CPUs of this machine, from sysfs.

Frequency: cpufreq/scaling_cur_freq, the kernel's figure for the last tick. Throttled: how often a
core, or its whole package, was slowed down because it was too hot or drew too much power
(thermal_throttle, Intel only). Temperature: the sensors of the package from hwmon (coretemp,
k10temp and their like), or else the thermal zones of the CPU; not those of each core. Virtual
machines usually have none of these. They change slowly, and a sensor may take milliseconds to
answer: they are read every 5 s.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from kneebench.measurement.meters.meter import Absent, KernelFile, Meter, MeterContext, elsewhere
from kneebench.records import Remark

QUANTITIES = ("cpu.frequency", "cpu.throttled", "temperature.cpu")
CALLED = ("CPU frequency", "CPU throttling", "CPU temperature")
WHY = ("no cpufreq in sysfs", "no thermal_throttle in sysfs", "no sensor in sysfs")
SENSORS = frozenset(["coretemp", "k10temp", "zenpower", "cpu_thermal"])
"""hwmon drivers of CPUs."""
ZONES = ("x86_pkg_temp", "cpu", "soc")
"""Beginnings of the types of thermal zones that are CPUs'."""
MILLI, KILO = 1e-3, 1e3


class Source(NamedTuple):
    """A file with one number, and the unit of that number."""

    file: KernelFile
    unit: float

    def read(self) -> float | None:
        """Its value; None where the sensor does not answer."""
        try:
            return int(self.file.read()) * self.unit
        except (OSError, ValueError):
            return None


class Thermal:
    """The files of each quantity, by "quantity|source"."""

    name = "thermal"
    quantities = QUANTITIES
    notes: tuple[Remark, ...] = ()
    every_s = 5.0

    def __init__(self, sources: Mapping[str, Source]) -> None:
        self._sources = sources
        there = {key.partition("|")[0] for key in sources}
        self.absent = tuple(
            Absent(called, why)
            for quantity, called, why in zip(QUANTITIES, CALLED, WHY, strict=True)
            if quantity not in there
        )

    def read(self) -> dict[str, float]:
        """Hz, times throttled so far, degrees Celsius; a sensor that does not answer is left
        out.
        """
        return {
            key: value
            for key, source in self._sources.items()
            if (value := source.read()) is not None
        }


def sources(sysfs: Path = Path("/sys")) -> dict[str, Source]:
    """All files of this machine that the meter reads."""
    return {key: source for key, source in _files(sysfs) if source.read() is not None}


def _files(sysfs: Path) -> Iterator[tuple[str, Source]]:
    for core in sorted((sysfs / "devices/system/cpu").glob("cpu[0-9]*")):
        number, throttle = core.name[3:], core / "thermal_throttle"
        yield from _open(f"cpu.frequency|{number}", core / "cpufreq/scaling_cur_freq", KILO)
        yield from _open(f"cpu.throttled|{number}", throttle / "core_throttle_count")
        package = _line(core / "topology/physical_package_id")
        yield from _open(f"cpu.throttled|package {package}", throttle / "package_throttle_count")
    for label, file in _sensors(sysfs) or _zones(sysfs):
        yield from _open(f"temperature.cpu|{label}", file, MILLI)


def _open(key: str, file: Path, unit: float = 1.0) -> Iterator[tuple[str, Source]]:
    with contextlib.suppress(OSError):
        yield key, Source(KernelFile(file), unit)


def _line(file: Path) -> str:
    return file.read_text().strip() if file.exists() else ""


def _sensors(sysfs: Path) -> list[tuple[str, Path]]:
    """Inputs of the CPU's sensors by label ("coretemp Package id 0"), without those of single
    cores; numbered where two packages have the same.
    """
    found: list[tuple[str, Path]] = []
    for chip in sorted((sysfs / "class/hwmon").glob("hwmon*")):
        if (name := _line(chip / "name")) not in SENSORS:
            continue
        for file in sorted(chip.glob("temp*_input")):
            label = _line(file.with_name(file.name.replace("_input", "_label")))
            if not label.startswith(("Core", "Tccd")):
                found.append((f"{name} {label}".strip(), file))
    return _numbered(found)


def _zones(sysfs: Path) -> list[tuple[str, Path]]:
    zones = sorted((sysfs / "class/thermal").glob("thermal_zone*"))
    kinds = [(_line(zone / "type"), zone / "temp") for zone in zones]
    return _numbered([(kind, file) for kind, file in kinds if kind.lower().startswith(ZONES)])


def _numbered(found: list[tuple[str, Path]]) -> list[tuple[str, Path]]:
    labels = [label for label, _ in found]
    return [
        (f"{label} #{labels[:place].count(label) + 1}" if labels.count(label) > 1 else label, file)
        for place, (label, file) in enumerate(found)
    ]


def open_meter(context: MeterContext) -> Meter:
    """The CPUs of this machine, if the server is on it."""
    if not context.server.cores:
        return elsewhere("thermal", QUANTITIES, *CALLED)
    return Thermal(sources())
