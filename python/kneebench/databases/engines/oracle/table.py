"""The table `[database]` of a plan for Oracle Database."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from kneebench.databases.odbc.properties import PASSWORD
from kneebench.databases.odbc.table import OdbcDatabase
from kneebench.databases.odbc.url import DriverUrl
from kneebench.plan.server_url import UrlRule

EXAMPLE = "odbc:Driver={Oracle 21 ODBC driver};Dbq=//host:1521/service;UID=user"


class OracleDatabase(OdbcDatabase):
    """Oracle Database by its maker's ODBC driver. Not tried on a real one."""

    url_rule: ClassVar[UrlRule] = DriverUrl(("odbc",), EXAMPLE, PASSWORD)
    folder: ClassVar[Path] = Path(__file__).parent


TABLE = OracleDatabase
