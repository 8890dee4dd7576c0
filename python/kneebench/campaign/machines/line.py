"""The line to a database host: calls of its agent's orders, with what happens there meanwhile."""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

from kneebench.campaign.machines.agent import DatabaseAgent
from kneebench.errors import KneebenchError
from kneebench.hosts.connection import Connection, HostLost
from kneebench.hosts.typed_calls import (
    packed_arguments,
    unpacked_error,
    unpacked_event,
    unpacked_result,
)
from kneebench.records import Watch, unwatched

Given = ParamSpec("Given")
Found = TypeVar("Found")


class DatabaseHostLost(KneebenchError):
    """The database host no longer answers: the campaign ends, and is resumed from there."""

    exit_code = 3


class Line:
    """Calls of the agent's orders, one at a time, from any thread."""

    def __init__(self, connection: Connection) -> None:
        self._connection, self._one = connection, threading.Lock()
        self._lost: DatabaseHostLost | None = None

    def call(
        self,
        order: Callable[Concatenate[DatabaseAgent, Given], Found],
        watch: Watch,
        *values: Given.args,
        **named: Given.kwargs,
    ) -> Found:
        """What the order gives; `watch` receives what happens meanwhile. Raises what the order
        raises, and DatabaseHostLost.
        """
        given = packed_arguments(order, *values, **named)
        with self._one:
            if self._lost:
                raise self._lost
            try:
                answer = self._answer(order, watch, given)
            except HostLost as error:
                self._lost = _lost(error.name, error.seen, error.do)
                raise self._lost from error
            except KeyboardInterrupt:  # the agent is at it until the connection ends
                self._lost = _lost(self._connection.name, "interrupted", "run again")
                raise
        if "error" in answer:
            raise unpacked_error(answer["error"])
        found: Found = unpacked_result(order, answer["value"])
        return found

    def _answer(self, order: Callable[..., Any], watch: Watch, given: dict[str, Any]) -> Any:
        begun = self._connection.begin(order.__name__, **{"with": given})
        return self._connection.result(begun, math.inf, lambda event: watch(unpacked_event(event)))

    def end(self, number: int) -> None:
        """End what the agent keeps under a number; nothing where the host is lost: it does that
        itself.
        """
        with contextlib.suppress(DatabaseHostLost):
            self.call(DatabaseAgent.end, unwatched, number)


def _lost(name: str, seen: str, do: str) -> DatabaseHostLost:
    return DatabaseHostLost(f"database host {name} was lost", seen=seen, do=do)
