"""The table `[database]` of a plan for MySQL: a server by URL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import Field

from kneebench.databases.engines.mariadb.table import PASSWORD, MariadbDatabase
from kneebench.plan.server_url import UrlRule
from kneebench.plan.storage import Storage
from kneebench.plan.values import Directory, Text, wrong

URL = UrlRule(
    schemes=("mysql",),
    example="mysql://user@host:3306/database?sslmode=verify-full",
    kept_in=f"{PASSWORD} or in an option file (~/.my.cnf)",
)


class MysqlDatabase(MariadbDatabase):
    """MySQL 8 as an external server (`url`). Not tried on MySQL 8."""

    url_rule: ClassVar[UrlRule] = URL
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
        Field(description="Refused: kneebench starts no server of MySQL"),
    ] = None

    def check(self, storages: Mapping[str, Storage]) -> None:
        """Every storage has a URL: kneebench starts no server of MySQL."""
        for name, one in storages.items():
            if not (one.url or self.url):
                raise wrong("storages", name, sentence="a url: this engine has no managed servers")
        super().check(storages)


TABLE = MysqlDatabase
