"""Settings of a managed server: MariaDB's rules (mariadb/server_settings.py) in MySQL's names.

Its log is sized by innodb_redo_log_capacity. The binary log, which is on by default, is off as on
MariaDB; a plan that sets log_bin has it beside the tables.
"""

from __future__ import annotations

from collections.abc import Mapping

from kneebench.databases.engines.mariadb import server_settings as mariadb
from kneebench.databases.engines.mariadb.footprint import GIB, MIB
from kneebench.databases.engines.mysql.launcher import Launch
from kneebench.databases.managed.directory_findings import Machine
from kneebench.plan.database_plan import DatabasePlan

LOG = "innodb_redo_log_capacity"
OWN = {
    "mysqlx": "OFF",
    "log_error_verbosity": "2",
}
NOT_HERE = ("log_warnings", "innodb_log_file_size")
"""MariaDB's alone, or replaced."""
IMAGE_LOG_BYTES = 8 * MIB
"""The least; a restore resizes it."""


def rules(plan: DatabasePlan, machine: Machine) -> dict[str, str]:
    """The settings of every server of the plan, by the rules, then as the plan says."""
    ruled = mariadb.rules(plan, machine)
    log = ruled["innodb_log_file_size"]
    kept = {name: value for name, value in ruled.items() if name not in NOT_HERE}
    kept |= OWN | {LOG: log} | mariadb.given(plan)
    if "log_bin" in kept:
        del kept["skip_log_bin"]
    return kept


def loading(ruled: Mapping[str, str]) -> dict[str, str]:
    """As MariaDB's, without durability until the image is complete."""
    kept = {name: value for name, value in ruled.items() if name != "log_bin"}
    hurried = mariadb.loading(kept)
    del hurried["innodb_log_file_size"]
    return hurried | {LOG: str(2 * GIB), "skip_log_bin": ""}


def settings_text(settings: Mapping[str, str]) -> str:
    """The text of the option file. Threads of the server write the log: they are watched too."""
    text = mariadb.settings_text(settings).replace("[mariadbd]", "[mysqld]")
    return f"{text}performance_schema_instrument = 'thread/%=ON'\n"


def complaint(launch: Launch, settings: Mapping[str, str]) -> str:
    """The server's message on settings that it refuses; empty if it accepts them."""
    return mariadb.refused(launch, settings_text(settings), "--validate-config")
