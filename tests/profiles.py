"""Made-up profiles: what every row of a fast drive could have been, by a formula."""

from __future__ import annotations

from pathlib import Path

from kneebench.measurement.profile import (
    JOBS,
    Job,
    Member,
    Profile,
    ProfileRow,
    Together,
    TogetherRow,
    Traffic,
)
from kneebench.measurement.profile.rows import CERTAIN
from kneebench.measurement.profile.together import HEADLINE_JOBS
from kneebench.records import DriveHealth, Host, WholeDrive

FASTEST_IO_S, MOST_BYTES_PER_S, MOST_IOPS = {"read": 80e-6, "write": 18e-6}, 3.2e9, 480_000.0
TAIL = {"50": 0.9, "90": 1.6, "99": 3.2, "99.9": 9.0, "99.99": 40.0}


def made_up_profile(**changes: object) -> Profile:
    """A profile with every row of the usual one, and a copy."""
    copied = Traffic(iops=5200.0, bytes_per_s=5200.0 * 32768, n=2000, mean_s=1 / 5200)
    copy = ProfileRow(
        name="copy of 2,000 files of 32 KiB",
        group="copy",
        block_bytes=32768,
        write=copied,
        files_per_s=5200.0,
    )
    drive = WholeDrive(
        name="nvme0n1",
        path="/dev/nvme0n1",
        model="Example 9300 PRO",
        firmware="11300DN0",
        size_bytes=3_840_755_982_336,
        transport="nvme",
        link="8.0 GT/s x4",
        scheduler="none",
        health=DriveHealth(),
    )
    found = Profile(
        kneebench="0.1.0",
        started_at="2026-01-02T03:04:05+00:00",
        directory=Path("/mnt/nvme"),
        host=Host(
            cpu="Example CPU", cores=8, memory_bytes=64 * 2**30, kernel="6.1", system="Linux"
        ),
        file_system="xfs",
        drives=(drive,),
        engine="io_uring",
        file_bytes=64 * 2**30,
        seconds=30,
        rows=(*map(made_up_row, JOBS), copy),
        fio={"a": {"fio version": "fio-3.33"}},
    )
    return found.model_copy(update=changes)


def made_up_row(job: Job) -> ProfileRow:
    """A row whose latency follows from its I/Os in flight, and whose throughput from both."""
    share = {"read": 1.0, "randread": 1.0}.get(job.pattern, 0.0)
    share = share if job.read_percent is None else job.read_percent / 100
    base_s = FASTEST_IO_S["read"] * share + FASTEST_IO_S["write"] * (1 - share)
    base_s += job.block_bytes / MOST_BYTES_PER_S
    in_flight = job.depth * job.workers
    most = min(MOST_IOPS, MOST_BYTES_PER_S / job.block_bytes, 190_000.0 * job.workers)
    iops = 1 / (base_s / in_flight + 1 / most)
    if job.synced:
        iops = 1 / (base_s + 900e-6)
    read, write = (_side(job, iops * one, in_flight / iops) for one in (share, 1 - share))
    sync = _side(job, iops, 900e-6) if job.synced else None
    return ProfileRow(
        name=job.name,
        group=job.group,
        pattern=job.pattern,
        block_bytes=job.block_bytes,
        depth=job.depth,
        workers=job.workers,
        read=read,
        write=_side(job, iops, base_s) if job.synced else write,
        sync=sync,
        over_time=_over_time(iops) if job.over_time else (),
        cpu_s_per_io=4.2e-6,
        worker_busy=min(0.97, iops / job.workers / 186_000),
        cores_busy={str(core): 0.1 + 0.05 * core for core in range(8)},
    )


def _side(job: Job, iops: float, mean_s: float) -> Traffic | None:
    n = round(30 * iops)
    if not n:
        return None
    quoted = {
        one: mean_s * factor
        for one, factor in TAIL.items()
        if n * (1 - float(one) / 100) >= CERTAIN
    }
    return Traffic(
        iops=iops, bytes_per_s=iops * job.block_bytes, n=n, mean_s=mean_s, percentiles_s=quoted
    )


def _over_time(iops: float) -> tuple[tuple[float, float], ...]:
    """Faster until a cache is full, with a stall."""
    factors = [1.6 if n < 30 else 0.0 if n == 80 else 0.9 for n in range(150)]
    return tuple((0.2 * (n + 0.5), iops * factor) for n, factor in enumerate(factors))


def made_up_together(share: float = 0.5) -> Together:
    """Two drives that together do this share of what they do alone."""
    found = made_up_profile()
    members = tuple(
        Member(
            directory=Path(f"/mnt/{name}"),
            file_system="xfs",
            drives=(found.drives[0].model_copy(update={"name": name}),),
        )
        for name in ("nvme0n1", "nvme1n1")
    )
    rows = tuple(
        TogetherRow(
            name=row.name, alone=(row, row), together=(_slowed(row, share),) * 2, share=share
        )
        for row in map(made_up_row, HEADLINE_JOBS)
    )
    return Together(
        kneebench=found.kneebench,
        started_at=found.started_at,
        host=found.host,
        members=members,
        engine=found.engine,
        file_bytes=found.file_bytes,
        seconds=found.seconds,
        rows=rows,
        fio={rows[0].name: [{"fio version": "fio-3.33"}]},
    )


def _slowed(row: ProfileRow, share: float) -> ProfileRow:
    def slower(side: Traffic | None) -> Traffic | None:
        if side is None:
            return None
        per_s = {"iops": side.iops * share, "bytes_per_s": side.bytes_per_s * share}
        return side.model_copy(update=per_s)

    return row.model_copy(update={"read": slower(row.read), "write": slower(row.write)})
