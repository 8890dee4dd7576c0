"""What was written to a drive before its volume was made: preconditioning, and long loads."""

from __future__ import annotations

from typing import Literal

from kneebench.records.record import Record


class Preconditioned(Record):
    """What was written to a drive before its volume was made, so that it is as fast as it will
    stay. Of what an earlier run did, the figures are not repeated here.

    The rule for steady rounds is that of SNIA's Performance Test Specification 2.0
    (analysis/steady_state.py).
    """

    device: str
    """Path of its device, such as /dev/nvme0n1."""
    drive: str
    """Key of the drive: its WWID, or its kernel name without one."""
    how: str
    """Preconditioning in the plan's words, such as "sequential 1, random 2"."""
    took_s: float = 0.0
    """Time until all drives were done that were written together."""
    written_bytes: int = 0
    """Bytes written to the drive."""
    speed: tuple[tuple[float, float], ...] = ()
    """Points (seconds, bytes per second) of all its writes."""
    rounds_iops: tuple[float, ...] = ()
    """Random writes per second, in each round."""
    steady: bool | None = None
    """Whether the last five rounds met the rule; None without rounds."""
    remembered: bool = False
    """Whether an earlier run did it, and nothing has written since."""


class LoadInterval(Record):
    """What a drive did in one interval of a long load."""

    read_iops: float
    """Reads per second."""
    write_iops: float
    """Writes per second."""
    read_s: float
    """Mean time of a read."""
    write_s: float
    """Mean time of a write."""
    temperature_c: float | None = None
    """Temperature at its end; None if unknown."""

    @property
    def iops(self) -> float:
        """Reads and writes."""
        return self.read_iops + self.write_iops


class DriveLoad(Record):
    """A long load of random reads and writes on a drive before its volume was made. Of what an
    earlier run did, the figures are not repeated here.
    """

    device: str
    """Path of its device, such as /dev/nvme0n1."""
    drive: str
    """Key of the drive: its WWID, or its kernel name without one."""
    kind: Literal["burn-in", "drain"]
    """Purpose: burn-in of a new drive, or drain of its burst credits."""
    interval_s: float = 0.0
    """Length of each interval."""
    intervals: tuple[LoadInterval, ...] = ()
    """Intervals of the load, in their order."""
    throttled: int | None = None
    """Growth of the drive's own count of throttling meanwhile; None without one."""
    media_errors: int | None = None
    """Growth of the drive's own count of media errors meanwhile; None without one."""
    remembered: bool = False
    """Whether an earlier run did it."""

    @property
    def took_s(self) -> float:
        """The time under load."""
        return self.interval_s * len(self.intervals)
