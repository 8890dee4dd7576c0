"""CPU time is counted once, whoever waits for whom."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.cpu_time import FEWEST, CpuTime

BUSY = """
import time
while time.process_time() < {until_s}: pass
{then}
"""
WORKER = """
import subprocess, sys
subprocess.run(["sh", "-c", '"$0" -S -c "$1"; true', sys.executable, sys.argv[1]])
print("ended", flush=True)
sys.stdin.read()
"""


def test_a_program_that_ends_together_with_the_one_that_started_it_counts_once(
    tmp_path: Path,
) -> None:
    busy = BUSY.format(until_s=0.5, then="print('half', flush=True)")
    busy += BUSY.format(until_s=0.6, then="")
    command = [sys.executable, "-S", "-c", WORKER, busy]
    counted = CpuTime(tmp_path, long=False)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as worker:
        (tmp_path / str(worker.pid)).write_text("worker")
        assert worker.stdout and worker.stdout.readline() == b"half\n"
        counted._look()
        assert worker.stdout.readline() == b"ended\n"
        counted._look()
        used_s = sum(psutil.Process(worker.pid).cpu_times()[:4])
        worker.communicate()
    assert counted.by_file["worker"] == pytest.approx(used_s, abs=0.1)


def test_a_file_fails_by_its_share_of_all_and_only_where_all_tests_ran(tmp_path: Path) -> None:
    counted = CpuTime(tmp_path, long=False)
    counted.by_file.update({str(n): 10.0 for n in range(FEWEST)}, slow=70.0, within=60.0)
    assert counted.above == ["slow"]
    counted.by_file.pop("0")
    assert counted.above == ["slow"]
    for n in range(1, FEWEST):
        counted.by_file.pop(str(n))
    assert counted.above == []
    everything = CpuTime(tmp_path, long=True)
    everything.by_file.update({str(n): 10.0 for n in range(FEWEST)}, slow=500.0)
    assert everything.above == []
