"""Cleanup on a server that is not ours: a failure is reported with the command that fixes it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from kneebench.errors import KneebenchError
from kneebench.lab.changes.database import MadeOnServer
from kneebench.lab.journal import Journal
from kneebench.records import Event, Watch


@contextlib.contextmanager
def undone_after(
    undo: Callable[[], None],
    noted: MadeOnServer,
    journal: Journal,
    watch: Watch,
    *failures: type[Exception],
) -> Iterator[None]:
    """The block; then undo a journal entry and forget it. If that fails, the entry stays, and the
    failure is reported: with the error that ends the run, or else as a warning.

    `failures` are the errors of the engine's client, beside our own.
    """
    ending: BaseException | None = None
    expected: tuple[type[Exception], ...] = (KneebenchError, *failures)
    try:
        yield
    except BaseException as error:
        ending = error
        raise
    finally:
        try:
            undo()
        except expected as error:
            why = " ".join(str(error).split())
            left = (
                f"{noted.what} could not be removed ({why}). The next run of this plan removes it;"
                f" to remove it now: {noted.by_hand}"
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
