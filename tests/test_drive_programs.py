"""A storage whose programs wait for a core is limited by CPU: the verdict says so and names them.
The situations were measured; one thing is changed in each.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kneebench.analysis.bottleneck import bottleneck
from kneebench.measurement.derived_metrics import database_others
from kneebench.measurement.meters.processes import Processes, RunDelay
from kneebench.measurement.summaries import Window
from kneebench.records import Climb, Summary
from tests.recorded.situations import kept

LOG_DRIVE = 1.11
"""I/Os in flight on the drives of the situation "log"."""


def changed(name: str, **sources: dict[str, float]) -> Climb:
    """A situation that saw these, by quantity (processes__run_delay) and source."""
    climb = kept(name)
    found = {
        quantity.replace("__", "."): Summary(
            unit="", value=sum(values.values()), high=None, sources=values
        )
        for quantity, values in sources.items()
    }
    rungs = [
        rung.model_copy(update={"quantities": {**rung.quantities, **found}}) for rung in climb.rungs
    ]
    return climb.model_copy(update={"rungs": tuple(rungs)})


def test_a_log_that_waits_for_programs_that_wait_for_a_core_is_limited_by_cpu() -> None:
    delays = {"server": 0.9, "nbdfuse": 0.2, "qemu-storage-daemon": 0.5 * LOG_DRIVE}
    found = bottleneck(changed("log", processes__run_delay=delays))
    assert found.resource == "cpu", found.sentence
    assert (
        "users spent 80% of their time waiting for the storage (limit 20%), and"
        " qemu-storage-daemon and nbdfuse, which serve it, were ready for a core for 68% of the"
        " time of its I/O (limit 50%)" in found.sentence
    )


def test_a_storage_that_waits_for_cpu_is_not_said_to_have_time_left() -> None:
    delays = {"server": 0.9, "nbdfuse": 0.2, "qemu-storage-daemon": 0.6}
    found = bottleneck(
        changed(
            "log",
            processes__run_delay=delays,
            waits__log={"database": 3.5},
            log__write_latency={"database": 0.004},
            device__busy={"loop1": 0.5},
            pressure__io={"some": 0.3, "full": 0.1},
        )
    )
    assert found.resource == "cpu", found.sentence
    assert "Not the storage" not in found.sentence


def test_programs_that_hardly_waited_leave_the_log_the_bottleneck() -> None:
    delays = {"server": 0.9, "nbdfuse": 0.1, "qemu-storage-daemon": 0.2}
    assert bottleneck(changed("log", processes__run_delay=delays)).resource == "log"


@pytest.mark.parametrize(
    ("threads", "named"),
    [
        ({"md127_raid10@0": 0.2, "md127_raid10@1": 0.1, "postgres@0": 0.3}, "md127_raid10"),
        ({"z_wr_iss@1": 0.2, "txg_sync@0": 0.1}, "z_wr_iss and txg_sync"),
        ({"iscsi_ttx@0": 0.1}, "iscsi_ttx"),
        ({"loop1@0": 0.1}, "loop1"),
        ({"qemu-storage-da@1": 0.1, "nbdfuse@0": 0.05}, "qemu-storage-da and nbdfuse"),
    ],
)
def test_threads_that_serve_a_drive_lack_a_core_where_all_are_at_their_limit(
    threads: dict[str, float], named: str
) -> None:
    found = bottleneck(changed("log", threads__cpu=threads))
    assert found.resource == "cpu", found.sentence
    assert f"{named}, which serve it, used" in found.sentence
    assert "cores while every core was at least 100% busy (limit 97%)" in found.sentence
    idle = {"0": 0.99, "1": 0.7}
    assert bottleneck(changed("log", threads__cpu=threads, cores__busy=idle)).resource == "log"


def test_threads_of_others_do_not_serve_a_drive() -> None:
    threads = {"postgres@0": 0.3, "qemu-system-x86@1": 0.5, "kworker@1": 0.2, "zsh@0": 0.2}
    assert bottleneck(changed("log", threads__cpu=threads)).resource == "log"


def test_programs_that_share_one_full_core_are_limited_by_that_core() -> None:
    delays = {"server": 1.3, "nbdfuse": 3.0, "qemu-storage-daemon": 4.0}
    found = bottleneck(changed("one_core", processes__run_delay=delays))
    assert found.resource == "one core", found.sentence
    assert "qemu-storage-da" in found.sentence


def test_users_who_do_not_wait_for_the_storage_leave_its_programs_out() -> None:
    delays = {"server": 2.0, "nbdfuse": 0.4, "qemu-storage-daemon": 0.4}
    waits = {"waits__log": {"database": 0.3}, "waits__data_write": {"database": 0.0}}
    assert bottleneck(changed("locks", processes__run_delay=delays, **waits)).resource == "locks"


def test_kernel_threads_of_drives_are_not_other_processes() -> None:
    def others(threads: dict[str, float]) -> float:
        values = {
            "cores.busy": {"0": 0.9, "1": 0.9},
            "processes.cpu": {"server": 1.0, "load_generator": 0.0, "programs": 0.2},
            "threads.cpu": threads,
        }
        found = database_others(Window([], 0, 1, values, [values]), (0,), (1,))
        assert found
        return found.value

    nothing = {"cores.busy": {"0": 0.9, "1": 0.9}, "processes.cpu": {"server": 0.5}}
    alone = database_others(Window([], 0, 1, nothing, [nothing]), (0,), (1,))
    assert alone
    assert alone.value == pytest.approx(0.4)
    served = {**nothing, "threads.cpu": {"md127_raid10@0": 0.3, "md127_raid10@1": 0.5}}
    found = database_others(Window([], 0, 1, served, [served]), (0,), (1,))
    assert found
    assert found.value == pytest.approx(0.1)
    assert others({"md127_raid10@0": 0.3}) == 0


# --- what is measured -----------------------------------------------------------------------------

TWO_THREADS = """
import os, threading
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
def spin():
    while True: pass
threading.Thread(target=spin).start()
print(flush=True)
spin()
"""


def test_the_run_delay_of_a_process_is_that_of_all_its_threads() -> None:
    """Two threads take turns with one lock, so that the first alone has about half of the delay."""
    command = [sys.executable, "-c", TWO_THREADS]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        delay = RunDelay(process.pid)
        before = delay.read()
        began = time.monotonic()
        while (grown := delay.read() - before) < 0.02 and time.monotonic() < began + 20:
            time.sleep(0.1)
        threads = len([*Path(f"/proc/{process.pid}/task").iterdir()])
        process.kill()
    assert threads == 2
    assert grown >= 0.02
    assert delay.read() - before >= grown, "what has ended is kept"


def test_a_number_that_another_thread_was_given_loses_nothing(tmp_path: Path) -> None:
    file = tmp_path / "7/task/8/schedstat"
    file.parent.mkdir(parents=True)
    delay = RunDelay(7, tmp_path)
    for text in ("1 2000000000 3", "1 500000000 3"):
        file.write_text(text)
        total_s = delay.read()
    assert total_s == 2.5
    assert RunDelay(9, tmp_path).read() == 0


def test_the_programs_of_emulated_drives_have_their_run_delay_by_name(tmp_path: Path) -> None:
    core = str(min(os.sched_getaffinity(0)))
    loops = []
    for name in ("qemu-storage-daemon", "nbdfuse", "another"):
        (tmp_path / name).write_text("#!/bin/sh\nwhile :; do :; done\n")
        (tmp_path / name).chmod(0o755)
        loops.append(subprocess.Popen(["taskset", "-c", core, tmp_path / name]))
    try:
        time.sleep(0.3)
        meter = Processes()
        until = time.monotonic() + 20
        found: dict[str, float] = {}
        while len(found) < 2 and time.monotonic() < until:
            time.sleep(0.1)
            read = meter.read()
            found = {k: v for k, v in read.items() if k.startswith("processes.run_delay|")}
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
    assert {*found} == {
        "processes.run_delay|qemu-storage-daemon",
        "processes.run_delay|nbdfuse",
    }
    assert all(delay_s > 0 for delay_s in found.values())
