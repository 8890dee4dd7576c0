"""What the orders of a controller have opened on this host: kept by number until it is ended."""

from __future__ import annotations

import contextlib
import itertools
from typing import Any, cast

from kneebench.campaign.machines.machine import ThisMachine
from kneebench.databases.engine import Engine, Server
from kneebench.records import Watch, unwatched


class Kept:
    """Opened things by number, each with what ends it."""

    def __init__(self, machine: ThisMachine) -> None:
        self.machine = machine
        self.watch: Watch = unwatched
        """What is sent to the controller."""
        self._kept: dict[int, Any] = {}
        self._stacks: dict[int, contextlib.ExitStack] = {}
        self._numbers = itertools.count(1)

    def _keep(self, one: object, stack: contextlib.ExitStack) -> int:
        number = next(self._numbers)
        self._kept[number], self._stacks[number] = one, stack.pop_all()
        return number

    def _engine(self, number: int) -> Engine:
        return cast(Engine, self._kept[number])

    def _server(self, number: int) -> Server:
        return cast(Server, self._kept[number])

    def end(self, number: int) -> None:
        """End what is kept under a number."""
        self._kept.pop(number, None)
        if stack := self._stacks.pop(number, None):
            stack.close()

    def end_all(self) -> None:
        """End everything, the last one first, each also where another cannot be ended."""
        with contextlib.ExitStack() as ends:
            for number in sorted(self._stacks):
                ends.callback(self.end, number)
