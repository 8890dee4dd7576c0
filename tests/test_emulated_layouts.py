"""Layouts of emulated drives: one device with the limits that a layout has by its definition, and
data, log and temporary files on parts of the same drives.
"""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kneebench.lab.drives import whole_devices
from kneebench.lab.journal import Journal
from kneebench.lab.programs import found
from kneebench.lab.volumes import Volumes, capacity_bytes, volume_findings
from kneebench.lab.volumes.emulated import limits_of
from kneebench.plan import Plan
from kneebench.plan.storage import Storage
from kneebench.plan.study import Study
from kneebench.records import Event
from tests.loop_devices import MIB, needs_emulation

GIB = 2**30
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: loop devices and mounts")


def sata(count: int, size: int = GIB) -> dict[str, Any]:
    return {"emulated": "sata", "size": size, "count": count}


def unwatched(event: Event) -> None:
    """Nobody looks."""


@pytest.mark.parametrize(
    ("layout", "count", "size", "limits"),
    [
        ("single", 1, GIB, "x-iops-read=1500,x-iops-write=400"),
        ("mirror", 2, GIB, "x-iops-read=3000,x-iops-write=400"),
        ("mirror", 4, 2 * GIB, "x-iops-read=6000,x-iops-write=800"),
        ("stripe", 4, 4 * GIB, "x-iops-read=6000,x-iops-write=1600"),
        ("raid10", 8, 4 * GIB, "x-iops-read=12000,x-iops-write=1600"),
    ],
)
def test_a_layout_has_the_capacity_and_limits_of_its_definition(
    layout: str, count: int, size: int, limits: str
) -> None:
    volume = Storage.model_validate({"drives": [sata(count)], "layout": layout})
    [device] = volume.emulated_devices
    assert device.size == size
    assert limits_of(device).limits == (limits,)
    assert capacity_bytes(volume) == int(0.92 * size)


def test_a_mirror_writes_twice_what_a_limit_counts_together_with_reads() -> None:
    cloud = {"emulated": "cloud", "size": GIB, "count": 2}
    [device] = Storage.model_validate({"drives": [cloud], "layout": "mirror"}).emulated_devices
    assert limits_of(device).limits == (
        "x-iops-write=1000",
        "x-iops-total=2000,x-iops-total-max=6000,x-iops-total-max-length=60",
    )


def test_btrfs_lays_out_emulated_drives_by_itself() -> None:
    table = {"drives": [sata(2)], "layout": "mirror", "file_system": {"type": "btrfs"}}
    volume = Storage.model_validate(table)
    assert [limits_of(one).limits for one in volume.emulated_devices] == [
        ("x-iops-read=1500,x-iops-write=400",)
    ] * 2
    assert capacity_bytes(volume) == int(0.92 * GIB)


@needs_root
@needs_emulation
def test_a_mirror_of_drives_with_one_limit_for_all_is_made(tmp_path: Path) -> None:
    """qemu refuses both limits in one group."""
    cloud = {"emulated": "cloud", "size": 320 * MIB, "count": 2}
    storage = Storage.model_validate({"drives": [cloud], "layout": "mirror"})
    with (
        closing(Volumes(Journal(tmp_path / "journal"), tmp_path / "emulated")) as volumes,
        volumes.mounted("new", storage, unwatched) as mounted,
    ):
        assert len(whole_devices(mounted.paths)) == 1


def test_two_tables_of_like_drives_are_one_layout() -> None:
    volume = Storage.model_validate({"drives": [sata(1), sata(1)], "layout": "mirror"})
    assert [one.drives for one in volume.emulated_devices] == [2]
    assert (volume.copies, volume.number_of_drives) == (1, 2)


@needs_root
@needs_emulation
def test_check_asks_for_no_md_and_for_no_more_space_than_the_device_needs(tmp_path: Path) -> None:
    table = {"drives": [sata(8)], "layout": "raid10"}
    plan = Plan.model_validate({"storages": {"new": table}, "emulated_path": str(tmp_path)})
    findings = list(volume_findings(Study(plan)))
    assert [one.level for one in findings] == ["note"]
    assert findings[0].writes_bytes == 4 * GIB


@needs_root
@needs_emulation
def test_data_log_and_temporary_files_have_parts_of_the_same_emulated_drives(
    tmp_path: Path,
) -> None:
    """Each is a device, all behind one pair of programs, and none reaches into another."""
    drives = {"drives": [sata(2)], "layout": "mirror"}
    rest = {"log": {**drives, "size": 320 * MIB}, "temporary": {**drives, "size": 320 * MIB}}
    storage = Storage.model_validate({**drives, "size": 384 * MIB, **rest})
    journal, data = Journal(tmp_path / "journal"), os.urandom(2**20)
    with closing(Volumes(journal, tmp_path / "emulated")) as volumes:
        for _ in range(2):
            with volumes.mounted("new", storage, unwatched) as mounted:
                devices = [one for path in mounted.paths for one in whole_devices([path])]
                assert len({*devices}) == 3
                files = [path / "file" for path in mounted.paths]
                for number, file in enumerate(files):
                    file.write_bytes(data + bytes([number]))
                    os.sync()
                Path("/proc/sys/vm/drop_caches").write_text("1")
                assert [file.read_bytes()[-1] for file in files] == [0, 1, 2]
                sizes = [os.statvfs(path).f_blocks * 4096 for path in mounted.paths]
                assert sizes[0] > sizes[1] == sizes[2] > 250 * MIB
        programs = [one.name for one in (tmp_path / "emulated").glob("*/*.log")]
        assert sorted(programs) == ["nbdfuse.log", "qemu-storage-daemon.log"]
    assert list((tmp_path / "emulated").iterdir()) == []
    assert list(journal.folder.iterdir()) == []


@needs_root
@needs_emulation
@pytest.mark.skipif(not found("fio"), reason="needs fio")
def test_new_emulated_drives_are_preconditioned_whatever_the_old_ones_were_called(
    tmp_path: Path,
) -> None:
    small = {"emulated": "memory", "size": 320 * MIB}
    storage = Storage.model_validate({"drives": [small], "precondition": "sequential 1"})
    said: list[str] = []
    volumes = Volumes(Journal(tmp_path / "journal"), tmp_path / "emulated")
    for _ in range(2):
        with volumes.mounted("new", storage, lambda event: said.append(event.doing)):
            pass
        volumes.close()
    assert len([one for one in said if "is preconditioned" in one]) == 2


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ({"drives": [sata(2), sata(2, 2 * GIB)], "layout": "stripe"}, "one class and size"),
        ({"drives": ["sdb", sata(1)], "layout": "mirror"}, "both only with btrfs"),
        ({"drives": [sata(1)], "log": {"drives": [sata(1)], "size": 300 * MIB}}, "in each volume"),
        ({"drives": [sata(1)], "size": 2 * GIB}, "no more than each drive has, 1 GiB"),
        (
            {
                "drives": [sata(2)],
                "layout": "mirror",
                "size": 300 * MIB,
                "file_system": {"type": "btrfs"},
            },
            "whole emulated drives",
        ),
        (
            {
                "drives": [sata(2)],
                "layout": "mirror",
                "size": 300 * MIB,
                "log": {"drives": [sata(2)], "layout": "stripe", "size": 300 * MIB},
            },
            "the same layout",
        ),
        (
            {
                "drives": [sata(1)],
                "size": 600 * MIB,
                "log": {"drives": [sata(1)], "size": 600 * MIB},
            },
            "fit their drives of 1 GiB together",
        ),
    ],
)
def test_emulated_drives_that_cannot_be_made_are_an_error_of_the_plan(
    table: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence):
        Storage.model_validate(table)


def test_volumes_on_like_emulated_drives_without_a_size_have_drives_of_their_own() -> None:
    drives = {"drives": [sata(2)], "layout": "mirror"}
    apart = Storage.model_validate({**drives, "log": drives})
    assert apart.on_emulated_drives == (("path",), ("log_path",))
    sized = {**drives, "size": 300 * MIB}
    shared = Storage.model_validate({**sized, "log": sized})
    assert shared.on_emulated_drives == (("path", "log_path"),)
    assert (apart.number_of_drives, shared.number_of_drives) == (4, 2)
