"""Drives whose writes are not counted, or can be made past their counter: they are refused before
anything is erased. Every attack is made for real on loop devices, and the bytes are compared.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from kneebench.errors import Refused
from kneebench.lab.inventory import inventory
from kneebench.lab.inventory.erasable import DriveState, changes_since, drive_state
from kneebench.lab.journal import Journal
from kneebench.lab.permission import claim
from kneebench.lab.volumes import Volumes, erase_drives, to_be_erased, volume_findings
from kneebench.plan import Plan
from kneebench.plan.storage import Storage
from kneebench.plan.study import Study
from kneebench.records import Event, Finding, WholeDrive, WriteCount
from tests.loop_devices import SMALL, UNSAMPLED, done, loop_device, mounted, put, volume_point

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: loop devices and mounts"),
]


def unwatched(event: Event) -> None:
    """Nobody looks."""


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """The file of the drive, in a directory of its own."""
    (tmp_path / "images").mkdir()
    return tmp_path / "images" / "drive.img"


@pytest.fixture
def drive(image: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A blank drive, and a state directory that remembers none."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with loop_device(image, SMALL) as device:
        yield device


@contextlib.contextmanager
def loop_over(path: Path) -> Iterator[Path]:
    device = Path(done("losetup", "--find", "--show", path).strip())
    try:
        yield device
    finally:
        done("losetup", "--detach", device)


def look(device: Path) -> WholeDrive:
    [found] = inventory([str(device)])
    return found


def state(device: Path) -> DriveState:
    return drive_state(look(device))


def checksum(device: Path) -> str:
    done("blockdev", "--flushbufs", device)
    with device.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check(device: Path, wwid: str = "") -> Finding:
    """What `kneebench check` finds on a drive that may be erased, before anybody agrees."""
    erase = [wwid or look(device).wwid]
    table = {"storages": {"new": {"drives": [str(device)]}}, "erase": erase}
    findings = volume_findings(Study(Plan.model_validate(table)))
    return next(one for one in findings if one.subject == str(device))


def agreed_to(found: WholeDrive) -> tuple[WholeDrive, ...]:
    return to_be_erased([found], {found.wwid})


def used_once(drive: Path, tmp_path: Path) -> None:
    """A volume was made of the drive and removed: it has our remains."""
    table = Storage.model_validate({"drives": [str(drive)], "file_system": {"type": "ext4"}})
    journal = Journal(tmp_path / "journal")
    with closing(Volumes(journal, tmp_path)) as volumes, volumes.mounted("new", table, unwatched):
        pass


# --- the counter ----------------------------------------------------------------------------------


@contextlib.contextmanager
def not_counted(drive: Path, image: Path) -> Iterator[None]:
    switch = Path("/sys/block") / drive.name / "queue" / "iostats"
    switch.write_text("0")
    try:
        yield
    finally:
        switch.write_text("1")


@contextlib.contextmanager
def deleted(drive: Path, image: Path) -> Iterator[None]:
    image.unlink()
    yield


@contextlib.contextmanager
def hidden(drive: Path, image: Path) -> Iterator[None]:
    done("mount", "-t", "tmpfs", "none", image.parent)
    try:
        yield
    finally:
        done("umount", image.parent)


@contextlib.contextmanager
def another_at_its_path(drive: Path, image: Path) -> Iterator[None]:
    done("cp", image, image.with_suffix(".other"))
    image.with_suffix(".other").rename(image)
    yield


Uncounted = Callable[[Path, Path], contextlib.AbstractContextManager[None]]
UNCOUNTED: dict[str, tuple[Uncounted, str, str]] = {
    "the kernel does not count": (not_counted, "the kernel does not count", "echo 1 > /sys/"),
    "its file was deleted": (deleted, "is not there under that name any more", "can be seen here"),
    "its file is hidden": (hidden, "is not there under that name any more", "can be seen here"),
    "another file has its name": (
        another_at_its_path,
        "is not there under that name any more",
        "can be seen here",
    ),
}


@pytest.mark.parametrize("what", UNCOUNTED)
def test_a_drive_whose_writes_are_not_counted_is_refused_before_it_is_erased(
    drive: Path, image: Path, what: str
) -> None:
    made, seen, do = UNCOUNTED[what]
    done("mkfs.ext4", "-q", drive)
    with made(drive, image):
        before, found = checksum(drive), look(drive)
        said = check(drive, found.wwid)
        assert (said.level, seen in said.seen, do in said.do) == ("refused", True, True), said
        assert said.seen.count(str(image)) == (made is not not_counted), "the file that is meant"
        assert agreed_to(found) == (), "nobody is shown a question in vain"
        with pytest.raises(Refused, match=seen):
            erase_drives([found])
        assert checksum(drive) == before


@pytest.mark.parametrize("what", UNCOUNTED)
def test_a_blank_drive_whose_writes_are_not_counted_is_refused_by_check_too(
    drive: Path, image: Path, what: str
) -> None:
    made, seen, do = UNCOUNTED[what]
    with made(drive, image):
        said = check(drive)
        assert (said.level, seen in said.seen, do in said.do) == ("refused", True, True), said
        with pytest.raises(Refused, match=seen):
            claim([str(drive)])
        assert not any(drive.read_bytes())


@pytest.mark.parametrize("what", UNCOUNTED)
def test_what_is_not_counted_any_more_after_the_question_is_refused_in_words(
    drive: Path, image: Path, what: str
) -> None:
    made, seen, _ = UNCOUNTED[what]
    done("mkfs.ext4", "-q", drive)
    shown = agreed_to(look(drive))
    assert len(shown) == 1
    with made(drive, image):
        put(drive, UNSAMPLED, b"somebody's")
        before = checksum(drive)
        with pytest.raises(Refused, match=seen) as refused:
            erase_drives(shown)
        assert "-" not in refused.value.seen.replace(str(image), "")
        assert checksum(drive) == before


def test_a_count_that_is_unknown_on_either_side_is_a_change(drive: Path) -> None:
    found = look(drive)
    unknown = found.model_copy(update={"writes": WriteCount()})
    less = found.model_copy(update={"writes": WriteCount(device_bytes=2**60)})
    assert changes_since(found, found) == ""
    assert changes_since(found, unknown) == "what is written to it is not counted any more"
    assert changes_since(unknown, unknown) == "what is written to it is not counted any more"
    assert changes_since(unknown, found) == "perhaps it was written to, which was not counted"
    assert changes_since(less, found) == "its count of written bytes began at 0 again"


# --- a loop device over another device ------------------------------------------------------------


def test_what_is_written_to_the_device_below_our_remains_is_data(
    drive: Path, tmp_path: Path
) -> None:
    with loop_over(drive) as above:
        used_once(above, tmp_path)
        assert state(above).why == "only remains of a volume that kneebench removed"
        put(drive, UNSAMPLED, b"somebody's")
        before = checksum(drive)
        assert state(above).state == "contains data"
        with pytest.raises(Refused, match="perhaps with data that others wrote since"):
            claim([str(above)])
        assert checksum(drive) == before


@pytest.mark.parametrize("below", ["the device", "its file"])
def test_what_is_written_below_after_the_question_is_not_erased(
    drive: Path, image: Path, below: str
) -> None:
    with loop_over(drive) as above:
        done("mkfs.ext4", "-q", above)
        shown = agreed_to(look(above))
        put(drive if below == "the device" else image, UNSAMPLED, b"somebody's")
        before = checksum(drive)
        with pytest.raises(Refused, match="the device below it was written to"):
            erase_drives(shown)
        assert checksum(drive) == before


def test_a_device_below_that_is_not_counted_or_is_open_for_writing_is_an_obstacle(
    drive: Path, image: Path
) -> None:
    with loop_over(drive) as above:
        with not_counted(drive, image):
            said = check(above)
            assert f"of {drive}, below it: the kernel does not count" in said.seen
            assert said.do == f"echo 1 > /sys/class/block/{drive.name}/queue/iostats"
        with drive.open("r+b"):
            assert "over a file that is open for writing in" in state(above).why


def test_a_drive_with_a_loop_device_on_it_is_named_by_its_path(drive: Path) -> None:
    with loop_over(drive) as above:
        assert look(above).wwid == str(drive)
        assert [look(drive).name, look(above).name] == [drive.name, above.name]
        assert f"behind {above.name}" in state(drive).why


# --- loop devices that cannot be looked at --------------------------------------------------------

WITHOUT_NODES = """
import json
from kneebench.errors import Refused
from kneebench.lab.inventory import inventory
from kneebench.lab.inventory.erasable import drive_state
from kneebench.lab.permission import claim
from kneebench.lab.volumes import erase_drives
from kneebench.plan.study import Study
[drive] = inventory(["{drive}"])
found = drive_state(drive)
refusals = []
for ask in (lambda: claim(["{drive}"]), lambda: erase_drives([drive])):
    try:
        ask()
        refusals.append("none")
    except Refused as refused:
        refusals.append(refused.seen)
print(json.dumps([found.state, found.why, *refusals]))
"""
OWN_DEV = """
mkdir {place} && mount -t tmpfs none {place}
cp -a /dev/null /dev/zero /dev/urandom {nodes} {place}
mount --move {place} /dev && exec "$0" -c "$1"
"""


def without_nodes(drive: Path, *also: Path, place: Path) -> list[str]:
    """State, its reason, and refusals to write to a drive, where /dev has no other loop device than
    these.
    """
    nodes = " ".join(map(str, (drive, *also)))
    script = OWN_DEV.format(place=place / "dev", nodes=nodes)
    code = WITHOUT_NODES.format(drive=drive)
    command = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script]
    found: list[str] = json.loads(done(*command, sys.executable, code))
    return found


def other_loops(*ours: Path) -> list[Path]:
    """Those of other processes on this machine."""
    bound = (Path("/dev") / one.parent.name for one in Path("/sys/block").glob("loop*/loop"))
    return [one for one in bound if one not in ours]


@pytest.mark.parametrize("by", ["file", "hard link", "device"])
def test_a_mounted_loop_device_without_a_node_is_known_by_the_path_of_its_file(
    drive: Path, image: Path, tmp_path: Path, by: str
) -> None:
    (link := tmp_path / "link.img").hardlink_to(image)
    with loop_over({"file": image, "hard link": link, "device": drive}[by]) as second:
        done("mkfs.ext4", "-q", second)
        with volume_point() as point, mounted(second, point):
            (point / "letters").write_text("somebody's")
            done("sync", "--file-system", point)
            seen, why, *refusals = without_nodes(drive, *other_loops(drive, second), place=tmp_path)
            assert seen == "in use"
            assert f"{'behind' if by == 'device' else 'also behind'} {second.name}" in why
            assert len(refusals) == 2 and "none" not in refusals
            done("umount", point)
            done("mount", second, point)
            assert (point / "letters").read_text() == "somebody's"


def test_a_loop_device_that_cannot_be_looked_at_may_use_any_drive(
    drive: Path, image: Path, tmp_path: Path
) -> None:
    (link := image.with_name("link.img")).hardlink_to(image)
    with loop_over(link) as second:
        link.unlink()
        before = checksum(drive)
        others = other_loops(drive, second)
        seen, why, *refusals = without_nodes(drive, *others, place=tmp_path)
        assert seen == "unknown"
        expected = "loop devices of this machine cannot be looked at, and may be over it: "
        assert why == expected + second.name
        assert refusals == [f"unknown: {why}"] * 2
        assert checksum(drive) == before


# --- memory that its process may make writable ----------------------------------------------------

MAPS = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype, libc.mmap.argtypes = ctypes.c_void_p, [
    ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
handle = os.open(sys.argv[1], int(sys.argv[2]))
at, fixed = (0x200000, 0x10) if sys.argv[3] == "low" else (None, 0)
memory = libc.mmap(at, 4096, 1, 1 | fixed, handle, 0)
assert memory and memory != 2**64 - 1, ctypes.get_errno()
os.close(handle)
print("mapped", flush=True)
sys.stdin.readline()
if int(sys.argv[2]):
    assert libc.mprotect(memory, 4096, 3) == 0
    ctypes.memmove(memory, b"somebody's", 10)
print("wrote", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("at", ["high", "low"])
@pytest.mark.parametrize("of", ["the device", "its file"])
def test_a_map_that_its_process_may_make_writable_is_a_use(
    drive: Path, image: Path, of: str, at: str
) -> None:
    mapped = drive if of == "the device" else image
    command = [sys.executable, "-c", MAPS, mapped, str(os.O_RDWR), at]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as using:
        assert using.stdin and using.stdout and using.stdout.readline() == b"mapped\n"
        found = state(drive)
        with pytest.raises(Refused, match="open for writing in"):
            claim([str(drive)])
        using.stdin.write(b"\n")
        using.stdin.flush()
        assert using.stdout.readline() == b"wrote\n"
        using.communicate()
    assert (found.state, "open for writing in" in found.why) == ("in use", True), found
    assert mapped.read_bytes()[:10] == b"somebody's"


def test_a_map_that_stays_read_only_is_no_use(drive: Path) -> None:
    command = [sys.executable, "-c", MAPS, drive, str(os.O_RDONLY), "high"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as using:
        assert using.stdout and using.stdout.readline() == b"mapped\n"
        assert state(drive).state == "blank"
        using.communicate(b"\n")


# --- a drive that the mark does not fit on --------------------------------------------------------


@pytest.mark.parametrize("size", [512, 3584])
def test_a_drive_that_is_smaller_than_the_mark_is_refused_before_it_is_erased(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with loop_device(tmp_path / "tiny.img", size) as tiny:
        put(tiny, 0, b"somebody's")
        before = checksum(tiny)
        said = check(tiny)
        assert (said.level, said.do) == ("refused", "use a drive of at least 4,096 bytes")
        with pytest.raises(Refused, match=f"it has {size:,} bytes"):
            erase_drives([look(tiny)])
        assert checksum(tiny) == before
