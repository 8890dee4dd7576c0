"""Stopping signals: each becomes a KeyboardInterrupt, so that a run restores the machine before it
ends (docs/decisions/stopping-signals.md).
"""

from __future__ import annotations

import _thread
import signal
import sys
import time
from collections.abc import Callable
from types import FrameType

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Ctrl-C, `kill`, a closed terminal."""
_AGAIN_S = 0.01


def stop_at_signals() -> None:
    """Let each stopping signal raise KeyboardInterrupt, where that ends the run.

    A signal in an import or in pydantic waits for its end: Python 3.11 and pydantic raise errors of
    their own there. A signal in code that swallows the interrupt is sent again.
    """
    _handle(_stop)
    sys.unraisablehook = _swallowed


def stop_by(handler: Callable[[int, FrameType | None], None]) -> None:
    """Let a stopping signal tell what ends by itself then, such as a server with its event loop: an
    interrupt before that loop runs would leave it half made.
    """
    _handle(handler)


def end_at_once() -> None:
    """Let a signal end the process at once: nothing is left to undo, and Python's shutdown would
    print the interrupt.
    """
    _handle(signal.SIG_DFL)


def _handle(handler: Callable[[int, FrameType | None], None] | signal.Handlers) -> None:
    """Set a handler, except for signals that the parent process ignored: `nohup` does that to
    SIGHUP.
    """
    for number in STOPPING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


def _stop(number: int, frame: FrameType | None) -> None:
    waiting = _waiting(frame)
    if waiting is None:
        raise KeyboardInterrupt(number)

    def interrupt(*event: object) -> None:
        sys.settrace(None)
        raise KeyboardInterrupt(number)

    waiting.f_trace = interrupt  # called when that frame continues
    waiting.f_trace_opcodes = True
    sys.settrace(lambda *event: None)


def _waiting(frame: FrameType | None) -> FrameType | None:
    """The outermost frame that waits for an import or for pydantic, if any does."""
    found = None
    while frame:
        file = frame.f_code.co_filename
        if file.startswith("<frozen importlib") or "/pydantic/" in file:
            found = frame.f_back
        frame = frame.f_back
    return found


def _swallowed(error: sys.UnraisableHookArgs) -> None:
    """Send our signal again, print any other error: called for errors that Python cannot raise, in
    a destructor or a callback of native code.
    """
    if isinstance(error.exc_value, KeyboardInterrupt) and error.exc_value.args:
        _send_again(*error.exc_value.args)
    else:
        sys.__unraisablehook__(error)


def _send_again(number: int) -> None:
    """Send a signal to this thread, the main one, after `_AGAIN_S`.

    By a bare thread: the interrupted code may hold a lock that `threading` needs.
    """
    main = _thread.get_ident()

    def send() -> None:
        time.sleep(_AGAIN_S)
        signal.pthread_kill(main, number)

    _thread.start_new_thread(send, ())
