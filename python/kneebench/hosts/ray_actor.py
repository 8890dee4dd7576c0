"""What runs on a node of a Ray cluster: the same load agent as by ssh, in an actor.

This file and host_program.py are sent by value, since kneebench is not installed there.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import Any

from kneebench.hosts.host_program import cache, facts, unpack

PATIENCE_S = 4.0
"""The controller calls every second."""
LOOK_S = 0.2


class LoadActor:
    """Orders of a load agent, one at a time, and signs of life beside them. It ends itself, and
    every connection to the database, where the controller is silent: Ray takes half a minute to
    notice.
    """

    def __init__(self) -> None:
        self._one = threading.Lock()
        self._agent: Any = None
        self._heard = time.monotonic()
        threading.Thread(target=self._end_with, daemon=True).start()

    def _end_with(self) -> None:
        while time.monotonic() - self._heard < PATIENCE_S:
            time.sleep(LOOK_S)
        os._exit(1)

    def beat(self) -> None:
        """A sign of life of the controller."""
        self._heard = time.monotonic()

    def facts(self) -> dict[str, Any]:
        """What a controller must know of the node."""
        return facts()

    def begin(self, package: str, files: str) -> str:
        """Have kneebench's files, base64, below the account's cache, and import them; why that
        failed, or nothing.
        """
        folder = cache() / package
        try:
            if not folder.is_dir():
                unpack(files, folder)
            sys.path.insert(0, str(folder))
            from kneebench.hosts.load_agent import LoadAgent

            self._agent = LoadAgent()
        except (OSError, ImportError) as error:
            return f"{type(error).__name__}: {error}"
        return ""

    def answer(self, order: dict[str, Any]) -> dict[str, Any]:
        """What comes of an order."""
        with self._one:
            found: dict[str, Any] = self._agent.answer(order)
            return found
