"""An engine's client: how its servers are asked, and what their errors mean."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from kneebench.errors import InvalidMeasurement, KneebenchError, PlanError


class Client(NamedTuple):
    """What kneebench needs of one, by the engine's own address of a server."""

    connect: Callable[..., AbstractContextManager[Any]]
    """A session; raises PlanError with the server's words where it refuses. Takes an address, a
    database in place of the address's, and how long an answer may take (`limit_s`)."""
    answers: Callable[[Any], bool]
    """Whether a server takes connections at an address."""
    once_it_answers: Callable[[Any, Callable[[], None]], None]
    """Call something; on a server that accepts no sessions yet, as soon as it does."""
    command: Callable[[Any, str], str]
    """A command that runs statements at an address by hand, without the password."""
    failures: tuple[type[Exception], ...]
    """The client's errors."""
    words_of: Callable[[BaseException], tuple[str, str]]
    """(code, words) of one of them; the code is empty where it has none."""
    code_name: str
    """What the codes are called."""
    hint: Callable[[str, str, Any], str]
    """The fix for an error, by its code, its words and the address; without an address (a managed
    server) it never suggests the client."""
    lasting: Collection[str]
    """Codes of what the plan names: such errors recur until something is changed."""
    out_of_space: Collection[str]
    is_lost: Callable[[BaseException | None], bool]
    """Whether an error ended the session."""

    def refusal(self, what: str, words: str, code: str, address: Any = None) -> KneebenchError:
        """An error with the server's words and the fix: a PlanError if running again would fail the
        same way, InvalidMeasurement if the server is out of space.
        """
        kind = PlanError if code in self.lasting else KneebenchError
        kind = InvalidMeasurement if code in self.out_of_space else kind
        return kind(what, seen=words, do=self.hint(code, words, address))

    @contextlib.contextmanager
    def refused(self, what: str, address: Any = None) -> Iterator[None]:
        """What the server refuses inside is raised as such an error."""
        try:
            yield
        except self.failures as error:
            code, said = self.said(error)
            raise self.refusal(what, said, code, address) from error

    @contextlib.contextmanager
    def explained(self, what: str, address: Any = None) -> Iterator[None]:
        """What the server refuses inside is raised as a KneebenchError in its words; with an
        address, that of the plan's URL, as a PlanError where the plan or the server must be changed
        first.
        """
        try:
            with self.refused(what, address) if address else contextlib.nullcontext():
                yield
        except self.failures as error:
            code, said = self.said(error)
            raise KneebenchError(what, seen=said, do=self.hint(code, said, None)) from error

    def said(self, error: BaseException) -> tuple[str, str]:
        """(code, words) of an error, the words with the code."""
        code, words = self.words_of(error)
        return code, f"{words} ({self.code_name} {code})" if code else words
