"""Cleanup on an external server: retried until the server has recovered; a failure is reported with
the command that fixes it.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable

import psycopg
from psycopg.conninfo import make_conninfo

from kneebench.databases.postgres.address import parameters, runs_there
from kneebench.databases.postgres.server_address import Address
from kneebench.errors import PlanError
from kneebench.lab import server_cleanup
from kneebench.lab.changes.database import MadeOnServer
from kneebench.lab.journal import Journal
from kneebench.records import Watch

RESTART_LIMIT_S = 60.0
"""Longest wait for a server that recovers from a crash."""


def undo_or_report(
    undo: Callable[[], None], noted: MadeOnServer, journal: Journal, watch: Watch
) -> None:
    """Undo a journal entry and forget it, or report why it could not be undone."""
    server_cleanup.undo_or_report(undo, noted, journal, watch, psycopg.Error)


def once_it_answers(address: Address, do: Callable[[], None]) -> None:
    """Call `do`; on a server that accepts no sessions yet, as soon as it does."""
    until = time.monotonic() + RESTART_LIMIT_S
    while True:
        try:
            return do()
        except (psycopg.OperationalError, PlanError):
            if time.monotonic() > until or not runs_there(address):
                raise
        time.sleep(0.2)


def psql_command(address: Address, statements: str) -> str:
    """A psql command that runs these statements, without the password."""
    without = make_conninfo("", **parameters(address.model_copy(update={"password": None})))
    return f"psql {shlex.quote(without)} -c {shlex.quote(statements)}"
