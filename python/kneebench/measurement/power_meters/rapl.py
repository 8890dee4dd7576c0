"""Energy of the processors and their memory, from the powercap tree of sysfs (RAPL).

Counters per domain, in microjoules, which begin at 0 again beyond `max_energy_range_uj`
(Documentation/power/powercap). EnergySince are the packages and their memory: a core's or uncore's
energy is part of its package, the platform's (psys) means other things on other machines, and
the same package by memory-mapped registers (intel-rapl-mmio) would count twice. Only root may read
them.

A counter that may have wrapped more than once since the last reading is not believed; so it is
read often enough for the largest power that the domain could have. Nor is a memory domain that
shows more than its package, or ten times what another package's does: some processors report
nonsense.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from math import inf
from pathlib import Path
from time import monotonic
from typing import Annotated, ClassVar

from pydantic import Field

from kneebench.errors import PlanError
from kneebench.measurement.power_meters.power_source import (
    NoAnswer,
    NotBelieved,
    PlainSource,
    PowerReading,
    PowerSource,
)
from kneebench.plan.power import PowerMeter
from kneebench.plan.values import Directory
from kneebench.records import Scope

MICRO = 1e-6
PLAUSIBLE_W = 1000.0
"""Of a domain without a limit of its own."""
LEAST_EVERY_S = 0.05
READINGS = 4
"""In the time in which a counter of the largest power would wrap."""
UNEQUAL, UNEQUAL_W = 10.0, 50.0
"""Memory of one package against another's: so many times, from so much power on."""
JUDGED_S = 2.0
"""Of power that a domain is judged by: shorter differences are rough."""


class RaplMeter(PowerMeter):
    """Processors and memory by RAPL counters of the database host."""

    of_scope: ClassVar[Scope | None] = "cpu"
    means: ClassVar[str] = "CPU only (RAPL)"
    sysfs: Annotated[Directory, Field(description="Path of sysfs")] = Path("/sys")

    @property
    def on_database_host(self) -> bool:
        """The counters are that machine's."""
        return True


class RaplDomain:
    """One counter. `range_j`: what it counts to; None where that is unknown."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        self._energy = os.open(folder / "energy_uj", os.O_RDONLY | os.O_CLOEXEC)
        most = _number(folder / "max_energy_range_uj")
        self.range_j = most * MICRO if most else None
        limit = _number(folder / "constraint_0_max_power_uw")
        self.most_w = 2 * limit * MICRO if limit else PLAUSIBLE_W
        self._before_j: float | None = None
        self._before_s = 0.0
        self.joules = 0.0
        self._judged_from = (0.0, 0.0)
        self.watts = 0.0

    def read(self) -> None:
        """Add the energy since the last reading. Raises NoAnswer and NotBelieved."""
        try:
            now_j = int(os.pread(self._energy, 64, 0)) * MICRO
        except (OSError, ValueError) as error:
            raise NoAnswer(f"{self.name}: {error}") from None
        if self.range_j and now_j > self.range_j + MICRO:
            raise NotBelieved(f"{self.name} is beyond what it counts to")
        now_s = monotonic()
        before_j, elapsed_s = self._before_j, now_s - self._before_s
        self._before_j, self._before_s = now_j, now_s
        if before_j is None:
            self._judged_from = (now_s, 0.0)
            return
        self.joules += self._risen(now_j - before_j, elapsed_s)
        self._judge(now_s)

    def _risen(self, by_j: float, elapsed_s: float) -> float:
        if self.range_j is None:
            if by_j < 0:
                raise NotBelieved(f"{self.name} went back, and what it counts to is unknown")
            return by_j
        if self.most_w * elapsed_s >= self.range_j:
            seen = f"{self.name} may have wrapped more than once in {elapsed_s:.1f} s"
            raise NotBelieved(seen)
        return by_j + self.range_j if by_j < 0 else by_j

    def _judge(self, now_s: float) -> None:
        """Its power over the last seconds, for what is plausible."""
        from_s, from_j = self._judged_from
        if now_s - from_s >= JUDGED_S:
            self.watts = (self.joules - from_j) / (now_s - from_s)
            self._judged_from = (now_s, self.joules)

    def close(self) -> None:
        os.close(self._energy)


class Rapl(PlainSource):
    """The packages of a machine and their memory, by name: "package-0", "package-0 dram"."""

    counts_energy = True

    def __init__(self, domains: dict[str, RaplDomain]) -> None:
        self._domains = domains
        self.described = ", ".join(domains)
        ranges = [one.range_j / one.most_w for one in domains.values() if one.range_j]
        self.longest_s = max(LEAST_EVERY_S, min(ranges, default=inf) / READINGS)

    def read(self) -> PowerReading:
        """The sum of all domains."""
        for one in self._domains.values():
            one.read()
        _refuse_implausible(self._domains)
        return PowerReading(joules=sum(one.joules for one in self._domains.values()))

    def close(self) -> None:
        for one in self._domains.values():
            one.close()


def _refuse_implausible(domains: dict[str, RaplDomain]) -> None:
    memory = {name: one for name, one in domains.items() if name.endswith(" dram")}
    for name, one in domains.items():
        if one.watts > one.most_w:
            raise NotBelieved(f"{name} shows {one.watts:.0f} W (at most {one.most_w:.0f} W)")
    for name, one in memory.items():
        package = domains[name.removesuffix(" dram")]
        if one.watts > max(package.watts, UNEQUAL_W):
            seen = f"{name} shows {one.watts:.0f} W, its package {package.watts:.0f} W"
            raise NotBelieved(seen)
        least = min(other.watts for other in memory.values())
        if one.watts > UNEQUAL_W and one.watts > UNEQUAL * least:
            raise NotBelieved(f"{name} shows {one.watts:.0f} W, another {least:.0f} W")


def _number(file: Path) -> int:
    try:
        return int(file.read_text())
    except (OSError, ValueError):
        return 0


def domains(sysfs: Path) -> Iterator[tuple[str, Path]]:
    """Names and directories of the packages and of their memory."""
    tree = sysfs / "class/powercap"
    for package in sorted(tree.glob("intel-rapl:*")):
        if package.name.count(":") != 1 or not (name := _name(package)).startswith("package"):
            continue
        yield name, package
        below = sorted({*package.glob("intel-rapl:*"), *tree.glob(f"{package.name}:*")})
        yield from ((f"{name} dram", one) for one in below if _name(one) == "dram")


def _named_apart(found: Iterator[tuple[str, Path]]) -> Iterator[tuple[str, Path]]:
    """Two zones may have one name."""
    seen = set[str]()
    for name, folder in found:
        yield (f"{name} ({folder.name})" if name in seen else name), folder
        seen.add(name)


def _name(folder: Path) -> str:
    try:
        return (folder / "name").read_text().strip()
    except OSError:
        return ""


def open_source(table: PowerMeter) -> PowerSource:
    """The domains of this machine."""
    assert isinstance(table, RaplMeter)
    what = f"power meter {table.name}"
    found = dict(_named_apart(domains(table.sysfs)))
    if not found:
        seen = f"{table.sysfs}/class/powercap has no package (virtual machines have none)"
        raise PlanError(what, seen=seen, do="use another meter")
    try:
        return Rapl({name: RaplDomain(folder, name) for name, folder in found.items()})
    except OSError as error:
        do = "run as root, or let this user read energy_uj"
        raise PlanError(what, seen=f"{error.filename}: {error.strerror}", do=do) from None


def found_here(sysfs: Path, dev: Path) -> Iterator[dict[str, object]]:
    """One meter of all domains."""
    if any(domains(sysfs)):
        yield {"name": "cpu", "sysfs": sysfs}


TABLE = RaplMeter
