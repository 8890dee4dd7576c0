"""Profiles of a directory: real fio on a real file, what its document becomes, and what is
refused.
"""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from typer.testing import CliRunner

from kneebench import units
from kneebench.brief.profile import ProfilePage
from kneebench.brief.profile.row_table import row_line
from kneebench.brief.terminal import told
from kneebench.cli import app
from kneebench.errors import PlanError
from kneebench.lab.drives import drive_of
from kneebench.lab.journal import Journal
from kneebench.measurement.profile import (
    JOBS,
    DirectoryTarget,
    Job,
    Profile,
    ProfileRow,
    expected_s,
    profile,
    profiling,
)
from kneebench.measurement.profile.fio import over_time, row_of
from kneebench.measurement.profile.rows import Traffic, inconsistent
from tests.profiles import made_up_profile
from tests.terminal import drawn

MIB = 2**20
FIO = pytest.mark.skipif(not shutil.which("fio"), reason="needs fio")
FEW = (
    Job("log", "write", 8192, 1, synced=True, over_time=True),
    Job("mixes", "randrw", 4096, 16, 2, 70),
)

RUNNING = """
import time
from pathlib import Path
from kneebench.measurement.profile.fio import Running
idle = ["fio", "--name=a", "--ioengine=null", "--size=1m", "--time_based", "--runtime=60"]
with Running([*idle, "--thinktime=100000"], Path(), 60): time.sleep(60)
"""


@pytest.fixture(autouse=True)
def place(own_place: Path) -> Path:
    return own_place


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Profile:
    place = tmp_path_factory.mktemp("drive")
    if drive_of(place) is None:
        pytest.skip("the temporary directory stands on no block device")
    seen: list[ProfileRow] = []
    found = profile(DirectoryTarget(place, 64 * MIB), 1, seen.append, FEW)
    assert list(found.rows) == seen
    assert list(place.iterdir()) == []
    return found


@FIO
def test_every_row_has_its_traffic_latency_and_cores(measured: Profile) -> None:
    log, mix, copy = measured.rows
    assert log.write and not log.read and log.sync and log.sync.n > 0 and log.sync.mean_s > 0
    assert mix.read and mix.write
    n = mix.read.n + mix.write.n
    assert mix.read.n == pytest.approx(0.7 * n, abs=0.02 * n + 5 * math.sqrt(0.7 * 0.3 * n))
    assert copy.files_per_s and copy.files_per_s > 0
    for row in (log, mix):
        assert row.cpu_s_per_io and len(row.cores_busy) == os.cpu_count()
        assert row.invalid == "", "its bytes are its I/Os times the block, but for those in flight"
    assert log.bytes_per_s == pytest.approx(log.iops * log.block_bytes, rel=0.02)


@FIO
def test_the_iops_over_time_agree_with_those_of_their_row(measured: Profile) -> None:
    log, mix, _ = measured.rows
    values = [iops for _, iops in log.over_time]
    assert sum(values) / len(values) == pytest.approx(log.iops, rel=0.002)
    assert sum(values[:-1]) > 0, "it is logged while it runs"
    assert [at for at, _ in log.over_time] == sorted({at for at, _ in log.over_time})
    assert mix.over_time == ()


def test_a_stall_has_few_ios_a_late_line_has_all_of_its_time_and_workers_are_added() -> None:
    stalled = ["100, 1, 1, 8, 0", "200, 1, 1, 5, 3", "600, 1, 1, 1, 0", "700, 1, 1, 8, 0"]
    late = [*(f"{n}00, 1, 1, 10" for n in (1, 2, 3)), "600, 1, 1, 30", "700, 1, 1, 10"]
    found = over_time([stalled, late], 100, 700, 95)
    assert [iops for _, iops in found] == pytest.approx([180, 180, *[102.5] * 4, 180])
    assert [at for at, _ in found] == pytest.approx([0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65])


def test_lines_of_one_time_are_added_and_a_stall_until_the_end_is_seen() -> None:
    burst = ["100, 1, 1, 4", "100, 1, 1, 1", "100, 1, 1, 1", "200, 1, 1, 6"]
    rates = [iops for _, iops in over_time([burst], 100, 450, 13)]
    assert rates == pytest.approx([6.75 / 0.1125, (5.25 + 0.1) / 0.1125, 4.0, 4.0])
    assert over_time([[]], 100, 800, 0) == over_time([], 100, 800, 0) == ()


@FIO
def test_fios_own_documents_are_kept_and_the_table_has_every_row(measured: Profile) -> None:
    assert set(measured.fio) == {job.name for job in FEW}
    assert all(one["fio version"].startswith("fio-") for one in measured.fio.values())
    text = " ".join(drawn(*told(ProfilePage(measured)), width=200).split())
    for row in measured.rows:
        mark = r"( \*| \(invalid\))?"
        assert re.search(rf" {re.escape(row.name)}{mark} {units.count(row.iops)} ", text), text


@FIO
def test_the_command_prints_rows_as_they_come_and_writes_a_document(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if drive_of(place) is None:
        pytest.skip("the temporary directory stands on no block device")
    one = partial(profile, jobs=FEW[:1])
    monkeypatch.setattr("kneebench.measurement.profile.profile", one)
    words = ["profile", ".", "--size", "64MiB", "--seconds", "1", "--out", "p", "--json"]
    answer = CliRunner().invoke(app, words)
    assert answer.exit_code == 0, answer.output
    rows = json.loads(answer.stdout)["rows"]
    assert [row["name"] for row in rows] == [FEW[0].name, "copy of 2,000 files of 32 KiB"]
    assert FEW[0].name in answer.stderr
    assert json.loads(Path("p/profile.json").read_text())["fio"]
    assert "log write" in Path("p/profile.html").read_text()
    assert {path.name for path in place.iterdir()} == {"p", "state"}
    assert Journal().leftovers() == []


@FIO
def test_ctrl_c_in_mid_row_ends_fio_and_leaves_nothing(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if drive_of(place) is None:
        pytest.skip("the temporary directory stands on no block device")
    running: list[psutil.Process] = []

    def interrupted(seconds: float) -> None:
        children = psutil.Process().children()  # servers that other tests share are among them
        running.extend(child for child in children if "--name=kneebench" in child.cmdline())
        raise KeyboardInterrupt

    # not time.sleep itself, by which subprocess waits for the fio that tries an engine
    monkeypatch.setattr(profiling, "time", SimpleNamespace(sleep=interrupted))
    with pytest.raises(KeyboardInterrupt):
        profile(DirectoryTarget(place, 64 * MIB), 30, lambda row: None, FEW[:1])
    assert running
    assert not any(process.is_running() for process in running)
    assert {path.name for path in place.iterdir()} <= {"state"}


@FIO
def test_fio_ends_with_a_kneebench_that_is_killed(place: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", RUNNING]) as kneebench:
        until_s, running = time.monotonic() + 30, list[psutil.Process]()
        while not running and time.monotonic() < until_s:
            time.sleep(0.05)
            children = psutil.Process(kneebench.pid).children()
            running = [child for child in children if child.name() == "fio"]
        kneebench.kill()
    assert running
    assert psutil.wait_procs(running, timeout=10)[1] == []


@FIO
@pytest.mark.long
def test_a_colon_in_the_path_makes_no_file_beside_the_directory(place: Path) -> None:
    if drive_of(place) is None:
        pytest.skip("the temporary directory stands on no block device")
    odd = place / "a:b, c\\:d"
    odd.mkdir()
    found = profile(DirectoryTarget(odd, 64 * MIB), 1, lambda row: None, FEW[:1])
    assert found.rows[0].over_time
    assert list(odd.iterdir()) == []
    assert {path.name for path in place.iterdir()} <= {odd.name, "state"}


def test_without_fio_the_error_says_how_to_get_it(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(place))
    answer = CliRunner().invoke(app, ["profile", "."])
    assert answer.exit_code == PlanError.exit_code
    assert "apt install fio" in answer.output


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["nosuch"], "no such drive here"),
        (["./nosuch"], "no such directory or drive"),
        (["/dev/shm"], "in memory, on no drive"),
        ([".", "--size", "1000TiB"], "free"),
        ([".", "--size", "1MiB"], "too small to measure"),
        ([".", "--size", "many"], "a size is a number and a unit"),
        ([".", "--out", "profile.pdf"], "unsupported format '.pdf'"),
        ([".", "--out", "no/such.html"], "no directory no"),
    ],
)
def test_what_cannot_be_profiled_is_refused_before_anything_is_written(
    words: list[str], why: str, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(profiling, "found_fio", lambda: "fio")
    answer = CliRunner().invoke(app, ["profile", *words])
    assert answer.exit_code == PlanError.exit_code
    assert why in answer.output.replace("\n", " ")
    assert {path.name for path in place.iterdir()} <= {"state"}


def side(n: int, iops: float, **percentiles: int) -> dict[str, Any]:
    points = {f"{float(key[1:].replace('_', '.')):f}": value for key, value in percentiles.items()}
    return {
        "total_ios": n,
        "iops": iops,
        "bw_bytes": int(iops * 4096),
        "lat_ns": {"mean": 200_000.0, "percentile": points},
    }


def test_a_percentile_that_too_few_exceed_is_not_quoted() -> None:
    found = {
        "read": side(100_000, 50_000.0, p50=150_000, p99_9=900_000, p99_99=2_000_000),
        "write": side(0, 0.0),
        "sync": {"total_ios": 0},
        "usr_cpu": 10.0,
        "sys_cpu": 15.0,
        "job_runtime": 2000,
    }
    row = row_of(Job("mixes", "randread", 4096, 16), {"jobs": [found]}, {"0": 0.4})
    assert row.read and row.write is None
    assert row.read.percentiles_s == pytest.approx({"50": 150e-6, "99.9": 900e-6})
    assert row.cpu_s_per_io == pytest.approx(0.25 * 2 / 100_000)


def test_a_row_whose_bandwidth_is_not_its_iops_times_the_block_is_invalid() -> None:
    """A published review prints 4,575 MB/s at 175,000 IOPS of 4 KiB."""
    wrong = Traffic(iops=175_000, bytes_per_s=4_575e6, n=10**6, mean_s=1e-3)
    row = ProfileRow(name="a", group="mixes", block_bytes=4096, read=wrong)
    assert "IOPS of 4096 bytes are 716,800,000" in inconsistent(row, 1024 / 3)


def test_what_is_in_flight_at_the_ramps_end_does_not_make_a_slow_drives_row_invalid() -> None:
    """2,000 IOPS for 3 s, and 1,024 I/Os that count in bytes only."""
    slow = Traffic(iops=2000, bytes_per_s=(2000 + 1024 / 3) * 4096, n=6000, mean_s=0.5)
    row = ProfileRow(name="a", group="mixes", block_bytes=4096, read=slow)
    assert inconsistent(row, 1024 / 3) == ""
    assert inconsistent(row, 10) != ""


def test_a_busy_core_is_named_as_a_possible_limit() -> None:
    row = ProfileRow(name="a", group="mixes", block_bytes=1, cores_busy={"0": 0.3, "1": 0.99})
    assert row.limited_by_a_core.startswith("core 1 was 99% busy")
    idle = row.model_copy(update={"cores_busy": {"0": 0.3, "1": 0.6}})
    assert idle.limited_by_a_core == ""
    full = idle.model_copy(update={"worker_busy": 0.99})
    assert full.limited_by_a_core.startswith("fio's workers")


def test_names_of_jobs_are_unique_and_the_usual_profile_takes_about_two_minutes() -> None:
    assert len({job.name for job in JOBS}) == len(JOBS)
    assert 60 < expected_s(DirectoryTarget(Path(), 2**30), 3) < 150


def test_a_row_is_told_on_one_line() -> None:
    sync = Traffic(iops=900, bytes_per_s=0, n=900, mean_s=1e-3)
    write = Traffic(iops=900, bytes_per_s=900 * 8192, n=900, mean_s=20e-6)
    row = ProfileRow(name="8 KiB log write", group="log", block_bytes=8192, write=write, sync=sync)
    assert row_line(row) == "8 KiB log write: 900 IOPS, 7.37 MB/s, mean 1.02 ms"


def at_a_limit(iops: float, **changes: object) -> Profile:
    """A profile whose random reads are all at a limit."""
    usual = made_up_profile()
    rows = [
        row.model_copy(update={"read": row.read.model_copy(update={"iops": iops}), **changes})
        if row.pattern == "randread" and row.read
        else row
        for row in usual.rows
    ]
    return usual.model_copy(update={"rows": tuple(rows)})


def test_random_reads_that_never_differ_are_pinned_at_an_iops_limit() -> None:
    assert "pinned at 3,000 per second" in at_a_limit(3000.0).iops_limit
    assert "pinned at 3,000 per second" in ProfilePage(at_a_limit(3000.0)).html()
    assert made_up_profile().iops_limit == "", "flash does fewer reads of larger blocks"
    by_a_core = at_a_limit(3000.0, worker_busy=0.99)
    assert by_a_core.iops_limit == "", "the CPU may have been the limit"
