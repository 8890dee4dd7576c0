"""The table `[database]` of a plan for MySQL: a server by URL."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from kneebench.databases.engines.mariadb.table import PASSWORD
from kneebench.plan.database import ExistingSchemaDatabase
from kneebench.plan.server_url import UrlRule
from kneebench.plan.values import Text

URL = UrlRule(
    schemes=("mysql",),
    example="mysql://user@host:3306/database?sslmode=verify-full",
    kept_in=f"{PASSWORD} or in an option file (~/.my.cnf)",
)


class MysqlDatabase(ExistingSchemaDatabase):
    """MySQL 8 as an external server (`url`). Not tried on MySQL 8."""

    url_rule: ClassVar[UrlRule] = URL
    temporary_setting: ClassVar[str] = "tmpdir"
    cache_setting: ClassVar[str] = "innodb_buffer_pool_size"
    url: Annotated[
        Text,
        Field(
            description=(
                "External server, mysql://user@host/database?sslmode=verify-full; the password"
                " comes from MYSQL_PWD or an option file (~/.my.cnf, [client])"
            )
        ),
    ] = ""


TABLE = MysqlDatabase
