"""Servers of our own, on the embedded PostgreSQL 18 and on Debian's 15: from initdb to the last
file removed.
"""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest

from kneebench._core import GeneratorSpec
from kneebench.core_errors import ConnectError
from kneebench.databases.engine import Engine
from kneebench.databases.engines.postgres.address import answers, connect, explained
from kneebench.databases.engines.postgres.builds import find_build
from kneebench.databases.engines.postgres.engine import OwnPostgres
from kneebench.databases.engines.postgres.image import configure
from kneebench.databases.engines.postgres.launcher import make_cluster, running_server
from kneebench.databases.engines.postgres.server import PostgresServer
from kneebench.databases.managed.account import Account
from kneebench.databases.several import engine_of
from kneebench.errors import DatabaseLost, InvalidMeasurement, KneebenchError, PlanError, Refused
from kneebench.lab.folder import Folder
from kneebench.lab.journal import Journal
from kneebench.lab.programs import wait_until
from kneebench.lab.removal import MARKER
from kneebench.measurement.quantities import READ
from kneebench.plan import Plan
from kneebench.plan.study import Study
from kneebench.records import Configuration, Event
from tests.loaded import BUILDS

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="changes accounts: needs root")


def unwatched(event: Event) -> None:
    """Nobody looks."""


class Bench:
    """A place with three storages, an image directory below a closed home, and a journal."""

    def __init__(self, folder: Path, bin_dir: Path | None, images: Path | None = None) -> None:
        self.folder, self.bin_dir, self.home = folder, bin_dir, folder / "home"
        for name in ("disk", "log", "home"):
            (folder / name).mkdir()
        self.home.chmod(0o700)
        self.images, self.journal = images or self.home / "images", Journal(folder / "journal")
        self.built: dict[str, str] = {}
        """What is known of the image, from when it was built."""

    def plan(self, **database: Any) -> Plan:
        return Plan.model_validate(
            {
                "database": {
                    "bin_dir": self.bin_dir,
                    "base_image_path": self.images,
                    **database,
                },
                "workload": {"warehouses": 1},
                "ladder": {"users": (1, 8), "checkpoints": 0},
                "storages": {
                    "disk": {"path": self.folder / "disk"},
                    "memory": {"path": "/dev/shm"},
                    "split": {"path": self.folder / "disk", "log_path": self.folder / "log"},
                },
            }
        )

    def engine(self, **database: Any) -> Engine:
        return engine_of(Study(self.plan(**database)).databases, self.journal)

    def left(self) -> list[Path]:
        return [
            path for name in ("disk", "log", "journal") for path in (self.folder / name).iterdir()
        ]


ORDER: dict[str, Any] = {
    "users": 2,
    "first_user": 0,
    "warehouses": 1,
    "profile": "spec",
    "home": "all",
    "think_times": False,
    "retries": 10,
}
ORDER |= {"seed": 1, "stream": 1, "rate_per_s": None, "drain_s": 10.0, "workers": 1, "cores": []}


@pytest.fixture(scope="module", params=BUILDS)
def bench(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """One bench a build; its image is built where a killed build left half of one."""
    bench = Bench(tmp_path_factory.mktemp("bench"), request.param)
    left = half_built(bench)
    (left / "data").mkdir(parents=True)
    (left / MARKER).touch()
    bench.built = bench.engine().prepare(unwatched)
    return bench


def half_built(bench: Bench) -> Path:
    """Where a build that was killed leaves its files."""
    return bench.images / f"building-{bench.engine().recipe.key}"


@pytest.fixture(scope="module")
def server(bench: Bench, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    """A restored server on a disk of its own, for tests that leave it running."""
    place = Bench(tmp_path_factory.mktemp("server"), bench.bin_dir, bench.images)
    with place.engine().restored(Configuration(id="disk", storage="disk"), unwatched) as server:
        yield server


def given(folder: Path, account: Account | None) -> Path:
    """A new directory of the server's account's."""
    folder.mkdir(mode=0o700)
    if account:
        os.chown(folder, *account.owner)
    return folder


def postmasters(bench: Bench) -> list[psutil.Process]:
    return [
        p
        for p in psutil.process_iter(["name", "cmdline"])
        if p.info["name"] == "postgres" and str(bench.folder) in " ".join(p.info["cmdline"] or [])
    ]


def value(server: PostgresServer, query: str) -> Any:
    with connect(server.address, "postgres") as connection:
        return connection.execute(query).fetchone()[0]


def test_an_image_is_built_once_and_found_again_and_says_what_it_is(bench: Bench) -> None:
    first, second = bench.built, bench.engine().prepare(unwatched)
    assert second == {**first, "reused": "yes"}
    assert first["warehouses"] == "1"
    assert int(first["bytes"]) > 80_000_000
    assert float(first["warehouses_per_min"]) > 0
    assert first["key"] in [path.name for path in bench.images.iterdir()]
    assert bench.left() == []


def test_a_half_built_image_is_cleared_away_and_built_again(bench: Bench) -> None:
    assert (bench.built["key"], bench.built["reused"]) == (bench.engine().recipe.key, "no")
    assert not half_built(bench).exists()


def test_a_restored_server_holds_the_tables_and_answers(server: PostgresServer) -> None:
    assert server.alive() == ""
    assert server.sum_next_order_ids() == 10 * 3001
    assert server.restore_s > 0
    assert set(server.cores) == os.sched_getaffinity(0)
    assert server.processes()
    server.checkpoint()


@pytest.mark.parametrize("storage", ["disk", "split"])
def test_the_log_that_a_load_will_write_is_there_before_it_and_survives_a_crash(
    storage: str, bench: Bench, tmp_path: Path
) -> None:
    place = Bench(tmp_path, bench.bin_dir, bench.images)
    with place.engine().restored(Configuration(id=storage, storage=storage), unwatched) as server:
        folder = place.folder / ("log" if storage == "split" else "disk")
        before = set(folder.rglob("pg_wal/0*"))
        assert server.ready_log(2.0, 60.0)
        made = [path.stat() for path in {*folder.rglob("pg_wal/0*")} - before]
        assert len(made) >= 2.0 * 1.5 * 10e6 * len(server.cores) / 2**24
        owner = next(iter(before)).stat().st_uid
        assert {(one.st_uid, one.st_size, one.st_blocks * 512) for one in made} == {
            (owner, 2**24, 2**24)
        }
        assert segments_made(server, written=len(made) * 2**24) == 0
        assert segments_made(server, written=2 * 2**24) >= 1
        assert server.ready_log(1.0, 60.0)
        assert server.ready_log(1.0, 0.0), "nothing is left to be made"
        crash_and_recover(server)
        assert value(server, "SELECT count(*) FROM pg_ls_waldir()") > len(made)
    assert place.left() == []


EMIT = "SELECT pg_logical_emit_message(true, 'kneebench', repeat('x', 1048000))::text"


def segments_made(server: PostgresServer, written: int) -> float:
    """New segments while so many bytes of log are written."""
    name = "log.new_segments|database"
    before = server.readings("log_writes")[name]
    with connect(server.address, "postgres") as connection:
        for _ in range(written // 2**20):
            connection.execute(EMIT)
    return server.readings("log_writes")[name] - before


def crash_and_recover(server: PostgresServer) -> None:
    """A killed backend makes the server end all others, and recover from its log."""
    children = psutil.Process(server.processes()[0]).children()
    children[0].kill()
    assert wait_until(lambda: not any(one.is_running() for one in children))
    assert wait_until(lambda: answers(server.address))


def test_every_meter_reads_known_quantities_and_counters_never_fall(server: PostgresServer) -> None:
    for meter in server.measures:
        first, second = server.readings(meter), server.readings(meter)
        for name, later in second.items():
            quantity = READ[name.partition("|")[0]]
            assert quantity.kind == "gauge" or later >= first.get(name, 0.0), name
    assert {"log.flushes|database", "log.flush_time|database", "database.commits|database"} <= set(
        server.readings("log_writes")
    )
    assert "tables.sequential_scans|stock" in server.readings("tables")


def test_times_that_the_server_does_not_take_are_left_out_and_not_read_as_0(bench: Bench) -> None:
    with bench.engine(settings={"track_wal_io_timing": False}).restored(
        Configuration(id="disk", storage="disk"), unwatched
    ) as server:
        seen = server.readings("log_writes")
        assert "log.flushes|database" in seen
        assert not {"log.write_time|database", "log.flush_time|database"} & set(seen)
        assert any("track_wal_io_timing is off" in note for note in server.notes)


def test_commits_are_seen_as_flushes_of_the_log_that_took_time(server: PostgresServer) -> None:
    assert_commits_are_seen(server)


def test_version_16_keeps_the_log_elsewhere_and_is_read_as_well(tmp_path: Path) -> None:
    bin_dir = find_build(None).bin_dir.parents[1] / "pginstall" / "bin"  # the wheel brings it along
    with (
        Bench(tmp_path, bin_dir)
        .engine()
        .restored(Configuration(id="memory", storage="memory"), unwatched) as server
    ):
        assert_commits_are_seen(server)
        for meter in server.measures:
            server.readings(meter)


def assert_commits_are_seen(server: PostgresServer) -> None:
    before = server.readings("log_writes")
    with connect(server.address) as session:
        for _ in range(50):
            session.execute("UPDATE district SET d_name = d_name WHERE d_w_id = 1 AND d_id = 1")
    server.transaction_counts()
    after = server.readings("log_writes")
    rise = {name: after[name] - before[name] for name in after}
    assert 50 <= rise["log.flushes|database"] <= 80
    assert 0 < rise["log.flush_time|database"] + rise["log.write_time|database"] < 30
    assert rise["log.bytes|database"] > 50 * 100
    assert rise["log.writes|database"] >= 50


def test_transactions_are_counted_exactly_and_our_own_questions_are_not(
    server: PostgresServer,
) -> None:
    commits, rollbacks = server.transaction_counts()
    for meter in server.measures:
        server.readings(meter)
    server.sum_next_order_ids()
    server.checkpoint()
    assert server.alive() == ""
    assert server.transaction_counts() == (commits, rollbacks)
    with connect(server.address) as session:
        for _ in range(7):
            session.execute("SELECT 1")
        for _ in range(3):
            with pytest.raises(psycopg.errors.DivisionByZero):
                session.execute("SELECT 1 / 0")
    assert server.transaction_counts() == (
        commits + 7 + 2,
        rollbacks + 3,
    )  # and the session's own start, and its limits lifted


def test_our_sessions_keep_no_dead_row_from_being_vacuumed(server: PostgresServer) -> None:
    for meter in server.measures:
        server.readings(meter)
    server.sum_next_order_ids()
    assert (
        value(
            server, "SELECT count(backend_xmin) FROM pg_stat_activity WHERE datname = 'kneebench'"
        )
        == 0
    )


def test_every_setting_in_force_is_kept_and_what_storage_sees_is_marked(
    server: PostgresServer,
) -> None:
    settings = {setting.name: setting for setting in server.settings}
    for name in (
        "fsync",
        "synchronous_commit",
        "full_page_writes",
        "wal_sync_method",
        "data_checksums",
        "shared_buffers",
        "max_wal_size",
        "huge_pages",
    ):
        assert settings[name].matters, name
    assert settings["fsync"].value == settings["track_wal_io_timing"].value == "on"
    assert settings["checkpoint_timeout"].value == "1min"
    users = {
        name: setting.value
        for name, setting in settings.items()
        if setting.source == "user sessions"
    }
    assert users == {
        "plan_cache_mode": "force_generic_plan",
        **dict.fromkeys(("enable_seqscan", "enable_hashjoin", "enable_mergejoin", "jit"), "off"),
    }
    assert len(settings) == len(server.settings)
    assert not settings["max_connections"].matters
    assert not {"data_directory", "unix_socket_directories", "config_file"} & set(settings)


def test_the_server_listens_on_no_port_and_runs_without_our_rights(server: PostgresServer) -> None:
    postmaster = psutil.Process(server.processes()[0])
    assert [
        c for c in postmaster.net_connections() if c.family.name in ("AF_INET", "AF_INET6")
    ] == []
    assert postmaster.uids().effective != 0
    assert stat.S_IMODE(Path(server.address.host).stat().st_mode) == 0o700


def test_a_server_in_memory_and_one_with_its_log_apart_are_restored_and_nothing_is_left(
    bench: Bench,
) -> None:
    engine = bench.engine()
    for storage in ("memory", "split"):
        with engine.restored(Configuration(id=storage, storage=storage), unwatched) as server:
            assert server.sum_next_order_ids() == 30_010
            data = Path(value(server, "SELECT current_setting('data_directory')"))
            wal = (data / "pg_wal").resolve()
            assert wal.is_relative_to(bench.folder / "log") == (storage == "split")
            runtime = Path(server.address.host)
        assert not runtime.exists()
        assert not data.parent.exists()
        assert postmasters(bench) == []
        assert bench.left() == []


def test_a_climb_never_sees_what_the_last_one_did(bench: Bench) -> None:
    engine = bench.engine()
    for _ in range(2):
        with engine.restored(Configuration(id="disk", storage="disk"), unwatched) as server:
            assert server.sum_next_order_ids() == 30_010
            with connect(server.address) as session:
                session.execute("UPDATE district SET d_next_o_id = d_next_o_id + 1")


def test_virtual_users_run_and_the_books_agree(server: PostgresServer) -> None:
    orders, (_, rollbacks) = server.sum_next_order_ids(), server.transaction_counts()
    generator = server.load_generator(GeneratorSpec(**ORDER))
    generator.ready()
    generator.go()
    generator.mark("window")
    for _ in range(2):
        generator.tick()
    generator.mark("cool_down")
    tally = generator.stop()["transactions"]
    assert server.sum_next_order_ids() - orders == tally["new_order"]["whole"]["committed"] > 0
    retried = sum(sum(each["retried"].values()) for each in tally.values())
    assert server.transaction_counts()[1] - rollbacks == retried + sum(
        each["whole"]["rolled_back"] + each["whole"]["failed"] for each in tally.values()
    )
    checks = server.conditions(unwatched)
    assert len(checks) == 12
    assert [check.sentence for check in checks if not check.passed] == []


def test_a_server_that_is_full_tells_what_to_raise_or_lower(server: PostgresServer) -> None:
    with pytest.raises(ConnectError) as full:
        server.load_generator(GeneratorSpec(**(ORDER | {"users": 300}))).ready()
    assert (full.value.error_class, full.value.code) == ("full", "53300")
    assert server.connection_hint(full.value.code, full.value.message).startswith(
        "raise max_connections on the server"
    )
    assert "max_connections" not in server.connection_hint("", "no such function")


def test_a_killed_server_says_how_it_ended_and_asking_it_is_an_error(bench: Bench) -> None:
    with bench.engine().restored(Configuration(id="disk", storage="disk"), unwatched) as server:
        os.kill(server.processes()[0], signal.SIGKILL)
        assert wait_until(lambda: "killed by SIGKILL" in server.alive())
        kept = Path(server.alive().rpartition("full log: ")[2])
        with pytest.raises(DatabaseLost, match="killed by SIGKILL"):
            server.readings("log_writes")
        with pytest.raises(DatabaseLost):
            server.conditions(unwatched)
        with pytest.raises(DatabaseLost):
            server.checkpoint()
    assert "database system is ready" in kept.read_text()
    assert postmasters(bench) == []
    assert bench.left() == []


def test_a_killed_session_is_told_though_the_server_recovers(bench: Bench) -> None:
    with (
        bench.engine().restored(Configuration(id="disk", storage="disk"), unwatched) as server,
        connect(server.address) as session,
    ):
        os.kill(session.info.backend_pid, signal.SIGKILL)
        assert wait_until(lambda: "terminated by signal 9" in server.alive())


def test_a_kneebench_killed_by_kill_9_leaves_nothing_once_the_journal_is_cleaned(
    bench: Bench,
) -> None:
    bench.engine().prepare(unwatched)
    script = """
import sys, time
from pathlib import Path
from kneebench.databases.engines.postgres.engine import OwnPostgres
from kneebench.databases.several import engine_of
from kneebench.databases.engines.postgres.launcher import make_cluster
from kneebench.lab.journal import Journal
from kneebench.plan import Plan
from kneebench.plan.study import Study
from kneebench.records import Configuration
study = Study(Plan.model_validate_json(sys.argv[1]))
engine = engine_of(study.databases, Journal(Path(sys.argv[2])))
with engine.restored(Configuration(id="split", storage="split"), lambda event: None):
    print("restored", flush=True)
    time.sleep(600)
"""
    command = [
        sys.executable,
        "-c",
        script,
        bench.plan().model_dump_json(),
        str(bench.folder / "journal"),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "restored\n"
        process.kill()
    assert len(postmasters(bench)) >= 1
    bench.journal.clean(unwatched)
    assert postmasters(bench) == []
    assert bench.left() == []


def test_what_is_no_image_of_ours_is_never_removed(bench: Bench) -> None:
    engine = bench.engine(settings={"wal_segment_size": "64MB"})
    theirs = bench.images / engine.recipe.key
    theirs.mkdir(parents=True)
    (theirs / "thesis.txt").write_text("years of work")
    with pytest.raises(Refused, match="is not a base image"):
        engine.prepare(unwatched)
    assert [finding.seen for finding in engine.findings() if finding.level == "refused"] == [
        "it is not a base image"
    ]
    assert (theirs / "thesis.txt").exists()


def test_a_setting_that_the_server_does_not_know_is_told_in_its_words(bench: Bench) -> None:
    for settings, words in (
        ({"wal_buffer": "1MB"}, 'unrecognized configuration parameter "wal_buffer"'),
        ({"fsync": "maybe"}, 'parameter "fsync" requires'),
    ):
        engine = bench.engine(settings=settings)
        with pytest.raises(PlanError, match=words):
            engine.prepare(unwatched)
        found = [one for one in engine.findings() if one.level == "error" and words in one.seen]
        assert bool(found) == (bench.bin_dir is None), "check starts no program of a plan"


def test_settings_of_the_plan_win_over_the_rules(bench: Bench) -> None:
    settings = {
        "shared_buffers": "64MB",
        "wal_compression": True,
        "wal_sync_method": "open_datasync",
        "log_line_prefix": "'C:\\new\\' ",
    }
    core = max(os.sched_getaffinity(0))
    with bench.engine(settings=settings, cores=[core]).restored(
        Configuration(id="disk", storage="disk"), unwatched
    ) as server:
        seen = {setting.name: setting.value for setting in server.settings}
        assert seen["shared_buffers"] == "64MB"
        assert seen["log_line_prefix"] == settings["log_line_prefix"]
        assert seen["wal_compression"] in ("on", "pglz")
        assert any("open_datasync" in note for note in server.notes)
        assert server.cores == (core,)
        assert {tuple(os.sched_getaffinity(pid)) for pid in server.processes()} == {(core,)}
        with connect(server.address) as session:
            session.execute("UPDATE district SET d_name = d_name")
        server.transaction_counts()
        assert server.readings("log_writes")["log.flushes|database"] > 0


@pytest.fixture
def memory_limit() -> Iterator[Path]:
    """A memory cgroup of 150 MB with this process in it."""
    group = Path("/sys/fs/cgroup/memory/kneebench-test")
    try:
        group.mkdir()
        (group / "memory.limit_in_bytes").write_text("150M")
    except OSError:
        pytest.skip("no memory cgroup (v1) can be made here")
    yield group
    for pid in (group / "cgroup.procs").read_text().split():
        (group.parent / "cgroup.procs").write_text(pid)
    group.rmdir()


@needs_root
@pytest.mark.root
def test_a_server_killed_for_want_of_memory_says_so(bench: Bench, memory_limit: Path) -> None:
    with bench.engine(settings={"work_mem": "1GB"}).restored(
        Configuration(id="disk", storage="disk"), unwatched
    ) as server:
        with connect(server.address) as session, pytest.raises(psycopg.OperationalError):
            (memory_limit / "cgroup.procs").write_text(str(session.info.backend_pid))
            session.execute(
                "SELECT count(*) FROM (SELECT DISTINCT repeat(md5(n::text), 9) FROM"
                " generate_series(1, 3000000) n) x"
            )
        assert wait_until(lambda: "because memory ran out" in server.alive())


@needs_root
@pytest.mark.root
def test_started_by_root_it_works_below_a_closed_home_whose_mode_stays(bench: Bench) -> None:
    """The image was built below it, too."""
    home, disk = bench.home, bench.home / "deep" / "disk"
    disk.mkdir(parents=True)
    plan = bench.plan().model_dump()
    plan["storages"] = {"disk": {"path": disk}}
    with engine_of(Study(Plan.model_validate(plan)).databases, bench.journal).restored(
        Configuration(id="disk", storage="disk"), unwatched
    ) as server:
        assert server.sum_next_order_ids() == 30_010
        assert value(server, "SELECT current_setting('data_directory')").startswith(str(home))
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert list(disk.iterdir()) == []
    assert str(bench.folder) not in Path("/proc/self/mountinfo").read_text(), (
        "nothing of it is mounted elsewhere, or covered"
    )


def test_every_bad_place_is_a_finding_with_what_to_do(bench: Bench) -> None:
    (bench.folder / "file").touch()
    plan = bench.plan().model_dump()
    bad = {"gone": bench.folder / "gone", "file": bench.folder / "file"}
    plan["storages"] = {name: {"path": path} for name, path in bad.items()}
    seen = {
        finding.subject.split()[0]: finding
        for finding in engine_of(
            Study(Plan.model_validate(plan)).databases, bench.journal
        ).findings()
        if finding.level == "error"
    }
    assert "does not exist" in seen[str(bad["gone"])].seen
    assert "not a directory" in seen[str(bad["file"])].seen
    assert all(finding.do for finding in seen.values())


def test_too_little_room_is_found_before_anything_is_written(bench: Bench) -> None:
    plan = bench.plan().model_dump()
    plan["workload"]["warehouses"] = 90_000
    plan["storages"] = {"disk": {"path": bench.folder / "disk"}, "memory": {"path": "/dev/shm"}}
    engine = engine_of(Study(Plan.model_validate(plan)).databases, bench.journal)
    errors = [finding for finding in engine.findings() if finding.level == "error"]
    assert len(errors) == 3  # disk, memory, image
    assert all("needed" in finding.seen for finding in errors)
    with pytest.raises(PlanError, match="needed"):
        engine.prepare(unwatched)


def test_a_cache_larger_than_the_server_s_memory_is_found_before_anything_starts(
    bench: Bench,
) -> None:
    for database in (
        {"settings": {"shared_buffers": "4TB"}},
        {"settings": {"shared_buffers": "512MB"}, "memory": "256MiB"},
    ):
        errors = [one for one in bench.engine(**database).findings() if one.level == "error"]
        [found] = [one for one in errors if one.subject == "database.settings"]
        assert found.seen.startswith("shared_buffers is ") and found.seen.endswith(" of memory")
        assert found.do == "use a smaller shared_buffers"


def test_a_setting_of_the_plan_that_buys_speed_with_safety_is_a_warning(bench: Bench) -> None:
    for given, names in ((False, ["fsync"]), (True, [])):
        found = bench.engine(settings={"fsync": given}).findings()
        warned = [one.seen.split()[0] for one in found if one.level == "warning"]
        assert warned == names


def test_cores_and_clones_that_cannot_be_had_are_found_before_anything_starts(bench: Bench) -> None:
    [missing] = [
        finding for finding in bench.engine(cores=[4095]).findings() if finding.level == "error"
    ]
    assert "not available to this process: core 4095" in missing.seen
    clones = [
        finding for finding in bench.engine(restore="clone").findings() if finding.level == "error"
    ]
    assert "clone to 'memory'" in {finding.subject for finding in clones}


def test_binaries_that_are_not_there_are_named(bench: Bench) -> None:
    findings = engine_of(
        Study(
            bench.plan().model_copy(
                update={
                    "database": bench.plan().database.model_copy(update={"bin_dir": bench.folder})
                }
            )
        ).databases,
        bench.journal,
    ).findings()
    assert [
        "no postgres and no initdb" in finding.seen
        for finding in findings
        if finding.level == "error"
    ] == [True]


@pytest.fixture
def little(tmp_path: Path) -> Iterator[Path]:
    """A file system that holds an empty cluster and not one warehouse."""
    folder = tmp_path / "little"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=160M", "tmpfs", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


@needs_root
def test_a_disk_that_fills_up_while_loading_is_named_and_leaves_nothing(
    bench: Bench, little: Path
) -> None:
    engine = bench.engine(base_image_path=little)
    assert isinstance(engine, OwnPostgres)
    with (
        pytest.raises(
            (
                PlanError,
                InvalidMeasurement,
            ),  # at its log the server ends, and by a table it says so
            match=r"(?s)(SQLSTATE 53100|No space left on device).*free disk space",
        ),
        engine.launch(engine.lab.resources) as launch,
    ):
        engine.build_image(launch, unwatched)  # without a look at the space
    assert [path for path in little.iterdir() if not path.name.endswith(".lock")] == []


def emptied(session: psycopg.Connection[Any]) -> None:
    """Once another session sleeps."""
    sleeping = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
    assert wait_until(lambda: session.execute(sleeping).fetchone() == (1,))
    with pytest.raises(psycopg.Error, match=r"No space left|closed the connection"):
        session.execute("DELETE FROM large")


@needs_root
def test_a_server_that_a_full_disk_ends_under_a_question_is_told_with_the_end_of_its_log(
    bench: Bench, little: Path
) -> None:
    engine = bench.engine()
    assert isinstance(engine, OwnPostgres)
    with engine.launch(engine.lab.resources) as launch:
        data = given(little / "data", engine.account)
        make_cluster(launch, data, [])
        with Folder.at(data) as opened:
            configure(
                opened,
                {
                    "listen_addresses": "",
                    "wal_recycle": "off",
                    "min_wal_size": "32MB",
                    "max_wal_size": "32MB",
                },
                engine.account,
            )
        full = pytest.raises(
            PlanError,
            match=r"(?s)closed the connection.*PANIC:.*No space left on device.*free disk space",
        )
        with (
            running_server(launch, data, bench.journal) as server,
            connect(server.address) as other,
            connect(server.address) as session,
        ):
            other.execute(
                "CREATE TABLE large AS SELECT repeat('x', 500) FROM generate_series(1, 60000)"
            )
            other.execute("CHECKPOINT")
            (little / "filler").write_bytes(bytes(shutil.disk_usage(little).free))
            panic = threading.Thread(target=emptied, args=[other])
            panic.start()
            with full, server.with_crash_report(), explained("waiting"):
                session.execute("SELECT pg_sleep(60)")
            panic.join()


@needs_root
def test_an_initdb_that_fails_says_what_to_change_or_how_to_try_it_by_hand(
    bench: Bench, little: Path
) -> None:
    engine = bench.engine()
    assert isinstance(engine, OwnPostgres)
    with engine.launch(engine.lab.resources) as launch:
        with pytest.raises(
            KneebenchError, match=r"not as root: .*/initdb -D .* --no-such-option"
        ) as told:
            make_cluster(launch, given(little / "one", engine.account), ["--no-such-option"])
        assert told.value.exit_code == 1
        with pytest.raises(PlanError, match=r"correct the key of database\.settings"):
            make_cluster(launch, given(little / "two", engine.account), ["--wal-segsize=5"])
        (little / "filler").write_bytes(bytes(150 << 20))
        with pytest.raises(PlanError, match=r"(?s)No space left on device.*free disk space"):
            make_cluster(launch, given(little / "three", engine.account), [])
