"""Cleanup on an external server: retried until the server has recovered; a failure is reported with
the command that fixes it.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable

import psycopg
from psycopg.conninfo import make_conninfo

from kneebench.databases.engines.postgres.address import parameters, runs_there
from kneebench.databases.engines.postgres.server_address import PostgresAddress
from kneebench.databases.external.restarts import once_it_is_back
from kneebench.errors import PlanError
from kneebench.lab import server_cleanup
from kneebench.lab.changes.database import MadeOnServer
from kneebench.lab.journal import Journal
from kneebench.records import Watch


def undo_or_report(
    undo: Callable[[], None], noted: MadeOnServer, journal: Journal, watch: Watch
) -> None:
    """Undo a journal entry and forget it, or report why it could not be undone."""
    server_cleanup.undo_or_report(undo, noted, journal, watch, psycopg.Error)


def once_it_answers(address: PostgresAddress, do: Callable[[], None]) -> None:
    """Call `do`; on a server that accepts no sessions yet, as soon as it does."""
    once_it_is_back(do, (psycopg.OperationalError, PlanError), lambda: runs_there(address))


def psql_command(address: PostgresAddress, statements: str) -> str:
    """A psql command that runs these statements, without the password."""
    without = make_conninfo("", **parameters(address.model_copy(update={"password": None})))
    return f"psql {shlex.quote(without)} -c {shlex.quote(statements)}"
