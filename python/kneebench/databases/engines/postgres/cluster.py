"""A data directory that is ours from its first file: made by initdb, or put in place from an
image.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from kneebench.databases.engines.postgres.listening import ACCESS
from kneebench.databases.engines.postgres.server_settings import settings_text
from kneebench.databases.managed.account import Account
from kneebench.databases.managed.copying import duplicate
from kneebench.lab.folder import Folder
from kneebench.lab.removal import empty


def configure(data: Folder, settings: Mapping[str, str], account: Account | None) -> None:
    """Write the cluster's configuration: ours as a whole, so that no default of a distribution
    slips in.
    """
    texts = {
        "postgresql.conf": settings_text(settings),
        "postgresql.auto.conf": "",
        "pg_hba.conf": ACCESS,
        "pg_ident.conf": "",
    }
    for name, text in texts.items():
        data.put(name, text, account and account.owner)


def move_log(data: Folder, log: Folder) -> Folder:
    """Put pg_wal (a few segments, after a clean shutdown) into `log` and leave a link to it, as
    `initdb --waldir` does; the moved directory.
    """
    moved = log.make("pg_wal")
    with data.inner("pg_wal") as found:
        duplicate(found, moved, "copy", lambda event: None)
        empty(found)
    os.rmdir("pg_wal", dir_fd=data.handle)
    os.symlink(moved.path, "pg_wal", dir_fd=data.handle)
    return moved
