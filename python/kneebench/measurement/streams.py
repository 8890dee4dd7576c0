"""Streams of queries that run, each in a session and a thread of its own. Those on the servers of a
database host run on that host, so no network is within their times.

The sessions are open before the clock starts.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, ExitStack
from itertools import chain
from typing import Any, NamedTuple

from kneebench.databases.engine import Analyst, AnswersQueries, Server
from kneebench.databases.tproc_h.rows import PlainRow, plain
from kneebench.records import REFRESH

CANCEL_S = 10.0
"""How long queries may take to end once they were cancelled."""
NO_LIMIT_S = 86_400.0
"""For a refresh function: what it did in part would spoil all answers after it."""


class QueryText(NamedTuple):
    """A query with its parameters, or the statements of a refresh function. `wanted`: whether its
    answer is.
    """

    number: int
    statements: tuple[str, ...]
    wanted: bool = True


class Answered(NamedTuple):
    """One query that was run, from and to when on the clock of its machine. `stream`: from 1.
    `cpu_s`: CPU time of the thread that asked it. `answer`: None where it was cancelled, and
    without rows where they were not wanted.
    """

    stream: int
    number: int
    began_s: float
    ended_s: float
    cpu_s: float
    answer: tuple[PlainRow, ...] | None


class RunningStreams:
    """Streams of which each runs its queries one after the other."""

    def __init__(
        self,
        analysts: Sequence[Analyst],
        streams: Sequence[Sequence[QueryText]],
        explained: Callable[[str], AbstractContextManager[None]],
    ) -> None:
        self._analysts, self._streams, self._explained = analysts, streams, explained
        self._threads = ThreadPoolExecutor(len(streams), thread_name_prefix="stream")
        self._running: list[Future[list[_Ran]]] = []

    def begin(self) -> None:
        """Begin all of them."""
        for number, pair in enumerate(zip(self._analysts, self._streams, strict=True), 1):
            self._running.append(self._threads.submit(_stream, *pair, number))

    def under_way(self, for_s: float) -> bool:
        """Whether, after a while, none has failed and some have not ended."""
        done, rest = wait(self._running, for_s, FIRST_EXCEPTION)
        return bool(rest) and not any(one.exception() for one in done)

    def answered(self) -> Sequence[Answered]:
        """All queries, each stream's in the order in which they were run, once none is under way.
        Raises what a stream failed with, DatabaseLost where its server went away.
        """
        failed = [one for one in self._running if one.done() and one.exception()]
        with self._explained("cannot run a query"):
            found = chain.from_iterable(one.result() for one in failed or self._running)
            return tuple(map(_with_plain_rows, found))

    def close(self) -> None:
        """Cancel until every stream has ended: each goes on with its next query. Whoever opened the
        sessions closes them next, which ends a stream that ignores this.
        """
        until_s = time.monotonic() + CANCEL_S
        while wait(self._running, 0.0).not_done and time.monotonic() < until_s:
            for analyst, one in zip(self._analysts, self._running, strict=False):
                if not one.done():
                    with contextlib.suppress(Exception):  # the server may be out of reach
                        analyst.cancel()
            wait(self._running, 0.2)
        self._threads.shutdown(wait=False, cancel_futures=True)


_Ran = tuple[Answered, Sequence[Sequence[Any]] | None]
"""A query that was run, with its rows as they came."""


def _stream(analyst: Analyst, queries: Sequence[QueryText], number: int) -> list[_Ran]:
    found = []
    for query in queries:
        began_s, cpu_s = time.monotonic(), time.thread_time()
        for statement in query.statements:
            if (rows := analyst.ask(statement)) is None:
                break
        ended_s, used_s = time.monotonic(), time.thread_time() - cpu_s
        ran = Answered(number, query.number, began_s, ended_s, used_s, None)
        found.append((ran, rows if query.wanted or rows is None else ()))
        analyst.settle()
    return found


def _with_plain_rows(ran: _Ran) -> Answered:
    one, rows = ran
    return one if rows is None else one._replace(answer=tuple(map(plain, rows)))


def _refreshes(stream: Sequence[QueryText]) -> bool:
    return any(one.number in REFRESH for one in stream)


@contextlib.contextmanager
def running_streams(
    server: Server, streams: Sequence[Sequence[QueryText]], limit_s: float
) -> Iterator[RunningStreams]:
    """The streams, ready to begin; what has not ended is cancelled at the end of the block."""
    assert isinstance(server, AnswersQueries)
    with ExitStack() as opened:
        analysts = [
            opened.enter_context(server.querying(NO_LIMIT_S if _refreshes(one) else limit_s))
            for one in streams
        ]
        running = RunningStreams(analysts, streams, server.losses_reported)
        opened.callback(running.close)
        yield running
