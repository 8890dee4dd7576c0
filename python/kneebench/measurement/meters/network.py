"""Network interfaces of this machine, from /proc/net/dev; their line rate from sysfs.

Counted are the interfaces with a device (a bond's members, not the bond: each byte once); in a
container, which has none, all but the loopback. Busy is the share of the line rate in the busier
direction, where the driver reports a rate: virtual interfaces often report none. Errors are packets
that were bad or dropped, in either direction.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kneebench.measurement.meters.meter import (
    Absent,
    KernelFile,
    Meter,
    MeterContext,
    UnavailableMeter,
)
from kneebench.records import Remark

QUANTITIES = ("network.received", "network.sent", "network.errors", "network.busy")
LOOPBACK = "lo"
RECEIVED, SENT, ERRORS = 0, 8, (2, 3, 10, 11)
"""Fields of /proc/net/dev after the name: bytes each way; errors and drops."""
MEGABIT = 1e6 / 8


class Network:
    """Bytes, errors, and seconds at line rate, by interface."""

    name = "network"
    quantities = QUANTITIES
    notes: tuple[Remark, ...] = ()

    def __init__(
        self, line_rates: Mapping[str, float | None], file: Path = Path("/proc/net/dev")
    ) -> None:
        """`line_rates`: bytes per second by interface; None where it is not known."""
        self._line_rates, self._file = line_rates, KernelFile(file)
        self._last: dict[str, tuple[int, int]] = {}
        self._busy_s = {name: 0.0 for name, rate in line_rates.items() if rate}
        unknown = sorted(line_rates.keys() - self._busy_s)
        self.absent = tuple(
            Absent(f"line rate of {name}", "its driver reports none") for name in unknown
        )

    def read(self) -> dict[str, float]:
        """Cumulative bytes and errors, and seconds busy since the meter was opened."""
        found: dict[str, float] = {}
        for line in self._file.read().splitlines():
            name, _, counts = line.decode().partition(":")
            if (name := name.strip()) not in self._line_rates:
                continue
            fields = [int(field) for field in counts.split()]
            received, sent = fields[RECEIVED], fields[SENT]
            found[f"network.received|{name}"] = received
            found[f"network.sent|{name}"] = sent
            found[f"network.errors|{name}"] = sum(fields[place] for place in ERRORS)
            if rate := self._line_rates[name]:
                before = self._last.get(name, (received, sent))
                moved = max(received - before[0], sent - before[1], 0)
                self._busy_s[name] += moved / rate
                found[f"network.busy|{name}"] = self._busy_s[name]
            self._last[name] = received, sent
        return found


def interfaces(folder: Path = Path("/sys/class/net")) -> dict[str, float | None]:
    """The interfaces to count, with their line rates in bytes per second."""
    there = sorted(one for one in folder.glob("*") if one.name != LOOPBACK and _is_up(one))
    with_device = [one for one in there if (one / "device").exists()]
    return {one.name: _line_rate(one) for one in with_device or there}


def _is_up(interface: Path) -> bool:
    """True unless the kernel says that it is down: some drivers do not know."""
    state = interface / "operstate"
    return state.exists() and state.read_text().strip() != "down"


def _line_rate(interface: Path) -> float | None:
    """None where the driver reports -1 or an error."""
    try:
        megabits = int((interface / "speed").read_text())
    except (OSError, ValueError):
        return None
    return megabits * MEGABIT if megabits > 0 else None


def open_meter(context: MeterContext) -> Meter:
    """This machine's interfaces: also those to a server elsewhere."""
    found = interfaces()
    if not found:
        absent = Absent("network", "no interface but the loopback")
        return UnavailableMeter("network", QUANTITIES, absent)
    return Network(found)
