"""What is sent to a SQL Server, and what is made of its answers as Microsoft documents them (not
tried on SQL Server).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kneebench.databases.engines.sqlserver import database as databases
from kneebench.databases.engines.sqlserver import image as images
from kneebench.databases.engines.sqlserver.allowed_settings import of_database
from kneebench.databases.engines.sqlserver.backup import Backup
from kneebench.databases.engines.sqlserver.blocked import end_stuck
from kneebench.databases.engines.sqlserver.error_hints import error_hint
from kneebench.databases.engines.sqlserver.image import Image
from kneebench.databases.engines.sqlserver.placement import Placement
from kneebench.databases.engines.sqlserver.readings import SqlServerReadings
from kneebench.databases.engines.sqlserver.server_findings import image_findings, server_findings
from kneebench.databases.engines.sqlserver.server_settings import PlansSettings, in_force
from kneebench.databases.engines.sqlserver.session import ResultRows, SqlError
from kneebench.databases.engines.sqlserver.sql_files import columns_of, keys_of, making
from kneebench.databases.engines.sqlserver.version import version_of
from kneebench.databases.tproc_c.tables import LARGEST_FIRST
from kneebench.errors import PlanError, Refused
from kneebench.lab.changes.server_setting import ChangedServerSettings
from kneebench.lab.journal import Journal
from kneebench.measurement.quantities import READ
from kneebench.plan import Plan
from kneebench.plan.study import Study
from kneebench.plan.workload import Workload
from kneebench.records import Event
from tests.documented_server import (
    ADDRESS,
    DENIED,
    HEADER,
    TEMPDB,
    DocumentedSession,
    one_server,
)

BACKUP = Backup(ADDRESS, r"B:\tpcc.bak")
PLACES = Placement(("D:\\data", "E:\\data"), "L:\\log\\", ("T:\\tempdb",))
URL = "sqlserver://bench@db.example/tpcc"


def image(session: DocumentedSession, how: str = "backup", **changed: Any) -> Image:
    made = Image(
        session,
        ADDRESS,
        version_of(session),
        how,
        BACKUP.path,
        PLACES,
        2,
        of_database({}),
        Workload(warehouses=10),
        1,
    )
    return made._replace(**changed)


def plan(**database: Any) -> Plan:
    return Plan.model_validate({"database": {"engine": "sqlserver", "url": URL, **database}})


def unwatched(event: Event) -> None:
    """Nobody looks."""


def changing(session: DocumentedSession) -> list[str]:
    """What was sent that changes something."""
    reading = ("SELECT", "RESTORE FILELISTONLY", "RESTORE HEADERONLY")
    return [one for one in session.sent if not one.lstrip().startswith(reading)]


# --- the database and its files -------------------------------------------------------------------


def test_a_database_is_created_with_its_files_where_the_plan_puts_them() -> None:
    files = image(DocumentedSession()).files
    sent = databases.create_statement("tpcc", files, 10)
    assert sent.startswith(
        r"CREATE DATABASE [tpcc] ON PRIMARY (NAME = N'kneebench_data_1', FILENAME ="
        r" N'D:\data\tpcc_data_1.mdf', SIZE = "
    )
    assert r"FILENAME = N'E:\data\tpcc_data_2.ndf'" in sent
    assert r"LOG ON (NAME = N'kneebench_log', FILENAME = N'L:\log\tpcc_log.ldf'" in sent


def test_without_directories_the_servers_own_defaults_are_used() -> None:
    files = image(DocumentedSession(), placement=Placement()).files
    assert [file.path for file in files] == [
        r"C:\data\tpcc_data_1.mdf",
        r"C:\data\tpcc_data_2.ndf",
        r"C:\log\tpcc_log.ldf",
    ]


def test_files_that_are_elsewhere_than_the_plan_says_are_an_error() -> None:
    image(DocumentedSession()).verify()
    with pytest.raises(PlanError, match=r"kneebench_log is at L:.log.tpcc_log.ldf, not in M:"):
        image(DocumentedSession(), placement=PLACES._replace(log="M:\\")).verify()


def test_a_directory_of_the_plan_without_a_file_is_an_error() -> None:
    three = PLACES._replace(data=("D:\\data", "E:\\data", "F:\\data"))
    with pytest.raises(PlanError, match="no data file is in F:"):
        image(DocumentedSession(), placement=three).verify()


def test_files_of_another_storage_are_not_in_the_servers_default_directories() -> None:
    by_default = image(DocumentedSession(), how="load", placement=Placement())
    assert (
        r"kneebench_log is at L:\log\tpcc_log.ldf, not in C:\log" + "\\" in by_default.misplaced()
    )
    assert by_default._replace(how="none").misplaced() == []


def test_tempdb_elsewhere_than_the_plan_says_is_an_error_with_the_way_to_move_it() -> None:
    elsewhere = image(DocumentedSession(), placement=PLACES._replace(tempdb=("X:\\", "T:\\tempdb")))
    with pytest.raises(PlanError, match=r"no data file of tempdb is in X:.*MODIFY FILE"):
        elsewhere.verify()


def test_another_number_of_tempdb_files_is_an_error_with_the_statements_that_mend_it() -> None:
    session = DocumentedSession().answer(r"MAX\(size\) / 128", [(4096,)])
    wanted = image(session, placement=Placement(tempdb=("T:\\tempdb", "U:\\t"), tempdb_files=3))
    found = dict(wanted.misplaced_tempdb())
    assert found["it has 1 data file, not 3"] == (
        r"ALTER DATABASE tempdb ADD FILE (NAME = N'temp2', FILENAME = N'U:\t\temp2.ndf',"
        r" SIZE = 4096MB); ALTER DATABASE tempdb ADD FILE (NAME = N'temp3', FILENAME ="
        r" N'T:\tempdb\temp3.ndf', SIZE = 4096MB), or correct tempdb_files"
    )
    assert changing(session) == [], "a plan's tempdb is verified, not changed"
    with pytest.raises(PlanError, match="it has 1 data file, not 3"):
        wanted.verify()
    files = [*TEMPDB, ("temp2", r"T:\tempdb\temp2.ndf", "ROWS")]
    session.answer(r"FROM \[tempdb\]\.sys\.database_files", files)
    [(seen, do)] = image(session, placement=Placement(tempdb_files=1)).misplaced_tempdb()
    assert seen == "it has 2 data files, not 1"
    assert do.startswith("ALTER DATABASE tempdb REMOVE FILE [temp2], or")
    assert image(session, placement=Placement(tempdb_files=2)).misplaced_tempdb() == []


def test_autogrow_of_the_plan_is_set_once_the_database_is_loaded_and_shapes_its_image(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session = one_server(monkeypatch)
    monkeypatch.setattr(images, "load", lambda *given: {})
    made = image(session, "load", growths=(0, 128 * 2**20))
    made.prepare(unwatched)
    grows = [one for one in session.sent if "FILEGROWTH" in one]
    assert grows[0].startswith("CREATE DATABASE") and "FILEGROWTH = 256MB" in grows[0]
    assert grows[1:] == [
        "ALTER DATABASE [tpcc] MODIFY FILE (NAME = N'kneebench_data_1', FILEGROWTH = 0MB)",
        "ALTER DATABASE [tpcc] MODIFY FILE (NAME = N'kneebench_data_2', FILEGROWTH = 0MB)",
        "ALTER DATABASE [tpcc] MODIFY FILE (NAME = N'kneebench_log', FILEGROWTH = 128MB)",
    ]
    assert made.key != image(session, "load").key


def test_a_database_that_stays_and_grows_otherwise_is_an_error_with_the_statement() -> None:
    growths = [("one", "ROWS", 10, True), ("two", "ROWS", 0, False), ("log", "LOG", 8192, False)]
    session = DocumentedSession().answer("is_percent_growth", growths)
    with pytest.raises(PlanError) as caught:
        image(session, "none", growths=(0, None)).verify()
    assert caught.value.seen == "one grows by 10%, not by 0 MB"
    wanted = "ALTER DATABASE [tpcc] MODIFY FILE (NAME = N'one', FILEGROWTH = 0MB), or"
    assert caught.value.do.startswith(wanted)
    image(session, "none", growths=(None, 64 * 2**20)).verify()
    with pytest.raises(PlanError, match="log grows by 64 MB, not by 0 MB"):
        image(session, "none", growths=(None, 0)).verify()


def test_tempdbs_files_and_autogrow_are_kept_with_the_settings() -> None:
    session = DocumentedSession().answer("CONCAT", [(8, "off", "64 MiB")])
    found = in_force(session, "tpcc", version_of(session))
    kept = {one.name: (one.value, one.matters) for one in found}
    assert kept["tempdb data files"] == ("8", True)
    assert kept["autogrow of data files"] == ("off", True)
    assert kept["autogrow of the log file"] == ("64 MiB", True)


def test_a_database_of_anothers_is_refused_and_nothing_is_sent_that_changes_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    there = [("ONLINE", False)]
    session = DocumentedSession().answer("FROM sys.databases", there)
    session.answer(r"FROM .tpcc..sys.database_files", [("sales", r"D:\sales.mdf", "ROWS")])
    inside = DocumentedSession().answer("FROM sys.tables", [(3, 0)])
    monkeypatch.setattr(databases, "connect", lambda *given, **limits: inside)
    with pytest.raises(Refused, match="exists and was not created by kneebench"):
        image(session).prepare(unwatched)
    with pytest.raises(Refused):
        databases.drop(session, "tpcc")
    with pytest.raises(Refused):
        BACKUP.restore(session, image(session).files)
    assert changing(session) == []


def test_a_database_whose_restore_was_interrupted_is_known_by_the_names_of_its_files() -> None:
    session = DocumentedSession().answer("FROM sys.databases", [("RESTORING", False)])
    restoring = "Database 'tpcc' cannot be opened. It is in the middle of a restore."
    session.answer(r"FROM .tpcc..sys.database_files", SqlError(restoring, 927))
    assert databases.whose(session, "tpcc") == "ours"
    session.answer("master_files", [("sales", r"D:\sales.mdf", "ROWS")])
    assert databases.whose(session, "tpcc") == "another's"


def test_a_database_that_was_just_created_is_known_by_the_names_of_its_files(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session = DocumentedSession().answer("FROM sys.databases", [("ONLINE", False)])
    inside = DocumentedSession().answer("FROM sys.tables", [(0, 0)])
    monkeypatch.setattr(databases, "connect", lambda *given, **limits: inside)
    assert databases.whose(session, "tpcc") == "ours"
    session.answer(r"FROM .tpcc..sys.database_files", [("empty", r"D:\empty.mdf", "ROWS")])
    assert databases.whose(session, "tpcc") == "another's"


# --- backup and restore ---------------------------------------------------------------------------


def test_a_backup_is_written_with_compression_and_checksum_and_says_whose_it_is() -> None:
    session = DocumentedSession()
    BACKUP.write(session, {"key": "k", "warehouses": "10", "seed": "1"})
    assert session.sent == [
        r"BACKUP DATABASE [tpcc] TO DISK = N'B:\tpcc.bak' WITH FORMAT, INIT, COPY_ONLY,"
        " COMPRESSION, CHECKSUM, NAME = N'kneebench', DESCRIPTION ="
        """ N'made by kneebench: {"key":"k","warehouses":"10"}'"""
    ]


def test_the_description_of_a_backup_has_room_for_its_facts() -> None:
    facts = dict.fromkeys(("warehouses", "bytes", "build_s", "rows", "rows_s"), "9" * 12)
    facts |= {"keys_s": "9" * 8, "key": image(DocumentedSession()).key}
    session = DocumentedSession().answer("COMPRESSION", SqlError("not supported", 1844))
    BACKUP.write(session, facts)
    assert "FORMAT, INIT, COPY_ONLY, CHECKSUM" in session.sent[-1]


def test_a_backup_of_the_same_image_is_used_again_and_nothing_is_loaded() -> None:
    session = DocumentedSession()
    kept = {"key": image(session).key, "warehouses": "10"}
    session.kept(f"made by kneebench: {json.dumps(kept)}")
    assert image(session).prepare(unwatched) == {**kept, "reused": "yes"}
    assert not [one for one in session.sent if "CREATE" in one or "BACKUP" in one]


def test_a_file_that_holds_anothers_backup_is_refused() -> None:
    with pytest.raises(Refused, match="no backup of kneebench"):
        BACKUP.facts(DocumentedSession().kept("nightly"))
    session = DocumentedSession()
    session.header = SqlError("The media family on device is incorrectly formed.", 3241)
    with pytest.raises(Refused):
        BACKUP.facts(session)


def test_an_incomplete_backup_is_refused_with_the_way_out() -> None:
    session = DocumentedSession()
    session.header = ResultRows(HEADER, [("*** INCOMPLETE ***", None, 1, None)])
    with pytest.raises(Refused, match="an interrupted run of kneebench left it, delete the file"):
        BACKUP.facts(session)


@pytest.mark.parametrize(
    ("words", "path"),
    [
        ("Betriebssystemfehler 2(Das System kann die angegebene Datei nicht finden.)", ""),
        ("Erreur du système d'exploitation 2 (Le fichier spécifié est introuvable.)", ""),
        ("操作系统错误 2(系统找不到指定的文件。)", ""),
        ("Operating system error 2(No such file or directory).", "/backup 3(old)/x.bak"),
    ],
)
def test_a_file_that_is_not_there_is_recognized_in_any_language_of_the_server(
    words: str, path: str
) -> None:
    session = DocumentedSession()
    session.header = SqlError(f"'{path}'. {words}", 3201)
    assert Backup(ADDRESS, path or "B:\\x.bak").facts(session) == {}


def test_the_number_of_an_error_is_not_read_from_the_path() -> None:
    session, path = DocumentedSession(), r"B:\copy 2 (new)\x.bak"
    session.header = SqlError(f"Cannot open '{path}'. Operating system error 3(No path).", 3201)
    with pytest.raises(PlanError):
        Backup(ADDRESS, path).facts(session)


def test_an_edition_that_compresses_no_backup_writes_it_uncompressed() -> None:
    words = "BACKUP DATABASE WITH COMPRESSION is not supported on Express Edition (64-bit)."
    session = DocumentedSession().answer("COMPRESSION", SqlError(words, 1844))
    assert BACKUP.write(session, {"key": "k"}) == {"key": "k", "compressed": "no"}
    assert "WITH FORMAT, INIT, COPY_ONLY, CHECKSUM, " in session.sent[-1]


def test_a_backup_path_that_cannot_be_written_is_an_error_with_words_and_a_remedy() -> None:
    session = DocumentedSession()
    session.header = SqlError(
        "Cannot open backup device 'Q:\\x.bak'. Operating system error 3(The system cannot find"
        " the path specified.).",
        3201,
    )
    with pytest.raises(PlanError, match=r"system error 3.*directory that exists on the server"):
        BACKUP.facts(session)


def test_a_restore_closes_all_connections_and_writes_over_the_same_files(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session = DocumentedSession().answer("FROM sys.databases", [("RESTORING", False)])
    restoring = "Database 'tpcc' cannot be opened. It is in the middle of a restore."
    session.answer(r"FROM .tpcc..sys.database_files", SqlError(restoring, 927))
    BACKUP.restore(session, image(session).files)
    assert changing(session) == [
        "ALTER DATABASE [tpcc] SET SINGLE_USER WITH ROLLBACK IMMEDIATE",
        (
            r"RESTORE DATABASE [tpcc] FROM DISK = N'B:\tpcc.bak' WITH REPLACE, CHECKSUM, RECOVERY,"
            r" MOVE N'kneebench_data_1' TO N'D:\data\tpcc_data_1.mdf',"
            r" MOVE N'kneebench_data_2' TO N'E:\data\tpcc_data_2.ndf',"
            r" MOVE N'kneebench_log' TO N'L:\log\tpcc_log.ldf'"
        ),
        "ALTER DATABASE [tpcc] SET MULTI_USER",
    ]


def test_a_restore_to_other_drives_drops_the_database_first_so_that_no_file_remains() -> None:
    session = DocumentedSession().answer("FROM sys.databases", [("RESTORING", False)])
    restoring = "Database 'tpcc' cannot be opened. It is in the middle of a restore."
    session.answer(r"FROM .tpcc..sys.database_files", SqlError(restoring, 927))
    BACKUP.restore(session, image(session, placement=PLACES._replace(log="M:\\")).files)
    _, dropped, restored, _ = changing(session)
    assert dropped == "DROP DATABASE [tpcc]"
    assert restored.endswith(r"MOVE N'kneebench_log' TO N'M:\tpcc_log.ldf'")
    assert "REPLACE" not in restored


def test_a_restore_writes_over_no_file_where_no_database_of_ours_is_there() -> None:
    BACKUP.restore(session := DocumentedSession(), image(session).files)
    assert changing(session)[0].startswith(
        r"RESTORE DATABASE [tpcc] FROM DISK = N'B:\tpcc.bak' WITH CHECKSUM, RECOVERY, MOVE"
    )


def test_a_backup_of_other_files_than_the_plans_is_not_restored() -> None:
    session = DocumentedSession().answer("FROM sys.databases", [("RESTORING", False)])
    restoring = "Database 'tpcc' cannot be opened. It is in the middle of a restore."
    session.answer(r"FROM .tpcc..sys.database_files", SqlError(restoring, 927))
    session.answer("FILELISTONLY", [("kneebench_data_1", r"D:\x.mdf", "D", "PRIMARY")])
    with pytest.raises(PlanError, match="contains the files kneebench_data_1, not"):
        BACKUP.restore(session, image(session).files)
    assert changing(session) == []


def test_the_number_of_data_files_is_part_of_the_key() -> None:
    made = image(DocumentedSession())
    assert made.key != made._replace(data_files=4).key


# --- settings -------------------------------------------------------------------------------------


def configured(statement: str) -> list[tuple[Any, ...]]:
    values = {"max degree of parallelism": 8, "max server memory (MB)": 4096}
    found = {**values, "show advanced options": 0}
    return [(name, value) for name, value in found.items() if name in statement]


def test_settings_of_the_instance_are_set_and_put_back_with_the_journal_in_between(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal, session = Journal(tmp_path), DocumentedSession().answer("configurations", configured)
    monkeypatch.setattr(
        "kneebench.databases.engines.sqlserver.server_settings.connect", lambda address: session
    )
    settings = PlansSettings(session, {"max degree of parallelism": 1}, journal)
    with settings.in_force(unwatched) as changed:
        assert [(one.name, one.value, one.source) for one in changed] == [
            ("max degree of parallelism", "1", "plan")
        ]
        (entry,) = tmp_path.glob("*.json")
        assert json.loads(entry.read_text())["values"] == {"max degree of parallelism": 8}
    assert not list(tmp_path.glob("*.json"))
    assert [one for one in session.sent if "sp_configure" in one] == [
        "EXEC sp_configure N'show advanced options', 1; RECONFIGURE",
        "EXEC sp_configure N'max degree of parallelism', 1; RECONFIGURE",
        "EXEC sp_configure N'show advanced options', 0; RECONFIGURE",
        "EXEC sp_configure N'show advanced options', 1; RECONFIGURE",
        "EXEC sp_configure N'max degree of parallelism', 8; RECONFIGURE",
        "EXEC sp_configure N'show advanced options', 0; RECONFIGURE",
    ]


def test_what_was_configured_is_put_back_and_not_what_was_in_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(statement: str) -> list[tuple[Any, ...]]:
        return [("min server memory (MB)", 16 if "value_in_use" in statement else 0)]

    session = DocumentedSession().answer("configurations", answer)
    monkeypatch.setattr(
        "kneebench.databases.engines.sqlserver.server_settings.connect", lambda address: session
    )
    with PlansSettings(session, {"min server memory (MB)": 512}, Journal(tmp_path)).in_force(
        unwatched
    ):
        pass
    sent = [one for one in session.sent if "sp_configure N'min" in one]
    assert [one.split(", ")[1] for one in sent] == ["512; RECONFIGURE", "0; RECONFIGURE"]


def test_the_settings_in_force_are_printed_as_people_write_them() -> None:
    session = DocumentedSession().answer("sys.configurations", configured)
    options = (160, "SIMPLE", "CHECKSUM", True, "OFF", "DISABLED", 60, "Latin1_General_CI_AS", True)
    session.answer("is_query_store_on", [(*options, True, False, True)])
    session.answer("WHEN 'Y' THEN 'on'", [("on",)])
    found = {one.name: one for one in in_force(session, "tpcc", version_of(session))}
    shown = {name: one.value for name, one in found.items()}
    assert (shown["query_store"], shown["encryption"], shown["auto_close"]) == ("on", "off", "on")
    assert shown["instant file initialization"] == "on"
    assert shown["max degree of parallelism"] == "8"
    assert all(found[name].matters for name in ("query_store", "encryption", "auto_close"))
    assert any("value_in_use" in one for one in session.sent)


def test_settings_that_a_killed_run_left_are_put_back_by_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal, session = Journal(tmp_path), DocumentedSession().answer("configurations", configured)
    monkeypatch.setattr(
        "kneebench.databases.engines.sqlserver.server_settings.connect", lambda address: session
    )
    left = {"max server memory (MB)": 2147483647}
    what = f"settings of {ADDRESS.place}"
    journal.on_server(ChangedServerSettings, what, values=left, by_hand="EXEC ...")
    with PlansSettings(session, {}, Journal(tmp_path)).in_force(unwatched):
        pass
    assert "EXEC sp_configure N'max server memory (MB)', 2147483647; RECONFIGURE" in session.sent
    assert not list(tmp_path.glob("*.json"))


# --- readings -------------------------------------------------------------------------------------


def test_log_write_latency_is_the_stall_of_the_log_file_over_its_writes() -> None:
    seen = SqlServerReadings(DocumentedSession(), "tpcc").read("log_writes")
    assert seen["log.write_time|database"] == 4.5
    assert seen["log.flushes|database"] == seen["log.writes|database"] == 10_000
    assert seen["data.reads|kneebench_data_1"] == 250
    assert seen["data.write_time|kneebench_data_2"] == 0.04
    assert seen["database.batches|database"] == 21_000
    assert "database.commits|database" not in seen, "each statement outside of one is counted too"


def test_the_cpu_of_a_remote_host_and_its_waits_are_read_from_the_server() -> None:
    seen = SqlServerReadings(DocumentedSession(), "tpcc").read("tables")
    assert seen["server.cpu|server"] == 21.5
    assert seen["server.core_busy|0"] == 12
    assert seen["server.host_busy|server"] == pytest.approx(0.63)
    assert seen["wait_time.log|WRITELOG"] == 4.2
    assert seen["wait_time.lock|LCK_M_U"] == 0.1
    assert seen["cache.hits|database"] == 499_900
    assert "tables.sequential_scans|district" not in seen
    assert {name.partition("|")[0] for name in seen} <= set(READ)


def test_the_log_is_measured_for_a_login_that_may_not_create_databases() -> None:
    session = DocumentedSession().answer(r"dm_io_virtual_file_stats[\s\S]*master_files", [])
    readings = SqlServerReadings(session, "tpcc")
    assert readings.read("log_writes")["log.write_time|database"] == 4.5
    assert readings.notes == ()


def test_a_log_that_the_server_does_not_show_is_not_measured_and_a_note_names_the_grant() -> None:
    readings = SqlServerReadings(DocumentedSession().answer("virtual_file_stats", []), "tpcc")
    assert "log.writes|database" not in readings.read("log_writes")
    (note,) = readings.notes
    assert "not measured: log and data files (the server shows no log file of tpcc" in note
    assert "GRANT VIEW ANY DATABASE" in note


def test_several_log_files_are_one_log() -> None:
    files = [(1, "log", 4, 32_768, 2, 100, 4_096, 50), (1, "log_2", 0, 0, 0, 50, 1_024, 30)]
    seen = SqlServerReadings(DocumentedSession().answer("virtual_file_stats", files), "tpcc")
    found = seen.read("log_writes")
    assert found["log.flushes|database"] == 150
    assert found["log.bytes|database"] == 5_120
    assert found["log.write_time|database"] == pytest.approx(0.08)


def test_a_bracket_in_the_databases_name_is_escaped_in_every_reading() -> None:
    session = DocumentedSession()
    SqlServerReadings(session, "a]b")
    inside = [one for one in session.sent if ".sys." in one]
    assert [one.count("[a]]b].sys.") for one in inside] == [1, 1]


def test_a_view_that_is_not_permitted_is_not_measured_and_the_note_names_the_grant() -> None:
    readings = SqlServerReadings(DocumentedSession().answer(r"dm_", DENIED), "tpcc")
    assert readings.meters == frozenset()
    (note,) = readings.notes
    assert "not measured: log and data files, transactions, checkpoints" in note
    assert note.endswith("GRANT VIEW SERVER STATE TO [bench]")


def test_one_view_that_is_missing_leaves_the_others_measured_and_no_grant_is_advised() -> None:
    gone = SqlError("Invalid object name 'sys.dm_os_ring_buffers'.", 208)
    readings = SqlServerReadings(DocumentedSession().answer("ring_buffers", gone), "tpcc")
    assert "server.cpu|server" in readings.read("tables")
    assert "server.host_busy|server" not in readings.read("tables")
    assert readings.notes == (f"not measured: CPU of its machine ({gone.message})",)


def test_a_machine_that_linux_shows_as_always_busy_is_not_measured() -> None:
    readings = SqlServerReadings(DocumentedSession().answer("ring_buffers", [(0, 1)]), "tpcc")
    assert "server.host_busy|server" not in readings.read("tables")
    (note,) = readings.notes
    assert note.startswith("not measured: CPU of its machine (before 2025, SQL Server on Linux")


def test_the_cpu_of_the_machine_is_absent_in_the_first_minute_after_a_start() -> None:
    readings = SqlServerReadings(session := DocumentedSession().answer("ring_buffers", []), "tpcc")
    assert "server.host_busy|server" not in readings.read("tables")
    session.answer("ring_buffers", [(37, 0)])
    assert readings.read("tables")["server.host_busy|server"] == pytest.approx(0.63)


def test_each_reason_that_something_is_not_measured_has_a_note_of_its_own() -> None:
    gone = SqlError("Invalid object name 'sys.dm_os_ring_buffers'.", 208)
    session = DocumentedSession().answer("wait_stats", DENIED).answer("ring_buffers", gone)
    denied, missing = sorted(SqlServerReadings(session, "tpcc").notes, key=len, reverse=True)
    assert "waits by class" in denied and "GRANT VIEW SERVER STATE" in denied
    assert "CPU of its machine" in missing and "GRANT" not in missing


# --- findings -------------------------------------------------------------------------------------


def found(session: DocumentedSession, **database: Any) -> dict[str, str]:
    given, made = plan(**database), image(session)
    findings = (
        *image_findings(session, made, "server"),
        *server_findings(session, made, "server", Study(given).only_database),
    )
    return {one.seen: f"{one.level}: {one.do}" for one in findings}


def test_a_login_with_all_rights_finds_nothing_in_its_way() -> None:
    assert {level.partition(":")[0] for level in found(DocumentedSession()).values()} == {"ok"}


def test_a_login_without_rights_is_told_each_grant_that_it_lacks() -> None:
    session = DocumentedSession().answer("HAS_PERMS", [(0, 0, 0, 0, 0, 0)])
    seen = "\n".join(found(session, settings={"maxdop": 1}).values())
    assert "error: ALTER SERVER ROLE [dbcreator] ADD MEMBER [bench]" in seen
    assert "warning: GRANT VIEW SERVER STATE TO [bench]" in seen
    assert "error: GRANT ALTER SETTINGS TO [bench]" in seen
    assert "warning: GRANT ALTER ANY CONNECTION TO [bench]" in seen


@pytest.mark.parametrize(
    ("edition", "warehouses", "warned"), [(4, 100, True), (4, 50, False), (3, 100, False)]
)
def test_more_warehouses_than_express_takes_are_a_warning(
    *, edition: int, warehouses: int, warned: bool
) -> None:
    session = DocumentedSession()
    made = image(session, workload=Workload(warehouses=warehouses))
    made = made._replace(version=made.version._replace(engine_edition=edition))
    seen = [
        one.seen for one in server_findings(session, made, "server", Study(plan()).only_database)
    ]
    assert any("SQL Server Express has at most 10 GB" in one for one in seen) is warned


def test_what_another_configured_is_told_before_the_plans_settings_put_it_in_force() -> None:
    session = DocumentedSession().answer("is_dynamic = 1", [("cost threshold", 50, 5)])
    seen = "cost threshold is configured as 50, in use is 5"
    assert not any(seen in one for one in found(session)), "the plan sets nothing"
    [do] = [do for one, do in found(session, settings={"maxdop": 1}).items() if seen in one]
    assert do == "warning: RECONFIGURE, or EXEC sp_configure with the value in use"


def test_a_server_with_replicas_is_a_warning() -> None:
    session = DocumentedSession().answer("hadr", [(2,)])
    assert "2 databases of this server are in availability groups" in found(session)


def test_a_database_with_several_replicas_is_one_database() -> None:
    session = DocumentedSession().answer("hadr", [(3,)]).answer("DISTINCT database_id", [(1,)])
    assert "1 database of this server is in availability groups" in found(session)


@pytest.mark.parametrize(
    ("in_standby", "seen", "do"),
    [
        (False, "the database tpcc is read-only", "ALTER DATABASE [tpcc] SET READ_WRITE"),
        (True, "the database tpcc is in standby", "RESTORE DATABASE [tpcc] WITH RECOVERY"),
    ],
)
def test_a_database_that_stays_and_cannot_be_written_is_an_error(
    *, in_standby: bool, seen: str, do: str
) -> None:
    session = DocumentedSession().answer("is_read_only = 1", [(in_standby,)])
    findings = {
        how: [*server_findings(session, image(session, how), "server", Study(plan()).only_database)]
        for how in ("none", "command", "backup")
    }
    [error] = findings["none"]
    assert (error.level, error.seen, error.do) == ("error", seen, do)
    [warning] = findings["command"]
    assert (warning.level, warning.seen) == ("warning", seen), "the command may give it others"
    assert findings["backup"] == [], "it is replaced"


@pytest.mark.parametrize(
    ("product", "engine", "level"),
    [("13.0.5026.0", 3, "error"), ("14.0.3456.2", 3, "ok"), ("12.0.2000.8", 5, "error")],
)
def test_versions_before_2017_and_azures_are_refused(product: str, engine: int, level: str) -> None:
    answer = [(product, "Enterprise Edition", engine, None, "Microsoft SQL Server")]
    version = version_of(DocumentedSession().answer("ProductVersion", answer))
    assert next(iter(version.findings("server"))).level == level


def test_babelfish_is_recognized_and_said_to_be_what_it_is() -> None:
    text = "Babelfish for PostgreSQL ...\nPostgreSQL 16.4 on x86_64 (Babelfish 4.3.0)"
    answer = [("12.0.2000.8", "Standard Edition", 2, 1, text)]
    version = version_of(DocumentedSession().answer("ProductVersion", answer))
    assert (version.name, version.restores) == ("Babelfish 4.3.0", False)
    assert "its figures do not apply to SQL Server" in [*version.findings("server")][1].seen


# --- users that wait for a lock -------------------------------------------------------------------


def blocked_by_another() -> DocumentedSession:
    """Two users wait for a session of another program's, one of them for the other."""
    session = DocumentedSession().answer("dm_exec_requests", [(61, 57, 31.0), (62, 61, 25.0)])
    return session.answer("program_name, host_name", [(57, "SSMS", "desk", "me", "sleeping")])


def test_users_that_wait_for_another_processes_lock_are_ended() -> None:
    session = blocked_by_another()
    seen = end_stuck(session, "tpcc", [51], 20.0)
    assert seen.startswith(
        "2 users waited up to 31 s for a lock held by session 57 (program 'SSMS'"
    )
    assert "GRANT" not in seen
    assert [one for one in session.sent if "KILL" in one] == ["KILL 61", "KILL 62"]


@pytest.mark.parametrize(
    ("number", "words", "refused"),
    [
        (6102, "User does not have permission to use the KILL statement.", True),
        (6106, "Process ID 61 is not an active process ID.", False),
    ],
)
def test_a_login_that_may_not_end_sessions_is_told_the_grant(
    number: int, words: str, *, refused: bool
) -> None:
    session = blocked_by_another().answer("KILL", SqlError(words, number))
    seen = end_stuck(session, "tpcc", [51], 20.0)
    assert ("GRANT ALTER ANY CONNECTION TO [bench]" in seen) is refused


# --- schema and errors ----------------------------------------------------------------------------


def test_every_table_is_made_filled_and_given_a_clustered_key_but_history() -> None:
    for table in LARGEST_FIRST:
        assert making(table).startswith(f"CREATE TABLE dbo.{table} (")
        assert len(columns_of(table)) == making(table).count("NULL")
        clustered = [one for one in keys_of(table) if "PRIMARY KEY CLUSTERED" in one]
        assert len(clustered) == (table != "history")


@pytest.mark.parametrize(
    ("number", "words", "do"),
    [
        (18456, "Login failed for user 'bench'.", "SQLCMDPASSWORD or password_file"),
        (262, "CREATE DATABASE permission denied in database 'master'.", "[dbcreator] ADD MEMBER"),
        (
            262,
            "CREATE PROCEDURE permission denied in database 'x'.",
            "[db_owner] ADD MEMBER [bench]",
        ),
        (1834, "The file 'D:\\x.mdf' cannot be overwritten.", "another database uses that file"),
        (1844, "Page compression is not supported on Express Edition.", "use an edition"),
        (3156, "File 'x' cannot be restored to 'D:\\x.mdf'.", "no database uses it, delete it"),
        (3234, "Logical file 'x' is not part of database 'y'.", "another file name in backup"),
        (5170, "Cannot create file 'D:\\x.mdf' because it already exists.", "delete that file"),
        (300, "VIEW SERVER STATE permission was denied", "GRANT VIEW SERVER STATE TO [bench]"),
        (5123, "CREATE FILE encountered operating system error 5(Access is denied.)", "account"),
        (3203, 'Write on "B:" failed: 112(There is not enough space on the disk.)', "free space"),
        (0, "certificate verify failed: self-signed certificate", "trust_server_certificate"),
        (0, "[Errno 111] Connection refused", "start the server"),
        (0, "[Errno -2] Name or service not known", "correct host and port"),
    ],
)
def test_each_error_that_people_meet_has_its_remedy(number: int, words: str, do: str) -> None:
    assert do in error_hint(number, words, ADDRESS)
