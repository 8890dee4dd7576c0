"""Waiting for a server that restarts or recovers."""

from __future__ import annotations

import time
from collections.abc import Callable

LIMIT_S = 60.0
"""Longest wait for a server that comes back."""
POLL_S = 0.2


def once_it_is_back(
    do: Callable[[], None],
    refusals: tuple[type[Exception], ...],
    comes_back: Callable[[], bool] = lambda: True,
) -> None:
    """Call `do`; as long as it raises one of these refusals and the server comes back, again.

    Raises the last refusal.
    """
    until = time.monotonic() + LIMIT_S
    while True:
        try:
            return do()
        except refusals:
            if time.monotonic() > until or not comes_back():
                raise
        time.sleep(POLL_S)
