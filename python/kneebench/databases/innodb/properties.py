"""The properties of both products (engine_properties.py): what is known before a server runs."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kneebench.databases.innodb import footprint as footprint
from kneebench.engine_properties import (
    ErrorClass,
    Quantity,
    SafetySetting,
    WaitClass,
)
from kneebench.records import Setting

postponed = "InnoDB writes no page of an idle server until its log is 70% full."
publishing = ""
_INNODB = "InnoDB System Variables, in the manuals of MariaDB and MySQL"
_UNSYNCED = (
    "pages may not have reached the drive when the log that could repeat them is overwritten:"
    " a crash of the machine can lose them on some file systems"
)
safety_settings = (
    SafetySetting(
        "innodb_flush_log_at_trx_commit",
        ["1", "3"],
        "a crash of the machine can lose commits, and no commit waits for its log write",
        _INNODB,
    ),
    SafetySetting(
        "innodb_doublewrite",
        ["on", "detect_and_recover"],
        "a crash of the machine can damage pages that are being written",
        _INNODB,
    ),
    SafetySetting(
        "innodb_flush_method",
        ["fsync", "o_direct", "o_dsync", "normal", "unbuffered", "async_unbuffered"],
        _UNSYNCED,
        f"{_INNODB}; MDEV-33545",
    ),
    SafetySetting(
        "debug_no_sync",
        ["off"],
        "nothing is synced: a crash of the machine can damage all databases",
        "MariaDB manual, Server System Variables",
    ),
    SafetySetting(
        "sync_binlog",
        ["1"],
        "a crash of the machine can lose transactions from the binary log, which its replicas then"
        " have and it has not",
        "Replication and Binary Log System Variables, in the manuals of MariaDB and MySQL",
        only_with=("log_bin", "on"),
    ),
)
measures_real_hardware = answers_queries = True
packages = ("pymysql",)
password_variable = "MYSQL_PWD"  # noqa: S105
own_quantities = {
    "pages.dirty": Quantity("pages", "gauge", heading="Dirty pages"),
    "log.checkpoint_age": Quantity("B", "gauge", heading="Checkpoint age"),
    "undo.history": Quantity("transactions", "gauge", heading="Undo history"),
    "locks.row_waits": Quantity("1/s", "counter"),
    "locks.row_wait_time": Quantity("s/s", "counter"),
}
FLUSHING_S = 30.0
"""innodb_flushing_avg_loops by default: the page cleaner works once per second, and its rate
follows the log's growth and its own work over so many rounds."""
_ERRORS: dict[ErrorClass, tuple[int, ...]] = {
    "retry": (1020, 1205, 1213),
    "refused": (1044, 1045, 1049, 1130, 1142, 1227, 1370, 1698, 1820, 1862, 3118, 4151),
    "full": (1021, 1037, 1038, 1040, 1041, 1114, 1203, 1226),
    "stopped": (1053, 1077, 1079, 1317, 1927, 2006, 2013, 3169, 4031),
    "broken": (1023, 1024, 1026, 1030, 1034, 1035, 1194, 1195),
}
"""By the numbers of the server's messages (MariaDB's manual: Error Codes)."""
_WAITS: dict[str, WaitClass] = {
    r"row lock|user lock|system lock|waiting for .*\block": "lock",
    r"commit|starting cleanup|updating status": "log",
    r"waiting for handler commit|wait/io/file/(innodb/innodb_log|sql/binlog)": "log",
    r"wait/io/file/innodb/innodb_dblwr": "data_write",
    r"wait/io/file/innodb/": "data_read",
    r"waiting|wait/io/file/": "other",
}
"""By how the wait's name begins, the first that fits: a state of the list of sessions, or an
instrument of the performance schema.

A session that waits for its commit to be written is in "Commit", "Starting cleanup" or "Updating
status": from 10.6 a commit's write goes on after the statement has ended, and the session waits
before it answers. With 16 users these three had 45% of the samples on a disk, 5% in memory.
Sessions read pages themselves, but hardly ever write one."""


def major_version(settings: Sequence[Setting]) -> str:
    """By the setting version, whose first two numbers name a series.

    >>> debian = "10.11.19-MariaDB-0+deb12u1"
    >>> major_version([Setting(name="version", value=debian, source="server")])
    '10.11'
    """
    found = re.match(r"\d+\.\d+", _value(settings, "version") or "")
    return found[0] if found else ""


def checkpoint_cycle_s(settings: Sequence[Setting]) -> float:
    """How long the page cleaner takes to follow a load: InnoDB has no checkpoints apart, it writes
    pages all the time.
    """
    return float(_value(settings, "innodb_flushing_avg_loops") or FLUSHING_S)


def error_class(code: str) -> ErrorClass:
    """By the number of the server's message.

    >>> error_class("1213"), error_class("1040"), error_class("1062")
    ('retry', 'full', 'other')
    """
    number = int(code) if code.isdigit() else 0
    return next((found for found, numbers in _ERRORS.items() if number in numbers), "other")


def wait_class(event: str) -> WaitClass:
    """By the state of a session, or the instrument that it is in; all else is work.

    >>> wait_class("Commit"), wait_class("row lock"), wait_class("Sending data")
    ('log', 'lock', 'cpu')
    >>> wait_class("wait/io/file/innodb/innodb_data_file"), wait_class("wait/io/file/sql/binlog")
    ('data_read', 'log')
    >>> wait_class("Waiting for table metadata lock"), wait_class("Waiting for GTID")
    ('lock', 'other')
    """
    found = (one for begins, one in _WAITS.items() if re.match(begins, event.lower()))
    return next(found, "cpu")


def _value(settings: Sequence[Setting], name: str) -> str | None:
    return next((setting.value for setting in settings if setting.name == name), None)
