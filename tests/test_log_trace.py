"""The distribution of log writes: what bpftrace counts beside a real server is what that server
counts, and whatever is missing is said.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from kneebench.analysis.log_histogram import bounds_ns, log_histogram, merged, percentile_s
from kneebench.campaign.preflight import preflight_checks
from kneebench.databases.engine import LogCalls
from kneebench.databases.engines.postgres.server import PostgresServer
from kneebench.databases.engines.postgres.server_address import PostgresAddress
from kneebench.databases.engines.postgres.settings_in_force import log_calls
from kneebench.databases.managed.server_process import Process
from kneebench.lab.drives import IN_MEMORY, file_system_of
from kneebench.lab.journal import Journal
from kneebench.lab.processes import family
from kneebench.measurement import log_trace
from kneebench.measurement.log_trace import LogTrace, missing
from kneebench.measurement.meters import MeterContext, open_meters
from kneebench.measurement.rung_summary import log_flushes, log_notes
from kneebench.measurement.sampler import RawSeries
from kneebench.measurement.summaries import window
from kneebench.plan.reader import parse_plan
from kneebench.plan.study import Study
from tests.loaded import cluster, first_process_of, session

LACKING = missing()
TRACED = pytest.mark.skipif(bool(LACKING), reason=f"log writes cannot be traced here: {LACKING}")
LIMIT_S = 60.0
"""Of waiting for what must happen: it says that something hangs, not how fast it is."""
FULL = {"fsync": "on", "wal_sync_method": "fdatasync"}


def await_(condition: Callable[[], object]) -> None:
    until_s = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < until_s
        time.sleep(0.05)


def on_a_drive(path: Path) -> Path:
    if file_system_of(path) in IN_MEMORY:
        pytest.skip("the temporary directory is in memory")
    return path


# --- buckets --------------------------------------------------------------------------------------


def bucket_of(ns: int) -> int:
    """As the program has it."""
    shift = max(0, ns.bit_length() - 6)
    return 32 * shift + (ns >> shift)


def test_every_time_is_in_the_bucket_whose_bounds_hold_it() -> None:
    draw = random.Random(7)
    for ns in [*range(200), *(draw.randrange(1, 1 << draw.randrange(1, 44)) for _ in range(2000))]:
        low, width = bounds_ns(bucket_of(ns))
        assert low <= ns < low + width
        assert width <= max(1, ns / 32)


def test_percentiles_are_those_of_the_sorted_times_within_a_bucket() -> None:
    draw = random.Random(7)
    times = sorted(int(draw.lognormvariate(13, 1)) for _ in range(50_000))
    counts = Counter(map(bucket_of, times))
    for share in (0.5, 0.9, 0.99, 0.999):
        exact_s = times[int(share * len(times)) - 1] / 1e9
        assert percentile_s(counts, share) == pytest.approx(exact_s, rel=0.032)


def test_several_distributions_make_one_and_one_without_a_comparison_has_none() -> None:
    one, other = log_histogram({300: 30}, 1e-5, 0.02), log_histogram({400: 10}, 5e-5, -0.02)
    assert one
    assert other
    both = merged([one, other])
    assert both
    assert (both.n, both.counts) == (40, {300: 30, 400: 10})
    assert both.mean_s == pytest.approx(2e-5)
    assert both.difference == max(one.difference or 0, other.difference or 0, key=abs)
    alone = merged([one, other.model_copy(update={"difference": None})])
    assert alone
    assert alone.difference is None
    assert merged([]) is None


# --- a rung's flushes -----------------------------------------------------------------------------


def samples(kernel_s: float, database_s: float, attached: int = 0) -> tuple[RawSeries, RawSeries]:
    """Ten seconds at 100 flushes per second; the trace is attached from that sample on. At the
    fourth the database's times lag, as within a rung they may.
    """
    at_s = [float(second) for second in range(11)]
    trace: list[dict[str, float]] = [
        {
            "log.kernel_flushes|kernel": 100 * s,
            "log.kernel_time|kernel": 100 * s * kernel_s,
            "log.kernel_histogram|400": 100 * s,
        }
        if s >= attached
        else {}
        for s in at_s
    ]
    own = [
        {
            "log.flushes|database": 100 * s,
            "log.write_time|database": 0.0,
            "log.flush_time|database": 100 * (2 if s == 4 else s) * database_s,
        }
        for s in at_s
    ]
    return RawSeries("log_histogram", at_s, trace), RawSeries("log_writes", at_s, own)


@pytest.mark.parametrize(
    ("database_s", "note"),
    [
        (0.00102, ()),
        (
            0.0011,
            (
                "log write histogram not shown: it differs from the database's statistics by -9.1%"
                " (limit 5%)",
            ),
        ),
        (
            0.0,
            ("log write histogram not shown: the database reports nothing to compare it with",),
        ),
    ],
)
def test_a_distribution_whose_mean_is_not_the_databases_is_kept_and_said_not_to_be_shown(
    database_s: float, note: tuple[str, ...]
) -> None:
    held = window(samples(0.001, database_s), 4, 8)
    found = log_flushes(held)
    assert found
    assert found.n == 400
    assert found.mean_s == pytest.approx(0.001)
    assert log_notes(held, found) == note


def test_a_trace_that_was_not_there_from_the_windows_start_on_measures_nothing() -> None:
    late = window(samples(0.001, 0.001, attached=6), 4, 8)
    assert log_flushes(late) is None
    (note,) = log_notes(late, None)
    assert note == (
        "log write histogram not measured: bpftrace ran, but it attached after the window had begun"
    )
    without = window(samples(0.001, 0.001)[1:], 4, 8)
    assert log_flushes(without) is None
    assert log_notes(without, None) == ()


def traced_server(calls: LogCalls) -> SimpleNamespace:
    """What a trace asks of a server; by itself this process."""
    return SimpleNamespace(log_calls=lambda: calls, processes=lambda: [os.getpid()], measures=())


# --- what is missing ------------------------------------------------------------------------------


def test_a_missing_bpftrace_is_said_by_the_check_and_by_the_rungs_note(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(log_trace, "found", lambda program: None)
    plan, journal = parse_plan(f'storages.disk.path = "{tmp_path}"'), Journal(tmp_path / "journal")
    engine = SimpleNamespace(findings=tuple)
    found = preflight_checks(Study(plan), engine, journal)
    (finding,) = (one for one in found if one.subject == "log write histogram")
    assert finding.level == "note"
    assert finding.seen == "it will not be measured: bpftrace is missing"
    assert finding.do == "install bpftrace (package of Debian)"
    server = traced_server(LogCalls(tmp_path, "pwrite64", "fdatasync"))
    with log_trace.log_trace(server) as trace:
        (meter,) = open_meters(["log_histogram"], MeterContext(server, (), trace))
    assert meter.read() == {}
    assert [one.words for one in meter.notes] == [
        "log write histogram not measured: bpftrace is missing; install bpftrace (package of"
        " Debian)",
    ]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"fsync": "off", "wal_sync_method": "fdatasync"}, "fsync is off"),
        ({"fsync": "on", "wal_sync_method": "fsync"}, "wal_sync_method = fsync"),
    ],
)
def test_a_server_whose_flushes_look_like_other_calls_says_why(
    settings: dict[str, str], said: str
) -> None:
    assert said in str(log_calls(settings, os.getpid()))
    assert log_calls(FULL, None) == "the server is not on this machine"


def test_a_log_that_each_write_syncs_has_no_other_call() -> None:
    calls = log_calls({**FULL, "wal_sync_method": "open_datasync"}, os.getpid())
    assert isinstance(calls, LogCalls)
    assert (calls.write, calls.sync) == ("pwrite64", "pwrite64")
    assert log_trace.program(calls).count("sys_exit") == 1
    usual = log_calls(FULL, os.getpid())
    assert isinstance(usual, LogCalls)
    assert "sys_exit_pwrite64 /@began[tid]/ {\n  @written +=" in log_trace.program(usual)


@TRACED
def test_a_log_in_memory_is_not_traced() -> None:
    server = traced_server(LogCalls(Path("/dev/shm"), "pwrite64", "fdatasync"))
    with log_trace.log_trace(server) as trace:
        assert trace == log_trace.TOO_FAST


@TRACED
def test_what_bpftrace_says_before_it_ends_is_the_meters_note(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    failing = ("sh", "-c", "echo first >&2; echo ERROR: no such probe >&2; exit 1")
    monkeypatch.setattr(log_trace, "_program", lambda: failing)
    server = traced_server(LogCalls(on_a_drive(tmp_path), "pwrite64", "fdatasync"))
    with log_trace.log_trace(server) as trace:
        (meter,) = open_meters(["log_histogram"], MeterContext(server, (), trace))
        await_(lambda: meter.notes)
        assert meter.read() == {}
        assert [one.words for one in meter.notes] == [
            "log write histogram not measured: bpftrace ended: ERROR: no such probe",
        ]


# --- a trace --------------------------------------------------------------------------------------

WRITER = """
import os, subprocess, sys, time
from pathlib import Path
from kneebench.databases.engine import LogCalls
from kneebench.measurement.log_trace import LogTrace
from kneebench.plan.study import Study
folder = Path(sys.argv[1])
log, data = (os.open(folder / name, os.O_CREAT | os.O_RDWR) for name in ("log", "up/data"))
trace = LogTrace(LogCalls(folder, "pwrite64", "fdatasync"), os.getpid())
while not trace.seen and not trace.why_not:
    time.sleep(0.05)
print(trace._process.pid, trace.why_not, flush=True)
for _ in range(100):
    os.pwrite(data, bytes(8192), 0)
    os.fdatasync(data)
    os.pwrite(log, bytes(8192), 0)
    os.pwrite(log, bytes(8192), 8192)
    os.fdatasync(log)
    os.fsync(log)
subprocess.run(["sh", "-c", f"dd if=/dev/zero of={folder}/other count=1 conv=fdatasync; true"])
while trace.seen and trace.seen.n < 100:
    time.sleep(0.05)
time.sleep(1)
print(trace.seen.n, sum(trace.seen.counts.values()), flush=True)
input()
trace.close()
"""
WITHOUT_TRACEFS = ("unshare", "--mount", "sh", "-c", 'umount /sys/kernel/tracing; exec "$@"', "sh")


@contextlib.contextmanager
def writer(folder: Path, *before: str) -> Iterator[subprocess.Popen[str]]:
    (on_a_drive(folder) / "up").mkdir()
    command = [*before, sys.executable, "-c", WRITER, str(folder)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@TRACED
@pytest.mark.root
@pytest.mark.parametrize("before", [(), WITHOUT_TRACEFS], ids=["mounted", "without tracefs"])
def test_only_flushes_of_files_in_the_logs_directory_count_and_each_once(
    before: tuple[str, ...], tmp_path: Path
) -> None:
    """Of the server's processes: its children, and not what they start."""
    with writer(tmp_path, *before) as process:
        assert process.stdout
        pid, _, why_not = process.stdout.readline().partition(" ")
        assert why_not.strip() == ""
        assert process.stdout.readline() == "100 100\n"
        process.communicate("\n")
    assert not psutil.pid_exists(int(pid))


@TRACED
@pytest.mark.root
def test_a_killed_kneebench_leaves_no_bpftrace(tmp_path: Path) -> None:
    with writer(tmp_path) as process:
        assert process.stdout
        pid = int(process.stdout.readline().split()[0])
        assert psutil.Process(pid).name() == "bpftrace"
        process.send_signal(signal.SIGKILL)
        process.wait()
        await_(lambda: not psutil.pid_exists(pid))


@contextlib.contextmanager
def durable_server(folder: Path) -> Iterator[PostgresServer]:
    """A server of its own with syncs, as the meters see it."""
    folder.mkdir()
    with cluster(folder, None) as made, made.databases() as running:
        with session(running.address) as asking:
            asking.execute("ALTER SYSTEM SET fsync = on")
            asking.execute("ALTER SYSTEM SET track_wal_io_timing = on")
            asking.execute("SELECT pg_reload_conf()")
            asking.execute("CREATE TABLE noted (number int)")
        first = first_process_of(running.address)
        process = Process(lambda: family(first))
        server = PostgresServer(running.address, 1, 0.0, process=process)
        with contextlib.closing(server):
            yield server


def commit(address: PostgresAddress, number: int) -> None:
    with session(address) as writing:
        for _ in range(number):
            writing.execute("INSERT INTO noted VALUES (1)")


@TRACED
@pytest.mark.root
def test_the_kernel_and_the_database_count_the_same_flushes_whatever_a_second_server_writes(
    tmp_path: Path,
) -> None:
    on_a_drive(tmp_path)
    with (
        durable_server(tmp_path / "one") as server,
        durable_server(tmp_path / "other") as other,
        log_trace.log_trace(server) as trace,
    ):
        assert isinstance(trace, LogTrace)
        await_(lambda: trace.seen or trace.why_not)
        before, kernel_before = server.readings("log_writes"), trace.seen
        for _ in range(3):
            commit(other.address, 150)
            commit(server.address, 100)
        assert kernel_before, trace.why_not
        # the sessions report after a second, and bpftrace prints once a second
        await_(lambda: trace.seen and trace.seen.n - kernel_before.n >= 300)
        time.sleep(1.5)
        after, kernel = server.readings("log_writes"), trace.seen
        assert kernel, trace.why_not
    rose = {name.partition("|")[0]: value - before[name] for name, value in after.items()}
    flushes = kernel.n - kernel_before.n
    assert rose["log.flushes"] >= 300
    assert flushes == pytest.approx(rose["log.flushes"], rel=0.02)
    took_s = (kernel.sum_ns - kernel_before.sum_ns) / 1e9
    assert 0.5 < took_s / (rose["log.write_time"] + rose["log.flush_time"]) < 1.1
    assert sum(kernel.counts.values()) == pytest.approx(kernel.n, abs=5)


def test_a_database_that_does_not_time_its_log_is_compared_by_its_count() -> None:
    trace, own = samples(0.001, 0.001)
    untimed = [
        {name: value for name, value in sample.items() if "time" not in name}
        for sample in own.values
    ]
    found = log_flushes(window((trace, own._replace(values=untimed)), 4, 8))
    assert found
    assert found.difference == 0.0
    fewer = [{name: value * 0.8 for name, value in sample.items()} for sample in untimed]
    found = log_flushes(window((trace, own._replace(values=fewer)), 4, 8))
    assert found
    assert found.difference == pytest.approx(0.25)
