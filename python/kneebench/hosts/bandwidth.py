"""How fast bytes go from one host to another: one end sends for as long as the other one listens.

It is also sent to load hosts: it imports the standard library alone.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from typing import Any

PIECE = bytes(1 << 16)
FOR_S, TRY_S = 1.0, 5.0
"""Bytes are counted so long, and a connection may take so long."""
TRIES = 5


def family_of(address: str) -> socket.AddressFamily:
    """IPv6 where it has a colon."""
    return socket.AF_INET6 if ":" in address else socket.AF_INET


@contextlib.contextmanager
def sending(address: str, port: int) -> Any:
    """The port where whoever connects is sent bytes, until the end of the block. Raises OSError
    where it cannot listen there.
    """
    with socket.create_server((address, port), family=family_of(address)) as server:
        threading.Thread(target=_accept, args=(server,), daemon=True).start()
        try:
            yield int(server.getsockname()[1])
        finally:
            with contextlib.suppress(OSError):
                server.shutdown(socket.SHUT_RDWR)


def _accept(server: socket.socket) -> None:
    with contextlib.suppress(OSError):  # the block has ended
        while True:
            there, _ = server.accept()
            threading.Thread(target=_send, args=(there,), daemon=True).start()


def _send(there: socket.socket) -> None:
    with there, contextlib.suppress(OSError):  # it has heard enough
        there.settimeout(TRY_S)
        while True:
            there.sendall(PIECE)


def connected_in(address: str, port: int, limit_s: float = TRY_S) -> float:
    """The shortest of some times in which a connection was opened. Raises OSError where none can
    be.
    """
    took = []
    for _ in range(TRIES):
        began = time.monotonic()
        with socket.create_connection((address, port), limit_s):
            took.append(time.monotonic() - began)
    return min(took)


def measured(address: str, port: int) -> dict[str, float]:
    """Bytes per second from there, and the time in which a connection was opened. Raises OSError
    where none can be.
    """
    took_s = connected_in(address, port)
    with socket.create_connection((address, port), TRY_S) as there:
        there.recv(len(PIECE))
        began, counted = time.monotonic(), 0
        while (past := time.monotonic() - began) < FOR_S:
            counted += len(there.recv(len(PIECE)))
    return {"bytes_per_s": counted / past, "took_s": took_s}
