"""fio(1): how it is called, and what it printed as a row."""

from __future__ import annotations

import contextlib
import shlex
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

from kneebench.errors import KneebenchError, PlanError
from kneebench.lab.device_writes import MARK_BYTES, writing
from kneebench.lab.journal import Journal
from kneebench.lab.permission import WritableDevice
from kneebench.lab.programs import ending_with_us, json_in
from kneebench.measurement.profile.jobs import JOBS, Job
from kneebench.measurement.profile.rows import CERTAIN, ProfileRow, Traffic

PERCENTILES = (50.0, 90.0, 99.0, 99.9, 99.99)
RAMP_S = 1
ENGINES = ("io_uring", "libaio")
"""In the order of preference: a kernel, a container or an administrator may forbid the first."""
LOG = "log"
"""Its name begins so, in the file's folder."""
COARSEST = 6
"""Of fio's merging of the bins of a histogram: only their sum is used."""
GRACE_S, FILL_LIMIT_S = 60.0, 3600.0
HOW_TO_GET = "install fio: apt install fio (Debian, Ubuntu), dnf install fio (Fedora, RHEL)"


class Fio(NamedTuple):
    """fio on one file, or on the first bytes of a drive. `engine`: how it submits I/O. It runs in
    the folder, where a file has its bare name: a colon in a path would part two files, of which one
    is not ours. `reads_only`: it refuses to write; `drive`: the one that it may write to, behind
    the mark at its beginning.
    """

    program: str
    folder: Path
    file: str
    size_bytes: int
    engine: str
    reads_only: bool = False
    drive: WritableDevice | None = None

    def running(self, job: Job, runtime_s: int) -> Running:
        limit_s = runtime_s + RAMP_S + GRACE_S
        return Running(self._command(job, runtime_s), self.folder, limit_s, self.drive)

    def over_time(
        self, job: Job, runtime_s: int, document: Mapping[str, Any]
    ) -> tuple[tuple[float, float], ...]:
        """Its I/Os per second through the job that ran last, whose document this is; nothing where
        none are kept.
        """
        if not job.over_time:
            return ()
        files = sorted(self.folder.glob(f"{LOG}_clat_hist.*.log"))
        logs = [file.read_text().splitlines() for file in files]
        for file in files:
            file.unlink()
        (found,) = document["jobs"]
        sides = [found[side] for side in ("read", "write")]
        ran_ms = max(side["runtime"] for side in sides)
        return over_time(logs, interval_ms(runtime_s), ran_ms, sum(map(_ios, sides)))

    def probe(self) -> None:
        """Raises KneebenchError where this engine does not work here, at the largest depth."""
        job = max(JOBS, key=lambda one: one.depth * one.workers)
        depth = [f"--iodepth={job.depth}", f"--numjobs={job.workers}", "--number_ios=1"]
        pattern = "read" if self.reads_only else "write"
        self._done(f"--rw={pattern}", "--bs=4k", *depth, limit_s=GRACE_S)

    def fill(self) -> None:
        """Write the whole file once, in order, and sync it."""
        self._done("--rw=write", "--bs=1m", "--iodepth=8", "--end_fsync=1", limit_s=FILL_LIMIT_S)

    def _done(self, *words: str, limit_s: float) -> None:
        with Running([*self.common(), *words], self.folder, limit_s, self.drive) as running:
            running.document()

    def common(self) -> list[str]:
        """What all calls share."""
        begin = MARK_BYTES if self.drive else 0
        return [
            self.program,
            "--name=kneebench",
            f"--filename={self.file}",
            f"--offset={begin}",
            f"--size={self.size_bytes - begin}",
            "--output-format=json",
            f"--ioengine={self.engine}",
            "--direct=1",
            "--fallocate=none",
            "--thread",
            *(["--readonly"] if self.reads_only else []),
        ]

    def _command(self, job: Job, runtime_s: int) -> list[str]:
        words = [
            *self.common(),
            f"--rw={job.pattern}",
            f"--bs={job.block_bytes}",
            f"--iodepth={job.depth}",
            f"--numjobs={job.workers}",
            "--group_reporting",
            "--time_based",
            f"--runtime={runtime_s}",
            f"--ramp_time={0 if job.synced else RAMP_S}",
            "--norandommap",
            "--randrepeat=0",
            "--lat_percentiles=1",
            "--clat_percentiles=0",
            "--percentile_list=" + ":".join(f"{one:g}" for one in PERCENTILES),
        ]
        if job.read_percent is not None:
            words.append(f"--rwmixread={job.read_percent}")
        if job.over_time:
            words += [f"--write_hist_log={LOG}", "--clat_percentiles=1"]  # it logs those it keeps
            words.append(f"--log_hist_msec={interval_ms(runtime_s) // LINES}")
            words.append(f"--log_hist_coarseness={COARSEST}")
        if job.synced:
            words += ["--fdatasync=1", "--direct=0", "--ioengine=psync"]
        return words


def found_fio() -> str:
    """The program. Raises PlanError with how to get it."""
    program = shutil.which("fio")
    if program is None:
        raise PlanError("cannot find fio", seen="it is not installed", do=HOW_TO_GET)
    return str(Path(program).absolute())


def with_working_engine(fio: Fio) -> Fio:
    """fio with the first engine that works on its file.

    Raises the last one's KneebenchError where none does.
    """
    for engine in ENGINES:
        fio = fio._replace(engine=engine)
        try:
            fio.probe()
        except KneebenchError as error:
            failure = error
            continue
        return fio
    raise failure


class Running:
    """A fio that runs for the block, and is killed at its end, and by the kernel where this run is
    killed. Its workers are threads, so that they end with it. `drive`: what it writes to, if that
    is a drive.
    """

    def __init__(
        self,
        command: list[str],
        folder: Path,
        limit_s: float,
        drive: WritableDevice | None = None,
    ) -> None:
        self._command, self._folder, self._limit_s = command, folder, limit_s
        self._drives = [drive] if drive else []
        self._until_end = contextlib.ExitStack()

    def __enter__(self) -> Running:
        with contextlib.ExitStack() as stack:
            stack.enter_context(writing(self._drives))
            self._process = stack.enter_context(self._start())
            stack.enter_context(Journal().process(self._process.pid, "fio"))
            stack.callback(self._process.kill)
            self._until_end = stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._until_end.close()

    def _start(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            ending_with_us(self._command),
            cwd=self._folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
            process_group=0,
        )

    def document(self) -> dict[str, Any]:
        """What it prints when it ends; raises KneebenchError where it fails or takes too long."""
        try:
            stdout, stderr = self._process.communicate(timeout=self._limit_s)
        except subprocess.TimeoutExpired:
            raise KneebenchError(
                "cannot run fio",
                seen=f"no answer within {self._limit_s:.0f} s",
                do="check the drive's health (kneebench drives)",
            ) from None
        with contextlib.suppress(ValueError):
            if not self._process.returncode:
                return json_in(stdout)
        lines = (stderr or stdout).strip().splitlines() or ["it printed nothing"]
        again = f"cd {shlex.quote(str(self._folder))} && {shlex.join(self._command)}"
        raise KneebenchError("cannot run fio", seen=lines[0], do=again)


def row_of(job: Job, document: Mapping[str, Any], cores_busy: Mapping[str, float]) -> ProfileRow:
    """The row of fio's document."""
    (found,) = document["jobs"]
    ios = sum(_ios(found[side]) for side in ("read", "write"))
    busy = (found["usr_cpu"] + found["sys_cpu"]) / 100
    return ProfileRow(
        name=job.name,
        group=job.group,
        pattern=job.pattern,
        block_bytes=job.block_bytes,
        depth=job.depth,
        workers=job.workers,
        read=_traffic(found["read"]),
        write=_traffic(found["write"]),
        sync=_syncs(found["sync"], found["write"]["iops"]) if job.synced else None,
        cpu_s_per_io=busy * found["job_runtime"] / 1000 / ios if ios else None,
        worker_busy=busy,
        cores_busy=cores_busy,
    )


def _ios(side: Mapping[str, Any]) -> int:
    return int(side["total_ios"])


def _traffic(side: Mapping[str, Any]) -> Traffic | None:
    n = _ios(side)
    return _timed(side["lat_ns"], n, side["iops"], side["bw_bytes"]) if n else None


def _syncs(sync: Mapping[str, Any], per_s: float) -> Traffic | None:
    """fio counts the latencies of syncs only: there is one after each write."""
    times = sync.get("lat_ns", {})
    n = int(times.get("N", 0))
    return _timed(times, n, per_s, 0.0) if n else None


def _timed(times: Mapping[str, Any], n: int, iops: float, bytes_per_s: float) -> Traffic:
    """`times`: fio's summary of n latencies, in nanoseconds."""
    return Traffic(
        iops=iops,
        bytes_per_s=bytes_per_s,
        n=n,
        mean_s=times["mean"] / 1e9,
        percentiles_s=_certain(times.get("percentile", {}), n),
    )


def _certain(percentiles: Mapping[str, float], n: int) -> dict[str, float]:
    """Those that at least CERTAIN I/Os exceed, by percent ("99.9").

    >>> _certain({"50.000000": 1000, "99.990000": 9000}, 1000)
    {'50': 1e-06}
    """
    return {
        f"{float(percent):g}": nanoseconds / 1e9
        for percent, nanoseconds in percentiles.items()
        if round(n * (1 - float(percent) / 100), 6) >= CERTAIN
    }


# I/Os per second through a row, from the logs that fio(1) writes with --write_hist_log.

MOST_POINTS, SHORTEST_MS = 150, 100
LINES = 5
"""Lines of the log per interval: a stall is seen to within the time of one."""


def interval_ms(runtime_s: int) -> int:
    """The shortest length of an interval, for a row of so many seconds.

    >>> interval_ms(3), interval_ms(60)
    (100, 400)
    """
    return max(SHORTEST_MS, 1000 * runtime_s // MOST_POINTS)


def over_time(
    logs: Sequence[Iterable[str]], every_ms: int, runtime_ms: float, ios: int
) -> tuple[tuple[float, float], ...]:
    """Seconds since the start and I/Os per second of all workers, for the middle of each of the
    equal intervals that the runtime is divided into; their mean is `ios` per `runtime_ms`.

    A log is that of one worker. A line has the milliseconds since the start, the kind of I/O, the
    block size, and how many I/Os ended since the line before, by their latency. They are spread
    evenly over that time. fio does not log what ends after the last line: it is what `ios` has more
    than the logs. Its log of I/Os per second is of no use here. It has no line for an interval
    without I/Os, and none where fio itself was late; only the second has I/Os.

    >>> one, other = ["100, 1, 4096, 7, 2", "200, 1, 4096, 4, 0"], ["150, 1, 4096, 3, 0"]
    >>> over_time([one, other], 100, 200, 17)
    ((0.05, 110.0), (0.15, 60.0))
    >>> over_time([["100, 1, 4096, 7, 0"]], 100, 250, 8)
    ((0.0625, 57.33...), (0.1875, 6.66...))
    """
    import numpy as np

    workers = [_counts(log) for log in logs]
    n = int(runtime_ms // every_ms)
    if not n or not any(workers):
        return ()
    logged = sum(counts[-1][1] for counts in workers if counts)
    last_ms = min(counts[-1][0] for counts in workers if counts)
    workers.append([(last_ms, 0), (max(runtime_ms, last_ms), max(ios - logged, 0))])
    edges_ms = np.linspace(0.0, runtime_ms, n + 1)
    ended = np.zeros(n + 1)
    for counts in workers:
        at_ms, totals = zip((0.0, 0), *counts, strict=True)
        ended += np.interp(edges_ms, np.minimum(at_ms, runtime_ms), totals)
    rates = np.diff(ended) / (runtime_ms / n / 1000)
    middles_s = (edges_ms[:-1] + edges_ms[1:]) / 2000
    return tuple(zip(middles_s.tolist(), rates.tolist(), strict=True))


def _counts(log: Iterable[str]) -> list[tuple[float, int]]:
    """Milliseconds since the start, and the I/Os that ended until then."""
    lines = sorted(([int(part) for part in line.split(",")] for line in log), key=_at_ms)
    totals = accumulate(sum(counts) for _, _, _, *counts in lines)
    return [(at, total) for (at, *_), total in zip(lines, totals, strict=True)]


def _at_ms(line: Sequence[int]) -> int:
    return line[0]
