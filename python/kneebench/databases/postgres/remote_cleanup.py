"""What could not be put back on a server that is not ours: tried until the server has recovered, then told with what to do about it."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable

import psycopg
from psycopg.conninfo import make_conninfo

from kneebench.databases.postgres.address import parameters, runs_there
from kneebench.errors import KneebenchError, PlanError
from kneebench.lab.journal import Entry, Journal
from kneebench.records import Address, Event, Watch

RESTART_LIMIT_S = 60.0
"""How long a server that recovers from a crash is waited for."""


def undo_or_report(undo: Callable[[], None], noted: Entry, journal: Journal, watch: Watch) -> None:
    """Undo what the journal's entry says, and forget it. Where that fails it stays noted, and is told: behind the error that ends
    the run, which is the last thing to be read, else as a warning."""
    ending = sys.exc_info()[1]
    try:
        undo()
    except (KneebenchError, psycopg.Error) as error:
        why = " ".join(str(error).split())
        left = f"{noted.what} could not be removed ({why}). The next run of this plan removes it; to remove it now: {noted.by_hand}"
        if isinstance(ending, KneebenchError):
            ending.also(left)
        else:
            watch(Event(kind="warning", doing=left))
    else:
        journal.forget(noted)


def once_it_answers(address: Address, do: Callable[[], None]) -> None:
    """Do it; on a server that takes no sessions yet, as soon as it does."""
    until = time.monotonic() + RESTART_LIMIT_S
    while True:
        try:
            return do()
        except (psycopg.OperationalError, PlanError):
            if time.monotonic() > until or not runs_there(address):
                raise
        time.sleep(0.2)


def psql_command(address: Address, statements: str) -> str:
    """The command that has the server run these; the password is not in it."""
    without = make_conninfo("", **parameters(address.model_copy(update={"password": None})))
    return f"psql {shlex.quote(without)} -c {shlex.quote(statements)}"
