"""Every core of this machine, from /proc/stat.

Busy is all that is not idle and not waiting for I/O: user (with nice), system, interrupts (hard and
soft) and stolen time (the core had work and the hypervisor ran somebody else), each also told
apart. Guest time is in user time already (proc_stat(5)). The kernel counts in steps of 10 ms, so
one second is known to about one percent.
"""

from __future__ import annotations

import os
from pathlib import Path

from kneebench.measurement.meters.meter import KernelFile, Meter, MeterContext
from kneebench.records import Remark, noted

QUANTITIES = (
    "cores.busy",
    "cores.user",
    "cores.system",
    "cores.irq",
    "cores.iowait",
    "cores.steal",
)
TICK_S = 1 / os.sysconf("SC_CLK_TCK")


class Cores:
    """Seconds by core number: busy and its parts, and waiting for I/O."""

    name = "cores"
    quantities = QUANTITIES

    def __init__(self, file: Path = Path("/proc/stat"), notes: tuple[Remark, ...] = ()) -> None:
        self._file = KernelFile(file)
        self.notes = notes

    def read(self) -> dict[str, float]:
        found: dict[str, float] = {}
        for line in self._file.read().split(b"\n", 4096):
            if not line.startswith(b"cpu"):
                break
            name, *fields = line.split()
            if name == b"cpu":
                continue
            core = name[3:].decode()
            user, nice, system, _idle, iowait, irq, soft, steal = (
                int(f) * TICK_S for f in fields[:8]
            )
            found[f"cores.busy|{core}"] = user + nice + system + irq + soft + steal
            found[f"cores.user|{core}"] = user + nice
            found[f"cores.system|{core}"] = system
            found[f"cores.irq|{core}"] = irq + soft
            found[f"cores.iowait|{core}"] = iowait
            found[f"cores.steal|{core}"] = steal
        return found


def open_meter(context: MeterContext) -> Meter:
    """The cores of this machine; where the server is elsewhere, a note says that they are the load
    generator's.
    """
    elsewhere = (
        ()
        if context.server.cores
        else noted(
            "elsewhere",
            "core figures are of the load generator's machine: the server runs elsewhere",
        )
    )
    return Cores(notes=elsewhere)
