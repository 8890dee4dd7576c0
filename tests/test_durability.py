"""Servers that are cut off under load: what was acknowledged is there, or is counted as lost, by
the database's own count of orders.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import struct
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from typer.testing import CliRunner

from kneebench import load, run
from kneebench.analysis.answers import caveats
from kneebench.analysis.durability import found_after, summed
from kneebench.analysis.outcome import exit_code
from kneebench.brief import Brief
from kneebench.campaign import durability, flow
from kneebench.campaign.durability import Cuts, cut_off, for_cuts
from kneebench.campaign.flow import RunOptions
from kneebench.campaign.preflight import drive_findings
from kneebench.cli import app
from kneebench.databases.engine import Crashes, Crashing, Engine
from kneebench.databases.several import engine_of
from kneebench.databases.tproc_c.orders import KeptOrder, Ledger, left_of
from kneebench.errors import CheckFailed, InvalidMeasurement, KneebenchError, PlanError
from kneebench.lab.journal import Journal
from kneebench.lab.volumes import power_cut, volume_findings
from kneebench.lab.volumes.power_cut import SECTOR_BYTES, WriteRecording
from kneebench.plan import Plan
from kneebench.plan.study import Study
from kneebench.records import Check, Configuration, Cut, CutLevel, Event, Watch, WholeDrive
from tests.elsewhere import PASSWORD, Elsewhere, elsewhere  # noqa: F401
from tests.loaded import DEBIAN, WITHOUT_DEBIAN, shared_images
from tests.loop_devices import SMALL, done, loop_device, needs_emulation
from tests.mariadb_elsewhere import WITHOUT_MARIADB
from tests.recordings import recorded, section, with_campaign

USERS = 4
HERE = {"storages": {"here": {"path": "."}}}
DRIVE = {"emulated": "nvme", "size": "1GiB"}


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loads are cut off after a second or two."""
    monkeypatch.setattr(durability, "LEAST_S", 0.7)
    monkeypatch.setattr(durability, "MOST_S", 2.0)


def unwatched(event: Event) -> None:
    """Nobody looks."""


class Counted(NamedTuple):
    """A cut, and how many orders the database gave numbers to between its load and its recovery."""

    cut: Cut
    given: int


class Watching:
    """An engine whose servers are asked for their sum of next order ids before each load and after
    each recovery: a count beside the ledger.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine, self.before, self.given = engine, 0, list[int]()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.engine, name)

    @contextlib.contextmanager
    def crashing(self, configuration: Configuration, watch: Watch) -> Iterator[Crashing]:
        assert isinstance(self.engine, Crashes)
        with self.engine.crashing(configuration, watch) as crashing:
            begin, cut, recover = crashing.begin, crashing.cut, crashing.recover

            def began() -> None:
                self.before = crashing.server.sum_next_order_ids()
                begin()

            def was_cut(at_s: float | None = None) -> None:
                self.given.append(0)  # until it has come back, and can be read
                cut(at_s)

            def recovered() -> float:
                took_s = recover()
                with contextlib.suppress(KneebenchError):
                    self.given[-1] = crashing.server.sum_next_order_ids() - self.before
                return took_s

            crashing.begin, crashing.cut = began, was_cut  # type: ignore[method-assign]
            crashing.recover = recovered  # type: ignore[method-assign]
            yield crashing


def cut(
    place: Path,
    database: dict[str, Any],
    storage: dict[str, Any],
    level: CutLevel,
    times: int = 1,
) -> list[Counted]:
    """The cuts of a small database on one storage."""
    (place / "data").mkdir(parents=True, exist_ok=True)
    plan = {
        "database": {"base_image_path": str(shared_images()), **database},
        "storages": {"here": storage or {"path": str(place / "data")}},
        "workload": {"warehouses": 1},
        "emulated_path": str(place / "drives"),
    }
    found = cut_plan(Plan.model_validate(plan), place, level, times)
    assert not list((place / "data").iterdir()), "nothing is left"
    return found


def cut_plan(plan: Plan, place: Path, level: CutLevel, times: int = 1) -> list[Counted]:
    """The cuts of a plan with one storage."""
    study = Study(plan)
    databases = for_cuts(study, level)
    with closing(engine_of(databases, Journal(place / "journal"))) as engine:
        engine.prepare(unwatched)
        watching, [one] = Watching(engine), study.configurations
        cuts = cut_off(watching, databases, one, Cuts(level, times, USERS), unwatched)
        found = list(cuts)
    return [Counted(*both) for both in zip(found, watching.given, strict=True)]


def agree(counted: Counted) -> None:
    """The ledger's answer is that of the database's own count."""
    one, given = counted
    assert one.lost is not None and one.committed is not None
    assert (one.unsent, one.database, one.file_system) == (0, "", "")
    kept, numbered = one.acknowledged - one.lost + one.committed, given - (one.holes or 0)
    assert kept <= numbered
    if all(condition.passed for condition in one.conditions):  # else orders may lack lines
        assert kept == numbered
    assert one.acknowledged > 0 or one.after_s < durability.LEAST_S, "at an early moment of a load"
    assert len(one.conditions) == 12


def test_a_killed_server_has_every_order_that_it_acknowledged(tmp_path: Path) -> None:
    for counted in cut(tmp_path, {}, {}, "server", times=2):
        agree(counted)
        assert (counted.cut.lost, counted.cut.holes, counted.cut.kept) == (0, 0, True)
        assert 0 <= counted.cut.unknown <= USERS
        assert counted.cut.recovery_s and found_after(counted.cut) == "all there"


def test_a_server_that_acknowledges_before_it_writes_loses_as_many_as_the_database_misses(
    tmp_path: Path,
) -> None:
    early = {"settings": {"synchronous_commit": "off", "wal_writer_delay": "10s"}}
    [counted] = cut(tmp_path, early, {}, "server")
    agree(counted)
    assert counted.cut.lost and not counted.cut.kept
    assert found_after(counted.cut) == f"{counted.cut.lost:,} lost"


@pytest.mark.root
@needs_emulation
@pytest.mark.parametrize("flushes", ["obeyed", "ignored"])
def test_a_power_cut_loses_orders_only_where_the_drive_ignores_flushes(
    tmp_path: Path, flushes: str
) -> None:
    volume = {"drives": [{**DRIVE, "flushes": flushes}]}
    cuts = (cut(tmp_path / str(n), {}, volume, "drive")[0] for n in range(3))
    if flushes == "obeyed":
        counted = next(cuts)
        agree(counted)
        assert counted.cut.kept
    else:  # a part of all that was written is gone, and of few orders it may contain none
        assert any(not counted.cut.kept for counted in cuts)


@WITHOUT_DEBIAN
def test_a_server_by_url_is_cut_off_by_the_plans_command_and_asked_when_it_is_back(
    tmp_path: Path,
    elsewhere: Elsewhere,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A killed checkpointer has the whole server recover, as a cut of its machine would."""
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    checkpointer = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'"
    asked = f'{DEBIAN}/psql -At "{elsewhere.superuser} dbname=postgres" -c "{checkpointer}"'
    url = elsewhere.url()
    before = elsewhere.execute("SELECT datname FROM pg_database ORDER BY 1")
    cut_off = f"kill -9 $({asked})"
    elsewhere.execute("ALTER ROLE tester SET search_path = nowhere")
    for command in (cut_off, f"(sleep 1; {cut_off}) > {tmp_path}/said 2>&1 &"):
        [counted] = cut_plan(elsewhere.plan(url, cut_command=command), tmp_path, "cut")
        agree(counted)
        assert counted.cut.kept and counted.cut.level == "cut"
    elsewhere.execute("ALTER ROLE tester RESET search_path")
    left = {name for (name,) in elsewhere.execute("SELECT datname FROM pg_database")}
    assert {one for one in left - {name for (name,) in before} if "work" in one} == set()
    monkeypatch.setattr(durability, "LOST_S", 0.5)
    with pytest.raises(InvalidMeasurement, match="the server was not cut off: 4 users still had"):
        cut_plan(elsewhere.plan(url, cut_command="true"), tmp_path, "cut")
    failing = elsewhere.plan(url, cut_command="echo no such outlet >&2; exit 3")
    with pytest.raises(KneebenchError, match=r"database\.cut_command: exit code 3: no such outlet"):
        cut_plan(failing, tmp_path, "cut")
    for wrong, level in ((elsewhere.plan(url), "server"), (Plan.model_validate(HERE), "cut")):
        with pytest.raises(PlanError, match=r"durability\.level"):
            for_cuts(Study(wrong), level)


@pytest.mark.long
@WITHOUT_MARIADB
@pytest.mark.parametrize(("flush", "kept"), [(1, True), (0, False)])
def test_a_killed_mariadb_keeps_what_its_settings_promise(
    tmp_path: Path, flush: int, kept: bool
) -> None:
    database = {"engine": "mariadb", "settings": {"innodb_flush_log_at_trx_commit": flush}}
    for counted in cut(tmp_path, database, {}, "server", times=2):
        agree(counted)
        assert counted.cut.kept == kept


@pytest.mark.long
@pytest.mark.root
@needs_emulation
@pytest.mark.parametrize("engine", ["postgres", pytest.param("mariadb", marks=WITHOUT_MARIADB)])
def test_ten_power_cuts_of_an_honest_drive_lose_nothing(tmp_path: Path, engine: str) -> None:
    for counted in cut(tmp_path, {"engine": engine}, {"drives": [DRIVE]}, "drive", times=10):
        agree(counted)
        assert counted.cut.kept, counted


def test_a_storage_without_emulated_drives_has_no_power_to_cut(tmp_path: Path) -> None:
    plain = {"storages": {"here": {"path": str(tmp_path)}}}
    memory = {"storages": {"here": {"drives": [{"emulated": "memory", "size": "1GiB"}]}}}
    for plan in (plain, memory):
        with pytest.raises(PlanError, match="not on emulated drives alone"):
            for_cuts(Study(Plan.model_validate(plan)), "drive")


def test_a_server_that_cannot_be_asked_again_is_not_cut_off(tmp_path: Path) -> None:
    ours = {"engine": "sqlserver", "url": "sqlserver://bench@127.0.0.1/bench"}
    theirs = {"engine": "mariadb", "url": "mariadb://bench@127.0.0.1/bench"}
    plan = {"durability": {"level": "cut"}, "storages": {"here": {}}}
    cut_command = {"cut_command": "true"}
    for databases, refused in (
        ({"database": {**theirs, **cut_command}}, False),
        ({"database": {**ours, **cut_command}}, True),
        ({"databases": {"a": {**ours, **cut_command}, "b": {**theirs, **cut_command}}}, True),
        ({"databases": {"a": {**theirs, **cut_command}, "b": {**theirs, **cut_command}}}, False),
    ):
        study = Study(Plan.model_validate({**plan, **databases}))
        with closing(engine_of(study.databases, Journal(tmp_path / "journal"))) as engine:
            found = [one.seen for one in durability.durability_findings(study, engine)]
        said = "kneebench cannot cut off servers of this engine, and ask them again"
        assert found == [said] * refused, databases


def kept_order(number: int, customer: int, *, found: int = 5) -> KeptOrder:
    return KeptOrder(1, 1, number, customer, 5, found, 20, 9)


def test_an_order_without_all_of_its_lines_is_lost_and_one_that_nobody_sent_is_told() -> None:
    sent = [(1, 1, customer, 5, 20, 9) for customer in (7, 8)]
    ledger, first, following = Ledger(Counter(sent), Counter()), {(1, 1): 10}, {(1, 1): 12}
    whole = [kept_order(10, 7), kept_order(11, 8)]
    assert left_of(ledger, whole, first, following).lost == 0
    torn = [kept_order(10, 7), kept_order(11, 8, found=4)]
    assert left_of(ledger, torn, first, following) == (1, 0, 0, 0)
    odd = [*whole, kept_order(12, 99)]
    assert left_of(ledger, odd, first, {(1, 1): 13}).unsent == 1
    twice = Ledger(Counter({sent[0]: 2}), Counter())
    assert left_of(twice, whole[:1], first, {(1, 1): 11}).lost == 1, "two alike are two orders"


@pytest.mark.root
@needs_emulation
def test_a_mount_option_without_flushes_is_a_warning_and_stands_beside_the_headline() -> None:
    system = {"type": "ext4", "mount": ["nobarrier"]}
    storages = {"here": {"drives": [DRIVE], "file_system": system}}
    study = Study(Plan.model_validate({"storages": storages}))
    said = "mount option nobarrier: flushes do not reach the drive"
    assert [one.level for one in volume_findings(study) if one.seen.startswith(said)] == ["warning"]
    results = recorded()
    storages_of = {"disk": study.resolved.storages["here"]}
    resolved = results.campaign.resolved.model_copy(update={"storages": storages_of})
    found = caveats(with_campaign(results, resolved=resolved))
    assert any(f"On disk, {said}" in one.words for one in found)


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: loop devices and mounts")
def test_a_directory_that_is_mounted_without_flushes_is_a_warning(tmp_path: Path) -> None:
    (point := tmp_path / "mounted").mkdir()
    study = Study(Plan.model_validate({"storages": {"here": {"path": str(point)}}}))
    with loop_device(tmp_path / "drive.img", SMALL) as device:
        done("mkfs.ext4", "-q", device)
        done("mount", "-o", "nobarrier", device, point)
        try:
            [warned] = drive_findings(study)
        finally:
            done("umount", point)
    assert warned.seen.startswith("mount option nobarrier: flushes do not reach the drive")
    assert list(drive_findings(study)) == []


def test_a_volatile_cache_that_gets_no_flushes_stands_beside_the_headline() -> None:
    results = recorded()
    drive = WholeDrive(name="nvme0n1", path="/dev/nvme0n1", volatile_write_cache=True)
    for cache, said in (("write through", True), ("write back", False)):
        drives = (drive.model_copy(update={"write_cache": cache}),)
        found = [one.words for one in caveats(with_campaign(results, drives_before=drives))]
        words = "drive nvme0n1 has a volatile write cache"
        assert any(one.lower().startswith(words) for one in found) == said


def made(**given: Any) -> Cut:
    plain = {"acknowledged": 100, "unknown": 1, "lost": 0, "holes": 0, "committed": 0, "unsent": 0}
    where = {"configuration": "here", "level": "server", "users": 4, "after_s": 2.0}
    return Cut.model_validate({**where, **plain, **given})


def test_three_losses_are_told_apart() -> None:
    gone = {"lost": None, "holes": None, "committed": None, "unsent": None}
    broken = Check(name="condition 3", passed=False, seen="", limit="", sentence="")
    for one, words in (
        (made(**gone, file_system="bad superblock"), "the file system was lost: bad superblock"),
        (made(**gone, database="invalid checkpoint"), "the database did not start: invalid"),
        (made(**gone, damage="invalid page"), "the database cannot be read: invalid page"),
        (made(lost=2, holes=1), "2 lost; 1 hole"),
        (made(conditions=(broken,)), "broken: condition 3"),
    ):
        assert not one.kept and found_after(one).startswith(words)
    assert (
        summed([made(), made(lost=3)]).sentence
        == "3 of 200 acknowledged orders lost in 2 server kills; 1 of them lost data"
    )
    twenty = [made(load=number) for number in range(20)]
    assert "at most 13.9% of loads lose any" in summed(twenty).sentence
    assert "at most 95% of loads" in summed([made()] * 20).sentence, "twenty cuts of one load"
    away = summed([made(), made(**gone, file_system="bad superblock")]).sentence
    assert away.endswith("1 of them lost data, 1 of them with file system or database")
    assert summed([made(**gone, database="no")]).sentence == (
        "file system or database lost in all of 1 server kill"
    )


def test_the_command_says_what_was_lost_and_ends_with_8(own_place: Path) -> None:
    (own_place / "plan.toml").write_text(
        f'[database]\nbase_image_path = "{shared_images()}"\n[workload]\nwarehouses = 1\n'
        '[database.settings]\nsynchronous_commit = "off"\nwal_writer_delay = "10s"\n'
        '[durability]\ncuts = 5\nusers = 3\n[storages]\nhere = { path = "." }\n'
    )
    words = ["durability", "plan.toml", "--cuts", "1", "--json"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 8, done.output
    [*_, last] = map(json.loads, done.stdout.splitlines())
    [found] = last["data"]["here"]["cuts"]
    assert last["data"]["here"]["lost"] > 0 and found["users"] == 3
    assert {one.name for one in own_place.iterdir()} <= {"plan.toml", "state"}


CASES: dict[str, tuple[dict[str, Any], str, bool]] = {
    "PostgreSQL": ({}, "obeyed", True),
    "PostgreSQL, flushes ignored": ({}, "ignored", False),
    "PostgreSQL, fsync off": ({"settings": {"fsync": "off"}}, "obeyed", False),
    "PostgreSQL, synchronous_commit off": (
        {"settings": {"synchronous_commit": "off", "wal_writer_delay": "10s"}},
        "obeyed",
        False,
    ),
    "MariaDB": ({"engine": "mariadb"}, "obeyed", True),
    "MariaDB, flushes ignored": ({"engine": "mariadb"}, "ignored", False),
    "MariaDB, flushed each second": (
        {"engine": "mariadb", "settings": {"innodb_flush_log_at_trx_commit": 2}},
        "obeyed",
        False,
    ),
}
"""Database, flushes of its drive, and whether that keeps what it acknowledges."""


@pytest.mark.long
@pytest.mark.root
@needs_emulation
@WITHOUT_MARIADB
@pytest.mark.timeout(900)
def test_ten_cases_by_a_secret_seed_are_judged_as_they_are(tmp_path: Path) -> None:
    seed = int.from_bytes(os.urandom(4))
    print(f"seed {seed}")
    draw = random.Random(seed)
    for number, name in enumerate(draw.choices([*CASES], k=10)):
        database, flushes, keeps = CASES[name]
        place = tmp_path / str(number)
        place.mkdir()
        volume = {"drives": [{**DRIVE, "flushes": flushes}]}
        found = cut(place, database, volume, "drive", times=3)  # one of them may be lucky
        assert all(one.cut.kept for one in found) == keeps, name
        for counted in found:
            if counted.cut.lost is not None:
                agree(counted)


@pytest.mark.long
@pytest.mark.root
@needs_emulation
@pytest.mark.parametrize("at_s", [1.0, 4.0, 7.0, 9.0, 11.0, 14.0])
def test_after_kill_9_at_any_moment_clean_leaves_nothing(own_place: Path, at_s: float) -> None:
    (own_place / "plan.toml").write_text(
        f'emulated_path = "drives"\n[database]\nbase_image_path = "{shared_images()}"\n'
        "[workload]\nwarehouses = 1\n[storages]\n"
        'here = { drives = [{ emulated = "nvme", size = "1GiB" }] }\n'
    )
    command = [sys.executable, "-m", "kneebench"]
    process = subprocess.Popen(
        [*command, "durability", "plan.toml", "--level", "drive", "--json"],
        stdout=subprocess.DEVNULL,
    )
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(at_s)
    process.kill()
    process.wait()
    noted = "".join(one.read_text() for one in Path("state").rglob("*") if one.is_file())
    ours = {str(own_place), *re.findall(r"/run/kneebench-\w+", noted)}
    subprocess.run([*command, "clean"], check=True, timeout=120)
    backed = [one.read_text() for one in Path("/sys/block").glob("loop*/loop/backing_file")]
    there = (*Path("/proc/self/mounts").read_text().splitlines(), *backed)
    assert not [one for one in there if any(path in one for path in ours)]
    assert not list(Path().glob("drives/*"))


# --- what a drive loses, on recordings made by hand -----------------------------------------------

SECTORS = 8
Written = tuple[int, int]
"""A sector and the letter that fills it; sector -1 is a flush."""
FLUSHED = (-1, 0)


class MadeDrive:
    """An image with the recording of its writes, in the format of dm-log-writes."""

    def __init__(self, place: Path, *, obeys: bool, sectors: int = SECTORS) -> None:
        self.image, self.recorded = place / "image", place / "recording"
        self.image.write_bytes(bytes(sectors * SECTOR_BYTES))
        self.recorded.write_bytes(bytes(SECTOR_BYTES))
        self.recording = WriteRecording(self.recorded, self.image, obeys=obeys)

    def write(self, *written: Written) -> None:
        for sector, letter in written:
            if sector < 0:
                self._record(0, 0, b"", flush=True)
            else:
                self.write_at_once(sector, 1, letter)

    def write_at_once(self, sector: int, sectors: int, letter: int) -> None:
        data = bytes([letter]) * sectors * SECTOR_BYTES
        self._record(sector, sectors, data)
        with self.image.open("r+b") as image:
            image.seek(sector * SECTOR_BYTES)
            image.write(data)

    def _record(self, sector: int, sectors: int, data: bytes, *, flush: bool = False) -> None:
        head = struct.pack("<4Q", sector, sectors, flush, 0)
        with self.recorded.open("ab") as recorded:
            recorded.write(head.ljust(SECTOR_BYTES, b"\0") + data)

    @property
    def letters(self) -> list[int]:
        """What each sector is filled with."""
        data = self.image.read_bytes()
        found = [{*data[at : at + SECTOR_BYTES]} for at in range(0, len(data), SECTOR_BYTES)]
        assert all(len(one) == 1 for one in found)
        return [letter for one in found for letter in one]


@pytest.mark.parametrize("seed", range(30))
def test_a_cut_keeps_what_was_flushed_and_any_of_what_was_written_since(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = random.Random(seed)
    monkeypatch.setattr(power_cut.random, "choice", draw.choice)
    drive = MadeDrive(tmp_path, obeys=True)
    flushed, since = [0] * SECTORS, [set[int]() for _ in range(SECTORS)]
    for letter in range(1, 40):
        if draw.random() < 0.2:
            drive.write(FLUSHED)
            flushed, since = drive.letters, [set() for _ in range(SECTORS)]
        sector = draw.randrange(SECTORS)
        drive.write((sector, letter))
        since[sector].add(letter)
        if draw.random() < 0.1:
            cut = drive.recording.size
            drive.write((0, 200), FLUSHED, (1, 201))  # after the cut: the power is gone
            for _ in range(3):
                drive.recording.lose(cut)
                for seen, before, later in zip(drive.letters, flushed, since, strict=True):
                    assert seen == before or seen in later
            drive.recording.mark()
            flushed, since = drive.letters, [set() for _ in range(SECTORS)]


def test_some_unflushed_writes_stay_and_some_go_and_ignored_flushes_change_nothing(
    tmp_path: Path,
) -> None:
    written = [(sector, 7) for sector in range(SECTORS)]
    seen: dict[bool, set[int]] = {False: set(), True: set()}
    for number in range(20):
        for obeys in seen:
            place = tmp_path / f"{number}-{obeys}"
            place.mkdir()
            drive = MadeDrive(place, obeys=obeys)
            drive.write(*[(sector, 1) for sector in range(SECTORS)], FLUSHED)
            drive.recording.mark()
            drive.write(*written, *([] if obeys else [FLUSHED]))
            drive.recording.lose(drive.recording.size)
            seen[obeys] |= {*drive.letters}
    assert seen == {False: {1, 7}, True: {1, 7}}


def test_an_unflushed_write_stays_whole_or_in_part_and_a_part_is_what_the_next_load_begins_with(
    tmp_path: Path,
) -> None:
    seen = set[tuple[int, int]]()
    for number in range(60):
        place = tmp_path / str(number)
        place.mkdir()
        drive = MadeDrive(place, obeys=True, sectors=24)
        drive.write(*[(sector, 1) for sector in range(24)], FLUSHED)
        drive.recording.mark()
        drive.write_at_once(2, 22, 7)
        drive.recording.lose(drive.recording.size)
        kept = drive.letters
        stays = kept.count(7)
        assert kept == [1, 1, *[7] * stays, *[1] * (22 - stays)]
        drive.recording.mark()
        drive.write((0, 9))
        drive.recording.lose(drive.recording.size)
        assert drive.letters[1:] == kept[1:]
        seen.add((stays, drive.letters[0]))
    assert {stays for stays, _ in seen} == {0, 6, 14, 22}
    assert {letter for _, letter in seen} == {1, 9}


def test_a_drive_is_put_back_to_each_moment_of_a_load_in_any_order(tmp_path: Path) -> None:
    drive = MadeDrive(tmp_path, obeys=True)
    drive.write((0, 1), FLUSHED)
    drive.recording.mark()
    states: list[tuple[int, list[int]]] = []
    for letter in range(2, 30):
        drive.write((letter % SECTORS, letter), FLUSHED)
        states.append((drive.recording.size, drive.letters))
    for size, letters in random.Random(7).sample(states, len(states)):
        drive.recording.lose(size)
        assert drive.letters == letters


def test_an_entry_that_is_not_whole_yet_is_read_when_it_is(tmp_path: Path) -> None:
    drive = MadeDrive(tmp_path, obeys=True)
    drive.write((0, 5), FLUSHED)
    whole = drive.recorded.read_bytes()
    drive.recorded.write_bytes(whole[:700])
    cut = drive.recording.size
    drive.recorded.write_bytes(whole)
    drive.recording.lose(cut)
    assert drive.letters[0] == 0, "a write that was under way at the cut is gone"


def test_a_campaign_cuts_its_servers_off_at_the_end_and_a_resumed_one_makes_the_rest(
    own_place: Path,
) -> None:
    plan = {
        "database": {"base_image_path": str(shared_images())},
        "workload": {"warehouses": 1},
        "ladder": {
            **{"users": 2, "warm_up": "1s", "window": "1s", "final_window": "1s"},
            **{"checkpoints": 0, "repeats": 1, "fixed_rate_share": 0},
        },
        "storages": {"here": {"path": str(own_place)}},
        "durability": {"level": "server", "cuts": 2, "users": 3},
    }

    def stop(event: Event) -> None:
        if event.kind == "start" and "to be cut off" in event.doing and seen:
            raise KeyboardInterrupt
        seen.append(event.doing) if event.doing.startswith("1 of 2: ") else None

    seen: list[str] = []
    study = Plan.model_validate(plan)
    with pytest.raises(KeyboardInterrupt):
        run(study, Path("campaigns"), watch=stop)
    [folder] = Path("campaigns").iterdir()
    [first] = load(folder).campaign.cuts["here"]
    results = run(study, Path("campaigns"))
    assert (results.folder, results.campaign.cuts["here"][0]) == (folder, first)
    assert [(one.users, one.kept) for one in results.campaign.cuts["here"]] == [(3, True)] * 2


@pytest.mark.parametrize("error", [CheckFailed, InvalidMeasurement])
def test_a_cut_that_fails_unasked_is_a_note_unless_the_ledger_is_wrong(
    error: type[KneebenchError], monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object) -> None:
        raise error("the ledger of orders", seen="two more", do="")

    notes: list[str] = []
    monkeypatch.setattr(flow, "prove", lambda *_: None)
    monkeypatch.setattr(flow, "_put_predictions", lambda *_: None)
    monkeypatch.setattr(flow, "level_of", lambda *_, judged: "server")
    monkeypatch.setattr(flow, "_cut_storages", failing)
    context = SimpleNamespace(engine=None, store=SimpleNamespace(put_note=notes.append))
    wrong = error is CheckFailed
    with pytest.raises(CheckFailed) if wrong else contextlib.nullcontext():
        flow._prove_predict_and_cut(Study(Plan.model_validate(HERE)), context, RunOptions())
    assert len(notes) == (not wrong)


# --- what a brief says of it ----------------------------------------------------------------------


def test_a_brief_has_cards_and_a_row_for_each_cut_and_lost_orders_end_a_run_with_8() -> None:
    results = recorded()
    cuts = (
        made(configuration="disk", recovery_s=1.5),
        made(configuration="disk", recovery_s=2.5, load=2),
    )
    cut = with_campaign(results, cuts={"disk": cuts})
    brief = Brief(cut)
    cards = {number.says: number for number in section(brief, "durability").numbers}
    assert cards["acknowledged orders lost on disk in 2 server kills"].value == "0"
    [sentence] = section(brief, "durability").sentences
    assert sentence.endswith("; recovery took 1.5 s to 2.5 s.")
    [table] = section(brief, "durability").tables
    assert [row.cells[-1] for row in table.rows] == ["all there", "all there"]
    assert "page cache" in table.caption
    assert exit_code(cut) == exit_code(results) == 0
    worse = with_campaign(results, cuts={"disk": (*cuts, made(lost=5))})
    assert exit_code(worse) == 8
    said = "Disk: 5 of 300 acknowledged orders lost in 3 server kills; 1 of them lost data."
    assert said in section(Brief(worse), "cautions").sentences
    assert caveats(cut, ("orders_lost",)) == ()
    assert section(Brief(worse), "durability").tables[0].rows[-1].tone == "alarm"
    drive = WholeDrive(
        name="nvme0n1", path="/dev/nvme0n1", model="PM9A3", volatile_write_cache=False
    )
    claimed = with_campaign(cut, drives_before=(drive,))
    claim = "Drive nvme0n1 (PM9A3) claims no volatile write cache."
    assert section(Brief(claimed), "durability").sentences[-1] == claim
    many = with_campaign(results, cuts={"disk": (*cuts * 20, made(lost=5))})
    [row] = section(Brief(many), "durability").tables[0].rows
    assert row.cells[-1] == "5 lost", "of many cuts those that lost data have rows"
    fine = section(Brief(with_campaign(results, cuts={"disk": cuts * 20})), "durability")
    assert fine.tables == () and "page cache" in fine.sentences[-1]
