"""Client timeouts: a connection whose waits end when a server hangs, and at once after Ctrl-C.

statement_timeout does not help against a frozen server, and a client that requests the cancellation
of a statement waits again. So the limit is on the client's side: the connection is closed, and any
later response is dropped.
"""

from __future__ import annotations

import select
from time import monotonic
from typing import Any, NamedTuple

import psycopg
from psycopg.abc import RV, PQGen
from psycopg.waiting import Ready, Wait

_INTERVAL_S = 0.1
_EVENTS = {Wait.R: select.POLLIN, Wait.W: select.POLLOUT, Wait.RW: select.POLLIN | select.POLLOUT}


class PostgresTimeouts(NamedTuple):
    """Longest waits: a meter's reading; counts while idle, after a load; statements that read or
    write a whole database. `lock_s`: longest wait for a lock that another session has on the
    workload's tables."""

    reading_s: float = 60.0
    idle_s: float = 900.0
    whole_s: float = 6 * 3600.0
    lock_s: float = 20.0


class TimeLimitedConnection(psycopg.Connection[tuple[Any, ...]]):
    """A connection whose waits end after `limit_s` (None: never) with an OperationalError, and at
    once after Ctrl-C. Both close it.
    """

    limit_s: float | None = None

    def wait(
        self, gen: PQGen[RV], interval: float = _INTERVAL_S, timeout: float | None = None
    ) -> RV:
        """Run one step of psycopg to its end."""
        limit_s = self.limit_s if timeout is None else timeout
        until = None if limit_s is None else monotonic() + limit_s
        try:
            requested = next(gen)
            while True:
                if ready := self._ready(requested):
                    requested = gen.send(ready)
                if until is not None and monotonic() > until:
                    raise psycopg.OperationalError(
                        f"no response from the server within {limit_s:g} s"
                    )
        except StopIteration as end:
            answer: RV = end.value
            return answer
        except KeyboardInterrupt:
            self.close()
            raise
        except psycopg.OperationalError as error:
            if (
                error.sqlstate is None
            ):  # not the server's own words, after which it may answer again
                self.close()
            raise

    def _ready(self, requested: Wait) -> Ready | None:
        """The operations that the socket is ready for; a closed connection is ready for both, so
        that libpq detects it.
        """
        poll = select.poll()
        poll.register(self.pgconn.socket, _EVENTS[requested])
        seen = sum(event for _, event in poll.poll(1000 * _INTERVAL_S))
        if not seen:
            return None
        if seen & ~(select.POLLIN | select.POLLOUT):
            return {Wait.R: Ready.R, Wait.W: Ready.W, Wait.RW: Ready.RW}[requested]
        return Ready(
            (Ready.R if seen & select.POLLIN else 0) | (Ready.W if seen & select.POLLOUT else 0)
        )
