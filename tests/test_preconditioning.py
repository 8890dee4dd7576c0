"""Preconditioning with a real fio on real loop devices; the rule of the steady state on numbers."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from kneebench.analysis.steady import MOST_ROUNDS, steadiness
from kneebench.analysis.sustained_load import fell_at, has_fallen
from kneebench.campaign.expected_duration import expected_duration
from kneebench.errors import PlanError, Refused
from kneebench.lab.device_writes import MARK_BYTES
from kneebench.lab.host import host
from kneebench.lab.inventory import inventory
from kneebench.lab.inventory.erasable import drive_state
from kneebench.lab.journal import Journal
from kneebench.lab.permission import claim, made
from kneebench.lab.volumes import Volumes, emulated, erase_drives, volume_findings
from kneebench.lab.volumes.emulated import emulated_parts
from kneebench.lab.volumes.fio_on_drives import file_of
from kneebench.lab.volumes.preconditioning_time import write_drives
from kneebench.lab.volumes.sustained_load import Sustained, load_drives
from kneebench.plan import Plan
from kneebench.plan.drive_class import DriveClass
from kneebench.plan.storage import Storage
from kneebench.plan.study import Study
from kneebench.plan.volume import EmulatedDevice, Preconditioning
from kneebench.records import DriveLoad, Event, Preconditioned
from tests.loop_devices import SIZE, done, loop_device, needs_emulation

needs_fio = [
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: loop devices"),
    pytest.mark.skipif(not shutil.which("fio"), reason="needs fio"),
]


class Seen:
    """A watcher that keeps what it is told."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def __call__(self, event: Event) -> None:
        self.events.append(event)

    @property
    def loads(self) -> list[DriveLoad]:
        told = (event.data.get("written") for event in self.events)
        return [one for one in told if isinstance(one, DriveLoad)]

    @property
    def preconditioned(self) -> list[Preconditioned]:
        told = (event.data.get("written") for event in self.events)
        return [one for one in told if isinstance(one, Preconditioned)]


@pytest.fixture
def drives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Two blank loop devices, and a state directory that remembers no drive."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with loop_device(tmp_path / "a.img") as a, loop_device(tmp_path / "b.img") as b:
        yield [str(a), str(b)]


class TestOnRealDrives:
    """fio writes."""

    pytestmark = needs_fio

    def test_passes_write_every_block_behind_the_mark_of_every_drive_and_report_progress(
        self, drives: list[str], tmp_path: Path
    ) -> None:
        seen = Seen()
        how = Preconditioning(sequential=1, random=1)
        with contextlib.ExitStack() as stack:
            blank = [stack.enter_context(one) for one in claim(drives)]
            written = write_drives(Journal(tmp_path / "journal"), blank, how, seen)
        for drive, one in zip(drives, written, strict=True):
            assert one.written_bytes == pytest.approx(2 * SIZE, rel=0.01)
            assert (one.rounds_iops, one.steady) == ((), None)
            assert max(speed for _, speed in one.speed) > 0
            with Path(drive).open("rb") as raw:
                assert raw.read(MARK_BYTES) == bytes(MARK_BYTES)
                blocks = (SIZE - MARK_BYTES) // 4096
                assert all(raw.read(4096).strip(b"\0") for _ in range(blocks))
        shares = [event.share for event in seen.events if event.kind == "progress"]
        assert 1.0 in shares
        assert "random pass 1 of 1" in seen.events[-1].doing

    @needs_emulation
    def test_rounds_go_on_until_every_drive_is_steady_and_no_longer(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Drives so slow that a busy machine does not slow them down: few rounds are enough."""
        monkeypatch.setattr(emulated, "drive_classes", lambda: {"sata": DriveClass(write_iops=200)})
        how, journal = Preconditioning(until_steady=True), Journal(tmp_path / "journal")
        sata = EmulatedDevice("sata", 256 * 2**20)
        with (
            emulated_parts(journal, tmp_path, [sata]) as a,
            emulated_parts(journal, tmp_path, [sata]) as b,
        ):
            written = write_drives(journal, [*a.devices, *b.devices], how, Seen(), round_s=1)
        counts = {len(one.rounds_iops) for one in written}
        assert len(counts) == 1
        assert all(one.steady for one in written) or counts == {MOST_ROUNDS}
        sooner = [steadiness(one.rounds_iops[:-1]) for one in written]
        assert not all(one and one.steady for one in sooner), "it ends as soon as all are steady"

    def test_a_drive_is_preconditioned_once_and_refused_after_others_wrote_to_it(
        self, drives: list[str], tmp_path: Path
    ) -> None:
        storage = Storage.model_validate({"drives": drives[:1], "precondition": "sequential 1"})

        def campaign() -> list[bool]:
            seen = Seen()
            with closing(Volumes(Journal(tmp_path / "journal"), tmp_path)) as volumes:
                for _ in range(2):
                    with volumes.mounted("new", storage, seen):
                        pass
            return [one.remembered for one in seen.preconditioned]

        assert campaign() == [False]
        assert campaign() == [True]
        done("dd", "if=/dev/urandom", f"of={drives[0]}", "bs=1M", "count=1", "seek=99")
        with pytest.raises(Refused, match="perhaps with data that others wrote since"):
            campaign()
        erase_drives(inventory(drives[:1]))
        assert campaign() == [False]

    def test_a_drive_whose_preconditioning_is_killed_is_used_again_with_consent(
        self, drives: list[str], tmp_path: Path
    ) -> None:
        code = (
            "import os, sys; from pathlib import Path; from kneebench.lab.journal import Journal\n"
            "from kneebench.lab.volumes import Volumes\n"
            "from kneebench.plan.storage import Storage\n"
            "storage = Storage(drives=(sys.argv[1],), precondition='sequential 9')\n"
            "def kill(event):\n"
            "    if event.share and 'pass' in event.doing: os.kill(os.getpid(), 9)\n"
            "volumes = Volumes(Journal(Path(sys.argv[2])), Path(sys.argv[2]))\n"
            "with volumes.mounted('new', storage, kill): pass"
        )
        journal = tmp_path / "journal"
        subprocess.run([sys.executable, "-c", code, drives[0], journal], check=False)
        assert drive_state(inventory(drives[:1])[0]).state != "blank"
        Journal(journal).clean(Seen())
        why = drive_state(inventory(drives[:1])[0]).why
        assert "data at byte 1,048,5" in why, "random, so the first bytes may be zero"
        assert list(journal.iterdir()) == []
        erase_drives(inventory(drives[:1]))
        assert drive_state(inventory(drives[:1])[0]).state == "blank"

    def test_an_error_of_fio_is_told_and_the_drive_is_given_back(
        self, drives: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "bin").mkdir()
        fio = tmp_path / "bin" / "fio"
        fio.write_text("#!/bin/sh\necho 'fio: the drive is on fire' >&2; exit 1\n")
        fio.chmod(0o755)
        monkeypatch.setattr("kneebench.lab.programs.PATHS", f"{fio.parent}:{os.environ['PATH']}")
        monkeypatch.setenv("PATH", f"{fio.parent}:{os.environ['PATH']}")
        storage = Storage.model_validate({"drives": drives[:1], "precondition": "random 1"})
        with (
            closing(Volumes(Journal(tmp_path / "journal"), tmp_path)) as volumes,
            pytest.raises(PlanError, match="on fire"),
            volumes.mounted("new", storage, Seen()),
        ):
            pass
        assert list((tmp_path / "journal").iterdir()) == []

    @pytest.mark.long
    @needs_emulation
    def test_a_drain_ends_when_burst_credits_are_used_up_and_says_when(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        cloud = DriveClass(total_iops=300, burst_iops=1500, burst_s=2)
        monkeypatch.setattr(emulated, "drive_classes", lambda: {"cloud": cloud})
        journal = Journal(tmp_path / "journal")
        small = EmulatedDevice("cloud", 256 * 2**20)
        with emulated_parts(journal, tmp_path, [small]) as made_drive:
            [drive] = made_drive.devices
            done("dd", "if=/dev/urandom", f"of={drive.path}", "bs=16M", "count=16", "oflag=direct")
            time.sleep(4)
            [load] = load_drives(journal, [drive], Sustained("drain", 60.0), Seen())
        iops = [one.iops for one in load.intervals]
        assert len(iops) < 60, "it does not go on for all of its time"
        assert has_fallen(iops)
        assert 0 < (fell_at(iops) or 0) < len(iops)
        assert all(one.read_s > 0 and one.write_s > 0 for one in load.intervals)

    def test_a_drive_is_burnt_in_once_and_drained_before_each_volume(
        self, drives: list[str], tmp_path: Path
    ) -> None:
        table = {"drives": drives[:1], "precondition": "sequential 1"}
        storage = Storage.model_validate({**table, "burn_in": "1s", "drain": "1s"})

        def campaign(restores: int) -> list[tuple[str, bool, float]]:
            seen = Seen()
            with closing(Volumes(Journal(tmp_path / "journal"), tmp_path)) as volumes:
                for _ in range(restores):
                    with volumes.mounted("new", storage, seen):
                        pass
            return [(one.kind, one.remembered, one.took_s) for one in seen.loads]

        drained = ("drain", False, 1.0)
        assert campaign(2) == [("burn-in", False, 1.0), drained, drained]
        assert campaign(1) == [("burn-in", True, 0.0), drained]

    def test_an_io_error_during_a_burn_in_ends_it_and_names_the_drive(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A loop device over a file that has become too short."""
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
        with loop_device(tmp_path / "a.img") as device:
            os.truncate(tmp_path / "a.img", SIZE // 2)
            how = Sustained("burn-in", 60.0)
            there = made(str(device), lambda one: True)
            with there, pytest.raises(OSError, match=rf"fio.*{device.name}"):
                load_drives(Journal(tmp_path / "journal"), [there], how, Seen())

    def test_check_says_how_much_is_written_and_how_long_that_may_take(
        self, drives: list[str]
    ) -> None:
        table = {"drives": drives, "layout": "stripe", "precondition": "snia", "burn_in": "24h"}
        plan = Plan.model_validate({"storages": {"two": table}})
        [finding] = [
            one
            for one in volume_findings(Study(plan), erase=())
            if one.subject == "two: precondition"
        ]
        assert (
            "640 MiB to each of 2 drives, then 5 to 25 rounds of 1 min; burn-in 24 h"
            in finding.seen
        )
        assert finding.seen.endswith("share of the rated endurance unknown")
        day_s = 24 * 3600
        loads = 2 * 500e6 * (300 + 0.3 * day_s)
        assert finding.writes_bytes == pytest.approx(4 * SIZE + loads)
        assert day_s + 300 < expected_duration(Study(plan), host()).drives_s < day_s + 600


@pytest.mark.skipif(not shutil.which("fio"), reason="needs fio")
def test_a_colon_in_the_name_of_a_device_makes_no_second_file_of_it(tmp_path: Path) -> None:
    odd = tmp_path / "a:b"
    (tmp_path / "a").write_bytes(b"orders")
    words = ("--name=x", f"--filename={file_of(str(odd))}", "--rw=write", "--size=64k")
    subprocess.run(["fio", *words], cwd=tmp_path, check=True, capture_output=True)
    assert {path.name for path in tmp_path.iterdir()} == {"a", "a:b"}
    assert (tmp_path / "a").read_bytes() == b"orders"


@pytest.mark.parametrize(
    ("iops", "steady"),
    [
        ([100, 100, 100, 100, 100], True),
        ([90, 110, 90, 110, 100], True),
        ([89, 110, 90, 111, 100], False),
        ([105, 103, 100, 97, 94], False),
        ([104, 102, 100, 98, 96], True),
    ],
)
def test_steady_is_a_range_of_20_percent_and_a_line_that_moves_by_10(
    iops: list[float], steady: bool
) -> None:
    found = steadiness([5000, *iops])
    assert found is not None
    assert found.steady == steady


def test_four_rounds_or_no_io_are_never_steady() -> None:
    assert steadiness([1, 1, 1, 1]) is None
    assert steadiness([0, 0, 0, 0, 0]) is None
