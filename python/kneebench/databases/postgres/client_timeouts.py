"""A connection that does not wait for ever: not for a server that hangs, and not when somebody wants to stop.

A limit of the server's (statement_timeout) is no help against a server that is frozen, and a client that asks it to cancel a
statement waits again. So the limit is the client's own: the connection is closed, and the server may answer nobody.
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


class Timeouts(NamedTuple):
    """How long answers may take: a meter's reading; what is counted while idle, after much load; what reads or writes a whole database.
    `lock_s`: how long of that a question may wait for a lock that somebody else has on the workload's tables."""

    reading_s: float = 60.0
    idle_s: float = 900.0
    whole_s: float = 6 * 3600.0
    lock_s: float = 20.0


class TimeLimitedConnection(psycopg.Connection[tuple[Any, ...]]):
    """Every wait for the server's answer ends after `limit_s` (None: never) with an OperationalError, at Ctrl-C at once; both close it."""

    limit_s: float | None = None

    def wait(self, gen: PQGen[RV], interval: float = _INTERVAL_S, timeout: float | None = None) -> RV:
        """Take a step of psycopg's to its end."""
        limit_s = self.limit_s if timeout is None else timeout
        until = None if limit_s is None else monotonic() + limit_s
        try:
            asked = next(gen)
            while True:
                if ready := self._ready(asked):
                    asked = gen.send(ready)
                elif until is not None and monotonic() > until:
                    raise psycopg.OperationalError(f"no response from the server within {limit_s:g} s")
        except StopIteration as end:
            answer: RV = end.value
            return answer
        except KeyboardInterrupt:
            self.close()
            raise
        except psycopg.OperationalError as error:
            if error.sqlstate is None:  # not the server's own words, after which it may answer again
                self.close()
            raise

    def _ready(self, asked: Wait) -> Ready | None:
        """What the socket is ready for; a connection that ended is ready for both, so that libpq finds out."""
        poll = select.poll()
        poll.register(self.pgconn.socket, _EVENTS[asked])
        seen = sum(event for _, event in poll.poll(1000 * _INTERVAL_S))
        if not seen:
            return None
        if seen & ~(select.POLLIN | select.POLLOUT):
            return {Wait.R: Ready.R, Wait.W: Ready.W, Wait.RW: Ready.RW}[asked]
        return Ready((Ready.R if seen & select.POLLIN else 0) | (Ready.W if seen & select.POLLOUT else 0))
