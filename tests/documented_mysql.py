"""A MySQL 8 that answers as its reference manual shows, where MariaDB answers otherwise.

No server of MySQL runs in the tests. The answers are those of
the manual's pages on INFORMATION_SCHEMA.INNODB_METRICS, the server's status variables and system
variables, the performance schema's tables, and the error messages.
"""

from __future__ import annotations

import re
from typing import Any

import pymysql

Answer = list[tuple[Any, ...]] | pymysql.Error


def no_such(column: str) -> pymysql.Error:
    return pymysql.OperationalError(1054, f"Unknown column '{column}' in 'where clause'")


STATUS = {
    "Com_commit": "100",
    "Com_rollback": "2",
    "Innodb_buffer_pool_pages_dirty": "7",
    "Innodb_buffer_pool_pages_flushed": "70",
    "Innodb_buffer_pool_read_requests": "9000",
    "Innodb_buffer_pool_reads": "90",
    "Innodb_log_write_requests": "500",
    "Innodb_log_writes": "300",
    "Innodb_os_log_fsyncs": "200",
    "Innodb_os_log_written": "150000",
    "Innodb_redo_log_checkpoint_lsn": "19000000",
    "Innodb_redo_log_current_lsn": "19004096",
    "Innodb_row_lock_time": "40",
    "Innodb_row_lock_waits": "4",
}
ANSWERS: dict[str, Answer] = {
    r"innodb_metrics.*\benabled\b": no_such("enabled"),
    r"innodb_metrics.*buffer_flush_sync.*time_enabled": [(3,)],
    r"innodb_metrics.*trx_rseg_history_len.*time_enabled": [(5,)],
    r"information_schema.innodb_lock_waits": pymysql.OperationalError(
        1109, "Unknown table 'INNODB_LOCK_WAITS' in information_schema"
    ),
    r"Innodb_redo_log_enabled": [],
    r"SHOW GLOBAL STATUS": list(STATUS.items()),
    r"file_summary_by_event_name": [(500, 2_000_000_000, 8_000_000_000)],
}


class DocumentedMysql:
    """A session on it: the statements that were sent, and an answer by what a statement contains;
    none for any other statement.
    """

    version, is_mariadb, id, account = "8.4.3", False, 51, "'bench'@'%'"

    def __init__(self, **answers: Answer) -> None:
        self.sent = list[str]()
        self.answers = dict(ANSWERS)

    def answer(self, pattern: str, answer: Answer) -> DocumentedMysql:
        """The same with another answer, which comes before all others."""
        rest = {key: old for key, old in self.answers.items() if key != pattern}
        self.answers = {pattern: answer, **rest}
        return self

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        self.sent.append(statement)
        asked = statement % tuple(map(repr, values)) if values else statement
        for pattern, answer in self.answers.items():
            if re.search(pattern, asked, re.DOTALL):
                if isinstance(answer, pymysql.Error):
                    raise answer
                return list(answer)
        return []

    def row(self, statement: str, *values: object) -> tuple[Any, ...]:
        return next(iter(self.rows(statement, *values)), ())

    def value(self, statement: str, *values: object) -> Any:
        return next(iter(self.row(statement, *values)), None)

    def run(self, statement: str, *values: object) -> None:
        self.rows(statement, *values)
