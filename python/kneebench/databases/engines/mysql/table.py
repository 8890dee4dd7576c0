"""The table `[database]` of a plan for MySQL: its keys and rules."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from kneebench.databases.engines.mariadb.allowed_settings import fault
from kneebench.databases.engines.mariadb.table import PASSWORD
from kneebench.plan.managed_database import FaultOf, ManagedDatabase
from kneebench.plan.server_url import UrlRule
from kneebench.plan.values import Directory, Text

URL = UrlRule(
    schemes=("mysql",),
    example="mysql://user@host:3306/database?sslmode=verify-full",
    kept_in=f"{PASSWORD} or in an option file (~/.my.cnf)",
)


class MysqlDatabase(ManagedDatabase):
    """MySQL 8 and how it is provided: the system's server or your own build (`bin_dir`), or an
    external server (`url`).
    """

    url_rule: ClassVar[UrlRule] = URL
    fault_of: ClassVar[FaultOf] = fault
    temporary_setting: ClassVar[str] = "tmpdir"
    cache_setting: ClassVar[str] = "innodb_buffer_pool_size"
    sized_settings: ClassVar[tuple[str, ...]] = (
        "innodb_buffer_pool_size",
        "innodb_redo_log_capacity",
        "innodb_adaptive_flushing_lwm",
    )
    huge_pages_setting: ClassVar[str] = "large_pages"
    url: Annotated[
        Text,
        Field(
            description=(
                "External server, mysql://user@host/database?sslmode=verify-full; the password"
                " comes from MYSQL_PWD or an option file (~/.my.cnf, [client])"
            )
        ),
    ] = ""
    bin_dir: Annotated[
        Directory | None,
        Field(
            description=(
                "Directory of the program mysqld; without it and url, the system's server runs"
            )
        ),
    ] = None


TABLE = MysqlDatabase
