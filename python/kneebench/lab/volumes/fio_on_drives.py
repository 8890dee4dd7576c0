"""fio(1) on whole drives, those of one volume at the same time."""

from __future__ import annotations

import contextlib
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

from kneebench.lab.device_writes import MARK_BYTES, start_on
from kneebench.lab.drives import size_bytes, written_bytes
from kneebench.lab.journal import Journal
from kneebench.lab.permission import WritableDevice
from kneebench.lab.programs import ending_with_us, environment, json_in
from kneebench.records import Event, Watch

LOOK_S = 1.0
MOST_POINTS = 200
"""Of a drive's speed over time."""
Points = tuple[tuple[float, float], ...]


class DriveSpeed(NamedTuple):
    """What one drive did in one call: I/Os per second, and the mean time of each in seconds."""

    read_iops: float
    write_iops: float
    read_s: float
    write_s: float


class DriveFio:
    """fio on several drives at the same time. It keeps how fast each was written, over time."""

    def __init__(
        self, journal: Journal, drives: Sequence[WritableDevice], watch: Watch, what: str
    ) -> None:
        self._journal, self._drives, self._watch = journal, drives, watch
        self._devices = devices = [drive.path for drive in drives]
        self._doing = f"{what} {', '.join(Path(one).name for one in devices)}"
        self._began_s = time.monotonic()
        self._start = [written_bytes(one) for one in devices]
        self._seen: list[tuple[float, list[int]]] = [(0.0, [0] * len(devices))]

    def run(
        self, part: str, job: Sequence[str], *, whole: bool = False, limit_s: float = 0.0
    ) -> list[DriveSpeed]:
        """What each drive did; progress by bytes of whole drives, or by time. Raises OSError where
        fio fails.
        """
        each = [w for one in self._devices for w in (f"--name={one}", f"--filename={file_of(one)}")]
        command = ["fio", "--output-format=json", "--ioengine=libaio", "--direct=1", "--thread"]
        command += ["--randrepeat=0", "--refill_buffers", "--group_reporting=0", *job]
        command += [f"--offset={MARK_BYTES}", *each]
        total = sum(size_bytes(one) - MARK_BYTES for one in self._devices) if whole else 0
        with tempfile.TemporaryFile("w+") as out, self._start_fio(command, out) as process:
            self._report(process, f"{self._doing}: {part}", total, limit_s)
            out.seek(0)
            printed = out.read()
        if process.returncode:
            raise OSError(f"fio: {' '.join(printed.split())[-300:]}")
        return [_measured(one) for one in json_in(printed)["jobs"]]

    def written(self) -> list[tuple[int, Points]]:
        """What was written to each drive since the start, and its speed: (seconds, bytes per
        second) points.
        """
        return [
            (written_bytes(device) - start, _speed([(at, w[n]) for at, w in self._seen]))
            for n, (device, start) in enumerate(zip(self._devices, self._start, strict=True))
        ]

    @contextlib.contextmanager
    def _start_fio(self, command: Sequence[str], out: IO[str]) -> Iterator[subprocess.Popen[bytes]]:
        """Killed at the end of the block, and by the kernel where this run is killed."""

        def start() -> subprocess.Popen[bytes]:
            return subprocess.Popen(
                ending_with_us(command),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env=environment(),
                process_group=0,
            )

        started = start_on(self._drives, start)
        with started as process, self._journal.process(process.pid, "fio"):
            yield process

    def _report(
        self, process: subprocess.Popen[bytes], doing: str, total: int, limit_s: float
    ) -> None:
        """Progress until fio ends: a pass is done when all bytes are written."""
        began_s, start = time.monotonic(), sum(self._look())
        self._watch(Event(kind="start", doing=doing))
        while process.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(LOOK_S)
            took_s, written = time.monotonic() - began_s, sum(self._look()) - start
            share = min(1.0, written / total if total else took_s / limit_s)
            left_s = took_s * (1 - share) / share if share else None
            self._watch(Event(kind="progress", doing=doing, share=share, left_s=left_s))

    def _look(self) -> list[int]:
        """Bytes written to each drive since the start, kept with the time."""
        written = [
            written_bytes(device) - start
            for device, start in zip(self._devices, self._start, strict=True)
        ]
        self._seen.append((time.monotonic() - self._began_s, written))
        return written


def file_of(device: str) -> str:
    r"""A device as fio's option `filename` has it: a bare colon would part two files.

    >>> print(file_of("/dev/mapper/a:b"))
    /dev/mapper/a\:b
    """
    return device.replace(":", r"\:")


def _measured(job: Mapping[str, Any]) -> DriveSpeed:
    reads, writes = job["read"], job["write"]
    means = (float(side["lat_ns"]["mean"]) / 1e9 for side in (reads, writes))
    return DriveSpeed(float(reads["iops"]), float(writes["iops"]), *means)


def _speed(seen: Sequence[tuple[float, int]]) -> Points:
    """(seconds, bytes per second) between looks: as many as make a line, of at least a look's time.

    >>> _speed([(0.0, 0), (1.0, 500), (1.1, 550), (2.0, 800)])
    ((1.0, 500.0), (2.0, 300.0))
    """
    step_s, points, (since, before) = max(LOOK_S, seen[-1][0] / MOST_POINTS), [], seen[0]
    for at, written in seen[1:]:
        if at - since >= 0.99 * step_s:
            points.append((round(at, 1), round((written - before) / (at - since), 1)))
            since, before = at, written
    return tuple(points)
