"""MySQL 8, where it answers otherwise than MariaDB, by its manual. **Not tried on MySQL 8.**"""

from __future__ import annotations

from pathlib import Path

import pymysql
import pytest

from kneebench.databases.mariadb.address import client_command
from kneebench.databases.mariadb.blocked import end_stuck
from kneebench.databases.mariadb.error_hints import error_hint
from kneebench.databases.mariadb.properties import error_class
from kneebench.databases.mariadb.readings import METERS, Readings
from kneebench.databases.mariadb.remote import RemoteMariadb
from kneebench.databases.mariadb.rights import obstacles
from kneebench.databases.mariadb.session import is_lost
from kneebench.databases.mariadb.settings_in_force import in_force, log_is_mapped
from kneebench.databases.mariadb.versions import Product
from kneebench.databases.mariadb.waits import Waits
from kneebench.lab.journal import Journal
from kneebench.plan import Plan
from tests.documented_mysql import DocumentedMysql

NO_TABLE = pymysql.OperationalError(1109, "Unknown table 'SYSTEM_VARIABLES'")
DENIED = pymysql.OperationalError(1142, "SELECT command denied to user 'bench'@'%'")


def test_a_checkpoint_is_read_by_the_columns_that_mysql_has() -> None:
    readings = Readings(DocumentedMysql(), {}).read("checkpoints")
    assert readings["checkpoints.requested|database"] == 3.0
    assert readings["log.checkpoint_age|database"] == 4096.0


def test_a_counter_that_cannot_be_read_is_left_out() -> None:
    session = DocumentedMysql().answer("innodb_metrics", DENIED)
    readings = Readings(session, {})
    assert readings.timed
    assert {name for meter in METERS for name in readings.read(meter)} >= {"pages.dirty|database"}
    assert "checkpoints.requested|database" not in readings.read("checkpoints")


def test_an_instrument_that_is_not_timed_measures_no_log_writes() -> None:
    session = DocumentedMysql().answer("file_summary_by_event_name", [(500, 0, 0)])
    readings = Readings(session, {})
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
    ],
)
def test_a_server_that_cannot_be_loaded_is_refused(settings: dict[str, str], seen: str) -> None:
    session = DocumentedMysql().answer("@@GLOBAL.performance_schema", [(1,)])
    given = {"local_infile": "ON", **settings}
    [finding] = obstacles(session, given, "db", loads=True, makes=True)
    assert (finding.level, seen in finding.seen) == ("error", True)


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
    engine = RemoteMariadb(plan, Journal(tmp_path), Product.MYSQL)
    command = client_command(engine.address("there"), "DROP DATABASE kneebench_work_1")
    assert command == (
        "mysql --host=db --port=3306 --user=bench --password --ssl-mode=VERIFY_IDENTITY"
        ' -e "DROP DATABASE kneebench_work_1"'
    )


def test_a_user_who_may_not_read_the_performance_schema_measures_no_reads() -> None:
    session = DocumentedMysql().answer("performance_schema\\.setup_", DENIED)
    session.answer("@@GLOBAL.performance_schema", [(1,)]).answer("processlist", [("executing", 2)])
    waits = Waits(session, [1])
    assert waits.unseen
    assert waits.unseen.do == "GRANT SELECT ON performance_schema.* TO 'bench'@'%'"
    found = waits.read()
    assert (found["waits.cpu|executing"], found["waits.reads_unseen|database"]) == (2.0, 1.0)
