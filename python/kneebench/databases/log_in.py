"""The time limit of a log-in: greeting, TLS and authentication together, the same on every engine.

A driver limits each wait for bytes. A server that sends one byte now and then would keep it waiting
forever, so the limit is of the whole and does not depend on the driver.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Iterator
from time import monotonic

LOG_IN_S = 10.0
"""Longest log-in of a control session. That of the load generator's sessions is longer
(`OPEN_LIMIT` in src/session/opening.rs): many users log in at once."""
DO = "check host and port in the URL: is it the server's port? If it is, see the server's log"
"""The fix for a log-in that does not end, and for a response of another protocol."""


class LogIn:
    """A log-in under way. Its time starts once the server has accepted the first connection, and
    includes all further attempts.
    """

    def __init__(self) -> None:
        self.limit_s = LOG_IN_S
        self._until: float | None = None

    def start(self) -> None:
        """Start its time, unless it has started."""
        self._until = self._until or monotonic() + self.limit_s

    @property
    def left_s(self) -> float:
        """Remaining time; 0 once it is over."""
        return self.limit_s if self._until is None else max(0.0, self._until - monotonic())

    def over(self) -> TimeoutError:
        """The error once its time is over."""
        return TimeoutError(f"no complete log-in within {self.limit_s:g} s")

    @contextlib.contextmanager
    def limits(self, connection: socket.socket) -> Iterator[None]:
        """The connection is shut down when the time is over, whatever a driver is waiting for.

        Raises TimeoutError then, in place of what the driver makes of it.
        """
        self.start()
        # a descriptor of its own: drivers wrap the socket in TLS, and close it after an error
        with socket.socket(fileno=os.dup(connection.fileno())) as same:
            watch = threading.Timer(self.left_s, _shut_down, (same,))
            watch.daemon = True
            watch.start()
            try:
                yield
            except Exception as error:
                if not self.left_s:
                    raise self.over() from error
                raise
            finally:
                watch.cancel()
                watch.join()
        if not self.left_s:
            raise self.over()


def _shut_down(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):  # its other end was faster
        connection.shutdown(socket.SHUT_RDWR)
