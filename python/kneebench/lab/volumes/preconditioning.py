"""Preconditioning: drives are written until they are as fast as they will stay.

New or trimmed flash is faster than flash that has to erase blocks before it writes. fio(1) writes
whole drives, those of one volume at the same time.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

from kneebench.analysis.steady_state import MOST_ROUNDS, steadiness
from kneebench.lab.journal import Journal
from kneebench.lab.programs import environment
from kneebench.plan.volume import Preconditioning
from kneebench.records import Event, Watch

SEQUENTIAL = ("--rw=write", "--bs=128k", "--iodepth=32", "--end_fsync=1")
RANDOM = ("--rw=randwrite", "--bs=4k", "--iodepth=32", "--end_fsync=1")
ROUND_S = 60
"""Of random writes, as the specification has it (SNIA SSS PTS 2.0)."""
LOOK_S = 1.0


class Written(NamedTuple):
    """What was written to a drive; the IOPS of its rounds, if any, and whether they are steady."""

    written_bytes: int
    rounds_iops: tuple[float, ...] = ()
    steady: bool | None = None


def write_drives(
    journal: Journal,
    devices: Sequence[str],
    how: Preconditioning,
    watch: Watch,
    round_s: int = ROUND_S,
) -> tuple[Written, ...]:
    """Write all drives as the plan says; what was done to each. Raises OSError where fio fails."""
    fio, before = _Fio(journal, devices, watch), [_written_bytes(device) for device in devices]
    for number in range(how.sequential):
        fio.run(f"sequential pass {number + 1} of {how.sequential}", SEQUENTIAL, whole=True)
    for number in range(how.random):
        fio.run(f"random pass {number + 1} of {how.random}", RANDOM, whole=True)
    rounds: list[list[float]] = []
    steady = not how.until_steady
    while not steady and len(rounds) < MOST_ROUNDS:
        doing = f"round {len(rounds) + 1} of at most {MOST_ROUNDS}"
        timed = (*RANDOM, "--time_based", f"--runtime={round_s}", f"--randseed={len(rounds)}")
        rounds.append(fio.run(doing, timed, limit_s=round_s))
        steady = all(map(_steady, zip(*rounds, strict=True)))
    iops = list(zip(*rounds, strict=True)) or [()] * len(devices)
    return tuple(
        Written(_written_bytes(device) - start, each, _steady(each) if each else None)
        for device, start, each in zip(devices, before, iops, strict=True)
    )


def expected_bytes(how: Preconditioning, size_bytes: int) -> int:
    """What the full passes write to a drive; rounds come on top."""
    return how.passes * size_bytes


def _steady(iops: Sequence[float]) -> bool:
    found = steadiness(iops)
    return found is not None and found.steady


class _Fio:
    """fio on several drives at the same time."""

    def __init__(self, journal: Journal, devices: Sequence[str], watch: Watch) -> None:
        self._journal, self._devices, self._watch = journal, devices, watch

    def run(
        self, doing: str, job: Sequence[str], *, whole: bool = False, limit_s: float = 0.0
    ) -> list[float]:
        """The write IOPS of each drive; progress by bytes of whole drives, or by time."""
        each = [word for one in self._devices for word in (f"--name={one}", f"--filename={one}")]
        command = ["fio", "--output-format=json", "--ioengine=libaio", "--direct=1", "--thread"]
        command += ["--randrepeat=0", "--refill_buffers", "--group_reporting=0", *job, *each]
        total = sum(map(_size_bytes, self._devices)) if whole else 0
        doing = f"preconditioning {', '.join(Path(one).name for one in self._devices)}: {doing}"
        with tempfile.TemporaryFile("w+") as out, self._started(command, out) as process:
            self._report(process, doing, total, limit_s)
            out.seek(0)
            printed = out.read()
        if process.returncode:
            raise OSError(f"fio: {' '.join(printed.split())[-300:]}")
        jobs: list[dict[str, Any]] = json.loads(printed[printed.index("{") :])["jobs"]
        return [float(one["write"]["iops"]) for one in jobs]

    @contextlib.contextmanager
    def _started(self, command: Sequence[str], out: IO[str]) -> Iterator[subprocess.Popen[bytes]]:
        """Killed at the end of the block, and by the next run where this one is killed."""
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            env=environment(),
            process_group=0,
        )
        with self._journal.process(process.pid, "fio"):
            try:
                yield process
            finally:
                process.kill()
                process.wait()

    def _report(
        self, process: subprocess.Popen[bytes], doing: str, total: int, limit_s: float
    ) -> None:
        """Progress until fio ends: a pass is done when all bytes are written."""
        began_s, start = time.monotonic(), sum(map(_written_bytes, self._devices))
        self._watch(Event(kind="start", doing=doing))
        while process.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(LOOK_S)
            took_s = time.monotonic() - began_s
            written = sum(map(_written_bytes, self._devices)) - start
            share = min(1.0, written / total if total else took_s / limit_s)
            left_s = took_s * (1 - share) / share if share else None
            self._watch(Event(kind="progress", doing=doing, share=share, left_s=left_s))


def _stat(device: str) -> list[str]:
    return (Path("/sys/block") / Path(device).resolve().name / "stat").read_text().split()


def _written_bytes(device: str) -> int:
    """Since the device is there: the seventh counter is sectors of 512 bytes."""
    return 512 * int(_stat(device)[6])


def _size_bytes(device: str) -> int:
    return 512 * int((Path("/sys/block") / Path(device).resolve().name / "size").read_text())
