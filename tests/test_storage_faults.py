"""A drive that turns read-only, a volume that is unmounted and a program of an emulated drive that
ends are seen, named, and no figure of them is used.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from kneebench.errors import InvalidMeasurement
from kneebench.lab.journal import Journal
from kneebench.lab.own_devices import storage_faults
from kneebench.lab.volumes import Volumes
from kneebench.measurement.validity import with_faults
from kneebench.plan.storage import Storage
from kneebench.records import Event
from tests.loaded import shared_images
from tests.loop_devices import done, loop_device, mounted, needs_emulation, volume_point
from tests.recordings import recorded
from tests.remarks import invalid

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: loop devices and mounts"),
]


def unwatched(event: Event) -> None:
    """Nobody looks."""


def test_a_device_and_a_file_system_that_became_read_only_are_faults(tmp_path: Path) -> None:
    with loop_device(tmp_path / "a.img") as device:
        done("mkfs.ext4", "-q", device)
        with volume_point() as point, mounted(device, point):
            assert storage_faults([point]) == ()
            done("mount", "-o", "remount,ro", point)
            done("blockdev", "--setro", device)
            assert storage_faults([point, point]) == (
                f"the file system on {point} became read-only",
                f"{device.name} became read-only",
            )
        done("blockdev", "--setrw", device)


def test_a_volume_that_was_unmounted_is_a_fault() -> None:
    with volume_point() as point:
        assert storage_faults([point]) == (f"the volume on {point} is no longer mounted",)


def test_a_directory_of_an_ordinary_storage_has_no_faults(tmp_path: Path) -> None:
    assert storage_faults([tmp_path, Path("/dev/shm")]) == ()


def test_a_rung_with_a_fault_is_invalid_and_keeps_other_reasons() -> None:
    rung = recorded().climbs[0].rungs[0]
    assert with_faults(rung, ()) == rung
    assert with_faults(rung, ["sdb became read-only"]).invalid == "sdb became read-only"
    both = with_faults(invalid(rung, "late"), ["sdb became read-only"])
    assert both.invalid == "late; sdb became read-only"


def daemons(place: Path) -> dict[str, int]:
    """The programs that serve emulated drives below a directory, by name."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").resolve().is_relative_to(place):
                found[(process / "comm").read_text().strip()] = int(process.name)
        except OSError:
            continue
    return found


@needs_emulation
@pytest.mark.parametrize("program", ["nbdfuse", "qemu-storage-d"])
def test_a_program_of_an_emulated_drive_that_ends_is_named_as_the_reason(
    tmp_path: Path, program: str
) -> None:
    journal, table = Journal(tmp_path / "journal"), {"emulated": "sata", "size": "320MiB"}
    storage = Storage.model_validate({"drives": [table]})
    with (
        closing(Volumes(journal, tmp_path / "emulated")) as volumes,
        pytest.raises(InvalidMeasurement, match=rf"its program {program}.* has ended"),
        volumes.mounted("new", storage, unwatched) as there,
    ):
        pid = {name[:14]: one for name, one in daemons(tmp_path / "emulated").items()}[program]
        os.kill(pid, signal.SIGKILL)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        with (there.paths[0] / "file").open("wb") as file:
            file.write(os.urandom(2**20))
            os.fsync(file.fileno())
    assert list(journal.folder.iterdir()) == []
    assert list((tmp_path / "emulated").iterdir()) == []


PLAN = """
question      = "What does a campaign say whose drive goes away?"
emulated_path = "drives"
[database]
memory = "512MiB"
base_image_path = "%s"
[workload]
warehouses = 1
[ladder]
users = 2
warm_up = "1s"
window = "60s"
final_window = "1s"
checkpoints = 0
repeats = 1
[storages.one]
drives = [{ emulated = "nvme", size = "1GiB" }]
"""


@needs_emulation
def test_a_campaign_whose_emulated_drive_goes_away_ends_resumable_and_leaves_nothing(
    tmp_path: Path,
) -> None:
    (tmp_path / "plan.toml").write_text(PLAN % shared_images())
    command = [sys.executable, "-m", "kneebench", "run", "plan.toml", "--json", "--out", "out"]
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")}
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stdout and running.stderr
        for line in running.stdout:
            if "measuring" in json.loads(line)["doing"]:
                break
        os.kill(daemons(tmp_path / "drives")["nbdfuse"], signal.SIGKILL)
        running.stdout.read()
        said = running.stderr.read()
        assert running.wait() == InvalidMeasurement.exit_code, said
    assert "its program nbdfuse (PID" in said and "Resume with: " in said
    assert list((tmp_path / "state" / "kneebench" / "journal").glob("*/*.json")) == [], said
    assert list((tmp_path / "drives").iterdir()) == []
