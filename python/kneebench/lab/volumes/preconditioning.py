"""Preconditioning: drives are written until they are as fast as they will stay.

New or trimmed flash is faster than flash that has to erase blocks before it writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kneebench.analysis.steady_state import MOST_ROUNDS, steadiness
from kneebench.lab.journal import Journal
from kneebench.lab.permission import WritableDevice
from kneebench.lab.volumes.fio_on_drives import DriveFio, Points
from kneebench.plan.volume import Preconditioning
from kneebench.records import Watch

SEQUENTIAL_BYTES, RANDOM_BYTES = 128 * 2**10, 4 * 2**10
SEQUENTIAL = ("--rw=write", f"--bs={SEQUENTIAL_BYTES}", "--iodepth=32", "--end_fsync=1")
RANDOM = ("--rw=randwrite", f"--bs={RANDOM_BYTES}", "--iodepth=32", "--end_fsync=1")
ROUND_S = 60
"""Of random writes, as the specification has it (SNIA SSS PTS 2.0)."""


class DriveWrites(NamedTuple):
    """What was written to a drive, and its speed: (seconds, bytes per second) points; the IOPS of
    its rounds, if any, and whether they are steady.
    """

    written_bytes: int
    speed: Points = ()
    rounds_iops: tuple[float, ...] = ()
    steady: bool | None = None


def write_drives(
    journal: Journal,
    devices: Sequence[WritableDevice],
    how: Preconditioning,
    watch: Watch,
    round_s: int = ROUND_S,
) -> tuple[DriveWrites, ...]:
    """Write all drives as the plan says; what was done to each. Raises OSError where fio fails."""
    fio = DriveFio(journal, devices, watch, "preconditioning")
    for number in range(how.sequential):
        fio.run(f"sequential pass {number + 1} of {how.sequential}", SEQUENTIAL, whole=True)
    for number in range(how.random):
        fio.run(f"random pass {number + 1} of {how.random}", RANDOM, whole=True)
    rounds: list[list[float]] = []
    steady = not how.until_steady
    while not steady and len(rounds) < MOST_ROUNDS:
        part = f"round {len(rounds) + 1} of at most {MOST_ROUNDS}"
        timed = (*RANDOM, "--time_based", f"--runtime={round_s}", f"--randseed={len(rounds)}")
        rounds.append([one.write_iops for one in fio.run(part, timed, limit_s=round_s)])
        steady = all(map(_steady, zip(*rounds, strict=True)))
    iops = list(zip(*rounds, strict=True)) or [()] * len(devices)
    return tuple(
        DriveWrites(size, speed, each, _steady(each) if each else None)
        for (size, speed), each in zip(fio.written(), iops, strict=True)
    )


def expected_bytes(how: Preconditioning, size_bytes: int) -> int:
    """What the full passes write to a drive; rounds come on top."""
    return how.passes * size_bytes


def _steady(iops: Sequence[float]) -> bool:
    found = steadiness(iops)
    return found is not None and found.steady
