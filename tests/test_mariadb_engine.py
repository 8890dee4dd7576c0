"""MariaDB that kneebench runs itself: settings, readings, faults, and what is left."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import psutil
import pymysql
import pytest

from kneebench.databases.engine import LogCalls
from kneebench.databases.engines.mariadb.builds import find_build
from kneebench.databases.engines.mariadb.engine import OwnMariadb
from kneebench.databases.engines.mariadb.image import system_tables
from kneebench.databases.innodb.server import NOT_TIMED, InnodbServer
from kneebench.databases.innodb.session import connect
from kneebench.databases.several import engine_of
from kneebench.errors import DatabaseLost, PlanError, Refused
from kneebench.lab.drives import mount_of
from kneebench.lab.journal import Journal
from kneebench.lab.processes import living_in
from kneebench.measurement.quantities import READ
from kneebench.plan import Plan
from kneebench.plan.study import Study
from kneebench.records import Configuration, Event, Finding
from tests.loaded import shared_images
from tests.mariadb_elsewhere import SMALL_LOG, WITHOUT_MARIADB

pytestmark = [pytest.mark.mariadb, WITHOUT_MARIADB]
CONFIGURATION = Configuration(id="here", storage="here")
ANOTHER_CLOCK = {"default_time_zone": "+09:30"}
"""Than the machine's."""


def unwatched(event: Event) -> None:
    """Nobody looks."""


class Bench:
    """A directory for one storage, and plans that use it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.journal = folder, Journal(folder / "journal")
        for name in ("disk", "log", "temporary"):
            (folder / name).mkdir()

    def plan(self, storage: dict[str, Any] | None = None, **database: Any) -> Plan:
        settings = {**SMALL_LOG, **ANOTHER_CLOCK, **database.pop("settings", {})}
        given = {"engine": "mariadb", "base_image_path": shared_images(), "settings": settings}
        plan = {
            "database": {**given, **database},
            "workload": {"warehouses": 1},
            "ladder": {"users": (1, 16)},
            "storages": {"here": {"path": self.folder / "disk", **(storage or {})}},
        }
        return Plan.model_validate(plan)

    def engine(self, storage: dict[str, Any] | None = None, **database: Any) -> OwnMariadb:
        engine = engine_of(Study(self.plan(storage, **database)).databases, self.journal)
        assert isinstance(engine, OwnMariadb)
        return engine

    def left(self) -> list[Path]:
        return [
            file for name in ("disk", "log", "temporary") for file in (self.folder / name).iterdir()
        ]


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(tmp_path_factory.mktemp("own"))


@pytest.fixture(scope="module")
def server(bench: Bench) -> Iterator[InnodbServer]:
    """One server with its log and its temporary files apart; nothing of it is left."""
    apart = {"log_path": bench.folder / "log", "temporary_path": bench.folder / "temporary"}
    with bench.engine(apart, settings={"innodb_io_capacity": 700}).restored(
        CONFIGURATION, unwatched
    ) as running:
        yield running
    assert bench.left() == []
    assert bench.journal.leftovers() == []


def test_the_settings_in_force_are_kept_and_what_storage_sees_is_marked(
    server: InnodbServer,
) -> None:
    kept = {setting.name: setting for setting in server.settings}
    assert kept["innodb_flush_log_at_trx_commit"].value == "1"
    assert kept["innodb_doublewrite"].value == "ON"
    assert kept["innodb_log_file_size"].value == str(64 << 20)
    assert kept["innodb_io_capacity"].value == "700"  # the plan's wins
    assert {kept[name].matters for name in ("innodb_io_capacity", "innodb_flush_method")} == {True}
    assert {"socket", "tmpdir", "datadir", "innodb_log_group_home_dir"} & set(kept) == set()


def test_the_log_and_the_temporary_files_have_their_directories(
    server: InnodbServer, bench: Bench
) -> None:
    names = {file.name for file in (bench.folder / "log").rglob("*")}
    assert "ib_logfile0" in names
    assert list((bench.folder / "temporary").rglob("ibtmp1"))
    assert [*server.roles] == ["data", "log", "temporary files"]
    calls = server.log_calls()
    assert isinstance(calls, LogCalls)
    assert (calls.write, calls.sync) == ("pwrite64", "fdatasync")
    assert (calls.directory / "ib_logfile0").exists()


def test_every_block_of_a_restored_log_on_a_drive_was_written_once(
    server: InnodbServer, bench: Bench
) -> None:
    [log] = (bench.folder / "log").rglob("ib_logfile0")
    if mount_of(log).type == "ext4":
        assert unwritten_extents(log) == 0
    assert log.stat().st_blocks * 512 >= 64 << 20


def unwritten_extents(file: Path) -> int:
    done = subprocess.run(["filefrag", "-v", file], capture_output=True, text=True, check=True)
    return done.stdout.count("unwritten")


def test_the_server_listens_on_no_port_and_runs_without_our_rights(
    server: InnodbServer,
) -> None:
    [pid] = server.processes()
    process = psutil.Process(pid)
    assert process.name() == "mariadbd"
    assert process.net_connections("inet") == []
    if os.geteuid() == 0:
        assert process.uids().real != 0


def test_commits_are_counted_exactly_and_our_own_questions_are_not(
    server: InnodbServer,
) -> None:
    before, flushes = server.transaction_counts(), server.readings("log_writes")
    with connect(server.address) as session:
        for number in range(20):
            session.run("START TRANSACTION")
            session.run("UPDATE warehouse SET w_zip = %s", f"{number:09}")
            session.run("ROLLBACK" if number % 5 == 0 else "COMMIT")
    for meter in server.measures:
        server.readings(meter)
    server.sum_next_order_ids()
    assert server.conditions(unwatched)
    after, then = server.transaction_counts(), server.readings("log_writes")
    assert (after[0] - before[0], after[1] - before[1]) == (16, 4)
    flushed = then["log.flushes|database"] - flushes["log.flushes|database"]
    assert flushed >= 16
    assert then["log.bytes|database"] > flushes["log.bytes|database"]
    assert NOT_TIMED in server.notes
    assert "log.flush_time|database" not in then


def test_every_reading_has_a_quantity_of_the_engine_or_of_all(server: InnodbServer) -> None:
    found = {name.partition("|")[0] for meter in server.measures for name in server.readings(meter)}
    assert {"cache.hits", "pages.dirty", "log.checkpoint_age", "undo.history"} <= found
    assert found <= set(READ)


def test_a_session_of_somebody_else_that_locks_a_row_is_named_and_its_victims_are_ended(
    server: InnodbServer,
) -> None:
    waiting = connect(server.address)
    with connect(server.address, "mysql") as holder:  # in another database: none of the users
        holder.run("START TRANSACTION")
        holder.run("UPDATE kneebench.warehouse SET w_tax = 0.1")
        failed: list[str] = []

        def wait() -> None:
            try:
                waiting.run("UPDATE warehouse SET w_tax = 0.2")
            except pymysql.Error as error:
                failed.append(str(error))

        thread = threading.Thread(target=wait)
        thread.start()
        assert comes_true(lambda: row_locks(server) == 1.0)
        seen, until = "", time.monotonic() + 20
        while not seen and time.monotonic() < until:
            time.sleep(0.3)
            assert row_locks(server) == 1.0
            seen = server.end_stuck(1.0)
        thread.join(20)
        holder.run("ROLLBACK")
    assert re.search(r"1 user waited up to [\d.]+ s for", seen), seen
    assert f"session {holder_of(seen)} (user 'kneebench' from localhost, Sleep" in seen
    assert failed
    assert server.end_stuck(1.0) == ""


def comes_true(condition: Callable[[], bool]) -> bool:
    """Whether it does so in time. InnoDB shows its locks as they were until nobody has asked for
    0.1 s.
    """
    until = time.monotonic() + 20
    while not (true := condition()) and time.monotonic() < until:
        time.sleep(0.3)
    return true


def row_locks(server: InnodbServer) -> float:
    """Users that wait for one."""
    return server.readings("waits").get("waits.lock|row lock", 0.0)


def test_a_wait_that_has_just_ended_ends_no_user(server: InnodbServer) -> None:
    """InnoDB shows it for a moment more."""
    with connect(server.address, "mysql") as holder, connect(server.address) as waiting:
        holder.run("START TRANSACTION")
        holder.run("UPDATE kneebench.warehouse SET w_tax = 0.1")
        thread = threading.Thread(target=waiting.run, args=["UPDATE warehouse SET w_tax = 0.2"])
        thread.start()
        waits = "SELECT * FROM information_schema.innodb_lock_waits"
        assert comes_true(lambda: len(holder.rows(waits)) == 1)
        time.sleep(2.1)
        assert len(holder.rows(waits)) == 1
        holder.run("ROLLBACK")
        assert server.end_stuck(1.0) == ""
        thread.join(20)
        assert waiting.rows("SELECT min(w_tax), max(w_tax) FROM warehouse") == [
            (Decimal("0.2"), Decimal("0.2"))
        ]


def holder_of(seen: str) -> str:
    return seen.partition("session ")[2].partition(" ")[0]


def test_a_killed_server_says_how_it_ended_and_asking_it_is_an_error(bench: Bench) -> None:
    with bench.engine().restored(CONFIGURATION, unwatched) as running:
        os.kill(running.processes()[0], signal.SIGKILL)
        with pytest.raises(DatabaseLost, match="the server ended \\(killed by SIGKILL\\)"):
            running.sum_next_order_ids()
        assert "killed by SIGKILL" in running.alive()
    assert bench.journal.leftovers() == []


HELD = """
import sys, time
from pathlib import Path
from kneebench.databases.several import engine_of
from kneebench.lab.journal import Journal
from kneebench.plan import Plan
from kneebench.plan.study import Study
from kneebench.records import Configuration
study = Study(Plan.model_validate_json(sys.argv[1]))
engine = engine_of(study.databases, Journal(Path(sys.argv[2])))
with engine.restored(Configuration(id="here", storage="here"), lambda event: None):
    print("restored", flush=True)
    time.sleep(600)
"""


def killed_while_it_holds_a_server(plan: Plan, journal: Journal) -> None:
    command = [sys.executable, "-c", HELD, plan.model_dump_json(), str(journal.folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "restored\n"
        process.kill()


def test_a_kneebench_killed_by_kill_9_leaves_nothing_once_the_journal_is_cleaned(
    bench: Bench, server: InnodbServer
) -> None:
    engine = bench.engine()
    engine.prepare(unwatched)
    killed_while_it_holds_a_server(bench.plan(), bench.journal)
    assert len(mariadbds(bench)) == 2
    bench.journal.clean(unwatched)
    assert mariadbds(bench) == [*server.processes()]
    assert [file for file in bench.left() if file.parent.name == "disk"] == [*server_data(bench)]


def mariadbds(bench: Bench) -> list[int]:
    """Those that run; one that has ended may be in the list of processes for a while."""
    return [one.pid for one in living_in(bench.folder) if one.name() == "mariadbd"]


def server_data(bench: Bench) -> Iterator[Path]:
    """The directory of the server that the tests share."""
    return (file for file in (bench.folder / "disk").iterdir() if (file / "data").is_dir())


def faults(found: list[Finding]) -> list[tuple[str, str, str]]:
    return [(one.subject, one.seen, one.do) for one in found if one.level in ("error", "refused")]


def test_a_setting_that_the_server_does_not_know_is_told_in_its_words(bench: Bench) -> None:
    engine = bench.engine(settings={"innodb_iocapacity": 1})
    [(subject, seen, do)] = faults([*engine.findings()])
    assert (subject, do) == ("database.settings", "correct the plan's settings")
    assert "unknown variable 'innodb_iocapacity=1'" in seen
    with pytest.raises(PlanError, match=r"MariaDB 10.* reports: unknown variable"):
        engine.prepare(unwatched)


@pytest.mark.parametrize("name", ["datadir", "skip-networking", "innodb-log-group-home-dir"])
def test_a_plan_may_not_set_where_a_server_listens_and_what_it_writes(
    bench: Bench, name: str
) -> None:
    with pytest.raises(ValueError, match="kneebench sets the paths and the address"):
        bench.engine(settings={name: "1"})


def test_binaries_that_are_not_there_are_named_with_what_to_set(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=r"no mariadbd; set database\.bin_dir"):
        find_build(tmp_path)
    program = tmp_path / "mariadbd"
    program.write_text("#!/bin/sh\necho 'mariadbd  Ver 10.3.39-MariaDB for Linux'\n")
    program.chmod(0o755)
    tmp_path.chmod(0o755)
    with pytest.raises(
        PlanError, match=r"version 10\.3\.39 is too old; use version 10\.6 or later"
    ):
        find_build(tmp_path)


def test_a_build_has_the_files_of_its_system_tables_by_their_newer_names_or_the_older(
    tmp_path: Path,
) -> None:
    tmp_path.chmod(0o755)
    program, share = tmp_path / "bin" / "mariadbd", tmp_path / "share" / "mariadb"
    for place in (program.parent, share):
        place.mkdir(parents=True)
    program.write_text("#!/bin/sh\necho 'mariadbd  Ver 11.8.2-1-MariaDB-enterprise for Linux'\n")
    program.chmod(0o755)
    with pytest.raises(PlanError, match=r"mariadb_system_tables.sql or mysql_system_tables.sql"):
        find_build(program.parent)
    for name in ("system", "performance"):
        (share / f"mariadb_{name}_tables.sql").write_text(f"CREATE {name}")
    build = find_build(program.parent)
    assert (build.version, build.share) == ("11.8.2", share)
    assert system_tables(build) == "CREATE system\nCREATE performance"


def test_a_setting_that_shapes_the_files_shapes_the_image_in_either_spelling(bench: Bench) -> None:
    dashed, plain, none = (
        bench.engine(settings=one).recipe.key
        for one in ({"innodb-page-size": "8k"}, {"innodb_page_size": "8k"}, {})
    )
    assert dashed == plain != none


def test_a_log_in_memory_is_mapped_and_a_large_buffer_is_not(tmp_path: Path) -> None:
    in_memory = Path("/dev/shm", f"kneebench-test-{os.getpid()}")
    buffers = {"innodb_log_buffer_size": "64M", **SMALL_LOG}
    in_memory.mkdir()
    try:
        bench = Bench(in_memory)
        with bench.engine(settings=buffers).restored(CONFIGURATION, unwatched) as mapped:
            assert any("/dev/shm" in note for note in mapped.notes)
    finally:
        shutil.rmtree(in_memory)
    with Bench(tmp_path).engine(settings=buffers).restored(CONFIGURATION, unwatched) as written:
        assert not any("/dev/shm" in note for note in written.notes)


def test_what_is_no_image_of_ours_is_never_replaced(bench: Bench, tmp_path: Path) -> None:
    engine = bench.engine(base_image_path=tmp_path)
    (tmp_path / engine.recipe.key).write_text("a file of somebody else")
    with pytest.raises(Refused, match="it is not a base image"):
        engine.prepare(unwatched)
    assert (tmp_path / engine.recipe.key).read_text() == "a file of somebody else"
