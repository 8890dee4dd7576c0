"""A meter that is a program: power by a model, from how busy this machine's cores and disks are.

`python tests/modelled_power.py FILE` prints watts four times per second (with a last word J: the
joules so far), and writes to the file what it counts itself: the energy up to each moment, by the
clock of the machine.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

EVERY_S, TICK_S = 0.25, 0.05
IDLE_W, CORE_W, W_PER_MB = 40.0, 25.0, 0.2
HZ, SECTOR = 100, 512


def busy_s() -> float:
    """Of all cores, so far."""
    user, nice, system, _, _, irq, soft, *_ = map(int, Path("/proc/stat").read_text().split()[1:11])
    return (user + nice + system + irq + soft) / HZ


def written_mb() -> float:
    """By all whole disks, so far."""
    rows = (line.split() for line in Path("/proc/diskstats").read_text().splitlines())
    return (
        sum(int(row[9]) for row in rows if row[2].startswith(("vd", "nvme", "sd"))) * SECTOR / 1e6
    )


def main(truth: Path, *, counts: bool) -> None:
    joules, before, due = 0.0, (time.time(), busy_s(), written_mb()), time.monotonic()
    printed, began = 0.0, before[0]
    with truth.open("w") as file:
        while True:
            due += TICK_S
            time.sleep(max(0.0, due - time.monotonic()))
            now = (time.time(), busy_s(), written_mb())
            elapsed_s, cores_s, megabytes = (b - a for a, b in zip(before, now, strict=True))
            before = now
            joules += IDLE_W * elapsed_s + CORE_W * cores_s + W_PER_MB * megabytes
            file.write(f"{now[0]:.6f} {joules:.6f}\n")
            file.flush()
            if now[0] - began >= EVERY_S:
                watts = (joules - printed) / (now[0] - began)
                print(f"{joules if counts else watts:.3f}", flush=True)
                printed, began = joules, now[0]


if __name__ == "__main__":
    main(Path(sys.argv[1]), counts="J" in sys.argv[2:])
