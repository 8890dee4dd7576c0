"""A campaign on volumes of emulated drives, small: it ends with a brief, and killed at any moment
leaves nothing.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from loaded import shared_images
from loop_devices import done

from kneebench import load
from kneebench.analysis.devices import device_loads, volume_load, volumes
from kneebench.lab.memory_limit import controller
from kneebench.lab.programs import found
from kneebench.records import Rung
from kneebench.results.campaign_reader import series

PROGRAMS = ("nbdfuse", "qemu-storage-daemon", "mkfs.btrfs", "mkfs.xfs", "fio")
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
repeats = 1
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
    if Path("/proc/sys/vm/dirty_expire_centisecs").read_text().strip() == "3001":
        found_here.append("vm.dirty_expire_centisecs")
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").resolve().is_relative_to(place / "drives"):
                found_here.append((process / "comm").read_text())
        except OSError:
            continue
    return found_here


def drives_are_counted_once(rung: Rung, names: set[str], preconditioned: set[str]) -> None:
    """Data and log are two volumes; the data's is the sum of its drives."""
    data, *log = volumes(rung)
    assert {device.name for volume in (data, *log) for device in volume} == names
    assert (len(data), len(log)) == ((2, 1) if preconditioned else (4, 0))
    assert {device.drive for device in data} == preconditioned or not preconditioned
    both = volume_load(rung, data).write_bytes_per_s
    assert both == sum(one.write_bytes_per_s for one in device_loads(rung, data))


def test_a_campaign_on_volumes_of_emulated_drives_ends_with_a_brief(place: Path) -> None:
    ended = kneebench(place, "run", "plan.toml", "--json", "--out", "whole")
    assert ended.returncode in (0, 3, 4), ended.stderr
    results = load(next((place / "whole").iterdir()))
    assert results.finished
    assert results.campaign.label == "Emulated drives"
    conditions = [check for climb in results.climbs for check in climb.checks]
    assert len(conditions) == 2 * 12
    assert [check.sentence for check in conditions if not check.passed] == []
    done_to = results.campaign.preconditioned
    assert [(one.how, one.remembered) for one in done_to] == [("sequential 1", False)] * 2
    for climb in results.climbs:
        [rung] = climb.of("fixed_load")
        written = {one.source: one.value for one in series(results, rung, "device.write_bytes")}
        assert all(source.startswith("loop") for source in written)
        assert len(written) == (3 if climb.cell.storage == "two NVMe" else 4)
        assert sum(map(sum, written.values())) > 0
        made = {one.drive for one in done_to} if climb.cell.storage == "two NVMe" else set()
        drives_are_counted_once(rung, set(written), made)
    page = (results.folder / "brief.html").read_text() if results.folder else ""
    assert "Emulated drives: " in page
    assert "4 emulated drives (sata, 768 MiB), raid10, btrfs (noatime, nodatacow)" in page
    assert "preconditioned (sequential 1)" in page
    assert "vm.dirty_expire_centisecs" in page
    assert "drives: nr_requests" in page
    assert "No figure here says anything about a real drive." in page
    assert left(place) == []


def test_a_campaign_on_drives_that_is_killed_at_any_moment_leaves_nothing(
    place: Path, seeds: Callable[[int], range]
) -> None:
    for seed in seeds(8)[::2]:
        command = [sys.executable, "-m", "kneebench", "run", "plan.toml", "--json", "--fresh"]
        with subprocess.Popen(
            [*command, "--out", f"killed-{seed}"],
            cwd=place,
            env=environment(place),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as campaign:
            time.sleep(random.Random(seed).uniform(2.0, 25.0))
            campaign.send_signal(signal.SIGKILL)
        cleaned = kneebench(place, "clean")
        assert cleaned.returncode == 0, cleaned.stderr
        assert left(place) == [], f"seed {seed}: {cleaned.stdout}{cleaned.stderr}"
