"""MySQL 8, where it answers otherwise than MariaDB, by its manual. **Not tried on MySQL 8.**"""

from __future__ import annotations

import pymysql

from kneebench.databases.mariadb.readings import METERS, Readings
from kneebench.databases.mariadb.waits import Waits
from tests.documented_mysql import DocumentedMysql

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


def test_a_user_who_may_not_read_the_performance_schema_measures_no_reads() -> None:
    session = DocumentedMysql().answer("performance_schema\\.setup_", DENIED)
    session.answer("@@GLOBAL.performance_schema", [(1,)]).answer("processlist", [("executing", 2)])
    waits = Waits(session, [1])
    assert waits.unseen
    assert waits.unseen.do == "GRANT SELECT ON performance_schema.* TO 'bench'@'%'"
    found = waits.read()
    assert (found["waits.cpu|executing"], found["waits.reads_unseen|database"]) == (2.0, 1.0)
