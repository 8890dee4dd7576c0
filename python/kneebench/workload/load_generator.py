"""The load generator of one rung: its specification from the plan, and its reports as records.

The load generator itself (deck, inputs, terminals, tally) is in the Rust core: one call per rung
and one poll per second cross the border.
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

from kneebench._core import GeneratorSpec, LoadGenerator
from kneebench.plan import Plan
from kneebench.records import Order, Phase, Tally, Tick

CORES_PER_WORKER = 8
"""Cores of the machine that one worker keeps busy: a transaction costs the load generator 20 to 40
us and the database 400 to 500 us of CPU (pgbench on stored functions, 1 to 16 users), so that a
worker is some 40% busy."""

FAREWELL_S = 5.0

STREAM_NAMES: dict[Phase, str] = {
    "search": "scout",
    "drift_check": "drift",
    "fixed_load": "fixed",
    "final_run": "report",
    "fixed_rate": "latency",
}
"""Phases in the names of random streams, as results format 1 called them: a plan draws the same
inputs with every version."""


def workers_for(users: int, cores: int) -> int:
    """Threads of the load generator: one for every eight cores of the machine, never more than
    users.

    >>> [workers_for(users, cores) for users, cores in ((16, 2), (256, 48), (3, 48))]
    [1, 6, 3]
    """
    return max(1, min(users, -(-cores // CORES_PER_WORKER)))


def stream_of(order: Order) -> int:
    """The random stream of a rung, from its name: the same rung draws the same inputs, two repeats
    do not.

    >>> a, b = (Order(cell="disk", phase="final_run", users=8, repeat=r) for r in (0, 1))
    >>> stream_of(a) == stream_of(a), stream_of(a) == stream_of(b)
    (True, False)
    """
    name = f"{order.cell}.{STREAM_NAMES.get(order.phase, order.phase)}-{order.users}" + (
        f"-{order.repeat}" if order.repeat else ""
    )
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest()) >> 1


def generator_spec(plan: Plan, order: Order) -> GeneratorSpec:
    """Specification of a rung.

    Without a number in the plan, the workers follow its client cores, or else the machine.
    """
    workload = plan.workload
    automatic = len(workload.load_generator_cores) or workers_for(
        order.users, len(os.sched_getaffinity(0))
    )
    return GeneratorSpec(
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
        workers=workload.load_generator_threads or automatic,
        cores=workload.load_generator_cores,
    )


class RunningLoad:
    """A load generator under load, with its reports as records. Only `tick` passes time."""

    def __init__(self, generator: LoadGenerator) -> None:
        self._generator = generator
        self._tally: Tally | None = None

    def tick(self) -> Tick:
        """Wait for the end of the current second (a simulated load generator does not wait) and
        report it.
        """
        return Tick.model_validate_json(self._generator.tick())

    def mark(self, phase: Literal["window", "cool_down"]) -> float:
        """Enter the phase; seconds since go."""
        return self._generator.mark(phase)

    def stop(self) -> Tally:
        """Let every transaction that began end, close the connections; the tally, also when asked
        again.
        """
        if self._tally is None:
            self._tally = Tally.model_validate_json(self._generator.stop())
        return self._tally


@contextlib.contextmanager
def running_load(generator: LoadGenerator) -> Iterator[RunningLoad]:
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
        with (
            contextlib.suppress(Exception),
            _at_most(FAREWELL_S),
        ):  # the first error is the one to be told
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
