"""The load on this machine before anything is measured: `check` says how much, and whose."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from typer.testing import CliRunner

from kneebench import units
from kneebench.cli import app
from kneebench.lab.drives import drive_of
from kneebench.measurement.meters.cores import Cores
from kneebench.measurement.present_load import PresentLoad, drive_loads, machine_load, present_load

MANY = 6


@contextlib.contextmanager
def busy(folder: Path, name: str) -> Iterator[None]:
    """Some processes of one name that do nothing but compute; in sessions of their own, among which
    the kernel divides the time.
    """
    program = shutil.copy("/bin/sh", folder / name)
    processes = [
        subprocess.Popen([program, "-c", "while :; do :; done"], start_new_session=True)
        for _ in range(MANY)
    ]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def test_check_warns_of_what_keeps_the_machine_busy_now_and_names_it(
    own_place: Path,
) -> None:
    with busy(own_place, "hungry"):
        answer = CliRunner().invoke(app, ["check", "--json"])
    (load,) = [one for one in json.loads(answer.stdout) if one["subject"] == "load"]
    assert load["level"] == "warning"
    assert "hungry" in load["seen"]
    assert "would measure them too" in load["do"]


def drive_load_that_names(program: str) -> dict[str, str]:
    """The finding; asked again while other tests write more than the program does."""
    for _ in range(10):
        answer = CliRunner().invoke(app, ["check", "--json"])
        (found,) = [one for one in json.loads(answer.stdout) if one["subject"] == "drive load"]
        if program in found["seen"]:
            break
    return dict(found)


def test_check_names_what_keeps_the_drive_busy_now(
    own_place: Path,
) -> None:
    if drive_of(own_place) is None:
        pytest.skip("the temporary directory stands on no block device")
    program = shutil.copy(shutil.which("dd") or "dd", own_place / "scribbler")
    writing = [program, "if=/dev/zero", f"of={own_place / 'file'}", "bs=64k", "oflag=dsync"]
    with subprocess.Popen(writing, stderr=subprocess.DEVNULL) as process:
        try:
            found = drive_load_that_names("scribbler")
        finally:
            process.kill()
    assert "scribbler" in found["seen"]
    (busy,) = re.findall(r"is busy (\d+)% of the time", found["seen"])
    if found["level"] == "warning":
        assert "quieter time" in found["do"]
    else:  # beside other processes it may hardly get to write
        assert found["level"] == "ok"
        assert int(busy) <= 15


def test_a_drive_is_a_warning_above_the_limit_of_a_rung() -> None:
    seen = PresentLoad(0.0, 0.0, (), (("sda", 0.02), ("sdb", 0.4)), (("dd", 1.2e8),))
    quiet, busy = drive_loads(seen)
    assert (quiet.level, busy.level) == ("ok", "warning")
    whose = "processes" if os.geteuid() == 0 else "this user's processes"
    by = f"({whose} on all drives: dd 120 MB/s)"
    assert busy.seen == f"sdb is busy 40% of the time now {by}; limit 15%"


def test_a_simulated_plan_is_checked_without_a_look_at_this_machines_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("plan.toml").write_text(CliRunner().invoke(app, ["plan", "preset", "simulated"]).stdout)
    found = json.loads(CliRunner().invoke(app, ["check", "plan.toml", "--json"]).stdout)
    assert not [one for one in found if one["subject"] == "load"]


def test_stolen_time_is_told_apart_from_what_processes_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stat = tmp_path / "stat"
    lines = ("cpu0 100 0 0 900 0 0 0 50 0 0\n", "cpu0 110 0 0 960 0 0 0 80 0 0\n")
    looks = iter(lines)

    class Recorded(Cores):
        def read(self) -> dict[str, float]:
            stat.write_text(next(looks))
            return super().read()

    stat.write_text(lines[0])
    monkeypatch.setattr("kneebench.measurement.present_load.Cores", lambda: Recorded(stat))
    seen = present_load([0], look_s=1.0)
    assert seen.stolen / seen.busy == pytest.approx(3)
    assert 0.05 < seen.stolen <= 0.3, "0.3 s in one second, or in more where this machine was busy"


@pytest.mark.parametrize(
    ("seen", "level", "said"),
    [
        (
            PresentLoad(0.03, 0.0, ()),
            "ok",
            "processes use 3% of 2 cores now; the hypervisor takes 0%",
        ),
        (
            PresentLoad(0.76, 0.0, (("rustc", 1.31), ("chromium", 0.2))),
            "warning",
            "processes use 76% of 2 cores now (rustc 131% of one, chromium 20% of one)",
        ),
        (PresentLoad(0.03, 0.12, ()), "warning", "the hypervisor takes 12% (limits 15% and 5%)"),
    ],
)
def test_the_present_load_is_a_warning_above_the_limits_of_a_rung(
    seen: PresentLoad, level: str, said: str
) -> None:
    found = machine_load(seen, 2)
    assert found.level == level
    assert said in found.seen
    assert bool(found.do) == (level == "warning")


def test_a_process_that_calls_itself_an_escape_sequence_is_not_printed_raw(tmp_path: Path) -> None:
    with busy(tmp_path, "red\x1b[31m"):
        seen = present_load([0])
    assert all(name.isprintable() for name, _ in seen.largest)
    assert any(name.startswith("red?") for name, _ in seen.largest)


def test_a_process_that_changes_its_name_between_the_looks_is_charged_only_what_it_used_since(
    tmp_path: Path,
) -> None:
    renaming = "import time\nend = time.process_time() + 1.5\nn = 0\nwhile True:\n"
    renaming += (
        "    n += 1\n    if time.process_time() > end:\n        print('ready', flush=True); end ="
        " 1e9\n"
    )
    renaming += "    open('/proc/self/comm', 'w').write(f'chameleon/{n}')\n"
    with subprocess.Popen(
        [sys.executable, "-c", renaming], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            assert process.stdout
            process.stdout.readline()
            seen = present_load(sorted(os.sched_getaffinity(0)), look_s=0.5)
        finally:
            process.kill()
    named = [used for name, used in seen.largest if name.startswith("chameleon")]
    assert all(used < 1.3 for used in named), "one thread keeps one core busy at most"
    assert sum(used for _, used in seen.largest) < 1.3 * (os.cpu_count() or 1)


@pytest.mark.usefixtures("own_place")
def test_check_says_how_many_servers_are_up_in_short_rounds() -> None:
    findings = json.loads(CliRunner().invoke(app, ["check", "--json"]).stdout)
    (rounds,) = [one["seen"] for one in findings if one["subject"] == "rounds"]
    half = units.size(psutil.virtual_memory().total // 2)
    side_by_side = f"2 servers up side by side, each sized for {half} of memory"
    assert rounds == f"10 to 24 rounds of 2 s windows; {side_by_side}"
