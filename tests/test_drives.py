"""The drives under a path are found through loop devices, and none is made up."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kneebench.lab.drives import above, drive_of, existing, exists, file_system_of, mounts

root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: loop devices and mounts")


@pytest.fixture
def loop_mount(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    image, mount = tmp_path / "drive.img", tmp_path / "mount"
    mount.mkdir()
    subprocess.run(["truncate", "-s", "64M", image], check=True)
    made = subprocess.run(["losetup", "-f", "--show", image], capture_output=True, text=True)
    if made.returncode:
        pytest.skip(f"no loop device to be had: {made.stderr.strip()}")
    device = made.stdout.strip()
    try:
        subprocess.run(["mkfs.ext4", "-q", device], check=True)
        subprocess.run(["mount", device, mount], check=True)
        yield Path(device).name, mount
    finally:
        subprocess.run(["umount", mount], check=False)
        subprocess.run(["losetup", "-d", device], check=True)


@pytest.mark.root
@root
def test_a_loop_device_is_followed_to_the_drive_under_its_file(
    loop_mount: tuple[str, Path], tmp_path: Path
) -> None:
    name, mount = loop_mount
    drive, under = drive_of(mount / "not" / "yet" / "there"), drive_of(tmp_path)
    assert drive is not None
    assert drive.name == name
    assert drive.size_bytes == 64 * 2**20
    assert file_system_of(mount) == "ext4"
    if under:
        assert drive.real == under.real
        assert drive.stack[0] == under.name
    else:
        assert drive.real == (name,)


def test_of_mounts_on_one_point_the_last_counts_and_names_are_as_people_wrote_them() -> None:
    lines = (
        "1 0 8:1 / / rw - ext4 /dev/sda1 rw",
        r"2 1 8:2 / /mnt/größe\040neu rw shared:1 - xfs /dev/sdb1 rw",
        r"3 2 8:3 / /mnt/größe\040neu rw - ext4 /dev/sdc1 rw",
    )
    there = mounts("\n".join(lines))
    assert above(Path("/mnt/größe neu/data"), there).device == "8:3"
    assert above(Path("/mnt/other"), there).source == "/dev/sda1"


def test_memory_has_no_drive() -> None:
    assert file_system_of(Path("/dev/shm/any/path")) == "tmpfs"
    assert drive_of(Path("/dev/shm")) is None


def test_the_real_drives_are_in_the_kernels_list() -> None:
    drive = drive_of(Path.cwd())
    if drive is None:
        pytest.skip("the current directory stands on no block device")
    names = {line.split()[2] for line in Path("/proc/diskstats").read_text().splitlines()}
    assert {drive.name, *drive.real} <= names
    assert drive.size_bytes > 0


@root
def test_a_path_below_a_directory_that_may_not_be_entered_is_absent_and_no_error(
    tmp_path: Path,
) -> None:
    below = tmp_path / "closed" / "below"
    below.mkdir(parents=True)
    (tmp_path / "closed").chmod(0o700)
    os.seteuid(65534)
    try:
        assert not exists(below)
        assert existing(below) in below.parents
    finally:
        os.seteuid(0)
