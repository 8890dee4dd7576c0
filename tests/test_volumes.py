"""Volumes of drives: made on real loop devices and emulated drives, used, and taken apart again.

Nothing is written to a drive that is used or has anything on it, unless its owner says so twice.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import io
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kneebench.campaign.machines.machine import DatabaseMachine
from kneebench.commands.erasing import confirm_drives, confirm_erasing
from kneebench.errors import KneebenchError, PlanError, Refused
from kneebench.lab.changes.drive import lock_drive
from kneebench.lab.changes.format import FormattedDrive
from kneebench.lab.drives import whole_devices
from kneebench.lab.folder import Folder
from kneebench.lab.inventory import inventory
from kneebench.lab.inventory.erasable import drive_state
from kneebench.lab.journal import Journal
from kneebench.lab.permission import claim
from kneebench.lab.volumes import Volumes, erase_drives, named_drives, to_be_erased, volume_findings
from kneebench.lab.volumes.layouts import has_md, md_command
from kneebench.plan import Plan
from kneebench.plan.default import MEMORY
from kneebench.plan.storage import Storage
from kneebench.plan.study import Study
from kneebench.plan.volume import Volume
from kneebench.records import Event, Signature, WholeDrive
from tests.loop_devices import (
    HOLDS,
    HOLDS_ALWAYS,
    SIZE,
    SMALL,
    done,
    loop_device,
    mounted,
    needs_emulation,
)
from tests.parameters import some

root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: loop devices and mounts")
pytestmark = [pytest.mark.root, root]


EXT4 = {"file_system": {"type": "ext4"}}
HELD = [one for one in HOLDS if one != "xfs"]  # which needs a larger drive


def unwatched(event: Event) -> None:
    """Nobody looks."""


@pytest.fixture
def drive(tmp_path: Path) -> Iterator[str]:
    """The path of a blank drive: a loop device."""
    with loop_device(tmp_path / "drive.img", SMALL) as device:
        yield str(device)


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "journal")


@pytest.fixture
def volumes(journal: Journal, tmp_path: Path) -> Iterator[Volumes]:
    with closing(Volumes(journal, tmp_path / "emulated")) as made:
        yield made


def storage(**given: Any) -> Storage:
    return Storage.model_validate({**EXT4, **given})


def plan(*drives: str, erase: tuple[str, ...] = ()) -> Plan:
    table = {"drives": drives, "layout": "single" if len(drives) == 1 else "stripe"}
    return Plan.model_validate({"storages": {"new": table}, "erase": erase})


def look(device: str) -> WholeDrive:
    [found] = inventory([device])
    return found


def state(device: str) -> str:
    return drive_state(look(device)).state


def checksum(device: str) -> str:
    return hashlib.sha256(Path(device).read_bytes()).hexdigest()


def wwid(device: str) -> str:
    return look(device).wwid


# --- volumes of drives of this machine ------------------------------------------------------------


@pytest.mark.parametrize("kind", some(["xfs", "ext4", "btrfs"], ["ext4"]))
def test_a_drive_gets_a_file_system_that_is_gone_again_at_the_end(
    volumes: Volumes, journal: Journal, tmp_path: Path, kind: str
) -> None:
    with loop_device(tmp_path / "drive.img", SIZE if kind == "xfs" else SMALL) as drive:
        gets_a_file_system(str(drive), volumes, kind)
    assert journal.leftovers() == []
    assert list(journal.folder.iterdir()) == []


def gets_a_file_system(drive: str, volumes: Volumes, kind: str) -> None:
    one = storage(drives=[drive], file_system={"type": kind, "mount": ["noatime"]})
    for _ in range(2):  # what the first leaves does not prevent the second
        with volumes.mounted("new", one, unwatched) as mounted:
            [path] = mounted.paths
            (path / "file").write_bytes(os.urandom(8192))
            assert whole_devices([path]) == whole_devices([Path(wwid(drive))])
            assert state(drive) == "in use"
            assert path.stat().st_mode & 0o001, "the server's account can enter it"
        assert not path.exists()
        assert state(drive) == "blank"
        assert "remains of a volume" in drive_state(look(drive)).why


@pytest.mark.long
def test_two_drives_mirrored_by_btrfs_are_one_file_system_of_both(
    tmp_path: Path, volumes: Volumes
) -> None:
    with loop_device(tmp_path / "a.img") as a, loop_device(tmp_path / "b.img") as b:
        one = storage(drives=[str(a), str(b)], layout="mirror", file_system={"type": "btrfs"})
        with volumes.mounted("new", one, unwatched) as mounted:
            [path] = mounted.paths
            found = done("btrfs", "filesystem", "df", path)
            assert "Data, RAID1" in found
            assert "Metadata, RAID1" in found
            assert {state(str(a)), state(str(b))} == {"in use"}
        assert {state(str(a)), state(str(b))} == {"blank"}


def test_an_open_directory_on_btrfs_shows_what_was_made_in_it_later(
    drive: str, volumes: Volumes
) -> None:
    one = storage(drives=[drive], file_system={"type": "btrfs"})
    with volumes.mounted("new", one, unwatched) as mounted, Folder.at(mounted.paths[0]) as folder:
        for number in range(3):
            (mounted.paths[0] / f"file {number}").touch()
            assert len(folder.names()) == len(folder.listed().files) == number + 1


def test_data_and_log_have_volumes_of_their_own(tmp_path: Path, volumes: Volumes) -> None:
    with loop_device(tmp_path / "a.img", SMALL) as a, loop_device(tmp_path / "b.img", SMALL) as b:
        log = {"drives": [str(b)], **EXT4}
        with volumes.mounted("new", storage(drives=[str(a)], log=log), unwatched) as mounted:
            data, apart = mounted.paths
            assert data.stat().st_dev != apart.stat().st_dev
        assert {state(str(a)), state(str(b))} == {"blank"}


def test_a_volume_that_cannot_be_mounted_leaves_nothing_and_says_why(
    volumes: Volumes, journal: Journal, tmp_path: Path
) -> None:
    with loop_device(tmp_path / "drive.img", SIZE) as drive:
        file_system = {"type": "xfs", "mount": ["logbufs=999"]}
        one = storage(drives=[str(drive)], file_system=file_system)
        with pytest.raises(PlanError) as wrong, volumes.mounted("new", one, unwatched):
            pass
        assert "mount" in wrong.value.seen
        assert str(drive) in wrong.value.what
        assert state(str(drive)) == "blank"
    assert list(journal.folder.iterdir()) == []


def test_an_array_is_made_without_a_resync_and_with_a_name_that_is_found_again() -> None:
    command = md_command("/dev/md/x", "raid10", "1-2", ["/dev/a", "/dev/b"])
    assert {"--assume-clean", "--run"} <= set(command)
    assert command[command.index("--level") + 1] == "10"
    assert command[command.index("--raid-devices") + 1] == "2"


@pytest.mark.skipif(has_md(), reason="this kernel has md")
def test_a_layout_that_needs_md_is_an_error_of_check_without_md(tmp_path: Path) -> None:
    with loop_device(tmp_path / "a.img", SMALL) as a, loop_device(tmp_path / "b.img", SMALL) as b:
        seen = [one.seen for one in volume_findings(Study(plan(str(a), str(b))), erase=())]
    assert any("no md" in sentence for sentence in seen)


# --- drives with data -----------------------------------------------------------------------------


@pytest.mark.parametrize("what", some(HELD, HOLDS_ALWAYS))
def test_a_drive_with_data_is_refused_and_not_a_byte_of_it_changes(
    drive: str, volumes: Volumes, what: str
) -> None:
    HOLDS[what][0](Path(drive))
    before = checksum(drive)
    one = storage(drives=[drive])
    with pytest.raises(Refused) as refused, volumes.mounted("new", one, unwatched):
        pass
    assert "contains data" in refused.value.seen
    assert "--erase" in refused.value.do
    assert checksum(drive) == before
    [finding] = [
        one
        for one in volume_findings(Study(plan(drive)), erase=[look(drive)])
        if one.subject == drive
    ]
    assert finding.level == "refused"


def erasable(allowed: Plan) -> tuple[WholeDrive, ...]:
    """The drives that a run of the plan would show, to be erased."""
    return to_be_erased(named_drives(allowed.drives), allowed.erase)


@pytest.mark.parametrize("what", some(HELD, HOLDS_ALWAYS))
def test_a_drive_that_plan_and_run_allow_to_erase_is_blank_afterwards(
    drive: str, what: str
) -> None:
    HOLDS[what][0](Path(drive))
    allowed = plan(drive, erase=(wwid(drive),))
    shown = erasable(allowed)
    levels = [
        next(
            one.level
            for one in volume_findings(Study(allowed), erase=agreed)
            if one.subject == drive
        )
        for agreed in ((), shown)
    ]
    assert levels == ["refused", "warning"]
    erase_drives(shown)
    assert state(drive) == "blank"
    [claimed] = claim([drive])
    with claimed:
        assert claimed.path == drive


def test_a_drive_without_a_wwid_is_never_erased() -> None:
    facts = {"device": "sdz", "type": "ext4", "offset": 1080}
    nameless = WholeDrive(name="sdz", path="/dev/sdz", signatures=(Signature(**facts),))
    assert to_be_erased([nameless], ("sdz", "")) == ()


def test_one_drive_by_two_names_is_an_error_of_check(drive: str) -> None:
    table = {"drives": [drive], "log": {"drives": [Path(drive).name]}}
    twice = Plan.model_validate({"storages": {"new": table}})
    seen = [one.seen for one in volume_findings(Study(twice))]
    assert f"{drive} is in 'new' already" in seen


@pytest.mark.parametrize(("rounds", "refused"), [("short", True), ("long", False)])
def test_storages_share_a_drive_only_where_one_is_measured_at_a_time(
    drive: str, rounds: str, refused: bool
) -> None:
    """Named by its path and by its name: so the plan alone does not show it."""
    tables = {"new": {"drives": [drive]}, "other": {"drives": [Path(drive).name]}}
    ladder = {"rounds": rounds, "repeats": 3, "checkpoints": 0}
    shared = Plan.model_validate({"ladder": ladder, "storages": tables})
    seen = [one.seen for one in volume_findings(Study(shared)) if one.level == "error"]
    assert (f"{drive} is in 'new' already" in seen) == refused


def test_a_missing_drive_is_one_finding_among_others() -> None:
    found = [*volume_findings(Study(plan("nosuchdrive", "another")), erase=())]
    assert "no such drive here" in [one.seen for one in found]


ANSWERS = {"erase 1 drive\n": True, "erase 1 drive": True, "no\n": False, "y\n": False, "": False}
ANSWERS |= {"erase 2 drives\n": False, "\nerase 1 drive\n": False, "\udcff\n": False}
"""What standard input has, and whether it agrees."""


@pytest.mark.parametrize("terminal", [True, False])
def test_only_the_words_of_consent_on_standard_input_agree_be_it_a_terminal_or_not(
    drive: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, terminal: bool
) -> None:
    HOLDS["ext4"][0](Path(drive))
    shown = inventory([drive])
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    for answer, agrees in ANSWERS.items():
        (tmp_path / "answer").write_bytes(os.fsencode(answer))
        with (tmp_path / "answer").open() as file:
            monkeypatch.setattr(file, "isatty", lambda: terminal)
            monkeypatch.setattr(sys, "stdin", file)
            refused = pytest.raises(Refused, match="not confirmed")
            with contextlib.nullcontext() if agrees else refused:
                assert confirm_drives(shown) == tuple(shown)


def test_a_question_that_nobody_can_see_or_answer_is_answered_by_nothing(
    drive: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    HOLDS["ext4"][0](Path(drive))
    shown = inventory([drive])
    typed = io.StringIO("erase 1 drive\n")
    monkeypatch.setattr(typed, "isatty", lambda: True)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False)
    for stream in (typed, None):  # None: closed, as by `<&-`
        monkeypatch.setattr(sys, "stdin", stream)
        with pytest.raises(Refused, match="not confirmed"):
            confirm_drives(shown)


def test_a_job_that_nobody_watches_erases_only_the_drives_that_it_names_by_wwid(
    drive: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    with loop_device(tmp_path / "second.img", SMALL) as other:
        for one in (drive, str(other)):
            HOLDS["ext4"][0](Path(one))
        both = plan(drive, str(other), erase=(wwid(drive), wwid(str(other)), "wwn-3"))
        for word, why in (("all", "not in the plan's"), ("wwn-3", "no such drive here")):
            with pytest.raises(PlanError, match=why):
                confirm_erasing(DatabaseMachine(), Study(both), [word], wanted=True)
        found = confirm_erasing(DatabaseMachine(), Study(both), [wwid(drive)], wanted=False)
        assert [one.path for one in found] == [drive]
        with pytest.raises(Refused, match="not confirmed"):
            confirm_erasing(DatabaseMachine(), Study(both), [wwid(drive)], wanted=True)
        found = confirm_erasing(DatabaseMachine(), Study(both), both.erase[:2], wanted=True)
        assert {one.path for one in found} == {drive, str(other)}


def test_a_wwid_that_two_drives_have_agrees_to_neither(
    drive: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    HOLDS["ext4"][0](Path(drive))
    allowed = plan(drive, erase=(wwid(drive),))
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    second = done("losetup", "--find", "--show", wwid(drive)).strip()
    try:
        with pytest.raises(PlanError, match="several drives"):
            confirm_erasing(DatabaseMachine(), Study(allowed), allowed.erase, wanted=False)
    finally:
        done("losetup", "--detach", second)


def test_neither_yes_nor_json_nor_an_end_of_file_is_consent_to_erase(
    drive: str, tmp_path: Path
) -> None:
    HOLDS["ext4"][0](Path(drive))
    before, file = checksum(drive), tmp_path / "plan.toml"
    file.write_text(f'erase = ["{wwid(drive)}"]\nstorages.new.drives = ["{drive}"]\n')
    command = [sys.executable, "-m", "kneebench", "run", file, "--erase", "--yes", "--json"]
    ended = subprocess.run(command, input="", capture_output=True, text=True, cwd=tmp_path)
    assert ended.returncode == Refused.exit_code, ended.stderr
    assert f"--erase-without-asking {wwid(drive)}" in " ".join(ended.stderr.split())
    assert checksum(drive) == before


def test_a_drive_that_is_in_use_is_never_erased(drive: str, tmp_path: Path) -> None:
    HOLDS["ext4"][0](Path(drive))
    point = tmp_path / "point"
    point.mkdir()
    allowed = plan(drive, erase=(wwid(drive),))
    shown = erasable(allowed)
    with mounted(drive, point, "-o", "ro"):
        before = checksum(drive)
        with pytest.raises(Refused, match=r"in use: .* is mounted on"):
            erase_drives(shown)
        assert erasable(allowed) == ()
        [found] = [
            one for one in volume_findings(Study(allowed), erase=shown) if one.subject == drive
        ]
        assert found.level == "refused"
        assert checksum(drive) == before


def test_a_drive_that_changed_after_it_was_shown_is_not_erased(drive: str) -> None:
    HOLDS["ext4"][0](Path(drive))
    allowed = plan(drive, erase=(wwid(drive),))
    shown = erasable(allowed)
    done("wipefs", "--all", drive)
    done("mkswap", drive)
    changed = r"swap on .* was added, ext4 .* was removed since it was looked at"
    with pytest.raises(Refused, match=changed):
        erase_drives(shown)
    assert state(drive) == "contains data"


def test_the_remains_of_our_volume_on_another_drive_are_data(
    drive: str, volumes: Volumes, tmp_path: Path
) -> None:
    with volumes.mounted("new", storage(drives=[drive]), unwatched) as mounted:
        (mounted.paths[0] / "file").write_bytes(os.urandom(2**20))
    with loop_device(tmp_path / "copy.img", SMALL) as copy:
        done("dd", f"if={drive}", f"of={copy}", "bs=1M", "conv=fsync")
        assert (state(drive), state(str(copy))) == ("blank", "contains data")


def test_a_file_system_that_somebody_made_after_a_kill_is_not_removed(
    drive: str, journal: Journal
) -> None:
    ours = journal.change(
        FormattedDrive,
        "a volume",
        device=drive,
        wwid=wwid(drive),
        volume="11111111-2222-3333-4444-555555555555",
    )
    HOLDS["ext4"][0](Path(drive))
    with pytest.raises(OSError, match="is left as it is"):
        ours.undo()
    assert state(drive) == "contains data"


def test_udev_leaves_a_drive_alone_while_its_signatures_are_removed(drive: str) -> None:
    with Path(drive).open("rb") as device, lock_drive(drive), pytest.raises(BlockingIOError):
        fcntl.flock(device, fcntl.LOCK_SH | fcntl.LOCK_NB)
    with Path(drive).open("rb") as device:
        fcntl.flock(device, fcntl.LOCK_SH | fcntl.LOCK_NB)


# --- emulated drives ------------------------------------------------------------------------------

SATA = {"emulated": "sata", "size": SIZE}


def test_a_drive_in_memory_is_a_loop_device_over_a_file_there(
    volumes: Volumes, journal: Journal, tmp_path: Path
) -> None:
    size = 320 * 2**20
    there = {"path": tmp_path}
    apart = {"drives": [{"emulated": "memory", "size": size}], "file_system": {"type": "xfs"}}
    mixed = Storage(**there).model_copy(update={"log": Volume.model_validate(apart)})
    with volumes.mounted("mixed", mixed, unwatched) as mounted:
        data, log = mounted.paths
        assert (data, mounted.log_path) == (tmp_path, log)
        [device] = whole_devices([log])
        image = Path(Path(f"/sys/block/{device}/loop/backing_file").read_text().strip())
        assert image.is_relative_to(MEMORY)
        assert image.stat().st_blocks * 512 >= size, "no server's limit pays for it later"
    volumes.close()
    assert not image.exists()
    assert list(journal.folder.iterdir()) == []


@needs_emulation
def test_emulated_drives_keep_what_is_written_to_them_and_leave_nothing(
    volumes: Volumes, journal: Journal, tmp_path: Path
) -> None:
    one = storage(drives=[{**SATA, "count": 2}], layout="mirror", file_system={"type": "btrfs"})
    data = os.urandom(2**20)
    with volumes.mounted("new", one, unwatched) as mounted:
        [path] = mounted.paths
        devices = whole_devices([path])
        assert len(devices) == 2
        (path / "file").write_bytes(data)
        done("sync", "-f", path)
        Path("/proc/sys/vm/drop_caches").write_text("1")
        assert (path / "file").read_bytes() == data
    with volumes.mounted("new", one, unwatched) as mounted:
        assert whole_devices(mounted.paths) == devices, "drives stay in their slots"
    volumes.close()
    assert list((tmp_path / "emulated").iterdir()) == []
    assert list(journal.folder.iterdir()) == []


@needs_emulation
def test_an_emulated_drive_without_space_for_its_file_says_how_much_it_needs(
    volumes: Volumes, journal: Journal
) -> None:
    huge = storage(drives=[{"emulated": "sata", "size": 2**50}])
    with pytest.raises(KneebenchError) as wrong, volumes.mounted("new", huge, unwatched):
        pass
    assert "1 PiB" in wrong.value.do
    volumes.close()
    assert list(journal.folder.iterdir()) == []


KILLED = """
import os, signal, subprocess, sys
from pathlib import Path
from kneebench.lab.journal import Journal
from kneebench.lab.volumes import Volumes
from kneebench.plan.default import MEMORY
from kneebench.plan.storage import Storage
from kneebench.plan.volume import Volume
from kneebench.plan.study import Study

steps, place = int(sys.argv[1]), Path(sys.argv[2])
start = subprocess.Popen.__init__

def counted(self, command, *more, **options):
    global steps
    start(self, command, *more, **options)
    steps -= 1
    if not steps:
        if command[0] not in ("qemu-storage-daemon", "nbdfuse"):
            self.wait()
        os.kill(os.getpid(), signal.SIGKILL)

subprocess.Popen.__init__ = counted
sata = {"emulated": "sata", "size": 320 * 2**20, "count": 2}
table = {"drives": [sata], "layout": "mirror", "file_system": {"type": "btrfs"}}
volumes = Volumes(Journal(place / "journal"), place / "emulated")
with volumes.mounted("new", Storage(**table), print):
    os.kill(os.getpid(), signal.SIGKILL)
"""


STEPS = 11


@pytest.mark.parametrize("step", some(range(1, STEPS + 1), [6]))
@needs_emulation
def test_a_volume_whose_maker_is_killed_at_any_step_is_taken_apart_by_the_next_run(
    step: int, tmp_path: Path, journal: Journal
) -> None:
    killed = subprocess.run([sys.executable, "-c", KILLED, str(step), tmp_path], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert journal.leftovers()
    warnings: list[str] = []
    journal.clean(lambda event: warnings.append(event.doing) if event.kind == "warning" else None)
    assert warnings == []
    assert list(journal.folder.iterdir()) == []
    assert list((tmp_path / "emulated").iterdir()) == []
    assert str(tmp_path) not in done("losetup", "--list")
    assert str(tmp_path) not in Path("/proc/mounts").read_text()
    assert not [pid for pid in Path("/proc").glob("[0-9]*") if lives_in(pid, tmp_path)]


def lives_in(pid: Path, place: Path) -> bool:
    try:
        return (pid / "cwd").resolve().is_relative_to(place)
    except OSError:
        return False
