"""Cleanup on an external server: done once the server answers again; a failure is reported with the
command that fixes it.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import pymysql

from kneebench.databases.engines.mariadb.server_address import MariadbAddress
from kneebench.databases.engines.mariadb.session import answers
from kneebench.databases.external.restarts import LIMIT_S, POLL_S
from kneebench.lab import server_cleanup
from kneebench.lab.changes.database import MadeOnServer
from kneebench.lab.journal import Journal
from kneebench.records import Watch

REMOVAL_LIMIT_S = 60.0
"""How long a removal may wait for a lock, or an answer."""


def undo_or_report(
    undo: Callable[[], None], noted: MadeOnServer, journal: Journal, watch: Watch
) -> None:
    """Undo a journal entry and forget it, or report why it could not be undone."""
    server_cleanup.undo_or_report(undo, noted, journal, watch, pymysql.Error, OSError)


def once_it_answers(address: MariadbAddress, do: Callable[[], None]) -> None:
    """Call `do`; on a server that accepts no sessions yet, as soon as it does."""
    until = time.monotonic() + LIMIT_S
    while not answers(address) and time.monotonic() < until:
        time.sleep(POLL_S)
    do()
