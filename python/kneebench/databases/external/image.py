"""The base image as a database on a running server, and the work database copied from it, as far as
it is the same on all servers that copy databases.

Databases of ours carry a mark; no other database is dropped, whatever its name. Two runs on the
same image would drop each other's work databases, so each holds a lock while it builds or measures.
"""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from kneebench.databases.engine import ServerAddress
from kneebench.databases.tproc_c.loading import Recipe
from kneebench.lab.journal import Journal
from kneebench.lab.server_cleanup import undone_after
from kneebench.plan.workload import Workload
from kneebench.records import Watch

WORK = "kneebench_work_"
"""How the name of a copy begins."""
AddressOf = TypeVar("AddressOf", bound=ServerAddress)
SessionOf = TypeVar("SessionOf")


class Client(NamedTuple):
    """How an engine's server is asked, and what its client says of errors."""

    explained: Callable[[str, Any], AbstractContextManager[None]]
    """What the server at an address refuses inside is raised as a KneebenchError in its words."""
    command: Callable[[Any, str], str]
    """A command that runs statements at an address by hand, without the password."""
    once_it_answers: Callable[[Any, Callable[[], None]], None]
    """Call something; on a server that accepts no sessions yet, as soon as it does."""
    is_lost: Callable[[BaseException], bool]
    """Whether the server ended the session."""
    failures: tuple[type[Exception], ...]


class ServerImage(ABC, Generic[AddressOf, SessionOf]):
    """The image on one server, and its copy.

    `source` is the database to copy if it is not ours (HammerDB's); empty for our own.
    """

    client: ClassVar[Client]
    drop_by_hand: ClassVar[str] = "DROP DATABASE IF EXISTS {}"

    def __init__(self, address: AddressOf, source: str, recipe: Recipe, journal: Journal) -> None:
        self.address, self.source, self.recipe, self.journal = address, source, recipe, journal

    @abstractmethod
    def alone(self) -> AbstractContextManager[SessionOf]:
        """A session that holds the image's lock; raises Refused if another run holds it."""

    @abstractmethod
    def copy(self, session: SessionOf, watch: Watch) -> None:
        """Make the work database."""

    @abstractmethod
    def drop(self, session: SessionOf, database: str) -> None:
        """Drop a database of ours, if it exists; raises Refused for one without our mark."""

    @property
    def digest(self) -> str:
        """The part of the names that says what the image is of."""
        return self.recipe.key.rpartition("-")[2]

    @property
    def image(self) -> str:
        """The name of the image's database."""
        return self.source or f"kneebench_image_{self.digest}"

    @property
    def work_database(self) -> str:
        """The name of its copy."""
        return f"{WORK}{self.digest}"

    def of(self, database: str) -> AddressOf:
        """The address of a database there."""
        return self.address.model_copy(update={"database": database})

    def _explained(self, what: str) -> AbstractContextManager[None]:
        return self.client.explained(what, self.address)

    def known(self, workload: Workload, size_bytes: int, seconds: float) -> Mapping[str, str]:
        """Facts of an image that was loaded in so many seconds."""
        return {
            "key": self.recipe.key,
            "server": self.recipe.version,
            "warehouses": str(workload.warehouses),
            "bytes": str(size_bytes),
            "build_s": f"{seconds:.1f}",
            "warehouses_per_min": f"{60 * workload.warehouses / seconds:.1f}",
        }

    def remove(self) -> str:
        """Drop the image database; its name. Raises Refused for one that is not ours."""
        with self.alone() as session, self._explained(f"cannot drop {self.image}"):
            self.drop(session, self.image)
        return self.image

    @contextlib.contextmanager
    def work(self, watch: Watch) -> Iterator[AddressOf]:
        """A fresh copy of the image, as its address; dropped at the end.

        If that fails, the failure is reported with the command that removes the copy.
        """
        name = self.work_database
        with self.alone() as session:
            with self._explained(f"cannot drop the database {name} of an earlier run"):
                self.drop(session, name)
            by_hand = self.client.command(self.address, self.drop_by_hand.format(name))
            noted = self.journal.on_a_server(f"the database {name}", self.address.place, by_hand)
            undo, failures = partial(self._remove, session), self.client.failures
            with undone_after(undo, noted, self.journal, watch, *failures):
                with self._explained(f"cannot copy the database {self.image}"):
                    self.copy(session, watch)
                yield self.of(name)

    def _remove(self, session: SessionOf) -> None:
        """Drop the copy; if the server ended our session, as soon as it accepts sessions again."""
        try:
            self.drop(session, self.work_database)
        except self.client.failures as error:
            if not self.client.is_lost(error):
                raise
            self.client.once_it_answers(self.address, self._drop_again)

    def _drop_again(self) -> None:
        with self.alone() as session:
            self.drop(session, self.work_database)
