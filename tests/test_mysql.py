"""MySQL 8, where it answers otherwise than MariaDB, by its manual; no server of it runs here."""

from __future__ import annotations

from pathlib import Path

import pymysql
import pytest

from kneebench._core import system_roots
from kneebench.databases.engines.mariadb.properties import error_class
from kneebench.databases.innodb.address import client_command
from kneebench.databases.innodb.blocked import end_stuck
from kneebench.databases.innodb.error_hints import error_hint
from kneebench.databases.innodb.remote import RemoteInnodb
from kneebench.databases.innodb.rights import NEEDED, obstacles, rights
from kneebench.databases.innodb.server import METERS, InnodbReadings
from kneebench.databases.innodb.session import is_lost
from kneebench.databases.innodb.settings_in_force import in_force, log_calls, log_is_mapped
from kneebench.databases.innodb.versions import Product
from kneebench.databases.innodb.waits import InnodbWaits
from kneebench.databases.innodb.whereabouts import log_directory
from kneebench.lab.journal import Journal
from kneebench.plan import Plan
from kneebench.plan.study import Study
from tests.documented_mysql import DocumentedMysql

NO_TABLE = pymysql.OperationalError(1109, "Unknown table 'SYSTEM_VARIABLES'")
DENIED = pymysql.OperationalError(1142, "SELECT command denied to user 'bench'@'%'")


def test_a_checkpoint_is_read_by_the_columns_that_mysql_has() -> None:
    readings = InnodbReadings(DocumentedMysql(), {}).read("checkpoints")
    assert readings["checkpoints.requested|database"] == 3.0
    assert readings["log.checkpoint_age|database"] == 4096.0


def test_the_history_of_undo_records_is_a_metric_of_mysql() -> None:
    assert InnodbReadings(DocumentedMysql(), {}).read("tables")["undo.history|database"] == 5.0
    session = DocumentedMysql().answer("innodb_metrics", DENIED)
    assert "undo.history|database" not in InnodbReadings(session, {}).read("tables")


def test_a_counter_that_cannot_be_read_is_left_out() -> None:
    session = DocumentedMysql().answer("innodb_metrics", DENIED)
    readings = InnodbReadings(session, {})
    assert readings.timed
    assert {name for meter in METERS for name in readings.read(meter)} >= {"pages.dirty|database"}
    assert "checkpoints.requested|database" not in readings.read("checkpoints")


def test_an_instrument_that_is_not_timed_measures_no_log_writes() -> None:
    session = DocumentedMysql().answer("file_summary_by_event_name", [(500, 0, 0)])
    readings = InnodbReadings(session, {})
    assert not readings.timed
    assert "log.write_time|database" not in readings.read("log_writes")


def test_a_log_of_mysql_is_written_however_large_its_buffer() -> None:
    """The defaults of 8.4, whose innodb_log_file_size is obsolete."""
    defaults = {
        "version": "8.4.3",
        "innodb_log_buffer_size": str(64 << 20),
        "innodb_log_file_size": str(48 << 20),
    }
    assert not log_is_mapped(defaults)


def test_a_setting_that_was_changed_at_run_time_is_no_default() -> None:
    session = DocumentedMysql().answer("system_variables", NO_TABLE)
    session.answer("SHOW GLOBAL VARIABLES", [("innodb_io_capacity", "500"), ("port", "1")])
    session.answer("variable_source <> 'COMPILED'", [("innodb_io_capacity", "dynamic")])
    [setting] = in_force(session)
    assert (setting.value, setting.source, setting.matters) == ("500", "dynamic", True)


def test_what_only_sessions_set_is_no_setting_of_the_server() -> None:
    """MySQL calls it dynamic as well."""
    session = DocumentedMysql().answer("system_variables", NO_TABLE)
    names = ("transaction_isolation", "wait_timeout")
    session.answer("SHOW GLOBAL VARIABLES", [(name, "1") for name in names])
    session.answer("variable_source <> 'COMPILED'", [(name, "dynamic") for name in names])
    assert [(one.name, one.source) for one in in_force(session)] == [(names[0], "default")]
    session.answer("variable_source <> 'COMPILED'", [(name, "server") for name in names])
    assert [(one.name, one.source) for one in in_force(session)] == [
        (one, "server") for one in names
    ]


def test_the_size_of_the_redo_log_is_the_one_in_force() -> None:
    """Only the replaced settings are given: the log has their size."""
    session = DocumentedMysql().answer("system_variables", NO_TABLE)
    replaced = ("innodb_log_file_size", "innodb_log_files_in_group")
    given = [(replaced[0], str(2 << 30)), (replaced[1], "2")]
    session.answer("SHOW GLOBAL VARIABLES", [("innodb_redo_log_capacity", str(100 << 20)), *given])
    session.answer("variable_source <> 'COMPILED'", [(name, "server") for name in replaced])
    session.answer("capacity_resized", [("Innodb_redo_log_capacity_resized", str(4 << 30))])
    found = {one.name: (one.value, one.matters) for one in in_force(session)}
    assert found["innodb_redo_log_capacity"] == (str(4 << 30), True)
    assert found["innodb_log_file_size"] == (str(2 << 30), False)


def test_the_redo_log_has_a_directory_of_its_own_and_its_sync_is_by_the_settings(
    tmp_path: Path,
) -> None:
    old = {"datadir": str(tmp_path), "innodb_log_group_home_dir": "./"}
    new = {**old, "innodb_redo_log_capacity": "1"}
    assert [log_directory(one) for one in (old, new)] == [tmp_path, tmp_path / "#innodb_redo"]
    syncs = {"OFF": "fsync", "ON": "fdatasync"}
    for value, sync in syncs.items():
        calls = log_calls({"innodb_use_fdatasync": value}, 7, log_directory(new))
        assert not isinstance(calls, str)
        assert (calls.write, calls.sync) == ("pwrite64", sync)
        assert calls.directory == Path(f"/proc/7/root{tmp_path}/#innodb_redo")


def test_lock_waits_that_the_user_may_not_read_end_no_run() -> None:
    session = DocumentedMysql().answer("data_lock_waits", DENIED)
    session.answer("SELECT id FROM information_schema.processlist", [(7,), (51,)])
    assert end_stuck(session, [51], 20.0) == ""
    lost = pymysql.OperationalError(2013, "Lost connection")
    with pytest.raises(pymysql.OperationalError, match="Lost"):
        end_stuck(session.answer("data_lock_waits", lost), [51], 20.0)


def test_who_keeps_a_row_is_read_from_the_performance_schema() -> None:
    session = DocumentedMysql().answer("data_lock_waits", [(7, 9, 30)])
    session.answer("SELECT id FROM information_schema.processlist", [(7,), (51,)])
    session.answer("SELECT id, user", [(9, "ada", "db1:4711", "Sleep", "", 75)])
    seen = end_stuck(session, [51], 20.0)
    assert seen == (
        "1 user waited up to 30 s for a lock held by session 9 (user 'ada' from db1, Sleep for"
        " 1.25 min)"
    )
    assert session.sent[-1] == "KILL CONNECTION 7"


@pytest.mark.parametrize(
    ("settings", "seen"),
    [
        ({"sql_require_primary_key": "ON"}, "sql_require_primary_key is on"),
        ({"group_replication_group_name": "9d0c5a1e"}, "belongs to a cluster"),
        ({"wsrep_on": "ON"}, "belongs to a cluster"),
        ({"log_bin": "ON", "binlog_format": "STATEMENT"}, "binlog_format is STATEMENT"),
        ({"aurora_version": "3.08.0"}, "Amazon Aurora"),
    ],
)
def test_a_server_that_cannot_be_loaded_is_refused(settings: dict[str, str], seen: str) -> None:
    session = DocumentedMysql().answer("@@GLOBAL.performance_schema", [(1,)])
    given = {"local_infile": "ON", **settings}
    [finding] = obstacles(session, given, "db", loads=True, keyless=True)
    assert (finding.level, seen in finding.seen) == ("error", True)


def test_a_redo_log_that_is_disabled_is_refused_and_an_invisible_key_is_a_warning() -> None:
    session = DocumentedMysql().answer("@@GLOBAL.performance_schema", [(1,)])
    given = {"local_infile": "ON", "sql_generate_invisible_primary_key": "ON"}
    [warning] = obstacles(session, given, "db", loads=True, keyless=True)
    assert (warning.level, "history gets a primary key" in warning.seen) == ("warning", True)
    session.answer("Innodb_redo_log_enabled", [("Innodb_redo_log_enabled", "OFF")])
    [error] = obstacles(session, given, "db", loads=True, keyless=False)
    assert (error.level, error.do) == ("error", "ALTER INSTANCE ENABLE INNODB REDO_LOG")


PATTERN = r"GRANT ALL PRIVILEGES ON `kneebench\_%`.* TO `bench`@`%`"
OURS = ("kneebench_image_1", "kneebench_work_1")


def test_a_grant_with_a_pattern_is_none_where_the_server_takes_it_literally() -> None:
    process = "GRANT PROCESS ON *.* TO `bench`@`%`"
    session = DocumentedMysql().answer("SHOW GRANTS", [(PATTERN,), (process,)])
    assert list(rights(session, "db", OURS, NEEDED, literally=False)) == []
    [lacking] = rights(session, "db", OURS, NEEDED, literally=True)
    assert lacking.do == "; ".join(
        f"GRANT ALL PRIVILEGES ON `{name}`.* TO 'bench'@'%'" for name in OURS
    )
    session.answer("SHOW GRANTS", [(process,)])
    [lacking] = rights(session, "db", OURS, NEEDED, literally=False)
    assert lacking.do == r"GRANT ALL PRIVILEGES ON `kneebench\_%`.* TO 'bench'@'%'"


@pytest.mark.parametrize(("number", "do"), [("1665", "'ROW'"), ("3750", "sql_require_primary")])
def test_an_error_of_a_server_that_cannot_be_loaded_says_what_to_set(number: str, do: str) -> None:
    assert do in error_hint(number, "", None)


def test_a_session_that_mysql_ended_is_lost() -> None:
    for number in (3169, 4031):
        assert is_lost(pymysql.OperationalError(number, "it was ended"))
        assert error_class(str(number)) == "stopped"


def test_commands_for_a_person_are_those_of_mysqls_client(tmp_path: Path) -> None:
    given = {"engine": "mysql", "url": "mysql://bench@db/?sslmode=verify-full"}
    plan = Plan.model_validate({"database": given, "storages": {"there": {}}})
    engine = RemoteInnodb(Study(plan).only_database, Journal(tmp_path), Product.MYSQL)
    command = client_command(engine.address("there"), "DROP DATABASE kneebench_work_1")
    assert command == (
        "mysql --host=db --port=3306 --user=bench --password --ssl-mode=VERIFY_IDENTITY"
        f" --ssl-ca={system_roots()}"
        ' -e "DROP DATABASE kneebench_work_1"'
    )


def test_without_the_consumer_waits_are_read_from_the_threads_and_not_the_list() -> None:
    session = DocumentedMysql().answer("performance_schema.setup_", [("consumers", "waits")])
    session.answer("@@GLOBAL.performance_schema", [(1,)])
    session.answer("performance_schema.threads", [("executing", 2)])
    found = InnodbWaits(session, [1]).read()
    assert (found["waits.cpu|executing"], found["waits.reads_unseen|database"]) == (2.0, 1.0)
    assert not any("processlist " in one for one in session.sent)


def test_a_user_who_may_not_read_the_performance_schema_measures_no_reads() -> None:
    session = DocumentedMysql().answer("performance_schema\\.setup_", DENIED)
    session.answer("@@GLOBAL.performance_schema", [(1,)]).answer("processlist", [("executing", 2)])
    waits = InnodbWaits(session, [1])
    assert waits.unseen
    assert waits.unseen.do == "GRANT SELECT ON performance_schema.* TO 'bench'@'%'"
    found = waits.read()
    assert (found["waits.cpu|executing"], found["waits.reads_unseen|database"]) == (2.0, 1.0)
