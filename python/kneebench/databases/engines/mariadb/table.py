"""The table `[database]` of a plan for MariaDB: its keys and rules."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from kneebench.databases.innodb.table import KEPT_IN, InnodbDatabase, sized
from kneebench.plan.server_url import UrlRule
from kneebench.plan.values import Directory, Text

URL = UrlRule(
    schemes=("mariadb", "mysql"),
    example="mariadb://user@host:3306/database?sslmode=verify-full",
    kept_in=KEPT_IN,
)


class MariadbDatabase(InnodbDatabase):
    """Database engine and how it is provided: Debian's server or your own build (`bin_dir`), or an
    external server (`url`).
    """

    url_rule: ClassVar[UrlRule] = URL
    sized_settings: ClassVar[tuple[str, ...]] = sized("innodb_log_file_size")
    url: Annotated[
        Text,
        Field(
            description=(
                "External server, mariadb://user@host/database?sslmode=verify-full; the password"
                " comes from MYSQL_PWD or an option file (~/.my.cnf, [client])"
            )
        ),
    ] = ""
    bin_dir: Annotated[
        Directory | None,
        Field(
            description=(
                "Directory of the program mariadbd; without it and url, the system's server runs"
            )
        ),
    ] = None


TABLE = MariadbDatabase
