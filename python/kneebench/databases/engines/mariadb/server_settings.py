"""MariaDB's names among the settings of a managed server (innodb/server_settings.py)."""

from __future__ import annotations

from collections.abc import Mapping

from kneebench.databases.engines.mariadb.launcher import Launch
from kneebench.databases.innodb import server_settings as innodb
from kneebench.databases.innodb.footprint import GIB, MIB
from kneebench.databases.managed.directory_findings import Machine
from kneebench.plan.database_plan import DatabasePlan

LOG = "innodb_log_file_size"
OWN = {"log_warnings": "1"}
LOAD_LOG_BYTES = GIB
IMAGE_LOG_BYTES = 16 * MIB
"""While the image is loaded, and in the image: a restore makes its own."""


def rules(plan: DatabasePlan, machine: Machine) -> dict[str, str]:
    """The settings of every server of the plan, by the rules, then as the plan says."""
    return innodb.rules(plan, machine, OWN, LOG)


def loading(ruled: Mapping[str, str]) -> dict[str, str]:
    """Those while the image is built."""
    return innodb.loading(ruled) | {LOG: str(LOAD_LOG_BYTES)}


def settings_text(settings: Mapping[str, str]) -> str:
    """The text of the option file."""
    return innodb.settings_text("mariadbd", settings)


def complaint(launch: Launch, settings: Mapping[str, str]) -> str:
    """The server's message on settings that it refuses; empty if it accepts them."""
    return innodb.refused(launch, settings_text(settings), "--verbose", "--help")
