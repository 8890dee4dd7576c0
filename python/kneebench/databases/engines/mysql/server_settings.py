"""MySQL's names among the settings of a managed server (innodb/server_settings.py).

Its log is sized by innodb_redo_log_capacity. The binary log, which is on by default, is off as on
MariaDB.
"""

from __future__ import annotations

from collections.abc import Mapping

from kneebench.databases.engines.mysql.launcher import Launch
from kneebench.databases.innodb import server_settings as innodb
from kneebench.databases.innodb.footprint import GIB, MIB
from kneebench.databases.managed.directory_findings import Machine
from kneebench.plan.database_plan import DatabasePlan

LOG = "innodb_redo_log_capacity"
OWN = {
    "mysqlx": "OFF",
    "log_error_verbosity": "2",
}
LOAD_LOG_BYTES = 2 * GIB
IMAGE_LOG_BYTES = 8 * MIB
"""While the image is loaded, and in the image: the least; a restore resizes it."""


def rules(plan: DatabasePlan, machine: Machine) -> dict[str, str]:
    """The settings of every server of the plan, by the rules, then as the plan says."""
    return innodb.rules(plan, machine, OWN, LOG)


def loading(ruled: Mapping[str, str]) -> dict[str, str]:
    """Those while the image is built."""
    return innodb.loading(ruled) | {LOG: str(LOAD_LOG_BYTES)}


def settings_text(settings: Mapping[str, str]) -> str:
    """The text of the option file. Threads of the server write the log: they are watched too."""
    return innodb.settings_text("mysqld", settings, "thread/%=ON")


def complaint(launch: Launch, settings: Mapping[str, str]) -> str:
    """The server's message on settings that it refuses; empty if it accepts them."""
    return innodb.refused(launch, settings_text(settings), "--validate-config")
