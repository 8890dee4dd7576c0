"""A load generator under load, from go to stop, with its reports as records.

The load generator itself (deck, inputs, terminals, tally) is in the Rust core: one call per rung
and one poll per second cross the border.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any, Literal, Protocol

from kneebench.records import Tally, Tick

FAREWELL_S = 5.0


class LoadGenerators(Protocol):
    """A load generator, or those of several hosts as one."""

    def ready(self) -> None:
        """Open every connection. Raises ConnectError."""

    def go(self) -> None:
        """Start the clock and the load."""

    def tick(self) -> Any:
        """Wait for the end of the current second, and report it."""

    def mark(self, phase: str) -> float:
        """Enter a phase; seconds since go."""

    def stop(self) -> Any:
        """Let every transaction that began end; the tally."""


class RunningLoad:
    """A load generator under load, with its reports as records. Only `tick` passes time."""

    def __init__(self, generator: LoadGenerators) -> None:
        self._generator = generator
        self._tally: Tally | None = None

    def tick(self) -> Tick:
        """Wait for the end of the current second (a simulated load generator does not wait) and
        report it.
        """
        return Tick.model_validate(self._generator.tick())

    def mark(self, phase: Literal["window", "cool_down"]) -> float:
        """Enter the phase; seconds since go."""
        return self._generator.mark(phase)

    def stop(self) -> Tally:
        """Let every transaction that began end, close the connections; the tally, also when asked
        again.
        """
        if self._tally is None:
            self._tally = Tally.model_validate(self._generator.stop())
        return self._tally


@contextlib.contextmanager
def running_load(generator: LoadGenerators) -> Iterator[RunningLoad]:
    """A load generator from go to stop: it is stopped however the block ends, so that no user
    outlives its rung.

    It must be ready: opening connections is not measured. After an error or Ctrl-C it waits at most
    `FAREWELL_S` for responses that no longer count.
    """
    generator.go()
    users = RunningLoad(generator)
    try:
        yield users
    except BaseException:
        # The first error is the one to report.
        with contextlib.suppress(Exception), _at_most(FAREWELL_S):
            users.stop()
        raise
    users.stop()


@contextlib.contextmanager
def _at_most(limit_s: float) -> Iterator[None]:
    """Raises TimeoutError in the block after so long, as a signal does; without effect beside the
    main thread, which alone hears signals.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def late(number: int, frame: FrameType | None) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
