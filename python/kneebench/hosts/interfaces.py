"""Network interfaces: the one on the way to an address, its line rate, and what it has carried.

It is also sent to load hosts: it imports the standard library alone.
"""

from __future__ import annotations

import socket
import struct
from pathlib import Path

DEVICES = Path("/proc/net/dev")
PROTOCOLS = Path("/proc/net/snmp")
SYSFS = Path("/sys/class/net")
ROUTES = Path("/proc/net/route")
RECEIVED, RECEIVED_PACKETS, SENT, SENT_PACKETS = 0, 1, 8, 9
"""Fields of /proc/net/dev after the name."""
MEGABIT = 1e6 / 8


def fields_by_interface(text: str) -> dict[str, list[int]]:
    """The counters of /proc/net/dev by interface."""
    rows = (line.partition(":") for line in text.splitlines()[2:])
    return {name.strip(): [int(one) for one in counts.split()] for name, _, counts in rows}


def retransmitted(text: str) -> int:
    """Segments that TCP has sent again, by /proc/net/snmp; of all connections of the machine.

    >>> retransmitted("Tcp: OutSegs RetransSegs\\nTcp: 90 4\\n")
    4
    """
    names, counts = (line.split() for line in text.splitlines() if line.startswith("Tcp:"))
    return int(counts[names.index("RetransSegs")])


def line_rate(interface: str, sysfs: Path = SYSFS) -> float | None:
    """Bytes per second that the driver reports; None where it reports -1 or an error."""
    try:
        megabits = int((sysfs / interface / "speed").read_text())
    except (OSError, ValueError):
        return None
    return megabits * MEGABIT if megabits > 0 else None


def way_to(host: str, routes: Path = ROUTES) -> str:
    """The interface on the way to a host, by the most specific route (IPv4); empty: not known."""
    try:
        (target,) = struct.unpack("<I", socket.inet_aton(socket.gethostbyname(host)))
        rows = [line.split() for line in routes.read_text().splitlines()[1:]]
    except OSError:
        return ""
    masks = {
        int(row[7], 16): row[0]
        for row in reversed(rows)
        if target & int(row[7], 16) == int(row[1], 16)
    }
    return masks[max(masks, key=int.bit_count)] if masks else ""


def carried(interface: str) -> dict[str, int]:
    """Bytes each way and packets of an interface, and segments sent again, since it came up; empty
    where there is no such interface.
    """
    fields = fields_by_interface(DEVICES.read_text()).get(interface)
    if fields is None:
        return {}
    return {
        "received": fields[RECEIVED],
        "sent": fields[SENT],
        "packets": fields[RECEIVED_PACKETS] + fields[SENT_PACKETS],
        "retransmitted": retransmitted(PROTOCOLS.read_text()),
    }
