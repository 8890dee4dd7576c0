"""Cleanup on a server that is not ours: a failure is reported with the command that fixes it."""

from __future__ import annotations

import sys
from collections.abc import Callable

from kneebench.errors import KneebenchError
from kneebench.lab.changes.database import MadeOnServer
from kneebench.lab.journal import Journal
from kneebench.records import Event, Watch


def undo_or_report(
    undo: Callable[[], None],
    noted: MadeOnServer,
    journal: Journal,
    watch: Watch,
    *failures: type[Exception],
) -> None:
    """Undo a journal entry and forget it. If that fails, the entry stays, and the failure is
    reported: with the error that ends the run, or else as a warning.

    `failures` are the errors of the engine's client, beside our own.
    """
    ending = sys.exc_info()[1]
    expected: tuple[type[Exception], ...] = (KneebenchError, *failures)
    try:
        undo()
    except expected as error:
        why = " ".join(str(error).split())
        left = (
            f"{noted.what} could not be removed ({why}). The next run of this plan removes it; to"
            f" remove it now: {noted.by_hand}"
        )
        report(left, ending, watch)
    else:
        journal.forget(noted)


def report(left: str, ending: BaseException | None, watch: Watch) -> None:
    """Say what is left on a server: with the error that ends the run, or else as a warning."""
    if isinstance(ending, KneebenchError):
        ending.also(left)
    else:
        watch(Event(kind="warning", doing=left))
