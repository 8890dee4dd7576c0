"""The PostgreSQL engine: servers that we run ourselves (embedded, or the user's build), or one by
URL.

What is the same for all servers of our own is in managed/engine.py: start reading there.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from psycopg import sql

from kneebench.databases.engine import Engine
from kneebench.databases.engines.postgres import image as images
from kneebench.databases.engines.postgres.address import connect
from kneebench.databases.engines.postgres.builds import find_build
from kneebench.databases.engines.postgres.footprint import cache_bytes
from kneebench.databases.engines.postgres.image import configure, move_log
from kneebench.databases.engines.postgres.launcher import (
    SOCKET,
    Launch,
    RunningPostgres,
    running_server,
    users_address,
)
from kneebench.databases.engines.postgres.log_segments import GUESS_PER_CORE_S, LogRate, LogSegments
from kneebench.databases.engines.postgres.query_schema import schema_of
from kneebench.databases.engines.postgres.remote import RemotePostgres
from kneebench.databases.engines.postgres.server import PostgresServer
from kneebench.databases.engines.postgres.server_address import DATABASE, PostgresAddress
from kneebench.databases.engines.postgres.server_settings import (
    complaint,
    initdb_options,
    rules,
    setting_bytes,
)
from kneebench.databases.managed.account import Account, unprivileged_account
from kneebench.databases.managed.base_image import BaseImage
from kneebench.databases.managed.copying import duplicate, settle
from kneebench.databases.managed.engine import OwnKind, OwnServers, Restore
from kneebench.databases.managed.ownership import give, home
from kneebench.lab.journal import Journal
from kneebench.lab.removal import ours
from kneebench.plan.database_plan import DatabasePlan
from kneebench.records import Watch


def open_engine(plan: DatabasePlan, journal: Journal) -> Engine:
    """The engine that the plan requires; changes nothing."""
    if any(plan.urls.values()):
        return RemotePostgres(plan, journal)
    return OwnPostgres(plan, journal)


class PostgresFiles(NamedTuple):
    """The data directory, and those of its log and of its temporary files where they have their
    own; `log_rate`: how fast the configuration's log grew on the restores before.
    """

    data: Path
    log_rate: LogRate
    log: Path | None = None
    temporary: Path | None = None


# Whom PostgreSQL's programs run as: the server refuses to run as root.

ACCOUNTS = ("postgres", "nobody")
"""Accounts that root may lend the server, the preferred one first."""


def server_account() -> Account | None:
    """The account that the server runs as; None for our own, when we are not root."""
    return unprivileged_account(ACCOUNTS)


class OwnPostgres(OwnServers):
    """Servers that we start and stop."""

    own = OwnKind(
        "PostgreSQL",
        SOCKET,
        "max_wal_size",
        "shared_buffers",
        find_build=find_build,
        find_account=server_account,
        recipe_of=images.recipe_of,
        fixed=initdb_options,
        rules=rules,
        cache_bytes=cache_bytes,
        setting_bytes=setting_bytes,
        complaint=complaint,
        fill=images.fill,
        users_address=users_address,
        database=DATABASE,
    )

    def __init__(self, plan: DatabasePlan, journal: Journal) -> None:
        super().__init__(plan, journal)
        self._log_rates: dict[str, LogRate] = {}

    def put_in_place(self, restored: Restore, launch: Launch) -> PostgresFiles:
        """The data directory from the image, its log moved to where it belongs."""
        data, log, temporary = restored.places
        settings = self.settings_for(restored.prepared.resources)
        if temporary:
            settings = {**settings, "temp_tablespaces": TABLESPACE}
            temporary = home(temporary, "files", self.account)
        files = restore(
            *(restored.image, data, log, self.how, settings, self.account, restored.watch),
            restored.doing,
            warm=self.table.page_cache == "warm",
        )
        cores = len(restored.prepared.resources.cores)
        rate = self._log_rates.setdefault(
            restored.prepared.configuration.id, LogRate(GUESS_PER_CORE_S * cores)
        )
        return PostgresFiles(files, rate, log, temporary)

    @contextlib.contextmanager
    def running(self, launch: Launch, files: PostgresFiles) -> Iterator[RunningPostgres]:
        """A server over the files; temporary files of their own are a tablespace."""
        apart = [place for place in (files.log, files.temporary) if place]
        with running_server(launch, files.data, self.journal, reach=apart) as process:
            if files.temporary:
                make_tablespace(process.address, files.temporary)
            yield process

    def asked(self, files: PostgresFiles, **what: Any) -> PostgresServer:
        schema = schema_of(self.plan.workload)
        return PostgresServer(**what, segments=self._segments(files), schema=schema)

    def _segments(self, files: PostgresFiles) -> LogSegments:
        """Those of a restored server's log, as many as its settings allow."""
        each = setting_bytes(str(self.plan.database.settings.get("wal_segment_size", "16MB")))
        most = setting_bytes(self.settings["max_wal_size"])
        folder = (files.log or files.data) / "pg_wal"
        return LogSegments(folder, each, most, self.account, files.log_rate)


# A restore: the image's files put in place on a storage.
#
# They are ours and out of the account's reach until all of them are there.

LEFT_BEHIND = frozenset(["postmaster.pid", "postmaster.opts"])


def restore(
    image: BaseImage,
    data: Path,
    log: Path | None,
    how: Literal["copy", "clone"],
    settings: Mapping[str, str],
    account: Account | None,
    watch: Watch,
    doing: str,
    *,
    warm: bool = False,
) -> Path:
    """The data directory, made in the directory `data` of ours, its log in `log` if that is given;
    the account's at the end. Its files are not in the page cache, unless `warm`.
    """
    with contextlib.ExitStack() as opened:
        places = [opened.enter_context(ours(place)) for place in (data, log) if place]
        source, target = image.opened(opened), opened.enter_context(places[0].make("data"))
        duplicate(source, target, how, watch, doing, LEFT_BEHIND)
        parts = [target, *(opened.enter_context(move_log(target, place)) for place in places[1:])]
        configure(target, settings, account)
        give(parts, places, account)
        settle(source, parts, warm=warm)
        return target.path


# Temporary files in a place of their own: a tablespace, made in each restored server.
#
# It is no part of the base image, so an image serves storages with and without one.

TABLESPACE = "kneebench_temporary"
"""The server starts with it in temp_tablespaces, which may name one that does not exist yet."""


def make_tablespace(address: PostgresAddress, directory: Path) -> None:
    """Make the tablespace in an empty directory of the server's account, unless it is there."""
    there = "SELECT FROM pg_tablespace WHERE spcname = %s"
    create = sql.SQL("CREATE TABLESPACE {} LOCATION {}")
    with connect(address) as connection:
        if connection.execute(there, [TABLESPACE]).fetchone() is None:
            connection.execute(create.format(sql.Identifier(TABLESPACE), str(directory)))
