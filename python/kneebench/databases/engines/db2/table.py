"""The table `[database]` of a plan for Db2."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from kneebench.databases.odbc.properties import PASSWORD
from kneebench.databases.odbc.table import OdbcDatabase
from kneebench.databases.odbc.url import DriverUrl
from kneebench.plan.server_url import UrlRule

EXAMPLE = "odbc:Driver={Db2};Hostname=host;Port=50000;Database=name;Protocol=TCPIP;UID=user"


class Db2Database(OdbcDatabase):
    """Db2 by its maker's ODBC driver. Not tried on a real one."""

    url_rule: ClassVar[UrlRule] = DriverUrl(("odbc",), EXAMPLE, PASSWORD)
    folder: ClassVar[Path] = Path(__file__).parent


TABLE = Db2Database
