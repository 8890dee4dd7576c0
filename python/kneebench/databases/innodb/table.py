"""What the table `[database]` of a plan has for both products."""

from __future__ import annotations

from typing import ClassVar

from kneebench.databases.innodb.allowed_settings import fault
from kneebench.databases.innodb.properties import password_variable
from kneebench.plan.managed_database import FaultOf, ManagedDatabase

PASSWORD = password_variable
"""The variable that the clients of both read the password from."""
KEPT_IN = f"{PASSWORD} or in an option file (~/.my.cnf)"


class InnodbDatabase(ManagedDatabase):
    """Servers that kneebench starts, or an external one (`url`)."""

    fault_of: ClassVar[FaultOf] = fault
    temporary_setting: ClassVar[str] = "tmpdir"
    cache_setting: ClassVar[str] = "innodb_buffer_pool_size"
    huge_pages_setting: ClassVar[str] = "large_pages"


def sized(log_setting: str) -> tuple[str, ...]:
    """The settings that the rules size by the machine."""
    return ("innodb_buffer_pool_size", log_setting, "innodb_adaptive_flushing_lwm")
