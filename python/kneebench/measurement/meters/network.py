"""Network interfaces of this machine, from /proc/net/dev; their line rate from sysfs.

Counted are the interfaces with a device (a bond's members, not the bond: each byte once); in a
container, which has none, all but the loopback. Busy is the share of the line rate in the busier
direction, where the driver reports a rate (virtual interfaces often report none), or where less was
measured. Errors are packets that were bad or dropped, in either direction; retransmitted are the
segments of all TCP connections.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kneebench.hosts.interfaces import (
    DEVICES,
    PROTOCOLS,
    RECEIVED,
    RECEIVED_PACKETS,
    SENT,
    SENT_PACKETS,
    SYSFS,
    fields_by_interface,
    line_rate,
    retransmitted,
)
from kneebench.measurement.meters.meter import (
    Absent,
    KernelFile,
    Meter,
    MeterContext,
    UnavailableMeter,
)
from kneebench.records import Remark

QUANTITIES = (
    "network.received",
    "network.sent",
    "network.packets",
    "network.errors",
    "network.retransmitted",
    "network.busy",
)
LOOPBACK = "lo"
ERRORS = (2, 3, 10, 11)
"""Fields of /proc/net/dev after the name: errors and drops each way."""


class Network:
    """Bytes, errors, and seconds at line rate, by interface."""

    name = "network"
    quantities = QUANTITIES
    notes: tuple[Remark, ...] = ()

    def __init__(
        self,
        line_rates: Mapping[str, float | None],
        file: Path = DEVICES,
        protocols: Path = PROTOCOLS,
    ) -> None:
        """`line_rates`: bytes per second by interface; None where it is not known."""
        self._line_rates, self._file = line_rates, KernelFile(file)
        self._protocols = KernelFile(protocols)
        self._last: dict[str, tuple[int, int]] = {}
        self._busy_s = {name: 0.0 for name, rate in line_rates.items() if rate}
        unknown = sorted(line_rates.keys() - self._busy_s)
        self.absent = tuple(
            Absent(f"line rate of {name}", "its driver reports none") for name in unknown
        )

    def read(self) -> dict[str, float]:
        """Cumulative bytes and errors, and seconds busy since the meter was opened."""
        resent = retransmitted(self._protocols.read().decode())
        found: dict[str, float] = {"network.retransmitted|tcp": resent}
        for name, fields in fields_by_interface(self._file.read().decode()).items():
            if name not in self._line_rates:
                continue
            received, sent = fields[RECEIVED], fields[SENT]
            found[f"network.received|{name}"] = received
            found[f"network.sent|{name}"] = sent
            found[f"network.packets|{name}"] = fields[RECEIVED_PACKETS] + fields[SENT_PACKETS]
            found[f"network.errors|{name}"] = sum(fields[place] for place in ERRORS)
            if rate := self._line_rates[name]:
                before = self._last.get(name, (received, sent))
                moved = max(received - before[0], sent - before[1], 0)
                self._busy_s[name] += moved / rate
                found[f"network.busy|{name}"] = self._busy_s[name]
            self._last[name] = received, sent
        return found


def interfaces(folder: Path = SYSFS) -> dict[str, float | None]:
    """The interfaces to count, with their line rates in bytes per second."""
    there = sorted(one for one in folder.glob("*") if one.name != LOOPBACK and _is_up(one))
    with_device = [one for one in there if (one / "device").exists()]
    return {one.name: line_rate(one.name, folder) for one in with_device or there}


def _is_up(interface: Path) -> bool:
    """True unless the kernel says that it is down: some drivers do not know."""
    state = interface / "operstate"
    return state.exists() and state.read_text().strip() != "down"


def open_meter(context: MeterContext) -> Meter:
    """This machine's interfaces: also those to a server elsewhere."""
    found = interfaces()
    for name in found.keys() & context.links.keys():
        found[name] = context.links[name]
    if not found:
        absent = Absent("network", "no interface but the loopback")
        return UnavailableMeter("network", QUANTITIES, absent)
    return Network(found)
