"""CPU time is counted once, whoever waits for whom."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.cpu_time import CpuTime

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
