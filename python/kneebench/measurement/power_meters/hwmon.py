"""Power and energy of a sensor, from hwmon of sysfs (Documentation/hwmon/sysfs-interface).

An energy counter (energyN_input, microjoules) comes before power (powerN_input, microwatts); a chip
that has only a mean (powerN_average) is read for that where its interval is 2 s or shorter. A
channel that is switched off or reports a fault has no value.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import Field

from kneebench.errors import PlanError
from kneebench.measurement.power_meters.power_source import (
    EnergySince,
    NoAnswer,
    PlainSource,
    PowerReading,
    PowerSource,
    believed,
)
from kneebench.plan.power import PUBLIC, PowerMeter
from kneebench.plan.values import Directory, Name
from kneebench.records import Scope

MICRO = 1e-6
LONGEST_MEAN_MS = 2000
KINDS = ("energy{}_input", "power{}_input", "power{}_average")
SCOPES: dict[str, Scope] = {"power_meter": "wall"}
"""What is known of a chip by its name; of others the plan has to say it."""


class HwmonMeter(PowerMeter):
    """A sensor of the database host, such as the ACPI power meter or one beside a drive."""

    chip: Annotated[
        Name, PUBLIC, Field(description="Name of the chip, as in /sys/class/hwmon/*/name")
    ] = "power_meter"
    channel: Annotated[
        Name, PUBLIC, Field(description="Label or number of its channel; empty: the only one")
    ] = ""
    sysfs: Annotated[Directory, Field(description="Path of sysfs")] = Path("/sys")

    @property
    def on_database_host(self) -> bool:
        """The sensor is that machine's."""
        return True


class Channel(NamedTuple):
    """A channel of a chip: its label, and the file that is read."""

    chip: str
    label: str
    file: Path

    @property
    def counts_energy(self) -> bool:
        """Whether it has joules."""
        return self.file.name.startswith("energy")

    @property
    def name(self) -> str:
        """What people read."""
        return f"{self.chip} {self.label} ({self.file.name})"


class Hwmon(PlainSource):
    """One channel."""

    def __init__(self, channel: Channel, most_w: float) -> None:
        self._channel, self._most_w = channel, most_w
        self.described, self.counts_energy = channel.name, channel.counts_energy
        self._counted = EnergySince()

    def read(self) -> PowerReading:
        """Its power, or its energy since the first reading."""
        file = self._channel.file
        if _line(_beside(file, "_fault")) == "1" or _line(_beside(file, "_enable")) == "0":
            raise NoAnswer(f"{file.name} is switched off, or faulty")
        try:
            value = int(file.read_text())
        except (OSError, ValueError) as error:
            raise NoAnswer(f"{file.name}: {error}") from None
        if not self.counts_energy:
            return PowerReading(watts=believed(value, MICRO, self._most_w))
        return PowerReading(joules=self._counted.since_first(value, MICRO, self._most_w))


def _beside(file: Path, ending: str) -> Path:
    return file.with_name(file.name.partition("_")[0] + ending)


def _line(file: Path) -> str:
    try:
        return file.read_text().strip()
    except OSError:
        return ""


def channels(sysfs: Path) -> Iterator[Channel]:
    """All channels of power or energy of this machine, each once."""
    for chip in sorted((sysfs / "class/hwmon").glob("hwmon*")):
        name, seen = _line(chip / "name"), set[str]()
        for kind in KINDS:
            for file in sorted(chip.glob(kind.format("*"))):
                label = _line(_beside(file, "_label")) or _number(file)
                if label not in seen and _short_mean(file):
                    seen.add(label)
                    yield Channel(name, label, file)


def _number(file: Path) -> str:
    """That of its channel."""
    return "".join(filter(str.isdigit, file.name))


def _short_mean(file: Path) -> bool:
    if not file.name.endswith("_average"):
        return True
    interval = _line(_beside(file, "_average_interval"))
    return interval.isdigit() and int(interval) <= LONGEST_MEAN_MS


def open_source(table: PowerMeter) -> PowerSource:
    """The channel that the plan names."""
    assert isinstance(table, HwmonMeter)
    every = [one for one in channels(table.sysfs) if one.chip == table.chip]
    found = [one for one in every if table.channel in ("", one.label, _number(one.file))]
    if len(found) != 1:
        there = "; ".join(one.name for one in every) or f"no channel of power of {table.chip}"
        do = "name one of its channels by its label or number" if every else "use another meter"
        raise PlanError(f"power meter {table.name}", seen=there, do=do)
    return Hwmon(found[0], table.most)


def found_here(sysfs: Path, dev: Path) -> Iterator[dict[str, object]]:
    """Each channel; of a chip that is not known by its name, behind the power supplies."""
    for one in channels(sysfs):
        scope = SCOPES.get(one.chip, "dc")
        given = {"chip": one.chip, "channel": one.label, "scope": scope, "sysfs": sysfs}
        yield {"name": f"{one.chip} {one.label}", **given}


TABLE = HwmonMeter
