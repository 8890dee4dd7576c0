"""No byte is lost that nobody agreed to lose: drives that change behind the back of a run, between
a question and its answer, or after a kill; data without a signature; uses that no mount shows.

Every attack is made for real on loop devices, and the bytes are compared.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import mmap
import os
import stat
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kneebench.errors import KneebenchError, Refused
from kneebench.lab import permission
from kneebench.lab.changes.format import FormattedDrive
from kneebench.lab.changes.mount import MountedFileSystem
from kneebench.lab.device_writes import run_on, write_at
from kneebench.lab.inventory import Sources, inventory, left
from kneebench.lab.inventory.block_devices import listed_devices
from kneebench.lab.inventory.content import WHOLE_BYTES, Content, content_of
from kneebench.lab.inventory.erasable import DriveState, drive_state
from kneebench.lab.journal import Journal
from kneebench.lab.open_device import OpenDevice
from kneebench.lab.own_devices import is_over
from kneebench.lab.own_writes import note_own_writes
from kneebench.lab.permission import claim, made
from kneebench.lab.programs import wait_until
from kneebench.lab.removal import remove
from kneebench.lab.volumes import Volumes, building, erase_drives, to_be_erased, volume_findings
from kneebench.plan import Plan
from kneebench.plan.storage import Storage
from kneebench.plan.study import Study
from kneebench.records import Event, WholeDrive
from tests.loop_devices import (
    MIB,
    SIZE,
    SMALL,
    UNSAMPLED,
    done,
    loop_device,
    mounted,
    needs_emulation,
    partitions,
    put,
    volume_point,
)

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: loop devices and mounts"),
]


EXT4 = {"file_system": {"type": "ext4"}}


def unwatched(event: Event) -> None:
    """Nobody looks."""


@pytest.fixture
def drive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A blank drive, and a state directory that remembers none."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with loop_device(tmp_path / "drive.img", SMALL) as device:
        yield device


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "journal")


def state(device: str | Path) -> DriveState:
    [found] = inventory([str(device)])
    return drive_state(found)


def checksum(path: str | Path) -> str:
    with Path(path).open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        return hashlib.file_digest(file, "sha256").hexdigest()


def used_once(drive: Path, journal: Journal, place: Path) -> None:
    """A volume was made of the drive and removed: it has our remains."""
    table = Storage.model_validate({"drives": [str(drive)], **EXT4})
    with closing(Volumes(journal, place)) as volumes, volumes.mounted("new", table, unwatched):
        pass


# --- a name that leads elsewhere ------------------------------------------------------------------


def attach(device: Path, image: Path) -> bool:
    """Whether an administrator could put a file behind this loop device."""
    return subprocess.run(["losetup", device, image], capture_output=True).returncode == 0


@needs_emulation
def test_an_emulated_drive_that_an_administrator_detaches_is_never_another_file(
    journal: Journal, tmp_path: Path
) -> None:
    """`losetup -D` between two restores, then a valuable file on the same loop number."""
    valuable = tmp_path / "valuable.img"
    valuable.write_bytes(os.urandom(MIB) + bytes(SIZE - MIB))
    before = checksum(valuable)
    table = {"drives": [{"emulated": "sata", "size": SIZE}]}
    with closing(Volumes(journal, tmp_path / "emulated")) as volumes:
        storage = Storage.model_validate(table)
        with volumes.mounted("new", storage, unwatched) as there:
            device = Path(done("findmnt", "-no", "SOURCE", there.paths[0]).strip())
        done("losetup", "--detach", device)
        taken = attach(device, valuable)
        with contextlib.suppress(KneebenchError), volumes.mounted("new", storage, unwatched):
            pass
    if taken:
        done("losetup", "--detach", device)
    assert checksum(valuable) == before


def test_a_loop_device_that_gets_another_offset_is_not_written_to(
    drive: Path, tmp_path: Path
) -> None:
    status = bytearray(232)
    with made(str(drive), is_over(tmp_path / "drive.img")) as device:
        fcntl.ioctl(device.opened.handle, 0x4C05, status)
        struct.pack_into("=Q", status, 24, MIB)
        fcntl.ioctl(device.opened.handle, 0x4C04, status)
        before = checksum(drive)
        with pytest.raises(Refused, match="another file, by now"):
            write_at(device, (0, b"x" * 4096))
        with pytest.raises(Refused, match="another file, by now"):
            run_on([device], "wipefs", "--all", str(drive))
        assert checksum(drive) == before


def test_a_path_that_leads_to_another_device_is_not_written_to(drive: Path, tmp_path: Path) -> None:
    node = tmp_path / "node"
    node.symlink_to(drive)
    with (
        loop_device(tmp_path / "other.img", SMALL) as other,
        made(str(node), lambda one: True) as device,
    ):
        node.unlink()
        node.symlink_to(other)
        with pytest.raises(Refused, match="its path leads to another device by now"):
            run_on([device], "mkfs.ext4", "-q", "-F", str(node))
        assert state(other).state == "blank"


def test_a_drive_that_fails_while_it_is_looked_at_is_refused_with_why(
    drive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*looked: object, **at: object) -> WholeDrive:
        raise OSError(errno.EIO, "Input/output error", str(drive))

    monkeypatch.setattr(permission, "look_at", failing)
    with pytest.raises(Refused, match="Input/output error") as caught:
        claim([str(drive)])
    assert caught.value.what == f"cannot write to {drive}"
    assert "nothing was written to it" in caught.value.do


@pytest.mark.parametrize(
    "said",
    [
        "mkfs.xfs: cannot open {}: Device or resource busy",
        "{} is apparently in use by the system; will not make a filesystem here!",
        "ERROR: cannot check mount status of /dev/loop99: No such file or directory",
    ],
)
def test_a_program_that_another_one_was_in_the_way_of_is_run_again(
    said: str, drive: Path, tmp_path: Path
) -> None:
    once = f"echo run >> {tmp_path}/runs; mkdir {tmp_path}/once && echo '{said}' >&2 && exit 1"
    with made(str(drive), is_over(tmp_path / "drive.img")) as device:
        run_on([device], "sh", "-c", f"{once.format(drive)}; exit 0")
    assert (tmp_path / "runs").read_text() == "run\nrun\n"


def test_a_loop_device_over_another_file_is_not_taken_for_ours(drive: Path, tmp_path: Path) -> None:
    (tmp_path / "ours.img").touch()
    with pytest.raises(Refused, match="not the device that kneebench made"):
        made(str(drive), is_over(tmp_path / "ours.img"))


# --- between the question and the answer ----------------------------------------------------------


def other_uuid(drive: Path, image: Path) -> None:
    done("mkfs.ext4", "-q", "-F", "-L", "orders", drive)


def other_label(drive: Path, image: Path) -> None:
    done("e2label", drive, "books")


def other_data(drive: Path, image: Path) -> None:
    put(drive, 20 * MIB, b"somebody's")


def unsampled_data(drive: Path, image: Path) -> None:
    put(drive, UNSAMPLED, b"somebody's")
    done("blockdev", "--flushbufs", drive)


def another_file(drive: Path, image: Path) -> None:
    """The same content in another file, moved to the same path, on the same loop device."""
    done("cp", image, image.with_suffix(".other"))
    done("losetup", "--detach", drive)
    image.with_suffix(".other").rename(image)
    assert wait_until(lambda: attach(drive, image))


def another_table(drive: Path, image: Path) -> None:
    partitions(drive)


def swap(drive: Path, image: Path) -> None:
    done("wipefs", "--all", drive)
    done("mkswap", drive)


CHANGES: dict[str, tuple[Callable[[Path, Path], None], str]] = {
    "another file system of that name": (
        other_uuid,
        r"\(UUID .* was added, .* was removed",
    ),
    "another label": (other_label, 'ext4 "books" .* was added'),
    "data at a sampled place": (other_data, "have other data|bytes were written"),
    "data that no sample meets": (unsampled_data, "bytes were written to it"),
    "another file at the same path": (another_file, "another drive, or has another file"),
    "a partition table": (another_table, "partition table"),
    "swap": (swap, "swap on .* was added"),
}


@pytest.mark.parametrize("what", CHANGES)
def test_what_changed_after_the_question_is_not_erased_and_is_named(
    drive: Path, tmp_path: Path, what: str
) -> None:
    change, said = CHANGES[what]
    done("mkfs.ext4", "-q", "-L", "orders", drive)
    shown = to_be_erased(inventory([str(drive)]), {str(tmp_path / "drive.img")})
    assert len(shown) == 1
    change(drive, tmp_path / "drive.img")
    before = checksum(drive)
    with pytest.raises(Refused, match=said):
        erase_drives(shown)
    assert checksum(drive) == before


# --- data that nothing announces ------------------------------------------------------------------


def test_raw_data_behind_our_mark_are_data(drive: Path, journal: Journal, tmp_path: Path) -> None:
    used_once(drive, journal, tmp_path)
    assert state(drive).why == "only remains of a volume that kneebench removed"
    put(drive, UNSAMPLED, b"somebody's")
    done("blockdev", "--flushbufs", drive)
    before = checksum(drive)
    assert state(drive).state == "contains data"
    with pytest.raises(Refused, match="perhaps with data that others wrote since"):
        claim([str(drive)])
    assert checksum(drive) == before


def test_a_mark_without_a_memory_or_from_another_boot_proves_nothing(
    drive: Path, journal: Journal, tmp_path: Path
) -> None:
    used_once(drive, journal, tmp_path)
    file = left.drive_file(str(tmp_path / "drive.img"))
    then = left.kept(file, left.Left)
    assert then and file.stat().st_mode & 0o777 == 0o600
    left.keep(file, then.model_copy(update={"boot": "another"}))
    assert state(drive).state == "contains data", "it has no counter of its own"
    file.unlink()
    assert state(drive).state == "contains data"


def test_a_drive_with_a_counter_of_its_own_is_known_after_a_restart(
    drive: Path, journal: Journal, tmp_path: Path
) -> None:
    used_once(drive, journal, tmp_path)
    file = left.drive_file(str(tmp_path / "drive.img"))
    then = left.kept(file, left.Left)
    assert then
    left.keep(file, then.model_copy(update={"boot": "another", "written_bytes": 5_120_000}))
    [seen] = inventory([str(drive)])
    for written, known in ((5_120_000, True), (5_632_000, False), (None, False)):
        health = seen.health.model_copy(update={"written_bytes": written})
        assert left.is_as_left(seen.model_copy(update={"health": health})) is known


@pytest.mark.parametrize("at", [UNSAMPLED, 512 * MIB + 4096, 640 * MIB - 4096])
def test_a_mebibyte_of_raw_data_is_found_wherever_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with loop_device(tmp_path / "large.img", 768 * MIB) as large:
        put(large, at, b"\1" * MIB)
        assert state(large).state == "contains data"
        assert f"data at byte {at:,}" in state(large).why


def test_a_large_drive_that_seems_blank_needs_consent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with loop_device(tmp_path / "large.img", WHOLE_BYTES + MIB) as large:
        table = {"storages": {"new": {"drives": [str(large)]}}}
        found = state(large)
        assert found.state == "perhaps blank"
        assert found.why == "no signature, and 258 samples are zero; the rest was not read"
        put(large, 4096, b"somebody's")
        assert "unknown data at byte 4,096" in state(large).why
        put(large, 4096, bytes(10))
        with pytest.raises(Refused, match=r"perhaps blank.*--erase"):
            claim([str(large)])
        image = str(tmp_path / "large.img")
        allowed = Plan.model_validate({**table, "erase": [image]})
        shown = to_be_erased(inventory([str(large)]), allowed.erase)
        levels = [
            next(
                one.level
                for one in volume_findings(Study(each), erase=agreed)
                if one.subject == str(large)
            )
            for each, agreed in ((Plan.model_validate(table), ()), (allowed, ()), (allowed, shown))
        ]
        assert levels == ["refused", "refused", "warning"]
        erase_drives(shown)
        assert state(large).state == "blank", "it is known to be ours now"


def test_a_drive_that_others_write_while_it_is_read_is_not_blank(
    drive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with drive.open("r+b"), pytest.raises(Refused, match="open for writing in"):
        claim([str(drive)])


# --- uses that no mount of the device shows -------------------------------------------------------


@contextlib.contextmanager
def second_loop(image: Path) -> Iterator[Path]:
    device = Path(done("losetup", "--find", "--show", image).strip())
    try:
        yield device
    finally:
        done("losetup", "--detach", device)


@contextlib.contextmanager
def mounted_second_loop(image: Path, name: Path) -> Iterator[None]:
    with second_loop(name) as second:
        done("mkfs.ext4", "-q", second)
        with volume_point() as point, mounted(second, point, "-o", "ro,noload"):
            yield


@contextlib.contextmanager
def by_hard_link(image: Path) -> Iterator[None]:
    name = image.with_name("link.img")
    name.hardlink_to(image)
    with mounted_second_loop(image, name):
        yield


@contextlib.contextmanager
def bind_mounted(image: Path, *, loop: bool = True) -> Iterator[None]:
    name = image.with_name("bound.img")
    name.touch()
    done("mount", "--bind", image, name)
    try:
        with mounted_second_loop(image, name) if loop else contextlib.nullcontext():
            yield
    finally:
        done("umount", name)


@contextlib.contextmanager
def mapped(image: Path) -> Iterator[None]:
    with image.open("r+b") as file:
        memory = mmap.mmap(file.fileno(), 4096)
    with memory:
        yield


USES: dict[str, tuple[Callable[[Path], Any], str]] = {
    "behind a second, mounted loop": (
        lambda image: mounted_second_loop(image, image),
        "also behind loop",
    ),
    "behind a second loop": (second_loop, "also behind loop"),
    "by a hard link": (by_hard_link, "also behind loop"),
    "by a bind mount": (bind_mounted, "also behind loop"),
    "bind-mounted only": (lambda image: bind_mounted(image, loop=False), "file that is mounted on"),
    "open for writing": (lambda image: image.open("r+b"), "open for writing in "),
    "mapped and writable": (mapped, "open for writing in "),
}


@pytest.mark.parametrize("what", USES)
def test_a_use_of_the_file_behind_a_loop_device_is_a_use(
    drive: Path, tmp_path: Path, what: str
) -> None:
    use, said = USES[what]
    image = tmp_path / "drive.img"
    done("mkfs.ext4", "-q", drive)
    shown = to_be_erased(inventory([str(drive)]), {str(image)})
    with use(image):
        before = checksum(image)
        found = state(drive)
        assert (found.state, said in found.why) == ("in use", True), found
        with pytest.raises(Refused):
            erase_drives(shown)
        with pytest.raises(Refused, match="in use"):
            claim([str(drive)])
        assert checksum(image) == before
    assert wait_until(lambda: state(drive).state != "in use")


# --- names with control characters ----------------------------------------------------------------


def test_a_label_is_printed_on_one_line(drive: Path) -> None:
    done("mkfs.ext4", "-q", "-L", "a\nb\x1b[2J", drive)
    why = state(drive).why
    assert r'ext4 "a\nb\u001b[2J"' in why
    assert why.isprintable()


def test_a_label_of_any_bytes_is_printed(drive: Path) -> None:
    subprocess.run([b"mkfs.ext4", b"-q", b"-L", b"\xd6\xff", bytes(drive)], check=True)
    assert r'ext4 "\udcd6\udcff"' in state(drive).why


def test_a_drive_whose_name_has_control_characters_is_named_in_the_form_that_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with loop_device(tmp_path / "a\nb.img", SMALL) as device:
        done("mkfs.ext4", "-q", device)
        [found] = inventory([str(device)])
        assert found.wwid == str(tmp_path / r"a\nb.img")
        plan = Plan.model_validate(
            {"storages": {"new": {"drives": [found.wwid]}}, "erase": [found.wwid]}
        )
        [shown] = to_be_erased(inventory(plan.drives), plan.erase)
        erase_drives([shown])
        assert state(device).state == "blank"


# --- after a kill ---------------------------------------------------------------------------------

OURS = "11111111-2222-3333-4444-555555555555"


def left_behind(drive: Path, journal: Journal) -> None:
    """The entry of a killed run that had written to the drive, and was not writing just then."""
    [seen] = inventory([str(drive)])
    facts = {"device": str(drive), "wwid": seen.key, "volume": OURS, "identity": seen.identity}
    entry = journal.change(FormattedDrive, "a volume", **facts)
    killed = entry.model_copy(update={"owner": 1, "owner_started": 1})
    (journal.folder / f"{entry.id}.json").write_text(killed.model_dump_json())
    with OpenDevice(str(drive)) as opened:
        note_own_writes(opened)


def cleaned(journal: Journal) -> tuple[list[str], list[str]]:
    """What `clean` has undone, and its warnings."""
    warnings: list[str] = []
    undone = journal.clean(
        lambda event: warnings.append(event.doing) if event.kind == "warning" else None
    )
    return [one.words for one in undone], warnings


def assert_left_alone(drive: Path, journal: Journal, before: str) -> None:
    undone, warnings = cleaned(journal)
    assert undone == []
    [said] = warnings
    assert "written to it since kneebench did" in said and str(drive) in said
    assert checksum(drive) == before
    assert state(drive).state == "contains data"
    assert list(journal.folder.iterdir()) == [], "it is no longer ours to clean"


def test_a_drive_that_only_we_wrote_to_is_marked_by_clean_which_names_it(
    drive: Path, journal: Journal
) -> None:
    done("mkfs.ext4", "-q", "-U", OURS, drive)
    done("blockdev", "--flushbufs", drive)
    left_behind(drive, journal)
    undone, warnings = cleaned(journal)
    assert (len(undone), warnings) == (1, [])
    assert undone[0].startswith(str(drive))
    assert state(drive).why == "only remains of a volume that kneebench removed"


@pytest.mark.parametrize("at", [0, 100, 4095, UNSAMPLED])
def test_a_drive_that_was_taken_back_is_left_alone_and_clean_says_so(
    drive: Path, journal: Journal, at: int
) -> None:
    left_behind(drive, journal)
    put(drive, at, b"somebody's raw data")
    done("blockdev", "--flushbufs", drive)
    assert_left_alone(drive, journal, checksum(drive))


def test_files_that_its_owner_put_into_our_file_system_stay(drive: Path, journal: Journal) -> None:
    done("mkfs.ext4", "-q", "-U", OURS, drive)
    done("blockdev", "--flushbufs", drive)
    left_behind(drive, journal)
    with volume_point() as point, mounted(drive, point):
        (point / "letters").write_text("somebody's")
    assert_left_alone(drive, journal, checksum(drive))


def test_a_loop_device_whose_file_was_written_directly_is_left_alone(
    drive: Path, journal: Journal, tmp_path: Path
) -> None:
    left_behind(drive, journal)
    put(tmp_path / "drive.img", UNSAMPLED, b"somebody's")
    assert_left_alone(drive, journal, checksum(tmp_path / "drive.img"))


def test_raw_data_written_to_the_file_behind_our_mark_are_data(
    drive: Path, journal: Journal, tmp_path: Path
) -> None:
    used_once(drive, journal, tmp_path)
    assert state(drive).state == "blank"
    put(tmp_path / "drive.img", UNSAMPLED, b"somebody's")
    assert state(drive).state == "contains data"


def test_signatures_of_ours_below_a_file_system_of_its_owner_stay(
    drive: Path, journal: Journal
) -> None:
    """What is at the place of our signature may be theirs by now."""
    command = ["mkfs.btrfs", "-q", "-f", "-U", OURS, drive]
    # It looks at all loop devices, also at those of other tests that are just being detached.
    assert wait_until(lambda: subprocess.run(command).returncode == 0)
    left_behind(drive, journal)
    magic = drive.read_bytes()[65600:65608]
    done("mkfs.ext4", "-q", "-F", drive)
    put(drive, 65600, magic)
    done("blockdev", "--flushbufs", drive)
    assert_left_alone(drive, journal, checksum(drive))


def test_another_file_at_the_path_of_our_drive_is_not_it(
    drive: Path, journal: Journal, tmp_path: Path
) -> None:
    done("mkfs.ext4", "-q", "-U", OURS, drive)
    left_behind(drive, journal)
    another_file(drive, tmp_path / "drive.img")
    before = checksum(drive)
    undone, [said] = cleaned(journal)
    assert undone == [] and "is not here now" in said
    assert checksum(drive) == before


def test_bytes_that_are_not_yet_on_the_drive_count_too(drive: Path, journal: Journal) -> None:
    """Whoever has the drive open keeps what others wrote to it in memory."""
    left_behind(drive, journal)
    with drive.open("rb"):
        put(drive, 0, b"somebody's raw data")
        assert_left_alone(drive, journal, checksum(drive))


def test_files_in_a_volume_of_a_killed_run_are_not_ours(drive: Path, journal: Journal) -> None:
    done("mkfs.ext4", "-q", "-U", OURS, drive)
    left_behind(drive, journal)
    with volume_point() as point:
        entry = journal.change(MountedFileSystem, "a volume", point=str(point))
        done("mount", drive, point)
        (point / "letters").write_text("somebody's")
        assert entry.model_copy(update={"owner": 1}).undo()
    assert_left_alone(drive, journal, checksum(drive))


def test_what_is_mounted_below_a_directory_of_ours_is_not_removed_with_it(
    drive: Path, journal: Journal, tmp_path: Path
) -> None:
    done("mkfs.ext4", "-q", drive)
    with journal.directory(tmp_path / "ours", "a mount point") as ours:
        (ours / "volume").mkdir()
        with mounted(drive, ours / "volume"):
            (ours / "volume" / "letters").write_text("somebody's")
            with pytest.raises(Refused, match=r"is mounted on .*/ours/volume; run `umount"):
                remove(ours)
            assert (ours / "volume" / "letters").read_text() == "somebody's"


# --- while a run has the drive --------------------------------------------------------------------


def test_a_drive_that_is_taken_back_from_a_run_that_still_runs_is_left_alone(
    drive: Path, journal: Journal, tmp_path: Path
) -> None:
    table = Storage.model_validate({"drives": [str(drive)], **EXT4})
    before = ""
    with (
        closing(Volumes(journal, tmp_path)) as volumes,
        pytest.raises(KneebenchError, match="is left as it is"),
        volumes.mounted("new", table, unwatched) as there,
    ):
        done("umount", there.paths[0])
        done("mkfs.ext4", "-q", "-F", "-L", "orders", drive)
        before = checksum(drive)
    assert checksum(drive) == before
    assert 'ext4 "orders"' in state(drive).why


def test_a_file_system_that_appears_right_before_ours_is_made_stays(
    drive: Path, journal: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = f"mkfs.ext4 -q -F -L orders {drive}; sync; echo it contains ext4 >&2; exit 1"
    monkeypatch.setattr(building, "mkfs_command", lambda *given: ["sh", "-c", script])
    table = Storage.model_validate({"drives": [str(drive)], **EXT4})
    made_it = Volumes(journal, tmp_path).mounted("new", table, unwatched)
    with pytest.raises(KneebenchError, match="it contains ext4"), made_it:
        pass
    assert 'ext4 "orders"' in state(drive).why


def test_a_drive_that_is_written_to_while_it_is_read_is_refused(
    drive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(*given: Any, **more: Any) -> Content:
        found = content_of(*given, **more)
        put(drive, UNSAMPLED, b"somebody's")
        return found

    monkeypatch.setattr("kneebench.lab.inventory.content_of", read)
    with pytest.raises(Refused, match="written to while it was read"):
        claim([str(drive)])


def test_a_node_that_leads_to_another_device_than_its_name_is_refused(
    drive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with loop_device(tmp_path / "other.img", SMALL) as other:
        listed = [one for one in listed_devices(Sources()) if one.path == str(drive)]
        stale = [one._replace(path=str(other)) for one in listed]
        monkeypatch.setattr("kneebench.lab.inventory.listed_devices", lambda sources: stale)
        assert "leads to another device" in drive_state(inventory()[0]).why
        with pytest.raises(Refused):
            claim([drive.name])


def test_a_loop_over_a_drive_by_a_node_that_was_removed_is_a_use(
    drive: Path, tmp_path: Path
) -> None:
    node = tmp_path / "node"
    os.mknod(node, 0o600 | stat.S_IFBLK, drive.stat().st_rdev)
    with second_loop(node) as above:
        node.unlink()
        assert f"behind {above.name}" in state(drive).why


THREAD = """
import ctypes, os, sys, threading
def use():
    ctypes.CDLL(None).unshare(0x400)  # CLONE_FILES
    os.open(sys.argv[1], os.O_RDWR)
    print("open", flush=True)
    sys.stdin.read()
threading.Thread(target=use).start()
"""


def test_a_thread_with_descriptors_of_its_own_is_a_use(drive: Path) -> None:
    command = [sys.executable, "-c", THREAD, drive]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as using:
        assert using.stdout and using.stdout.readline() == b"open\n"
        found = state(drive)
        using.communicate()
    assert "open for writing in" in found.why


def test_a_count_that_the_kernel_does_not_keep_proves_nothing(
    drive: Path, journal: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    used_once(drive, journal, tmp_path)
    assert state(drive).state == "blank"
    monkeypatch.setattr("kneebench.lab.open_device.text_in", lambda folder, name: "0")
    assert state(drive).state == "contains data"
