"""A running server by URL: never started, never stopped, its settings not changed.

What is the same on PostgreSQL is in external/image.py: start reading there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from kneebench import units
from kneebench.databases.engine import LogCalls
from kneebench.databases.external.engine import process_at
from kneebench.databases.external.image import ImageServers
from kneebench.databases.innodb.address import address_of
from kneebench.databases.innodb.copies import Copies
from kneebench.databases.innodb.footprint import data_bytes
from kneebench.databases.innodb.image import recipe_of
from kneebench.databases.innodb.rights import (
    NEEDED,
    ON_TABLES,
    obstacles,
    rights,
    too_few_connections,
)
from kneebench.databases.innodb.server import InnodbServer
from kneebench.databases.innodb.server_address import InnodbAddress
from kneebench.databases.innodb.session import LONGEST_S, InnodbSession, connect
from kneebench.databases.innodb.settings_in_force import log_calls, values
from kneebench.databases.innodb.sql_schema import is_whole
from kneebench.databases.innodb.table import PASSWORD
from kneebench.databases.innodb.versions import (
    Product,
    number,
    require_product,
    series,
    untried,
)
from kneebench.databases.innodb.whereabouts import log_directory, whereabouts
from kneebench.databases.loading import Recipe
from kneebench.databases.managed.server_process import Process
from kneebench.errors import KneebenchError, PlanError
from kneebench.lab.journal import Journal
from kneebench.plan.database_plan import DatabasePlan
from kneebench.records import Finding, Whereabouts
from kneebench.secrets import without_passwords

SHARED = (
    "the server's counters count all its databases: what others do meanwhile is among log writes,"
    " commits and page reads. While others are connected, TPM is the load generator's"
)


class RemoteInnodb(ImageServers[InnodbAddress, InnodbSession, InnodbServer]):
    """Servers that run already: one per storage, or one for all."""

    password_variable = PASSWORD
    image, server = Copies, InnodbServer

    def __init__(
        self, plan: DatabasePlan, journal: Journal, product: Product = Product.MARIADB
    ) -> None:
        super().__init__(plan, journal)
        self.product = product

    def address(self, storage: str) -> InnodbAddress:
        """That of the URL; without a database where all databases are ours."""
        url = self.plan.urls[storage]
        address = address_of(url).model_copy(update={"client": self.product.engine})
        if not self.foreign and self.how == "template":
            return self.server_of(address)
        if not address.database:
            use = f'restore = "{self.how}" measures'
            purpose = "contains the schema" if self.foreign else use
            raise PlanError(
                f"cannot read the URL {without_passwords(url)}",
                seen=f"it names no database, which {purpose}",
                do=f"write it as {self.table.url_rule.example}",
            )
        return address

    def connected(self, address: InnodbAddress, limit_s: float | None = None) -> InnodbSession:
        """A session with a server of the right product and a version that is not too old."""
        session = connect(address, limit_s=limit_s or LONGEST_S)
        try:
            require_product(self.product, session.version, address.place)
        except KneebenchError:
            session.close()
            raise
        return session

    def server_of(self, address: InnodbAddress) -> InnodbAddress:
        """Without a database."""
        return address.model_copy(update={"database": ""})

    def variables(self, address: InnodbAddress) -> dict[str, str]:
        """As the clients read host, port and socket; they read no user and no database."""
        place = (
            {"MYSQL_UNIX_PORT": address.socket}
            if address.socket
            else {"MYSQL_HOST": address.host, "MYSQL_TCP_PORT": str(address.port)}
        )
        return {**place, "MYSQL_USER": address.user, "MYSQL_DATABASE": address.database}

    def removal(self, database: str) -> str:
        return f"DROP DATABASE {database}"

    def recipe(self, session: InnodbSession) -> Recipe:
        version, plan = number(session.version), self.plan
        return recipe_of(self.product.engine, version, {}, plan.workload, plan.seed)

    def name_of(self, session: InnodbSession) -> str:
        return series(session.version)

    def place_of(self, session: InnodbSession) -> str:
        return str(session.value("SELECT @@GLOBAL.datadir"))

    def whereabouts(self, session: InnodbSession) -> Whereabouts:
        return whereabouts(session, values(session))

    def log_calls(self, session: InnodbSession, found: Whereabouts) -> LogCalls | str:
        settings = values(session)
        return log_calls(settings, found.process, _log_apart(settings))

    def obstacles(
        self, session: InnodbSession, address: InnodbAddress, subject: str
    ) -> Iterator[Finding]:
        settings, copied = values(session), self.how == "template"
        if words := untried(session.version):
            yield Finding(level="warning", subject=subject, seen=words)
        ours = self.image_at(address, session).databases if copied else (address.database,)
        literally = settings.get("partial_revokes") == "ON"
        yield from rights(session, subject, ours, self._needed, literally=literally)
        makes = copied or not self.foreign
        loads = not self.foreign and not self._loaded(session, address)
        keyless = makes and self.schema.keyless
        yield from obstacles(session, settings, subject, loads=loads, keyless=keyless)
        if makes:
            warehouses = self.plan.workload.sized_as
            yield from binary_log(settings, subject, warehouses, copied=copied)
        yield from too_few_connections(session, settings, subject, self.plan)

    @property
    def _needed(self) -> Sequence[str]:
        """The rights on a database that is used."""
        if self.schema.installs:
            return NEEDED
        if self.foreign and self.how != "template":
            return ("SELECT", "INSERT", "DELETE") if self.plan.workload.writes else ("SELECT",)
        return ON_TABLES

    def _loaded(self, session: InnodbSession, address: InnodbAddress) -> bool:
        """Whether what climbs begin with is there; one that was run on is loaded again."""
        if self.how == "template":
            return is_whole(session, self.image_at(address, session).image)
        return self.how == "command" and is_whole(session, address.database)

    def reported(self, session: InnodbSession, address: InnodbAddress) -> dict[str, str]:
        return values(session)

    def remarks(self, session: InnodbSession) -> list[str]:
        return [SHARED, *filter(None, [untried(session.version)])]

    def process(self, address: InnodbAddress) -> Process:
        """With the directory of its log."""
        with connect(address) as session:
            return process_at(self.whereabouts(session), _log_apart(values(session)))


def _log_apart(settings: Mapping[str, str]) -> Path | None:
    """The log's directory where it has one of its own."""
    log = log_directory(settings)
    return None if log == Path(settings["datadir"]).resolve() else log


# What a run writes to the binary log of a server, which is on by default in MySQL.

EXPIRES = "binlog_expire_logs_seconds"


def binary_log(
    settings: Mapping[str, str], subject: str, warehouses: int, *, copied: bool
) -> Iterator[Finding]:
    """A warning where all that is loaded is written a second time; `copied`: before each climb.

    >>> on = {"log_bin": "ON", "binlog_expire_logs_seconds": "2592000"}
    >>> [finding] = binary_log(on, "db", 10, copied=True)
    >>> print(finding.seen)
    the binary log is on: the load and each copy (963 MiB) are written to it, and kept for 30 days
    """
    if settings.get("log_bin") != "ON":
        return
    kept_s = float(settings.get(EXPIRES, 0))
    kept = f"kept for {kept_s / 86_400:.3g} days" if kept_s else "kept for ever"
    written = "the load and each copy" if copied else "the load"
    size = units.size(data_bytes(warehouses))
    yield Finding(
        level="warning",
        subject=subject,
        seen=f"the binary log is on: {written} ({size}) are written to it, and {kept}",
        do=f"leave room for that, lower {EXPIRES}, or start the server with skip_log_bin",
    )
