"""The crew of one rung: its order as the Rust core reads it, and what it tells, as records.

The users themselves (deck, inputs, terminals, tally) are in the Rust core: one call a rung and one poll a
second cross the border, as JSON.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from hashlib import blake2b
from types import FrameType
from typing import Literal

from kneebench._core import Crew
from kneebench.plan import Plan
from kneebench.records import Order, Record, Tally, Tick

CORES_A_WORKER = 8
"""Cores of the machine that one worker keeps busy: a transaction costs the client 20 to 40 us and the database
400 to 500 us of CPU (pgbench on stored functions, 1 to 16 users), so that a worker is some 40 % busy."""

FAREWELL_S = 5.0


class CrewOrder(Record):
    """What a crew is asked to do; the engine adds the address.

    `stream` tells the random streams of one rung from those of another; `seed` is the plan's. `rate_per_s` is
    None for a closed loop. `drain_s` is how long a queue (of an open loop, or for a connection) may take to empty after the
    window. `connections` are shared by the users; 0: one for each.
    """

    users: int
    first_user: int = 0
    warehouses: int
    profile: Literal["spec", "hammerdb"]
    home: Literal["all", "one"]
    think_times: bool
    retries: int
    seed: int
    stream: int
    rate_per_s: float | None
    drain_s: float = 10.0
    connections: int = 0
    workers: int
    cores: tuple[int, ...]


def workers_for(users: int, cores: int) -> int:
    """Threads of the load generator: one for every eight cores of the machine, never more than users.

    >>> [workers_for(users, cores) for users, cores in ((16, 2), (256, 48), (3, 48))]
    [1, 6, 3]
    """
    return max(1, min(users, -(-cores // CORES_A_WORKER)))


def stream_of(order: Order) -> int:
    """The random stream of a rung, from its name: the same rung draws the same inputs, two repeats do not.

    >>> a, b = (Order(cell="disk", phase="report", users=8, repeat=r) for r in (0, 1))
    >>> stream_of(a) == stream_of(a), stream_of(a) == stream_of(b)
    (True, False)
    """
    return int.from_bytes(blake2b(order.key.encode(), digest_size=8).digest()) >> 1


def crew_order(plan: Plan, order: Order) -> CrewOrder:
    """The crew order of a rung. Without a number in the plan, workers follow its client cores or else the machine."""
    workload = plan.workload
    automatic = len(workload.client_cores) or workers_for(order.users, len(os.sched_getaffinity(0)))
    return CrewOrder(
        users=order.users,
        warehouses=workload.warehouses,
        profile=workload.profile,
        home=workload.home,
        think_times=workload.think_times,
        retries=workload.retries,
        seed=plan.seed,
        stream=stream_of(order),
        rate_per_s=order.rate_per_s,
        connections=workload.connections,
        workers=workload.client_workers or automatic,
        cores=workload.client_cores,
    )


class Running:
    """A crew under load, told in records. Its clock is the crew's: `tick` is what passes time."""

    def __init__(self, crew: Crew) -> None:
        self._crew = crew
        self._tally: Tally | None = None

    def tick(self) -> Tick:
        """Wait for the end of the current second (the simulated crew does not wait) and say what happened in it."""
        return Tick.model_validate_json(self._crew.tick())

    def mark(self, phase: Literal["window", "cool_down"]) -> float:
        """Enter the phase; seconds since go."""
        return self._crew.mark(phase)

    def stop(self) -> Tally:
        """Let every transaction that began end, close the connections; the tally, also when asked again."""
        if self._tally is None:
            self._tally = Tally.model_validate_json(self._crew.stop())
        return self._tally


@contextlib.contextmanager
def running(crew: Crew) -> Iterator[Running]:
    """A crew from go to stop: it is stopped however the block ends, so that no user outlives its rung.

    The crew must be ready: what is opened before the clock starts is not measured. After an error or Ctrl-C nobody waits for
    more than `FAREWELL_S` for answers that no longer count.
    """
    crew.go()
    users = Running(crew)
    try:
        yield users
    except BaseException:
        with contextlib.suppress(Exception), _at_most(FAREWELL_S):  # the first error is the one to be told
            users.stop()
        raise
    users.stop()


@contextlib.contextmanager
def _at_most(limit_s: float) -> Iterator[None]:
    """Raises TimeoutError in the block after so long, as a signal does; without effect beside the main thread, which alone hears signals."""
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
