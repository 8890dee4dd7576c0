"""A campaign on volumes of emulated drives, small: it ends with a brief, and killed at any moment
leaves nothing.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kneebench import load
from kneebench.analysis.devices import device_loads, volume_load, volumes
from kneebench.analysis.knee_readings import KneeReadings
from kneebench.lab.changes.setting import setting_in
from kneebench.lab.inventory import inventory
from kneebench.lab.inventory.erasable import drive_state
from kneebench.lab.kernel_settings import READ_AHEAD, queue_file
from kneebench.lab.limits import controller
from kneebench.lab.processes import runs
from kneebench.lab.programs import found, wait_until
from kneebench.lab.sysctl_files import sysctl_file
from kneebench.lab.volumes import erase_drives
from kneebench.records import Results, Rung
from kneebench.results.campaign_reader import series
from tests.loaded import shared_images
from tests.loop_devices import MIB, done, loop_device

PROGRAMS = ("nbdfuse", "qemu-storage-daemon", "mkfs.btrfs", "mkfs.xfs", "fio", "sfdisk")
pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(
        os.geteuid() != 0 or controller() is None, reason="needs root and memory cgroups"
    ),
    pytest.mark.skipif(not all(map(found, PROGRAMS)), reason=f"needs {', '.join(PROGRAMS)}"),
]
PLAN = """
question      = "A small campaign on emulated drives"
emulated_path = "drives"
[database]
memory = "512MiB"
base_image_path = "%s"
[workload]
warehouses = 1
[ladder]
users = 2
warm_up = "1s"
window = "1s"
final_window = "2s"
checkpoints = 0
repeats = 0
[kernel]
sysctl = { "vm.dirty_expire_centisecs" = 3001 }
[storages."two NVMe"]
drives       = [{ emulated = "nvme", size = "768MiB", count = 2 }]
layout       = "mirror"
file_system  = { type = "btrfs", mount = ["noatime", "nodatacow"] }
log          = { drives = [{ emulated = "nvme", size = "640MiB" }] }
precondition = "sequential 1"
drive_settings = { nr_requests = 64, read_ahead = "64KiB" }
[storages."four SATA"]
drives       = [{ emulated = "sata", size = "768MiB", count = 4 }]
layout       = "raid10"
file_system  = { type = "btrfs", mount = ["noatime", "nodatacow"] }
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A directory with a plan."""
    place = tmp_path_factory.mktemp("drives")
    (place / "plan.toml").write_text(PLAN % shared_images())
    yield place
    kneebench(place, "clean")


def environment(place: Path) -> dict[str, str]:
    return {**os.environ, "XDG_STATE_HOME": str(place / "state")}


def kneebench(place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kneebench", *words]
    return subprocess.run(
        command, cwd=place, env=environment(place), capture_output=True, text=True, timeout=280
    )


def left(place: Path) -> list[str]:
    """What a campaign of this place has left on the machine."""
    journal = place / "state" / "kneebench" / "journal"
    found_here = [str(path) for path in (place / "drives").glob("*")]
    found_here += [str(path) for path in journal.glob("*/*.json")]
    found_here += [line for line in done("losetup", "--list").splitlines() if str(place) in line]
    mounted = Path("/proc/mounts").read_text().splitlines()
    found_here += [line for line in mounted if str(place) in line]
    if setting_in(sysctl_file("vm.dirty_expire_centisecs")) == "3001":
        found_here.append("vm.dirty_expire_centisecs")
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").resolve().is_relative_to(place / "drives"):
                found_here.append((process / "comm").read_text())
        except OSError:
            continue
    return found_here


def recorded(place: Path) -> list[dict[str, Any]]:
    """The entries of its journal: what a killed campaign had made."""
    files = (place / "state" / "kneebench" / "journal").glob("*/*.json")
    return [json.loads(file.read_text()) for file in files]


def still_there(made: list[dict[str, Any]]) -> list[str]:
    """Of what was recorded when a campaign was killed, what remains: directories, cgroups, mount
    points, arrays, processes.
    """
    paths = [entry[key] for entry in made for key in ("path", "point") if key in entry]
    paths += [entry["device"] for entry in made if entry["kind"] == "array"]
    processes = [entry for entry in made if entry["kind"] == "process"]
    return [path for path in paths if Path(path).exists()] + [
        entry["what"] for entry in processes if runs(entry["pid"], entry["pid_started"])
    ]


def drives_are_counted_once(rung: Rung, names: set[str], preconditioned: set[str]) -> None:
    """Data and log are two volumes; the data's is the sum of its drives."""
    data, *log = volumes(rung)
    assert {device.name for volume in (data, *log) for device in volume} == names
    assert (len(data), len(log)) == ((2, 1) if preconditioned else (4, 0))
    assert {device.drive for device in data} == preconditioned or not preconditioned
    both = volume_load(KneeReadings([rung]), data).write_bytes_per_s
    assert both == sum(one.write_bytes_per_s for one in device_loads(KneeReadings([rung]), data))


class Whole(NamedTuple):
    """A campaign that was not killed, and how many lines it printed."""

    results: Results
    lines: int


@pytest.fixture(scope="module")
def campaign(place: Path) -> Whole:
    ended = kneebench(place, "run", "plan.toml", "--json", "--out", "whole")
    assert ended.returncode in (0, 3, 4), ended.stderr
    return Whole(load(next((place / "whole").iterdir())), len(ended.stdout.splitlines()))


def test_a_campaign_on_volumes_of_emulated_drives_ends_with_a_brief(
    place: Path, campaign: Whole
) -> None:
    whole = campaign.results
    assert whole.finished
    assert whole.campaign.label == "Emulated drives"
    conditions = [check for climb in whole.climbs for check in climb.checks]
    assert len(conditions) == 2 * 12
    assert [check.sentence for check in conditions if not check.passed] == []
    done_to = whole.campaign.preconditioned
    assert [(one.how, one.remembered) for one in done_to] == [("sequential 1", False)] * 2
    for climb in whole.climbs:
        [rung] = climb.of("fixed_load")
        written = {one.source: one.value for one in series(whole, rung, "device.write_bytes")}
        assert all(source.startswith("loop") for source in written)
        assert len(written) == (3 if climb.configuration.storage == "two NVMe" else 4)
        assert sum(map(sum, written.values())) > 0
        made = (
            {one.drive for one in done_to} if climb.configuration.storage == "two NVMe" else set()
        )
        drives_are_counted_once(rung, set(written), made)
    page = (whole.folder / "brief.html").read_text() if whole.folder else ""
    assert "Emulated drives: " in page
    assert "4 emulated drives (sata, 768 MiB), raid10, btrfs (noatime, nodatacow)" in page
    assert "preconditioned (sequential 1)" in page
    assert "vm.dirty_expire_centisecs" in page
    assert "drives: nr_requests" in page
    assert "No figure here says anything about a real drive." in page
    assert left(place) == []


PARTITIONS = """
[storages."one drive"]
drives         = ["{drive}"]
size           = "768MiB"
file_system    = {{ type = "btrfs", mount = ["noatime", "nodatacow"] }}
log            = {{ drives = ["{drive}"], size = "640MiB", drive_settings = {settings} }}
drive_settings = {settings}
[constraints.tight]
cores  = 1
memory = "512MiB"
"""
SETTINGS = '{ nr_requests = 48, read_ahead = "64KiB" }'


@pytest.fixture
def drive(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A blank drive of this machine. What `clean` keeps of it in its state directory, this process
    sees too.
    """
    monkeypatch.setenv("XDG_STATE_HOME", str(place / "state"))
    with loop_device(tmp_path / "drive.img", 1536 * MIB) as device:
        yield str(device)


def state_of(drive: str) -> tuple[str, list[str], dict[str, str]]:
    """Whether it may be used again, its partitions, and the settings of its queue."""
    queue = {name: setting_in(queue_file(drive, name)) for name in ("nr_requests", READ_AHEAD)}
    partitions = [one.name for one in Path("/sys/class/block").glob(f"{Path(drive).name}p*")]
    return drive_state(inventory([drive])[0]).state, partitions, queue


def kill_after(lines: int, place: Path, out: str) -> list[dict[str, Any]]:
    """A campaign that is killed after so many lines; what it had made."""
    words = ("run", "killed.toml", "--json", "--fresh", "--out", out)
    with subprocess.Popen(
        [sys.executable, "-m", "kneebench", *words],
        cwd=place,
        env=environment(place),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as running:
        assert running.stdout
        for _ in range(lines):
            assert running.stdout.readline(), "it ended before it was killed"
        running.send_signal(signal.SIGKILL)
        assert running.wait() == -signal.SIGKILL
    return recorded(place)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_campaign_on_drives_that_is_killed_at_eight_points_leaves_nothing(
    place: Path, campaign: Whole, drive: str, request: pytest.FixtureRequest
) -> None:
    """All eight with --long, else an early one, within as many lines as the first campaign printed
    on two storages: this one has a third.
    """
    shared = PLAN % shared_images()
    (place / "killed.toml").write_text(shared + PARTITIONS.format(drive=drive, settings=SETTINGS))
    before = state_of(drive)
    assert before[:2] == ("blank", [])
    for point in range(8) if request.config.getoption("--long") else [2]:
        lines = round(campaign.lines * (point + 0.5) / 9)
        made = kill_after(lines, place, f"killed-{point}")
        cleaned = kneebench(place, "clean")
        seen = f"point {point}: {[entry['what'] for entry in made]}\n{cleaned.stdout}"
        print(seen)
        assert cleaned.returncode == 0, cleaned.stderr
        assert left(place) + still_there(made) == [], seen
        if cleaned.stderr:  # it was killed while it wrote to the drive
            assert "is left as it is" in cleaned.stderr, cleaned.stderr
            erase_drives(inventory([drive]))
        wait_until(lambda: state_of(drive) == before)  # others may be looking at it
        assert state_of(drive) == before, f"{drive_state(inventory([drive])[0])}; {seen}"
