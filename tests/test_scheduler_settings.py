"""Settings of the scheduler that newer kernels have in debugfs: which file is written, that it is
put back after a kill, and what is said where it cannot be reached.

Files stand in for /proc/sys and debugfs: a test must not change how this machine schedules.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kneebench.lab import kernel_findings as findings_room
from kneebench.lab import sysctl_files
from kneebench.lab.journal import Journal
from kneebench.lab.kernel_findings import kernel_findings
from kneebench.lab.kernel_settings import sysctls
from kneebench.lab.sysctl_files import sysctl_file
from kneebench.plan import Plan
from kneebench.plan.kernel import Kernel
from kneebench.plan.study import Study
from kneebench.records import Event, Finding

GRANULARITY, MIGRATION = "kernel.sched_min_granularity_ns", "kernel.sched_migration_cost_ns"
Kernels = Callable[..., Path]


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kernels:
    """A kernel with these files in debugfs; its /proc/sys is empty."""
    monkeypatch.setattr(sysctl_files, "PROC_SYS", tmp_path / "proc")
    monkeypatch.setattr(sysctl_files, "DEBUGFS", tmp_path / "debug")
    monkeypatch.setattr(findings_room, "DEBUGFS", tmp_path / "debug")
    monkeypatch.setattr(findings_room.os, "geteuid", lambda: 0)

    def made(**files: int) -> Path:
        for name, value in files.items():
            file = tmp_path / "debug" / "sched" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"{value}\n")
        return tmp_path / "debug" / "sched"

    return made


def found(**sysctl: int) -> Finding:
    """What check says of one setting of the scheduler."""
    named = {f"kernel.sched_{name}": value for name, value in sysctl.items()}
    storages = {"model": {"simulated": {"log_latency": "1ms"}}}
    table = {"database": {"engine": "simulated"}, "storages": storages}
    [one] = kernel_findings(Study(Plan.model_validate({**table, "kernel": {"sysctl": named}})))
    return one


def unwatched(event: Event) -> None:
    """Nobody looks."""


def test_a_setting_is_written_where_this_kernel_has_it_and_then_as_before(
    kernel: Kernels, tmp_path: Path
) -> None:
    there = kernel(min_granularity_ns=3_000_000, migration_cost_ns=500_000)
    journal = Journal(tmp_path / "journal")
    wanted = Kernel(sysctl={GRANULARITY: 10_000_000, MIGRATION: 5_000_000})
    with sysctls(wanted, journal, unwatched) as settings:
        assert (there / "min_granularity_ns").read_text() == "10000000"
        assert (there / "migration_cost_ns").read_text() == "5000000"
    assert (there / "min_granularity_ns").read_text() == "3000000"
    assert [one.source for one in settings] == ["plan; before: 3000000", "plan; before: 500000"]
    assert list(journal.folder.iterdir()) == []


def test_a_setting_that_the_kernel_has_renamed_is_written_and_said(
    kernel: Kernels, tmp_path: Path
) -> None:
    there = kernel(base_slice_ns=2_800_000)
    wanted = Kernel(sysctl={GRANULARITY: 10_000_000})
    with sysctls(wanted, Journal(tmp_path / "journal"), unwatched) as [setting]:
        assert (there / "base_slice_ns").read_text() == "10000000"
    assert (setting.name, setting.source) == (
        GRANULARITY,
        "plan, as base_slice_ns; before: 2800000",
    )
    assert (there / "base_slice_ns").read_text() == "2800000"


def test_an_older_kernel_has_the_setting_below_proc(kernel: Kernels, tmp_path: Path) -> None:
    kernel(min_granularity_ns=3_000_000)
    file = tmp_path / "proc/kernel/sched_min_granularity_ns"
    file.parent.mkdir(parents=True)
    file.write_text("4000000\n")
    assert sysctl_file(GRANULARITY) == file


KILLED = """
import os, signal, sys
from pathlib import Path
from kneebench.lab import sysctl_files
from kneebench.lab.journal import Journal
from kneebench.lab.kernel_settings import sysctls
from kneebench.plan.kernel import Kernel
from kneebench.plan.study import Study

place = Path(sys.argv[1])
sysctl_files.PROC_SYS, sysctl_files.DEBUGFS = place / "proc", place / "debug"
wanted = Kernel(sysctl={"kernel.sched_min_granularity_ns": 10_000_000})
with sysctls(wanted, Journal(place / "journal"), print):
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def killed(kernel: Kernels, tmp_path: Path) -> Journal:
    """The journal of a run that was killed while its setting was in force."""
    there = kernel(base_slice_ns=2_800_000)
    command = [sys.executable, "-c", KILLED, tmp_path]
    done = subprocess.run(command, check=False, capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert (there / "base_slice_ns").read_text() == "10000000"
    return Journal(tmp_path / "journal")


def cleaned(journal: Journal) -> list[str]:
    """What clean warns of."""
    said: list[Event] = []
    journal.clean(said.append)
    return [event.doing for event in said if event.kind == "warning"]


def test_a_setting_whose_writer_is_killed_is_put_back_by_the_next_run(
    killed: Journal, tmp_path: Path
) -> None:
    assert cleaned(killed) == []
    assert (tmp_path / "debug/sched/base_slice_ns").read_text() == "2800000"
    assert list(killed.folder.iterdir()) == []


def test_a_setting_that_is_hidden_meanwhile_is_put_back_once_it_is_there_again(
    killed: Journal, tmp_path: Path
) -> None:
    (tmp_path / "debug").rename(tmp_path / "unmounted")
    (tmp_path / "debug").mkdir()
    [warning] = cleaned(killed)
    assert "debugfs is not mounted: mount -t debugfs none" in warning
    (tmp_path / "debug").rmdir()
    (tmp_path / "unmounted").rename(tmp_path / "debug")
    assert cleaned(killed) == []
    assert (tmp_path / "debug/sched/base_slice_ns").read_text() == "2800000"


# --- check ----------------------------------------------------------------------------------------


def test_check_names_what_is_now(kernel: Kernels) -> None:
    kernel(base_slice_ns=2_800_000)
    one = found(min_granularity_ns=10_000_000)
    assert (one.level, one.seen) == ("ok", "2800000 now, 10000000 during the campaign")


def test_check_names_the_command_that_mounts_debugfs(kernel: Kernels, tmp_path: Path) -> None:
    (tmp_path / "debug").mkdir()
    one = found(migration_cost_ns=5_000_000)
    assert (one.level, one.subject) == ("error", MIGRATION)
    assert one.seen.endswith(f"cannot be read: debugfs is not mounted at {tmp_path / 'debug'}")
    assert one.do.startswith("mount -t debugfs none ")


def test_check_refuses_what_a_newer_kernel_has_removed(kernel: Kernels) -> None:
    there = kernel(base_slice_ns=2_800_000)
    one = found(latency_ns=10_000_000)
    assert (one.level, one.seen) == (
        "error",
        f"{there / 'latency_ns'} does not exist on this kernel",
    )


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: only root sees debugfs")
def test_the_files_of_this_machine_are_read_or_refused_in_words() -> None:
    one = found(migration_cost_ns=500_000)
    if one.level == "ok":
        assert one.seen.endswith(" now, 500000 during the campaign")
    else:
        assert "debugfs is not mounted" in one.seen or "locked-down kernel" in one.seen
