"""Kernel settings of a plan: written on the real kernel, read back, and put back after any end."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from kneebench import load, run
from kneebench.errors import PlanError
from kneebench.lab import kernel_findings as findings_room
from kneebench.lab.changes.setting import setting_in
from kneebench.lab.journal import Journal
from kneebench.lab.kernel_findings import kernel_findings
from kneebench.lab.kernel_settings import hold_setting, queue_file, sysctls
from kneebench.lab.sysctl_files import sysctl_file
from kneebench.lab.volumes import Volumes
from kneebench.plan import Plan
from kneebench.plan.kernel import Kernel
from kneebench.plan.storage import Storage
from kneebench.plan.study import Study
from kneebench.records import Event, Setting
from kneebench.results.campaign_differences import differing_settings
from tests.loop_devices import loop_device
from tests.parameters import some

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(
        not os.access("/proc/sys/vm/swappiness", os.W_OK) or os.geteuid() != 0,
        reason="needs root and a writable /proc/sys",
    ),
]
BYTES, RATIO = "vm.dirty_background_bytes", "vm.dirty_background_ratio"


def now(name: str) -> str:
    return setting_in(sysctl_file(name))


def unwatched(event: Event) -> None:
    """Nobody looks."""


@pytest.fixture(autouse=True)
def as_found() -> Iterator[None]:
    """The settings that tests change, put back whatever a test did."""
    found = {name: now(name) for name in (RATIO, BYTES, "vm.swappiness")}
    yield
    for name in sorted(found, key=lambda name: found[name] != "0"):
        with contextlib.suppress(OSError):
            sysctl_file(name).write_text(found[name])


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "journal")


def kernel(**sysctl: object) -> Kernel:
    return Kernel.model_validate({"sysctl": {"vm." + key: one for key, one in sysctl.items()}})


# --- sysctls --------------------------------------------------------------------------------------


def test_a_sysctl_is_in_force_until_the_end_and_then_as_before(journal: Journal) -> None:
    before = now("vm.swappiness")
    wanted = "7" if before != "7" else "8"
    with sysctls(kernel(swappiness=int(wanted)), journal, unwatched) as settings:
        assert now("vm.swappiness") == wanted
        [setting] = settings
        assert (setting.name, setting.value, setting.matters) == ("vm.swappiness", wanted, True)
        assert setting.source == f"plan; before: {before}"
    assert now("vm.swappiness") == before
    assert list(journal.folder.iterdir()) == []


@pytest.mark.parametrize(
    ("before", "key", "value"),
    [
        ((RATIO, "11"), "dirty_background_bytes", 64 * 2**20),
        ((RATIO, "0"), "dirty_background_bytes", 64 * 2**20),
        ((BYTES, "33554432"), "dirty_background_ratio", 12),
        ((BYTES, "33554432"), "dirty_background_bytes", 64 * 2**20),
        ((RATIO, "11"), "dirty_background_ratio", 12),
    ],
)
def test_of_a_pair_that_zero_each_other_both_are_as_before(
    journal: Journal, before: tuple[str, str], key: str, value: int
) -> None:
    sysctl_file(before[0]).write_text(before[1])
    pair = now(BYTES), now(RATIO)
    with sysctls(kernel(**{key: value}), journal, unwatched):
        assert now(f"vm.{key}") == str(value)
    assert (now(BYTES), now(RATIO)) == pair


def test_a_value_that_another_program_wrote_meanwhile_stays_and_is_said(journal: Journal) -> None:
    said: list[str] = []
    with sysctls(kernel(swappiness=7), journal, lambda event: said.append(event.doing)):
        sysctl_file("vm.swappiness").write_text("13")
    assert now("vm.swappiness") == "13"
    assert list(journal.folder.iterdir()) == []
    [sentence] = said
    assert "left at 13: another program changed it" in sentence


@pytest.mark.parametrize(
    ("name", "value"),
    [("net.ipv4.tcp_congestion_control", "nosuch"), ("vm.page_lock_unfairness", 2**40)],
)
def test_a_value_that_the_kernel_refuses_leaves_all_settings_as_before(
    journal: Journal, name: str, value: object
) -> None:
    before = now(RATIO), now("vm.swappiness")
    wanted = Kernel.model_validate({"sysctl": {RATIO: 12, "vm.swappiness": 7, name: value}})
    with pytest.raises(PlanError, match="refuses") as wrong, sysctls(wanted, journal, unwatched):
        pass
    assert "all settings are as before" in wrong.value.do
    assert (now(RATIO), now("vm.swappiness")) == before
    assert list(journal.folder.iterdir()) == []


def test_a_value_that_the_kernel_changes_is_refused_and_put_back(
    journal: Journal, tmp_path: Path
) -> None:
    with loop_device(tmp_path / "drive.img") as drive:
        file = queue_file(str(drive), "read_ahead_kb")
        before = setting_in(file)
        with (
            pytest.raises(OSError, match="reads 8 after 9 was written"),
            hold_setting(journal, file, "9", [], unwatched),
        ):
            pass
        assert setting_in(file) == before


# --- settings of drives ---------------------------------------------------------------------------


def queue(device: object) -> dict[str, str]:
    names = ("scheduler", "nr_requests", "read_ahead_kb")
    return {name: setting_in(queue_file(str(device), name)) for name in names}


def settings_in(event: Event) -> tuple[Setting, ...]:
    found = event.data.get("settings", ())
    return found if isinstance(found, tuple) else ()


def volume(device: Path, kind: str = "xfs") -> Storage:
    settings = {"scheduler": "mq-deadline", "nr_requests": 48, "read_ahead": "64KiB"}
    if "mq-deadline" not in queue_file(str(device), "scheduler").read_text():
        pytest.skip("this kernel has no mq-deadline")
    table = {"drives": [str(device)], "file_system": {"type": kind}, "drive_settings": settings}
    return Storage.model_validate(table)


@pytest.mark.parametrize("kind", ["xfs", "btrfs"])
def test_settings_of_drives_live_as_long_as_their_volume(
    journal: Journal, tmp_path: Path, kind: str
) -> None:
    seen: list[Setting] = []
    image = tmp_path / "drive.img"
    with loop_device(image) as drive, closing(Volumes(journal, tmp_path)) as made:
        queue_file(str(drive), "nr_requests").write_text("96")
        before = queue(drive)
        with made.mounted(
            "new", volume(drive, kind), lambda event: seen.extend(settings_in(event))
        ) as mounted:
            there = {"scheduler": "mq-deadline", "nr_requests": "48", "read_ahead_kb": "64"}
            assert queue(drive) == there
            assert read_ahead_of(mounted.paths[0], drive) == "64"
        assert queue(drive) == before
    assert [(one.name, one.value) for one in seen] == [
        ("drives: scheduler", "mq-deadline"),
        ("drives: nr_requests", "48"),
        ("drives: read_ahead", "64 KiB"),
    ]
    assert seen[0].source == f"plan; before: {before['scheduler']}"
    assert list(journal.folder.iterdir()) == []


def read_ahead_of(path: Path, drive: Path) -> str:
    """In files there: btrfs has a setting of its own, other file systems have the drive's."""
    device = path.stat().st_dev
    by_number = f"/sys/class/bdi/{os.major(device)}:{os.minor(device)}"
    btrfs = [
        one.parents[1] / "bdi" for one in Path("/sys/fs/btrfs").glob(f"*/devices/{drive.name}")
    ]
    return setting_in(next(iter(btrfs), Path(by_number)) / "read_ahead_kb")


KILLED = """
import os, signal, sys
from pathlib import Path
from kneebench.lab import kernel_settings
from kneebench.lab.journal import Journal
from kneebench.lab.kernel_settings import sysctls
from kneebench.lab.volumes import Volumes
from kneebench.plan.kernel import Kernel
from kneebench.plan.storage import Storage

steps, place, drive = int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
write = kernel_settings._write

def counted(change):
    global steps
    steps -= 1
    if steps == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    write(change)

kernel_settings._write = counted
journal = Journal(place / "journal")
settings = {"scheduler": "mq-deadline", "nr_requests": 48, "read_ahead": "64KiB"}
table = {"drives": [drive], "drive_settings": settings, "file_system": {"type": "btrfs"}}
with sysctls(Kernel(sysctl={"vm.dirty_background_bytes": 2**26}), journal, print):
    with Volumes(journal, place).mounted("new", Storage.model_validate(table), print):
        os.kill(os.getpid(), signal.SIGKILL)
"""


MOUNTED, LAST_STEP = 5, 6
"""From the first on the volume is mounted: btrfs has a read-ahead of its own."""


@pytest.mark.parametrize("step", some(range(1, 7), (1, 4, LAST_STEP)))
def test_settings_whose_writer_is_killed_at_any_step_are_put_back_by_the_next_run(
    step: int, tmp_path: Path, journal: Journal
) -> None:
    with loop_device(tmp_path / "drive.img") as drive:
        volume(drive)
        queue_file(str(drive), "nr_requests").write_text("96")
        before = queue(drive), now(BYTES), now(RATIO)
        command = [sys.executable, "-c", KILLED, str(step), tmp_path, drive]
        killed = subprocess.run(command, check=False, capture_output=True)
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        assert journal.leftovers()
        said: list[Event] = []
        journal.clean(said.append)
        warnings = [event.doing for event in said if event.kind == "warning"]
        assert all("is left as it is" in one for one in warnings), "its volume was mounted"
        assert len(warnings) <= (step >= MOUNTED)
        assert (queue(drive), now(BYTES), now(RATIO)) == before
    assert list(journal.folder.iterdir()) == []


UNDO_KILLED = """
import os, signal, sys
from pathlib import Path
from kneebench.lab.journal import Journal
from kneebench.lab.kernel_settings import hold_setting
from kneebench.plan.study import Study

folder, file, value, *beside = sys.argv[1:]
write = Path.write_text

def killed(self, text):
    write(self, text)
    os.kill(os.getpid(), signal.SIGKILL)

with hold_setting(Journal(Path(folder)), Path(file), value, [*map(Path, beside)], print):
    Path.write_text = killed
"""


def kill_while_it_is_put_back(journal: Journal, file: Path, value: str, beside: Path) -> None:
    """Set a value; its writer is killed after the first of two writes that put it back."""
    command = [sys.executable, "-c", UNDO_KILLED, journal.folder, file, value, beside]
    killed = subprocess.run(command, check=False, capture_output=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert journal.leftovers()


def warnings_of_clean(journal: Journal) -> list[str]:
    said: list[Event] = []
    journal.clean(said.append)
    assert list(journal.folder.iterdir()) == []
    return [event.doing for event in said if event.kind == "warning"]


def test_a_pair_whose_writer_is_killed_while_it_is_put_back_is_as_before_after_the_next_run(
    journal: Journal,
) -> None:
    sysctl_file(BYTES).write_text("33554432")
    kill_while_it_is_put_back(journal, sysctl_file(RATIO), "12", sysctl_file(BYTES))
    assert (now(BYTES), now(RATIO)) == ("0", "0")
    assert warnings_of_clean(journal) == []
    assert (now(BYTES), now(RATIO)) == ("33554432", "0")


def test_a_queue_whose_writer_is_killed_while_it_is_put_back_is_as_before_after_the_next_run(
    journal: Journal, tmp_path: Path
) -> None:
    with loop_device(tmp_path / "drive.img") as drive:
        volume(drive)
        queue_file(str(drive), "nr_requests").write_text("96")
        before = queue(drive)
        files = [queue_file(str(drive), name) for name in ("scheduler", "nr_requests")]
        kill_while_it_is_put_back(journal, files[0], "mq-deadline", files[1])
        assert queue(drive)["scheduler"] == before["scheduler"]
        assert warnings_of_clean(journal) == []
        assert queue(drive) == before


def test_the_other_one_of_a_pair_that_another_program_wrote_stays_and_is_said(
    journal: Journal,
) -> None:
    sysctl_file(BYTES).write_text("33554432")
    kill_while_it_is_put_back(journal, sysctl_file(RATIO), "12", sysctl_file(BYTES))
    sysctl_file(BYTES).write_text("67108864")
    [sentence] = warnings_of_clean(journal)
    assert f"{sysctl_file(BYTES)} is left at 67108864: another program changed it" in sentence
    assert (now(BYTES), now(RATIO)) == ("67108864", "0")


# --- check, results -------------------------------------------------------------------------------


def plan(sysctl: dict[str, object]) -> Plan:
    times = {"warm_up": "1s", "window": "2s", "final_window": "2s", "checkpoints": 0}
    table = {
        "database": {"engine": "simulated"},
        "workload": {"warehouses": 4},
        "ladder": {"users": 2, "repeats": 1, "rounds": "long", **times},
        "storages": {"model": {"simulated": {"log_latency": "1ms"}}},
        "kernel": {"sysctl": sysctl},
    }
    return Plan.model_validate(table)


def test_check_names_what_is_now_and_what_does_not_exist_and_changes_nothing() -> None:
    before = now("vm.swappiness")
    found = list(
        kernel_findings(Study(plan({"vm.swappiness": 7, "vm.nosuch": 1, "net.core.x": 2})))
    )
    assert [one.level for one in found] == ["ok", "error", "error"]
    assert found[0].seen == f"{before} now, 7 during the campaign"
    assert found[1].seen == "/proc/sys/vm/nosuch does not exist on this kernel"
    assert now("vm.swappiness") == before


def test_check_names_a_scheduler_that_a_drive_does_not_have(tmp_path: Path) -> None:
    with loop_device(tmp_path / "drive.img") as drive:
        table = {"drives": [str(drive)], "drive_settings": {"scheduler": "nosuch"}}
        wrong = Plan.model_validate({"storages": {"new": table}})
        [found] = kernel_findings(Study(wrong))
    assert (found.level, found.seen) == ("warning", "no scheduler 'nosuch' now")
    assert "none" in found.do


def test_check_says_that_only_root_writes_kernel_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(findings_room.os, "geteuid", lambda: 1000)
    [found] = kernel_findings(Study(plan({"vm.swappiness": 7})))
    assert (found.level, found.seen) == ("error", "kernel settings are written by root only")


def test_a_read_only_proc_as_in_a_container_is_an_error_of_check(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(findings_room.os, "access", lambda path, mode: False)
    [found] = kernel_findings(Study(plan({"vm.swappiness": 7})))
    assert found.level == "error"
    assert "read-only here, as in a container" in found.seen


def test_settings_of_the_kernel_are_in_the_results_and_differ_for_compare(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    before = now("vm.swappiness")
    one, other = (run(plan({"vm.swappiness": value}), tmp_path) for value in (7, 8))
    assert now("vm.swappiness") == before
    for settings in load(str(one.folder)).campaign.settings.values():
        [kept] = [each for each in settings if each.name == "vm.swappiness"]
        assert (kept.value, kept.source) == ("7", f"plan; before: {before}")
    [sentence] = differing_settings(one, other)
    assert sentence.startswith("vm.swappiness is 7 in ")
