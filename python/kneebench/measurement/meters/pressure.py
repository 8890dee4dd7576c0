"""Pressure stall information: the share of time in which tasks waited for CPU, I/O or memory, from
/proc/pressure.

"some": at least one task waited; "full": all that could run did. The totals are read, in
microseconds
(Documentation/accounting/psi.rst), not the kernel's own averages over 10 s. Unlike disk statistics
they see waits above the block layer. Absent on kernels without CONFIG_PSI or booted with psi=0.
"""

from __future__ import annotations

from pathlib import Path

from kneebench.measurement.meters.meter import (
    Absent,
    KernelFile,
    Meter,
    MeterContext,
    UnavailableMeter,
    elsewhere,
)
from kneebench.records import Remark

QUANTITIES = ("pressure.cpu", "pressure.io", "pressure.memory")


class Pressure:
    """Seconds stalled since boot, by resource."""

    name = "pressure"
    quantities = QUANTITIES
    notes: tuple[Remark, ...] = ()

    def __init__(self, folder: Path = Path("/proc/pressure")) -> None:
        self._files = {
            quantity: KernelFile(folder / quantity.partition(".")[2]) for quantity in QUANTITIES
        }

    def read(self) -> dict[str, float]:
        """Cumulative seconds by "some" and "full"."""
        found: dict[str, float] = {}
        for quantity, file in self._files.items():
            found |= stalled_s(quantity, file.read())
        return found


def stalled_s(quantity: str, text: bytes) -> dict[str, float]:
    """The totals of a pressure file, in seconds by "quantity|some" and "quantity|full".

    >>> stalled_s("pressure.io", b"some avg10=0.00 avg60=0.00 avg300=0.00 total=1500000")
    {'pressure.io|some': 1.5}
    """
    return {
        f"{quantity}|{line.split(b' ', 1)[0].decode()}": int(line.rpartition(b"=")[2]) / 1e6
        for line in text.splitlines()
    }


def open_meter(context: MeterContext) -> Meter:
    """The pressure on this machine, or a note that this kernel does not tell it, or that the server
    is elsewhere.
    """
    if not context.server.cores:
        return elsewhere("pressure", QUANTITIES, "pressure")
    try:
        meter = Pressure()
        meter.read()
    except OSError as error:
        return UnavailableMeter("pressure", QUANTITIES, Absent("pressure", str(error)))
    return meter
