"""What runs on a load host: one load generator at a time, as its controller orders.

It imports the standard library and kneebench's Rust core alone. Where the controller is silent for
`PATIENCE_S` the process ends, and with it every connection to the database.
"""

from __future__ import annotations

import contextlib
import math
import os
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

from kneebench._core import Address, GeneratorSpec, LoadGenerator
from kneebench.core_errors import ConnectError
from kneebench.hosts.bandwidth import connected_in, family_of, measured
from kneebench.hosts.interfaces import carried, way_to
from kneebench.hosts.pipe import Message, Pipe

PATIENCE_S = 4.0
"""The controller sends something every second."""
TRY_S = 2.0
"""For a connection to an address that is checked."""
CLOSE_S = 0.002
"""Before a moment: from here on it is waited for without sleeping."""


def serve(pipe: Pipe) -> None:
    """Do what is ordered until the controller is silent or no longer there."""
    threading.Thread(target=_end_with, args=(pipe,), daemon=True).start()
    agent = LoadAgent()
    while True:
        order = pipe.receive(math.inf)
        if order["do"] != "beat":
            pipe.send({"id": order["id"], **agent.answer(order)})


def _end_with(pipe: Pipe) -> None:
    """End this process with its controller, whatever it waits for."""
    pipe.await_silence(PATIENCE_S)
    os._exit(1)


class LoadAgent:
    """One load generator at a time. Moments are the host's own time of day, or seconds since its
    own go: no clock of another machine is used.
    """

    def __init__(self) -> None:
        self._generator: LoadGenerator | None = None
        self._began = 0.0
        self._interface = ""
        self._orders: dict[str, Callable[[Message], Message]] = {
            "probe": lambda order: {"now": time.time()},
            "reach": lambda order: {"took_s": connected_in(order["host"], order["port"], TRY_S)},
            "bandwidth": lambda order: measured(order["host"], order["port"]),
            "source": lambda order: {"address": source_address(order["address"])},
            "prepare": self._prepare,
            "go": self._go,
            "tick": lambda order: {"tick": self._ready.tick(), "carried": self._carried},
            "mark": self._mark,
            "stop": lambda order: {"report": self._ready.stop()},
        }

    def answer(self, order: Message) -> Message:
        """What comes of an order; an error as its words."""
        try:
            return self._orders[order["do"]](order)
        except ConnectError as error:
            fields = ("error_class", "code", "message")
            return {"connect": {name: getattr(error, name) for name in fields}}
        except Exception as error:
            return {"failed": f"{type(error).__name__}: {error}"}

    @property
    def _ready(self) -> LoadGenerator:
        if self._generator is None:
            raise RuntimeError("no load generator was prepared")
        return self._generator

    def _prepare(self, order: Message) -> Message:
        """Open every connection; one that was there before is dropped."""
        self._generator = None
        with with_certificates(order["address"], order.get("certificates", "")) as address:
            generator = LoadGenerator(GeneratorSpec(**order["spec"]), Address(**address))
            generator.ready()
        self._generator = generator
        self._interface = way_to(order["address"]["host"])
        return {"interface": self._interface}

    @property
    def _carried(self) -> dict[str, int]:
        """By the interface on the way to the database."""
        return carried(self._interface)

    def _go(self, order: Message) -> Message:
        """Start at a moment of this host's time of day."""
        _wait(lambda: order["at"] - time.time())
        self._began = time.monotonic()
        self._ready.go()
        return {"now": time.time()}

    def _mark(self, order: Message) -> Message:
        """Enter a phase so many seconds after go."""
        _wait(lambda: self._began + order["at_s"] - time.monotonic())
        at_s = self._ready.mark(order["phase"])
        return {"at_s": at_s, "now": time.time(), "carried": self._carried}


def source_address(to: str) -> str:
    """The address of this machine that it uses on the way to another; nothing is sent."""
    with socket.socket(family_of(to), socket.SOCK_DGRAM) as way:
        way.connect((to, 9))
        return str(way.getsockname()[0])


def _wait(left_s: Callable[[], float]) -> None:
    """Until nothing is left."""
    while (left := left_s()) > 0:
        if left > CLOSE_S:
            time.sleep(left - CLOSE_S)


def is_pem(text: str) -> bool:
    """Whether a text is certificates, and not the name of their file."""
    return text.startswith("-----BEGIN")


@contextlib.contextmanager
def with_certificates(address: dict[str, Any], certificates: str) -> Any:
    """The address, with the authorities' certificates in a file of memory while connections are
    opened: a killed agent leaves none.
    """
    if not certificates:
        yield address
        return
    with os.fdopen(os.memfd_create("kneebench"), "w") as file:
        file.write(certificates)
        file.flush()
        yield {**address, "sslrootcert": f"/proc/{os.getpid()}/fd/{file.fileno()}"}
