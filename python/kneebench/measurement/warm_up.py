"""The warm-up of a rung, and how long its window is held.

Automatic: until New-Orders and device reads are steady (analysis/steady.py), at least some seconds
(in proportion to the window that follows) and until limited memory can be full, at most the plan's
limit, then the rung is marked "not steady". A rung that will be quoted, where the plan wants whole
checkpoint cycles, then waits until a checkpoint begins, and its window ends where another one does:
a window that starts behind the first storm of full-page images after a checkpoint would leave out
the dearest part of the cycle.
"""

from __future__ import annotations

from statistics import fmean
from typing import NamedTuple

from kneebench.analysis.disturbance import CLIMBING, QUOTED
from kneebench.analysis.steady import READ_TIME, SHORTEST, Settled, settled
from kneebench.measurement.rung_runner import RungRunner
from kneebench.plan.ladder import ROUND_LOAD_S, ROUND_RAMP_S, Ladder
from kneebench.records import Order
from kneebench.units import size, time

SHORTEST_S, LONG_ENOUGH_S, COLD_S, QUOTED_COLD_S = 3.0, 10.0, 30.0, 120.0
"""Minimum warm-up: half the window, 3 to 10 s. After a cold start: one window, 10 to 30 s, or up to
120 s if the rung is quoted, because a cache fills slowly compared with the scatter of a few
seconds."""
CLIMBING_S = 1.0
"""The same in the place of 3 s for a rung of a climb whose database was under load before."""
COOL_DOWN_S = 1.0
"""Load that follows a window: one second of the load generator."""
LOG_LIMIT_S = 0.5
"""How long the log may be made ready in each second of a warm-up."""
LOG_MOST_S = 60.0
"""How much longer a warm-up may last until the log of its window is ready."""
FULL = 0.97
"""Of a memory limit: a group that has as much can hardly have more."""
DRAINED_S = 6.0
"""How long a fixed rate of short rounds may wait until half of its users are free: transactions
that were due while users connected would be measured with their wait."""
CATCH_UP, SLOWER = 3.0, 5.0
"""Times its own time that a warm-up may take to complete as many transactions as on a faster
storage; and that of a long final run, times its limit, since its window alone is quoted."""
LATE_S = 30.0
"""How much later than its timer a checkpoint may begin (the one before it may still be writing)."""


class WarmedUp(NamedTuple):
    """How it ended; `why` it is not steady, `notes`, and whether limited memory could be full."""

    steady: bool
    why: str
    notes: tuple[str, ...] = ()
    filled: bool = True


class ColdStart(NamedTuple):
    """What a cold database has to reach before its window: bytes read, while reads take some of the
    users' time, and seconds under load.
    """

    memory_bytes: int = 0
    least_s: float = 0.0


class Beginning(NamedTuple):
    """What a rung begins on, and how it is warmed up.

    `cold`: what the first rung on a cold database has to reach; None on a warm one. `warm_up_s`:
    its warm-up, instead of the plan's; `transactions`: how many that completes at least. `first`:
    nothing was under load on it before.
    """

    cold: ColdStart | None = None
    warm_up_s: float | None = None
    transactions: int = 0
    first: bool = False


WARM = Beginning()


class Schedule(NamedTuple):
    """The times of one rung. `stretch_s`: how long the load must have been steady before its
    window; `cycles`: whole checkpoint cycles that its window holds; `cycle_s`: the longest that one
    can take; `memory_bytes`: of a cold database, which have to be read to fill its memory;
    `transactions`: as many a warm-up completes at least, within `most_s`, or `aligned_s` if that
    is longer."""

    window_s: float
    stretch_s: float
    warm_up_s: float | None
    minimum_s: float
    limit_s: float
    cycles: int
    cycle_s: float
    note: str = ""
    memory_bytes: int = 0
    transactions: int = 0
    aligned_s: float = 0.0

    @property
    def shortest_s(self) -> float:
        return self.minimum_s if self.warm_up_s is None else self.warm_up_s

    def most_s(self, now_s: float) -> float:
        """When it ends at the latest, also with fewer transactions than wanted."""
        return max(self.aligned_s, CATCH_UP * (now_s + self.window_s + COOL_DOWN_S))

    @property
    def logged_s(self) -> float:
        """How much log must be ready before the window: that of a second of the warm-up, the window
        and the cool-down; behind two checkpoints the server has recycled its own.
        """
        longest_s = max(self.window_s, self.cycles * self.cycle_s)
        whole_s = min(longest_s, 2 * self.cycle_s) if self.cycles else longest_s
        return 1.0 + whole_s + COOL_DOWN_S


def schedule(
    order: Order,
    ladder: Ladder,
    cycle_s: float,
    beginning: Beginning = WARM,
) -> Schedule:
    """The times that a plan gives an order; its `warm_up_s` is None if the warm-up finds its own
    end.

    `cycle_s`: the longest checkpoint cycle of the server.

    >>> order = Order(configuration="disk", phase="search", users=4)
    >>> schedule(order, Ladder(window="5s"), 300.0).minimum_s
    2.5
    """
    quoted, cold, warm_up_s = order.phase in QUOTED, beginning.cold is not None, beginning.warm_up_s
    stretch_s = ladder.final_window if quoted else ladder.window
    warms = ladder.warm_up_window if warm_up_s is None else ROUND_LOAD_S
    window_s = warms if order.phase == "warm_up" else stretch_s
    fixed_s, note = _fixed_warm_up(order, ladder, warm_up_s)
    start = beginning.cold or ColdStart()
    limit_s = max(start.least_s, ladder.cold_warm_up_limit if cold else ladder.warm_up_limit)
    return Schedule(
        window_s,
        stretch_s,
        fixed_s,
        min(limit_s, max(start.least_s, _least_s(order, stretch_s, beginning))),
        limit_s,
        ladder.checkpoints if quoted else 0,
        cycle_s,
        note,
        start.memory_bytes,
        beginning.transactions,
        aligned_s=SLOWER * (limit_s + window_s + COOL_DOWN_S) if _long_final(order) else 0.0,
    )


def _long_final(order: Order) -> bool:
    return order.phase == "final_run" and not order.restore


def _least_s(order: Order, stretch_s: float, beginning: Beginning) -> float:
    if beginning.cold is not None:
        most_s = QUOTED_COLD_S if order.phase in QUOTED else COLD_S
        return max(LONG_ENOUGH_S, min(most_s, stretch_s))
    warm = order.phase in CLIMBING and not beginning.first
    least_s = CLIMBING_S if warm else SHORTEST_S
    return max(least_s, min(LONG_ENOUGH_S, stretch_s / 2))


def _fixed_warm_up(
    order: Order, ladder: Ladder, warm_up_s: float | None
) -> tuple[float | None, str]:
    """(the warm-up or None for an automatic one, what to note of it)."""
    if warm_up_s is not None:
        return warm_up_s, ""
    if order.restore and order.phase in QUOTED:
        return ROUND_RAMP_S, ""
    if ladder.warm_up == "auto":
        return ladder.candidate_warm_up if order.phase == "confirmation" else None, ""
    note = f"warm-up fixed at {ladder.warm_up:g} s by the plan; steady state not checked"
    return ladder.warm_up, note


def warm_up(rung: RungRunner, times: Schedule) -> WarmedUp:
    """Let the load run until the window may start."""
    if times.warm_up_s is not None:
        _pass(rung, times.warm_up_s, times)
        fewer = (*_until_drained(rung, times), *_until_as_many(rung, times))
        fixed: tuple[str, ...] = (times.note,) if times.note else ()
        _until_log_is_ready(rung, times)
        return WarmedUp(True, "", (*fixed, *fewer, *_until_a_checkpoint(rung, times)))
    seen, fewer = _until_steady(rung, times), ()
    if rung.completed < times.transactions:
        fewer = _until_as_many(rung, times)
        seen = _settled(rung, times)
    _until_log_is_ready(rung, times)
    notes = _until_a_checkpoint(rung, times)
    if times.cycles and not seen.steady:
        seen = _settled(rung, times)
    filled = not _unfilled(rung, times.memory_bytes)
    return WarmedUp(seen.steady, seen.why, (*fewer, *notes), filled)


def _second(rung: RungRunner, times: Schedule, doing: str, left_s: float) -> None:
    """A second of the warm-up, at whose end the log of the window is ready, if time allows."""
    rung.ready_log(times.logged_s, LOG_LIMIT_S)
    rung.second(doing, left_s)


def _until_log_is_ready(rung: RungRunner, times: Schedule) -> None:
    """Let the load run until the files of the log are there, where they are made beforehand."""
    until_s = rung.now_s + LOG_MOST_S
    while rung.log_ready is False and rung.now_s < until_s:
        left_s = until_s - rung.now_s + times.window_s
        _second(rung, times, "making the log's files", left_s)


def _pass(rung: RungRunner, until_s: float, times: Schedule) -> None:
    while rung.now_s < until_s - 0.5:
        _second(rung, times, "warming up", until_s - rung.now_s + times.window_s)


def _until_drained(rung: RungRunner, times: Schedule) -> tuple[str, ...]:
    """Let the load of a fixed rate in short rounds run until half of its users are free; a note
    where they are not.
    """
    order = rung.order
    if order.phase != "fixed_rate" or not order.restore:
        return ()
    while 2 * rung.busy_users > order.users and rung.now_s < DRAINED_S - 0.5:
        left_s = DRAINED_S - rung.now_s + times.window_s
        _second(rung, times, "warming up", left_s)
    if 2 * rung.busy_users <= order.users:
        return ()
    busy = f"more than half of the users were busy {time(rung.now_s)} after the start"
    return (f"{busy}: the window may hold transactions that waited since then",)


def _until_as_many(rung: RungRunner, times: Schedule) -> tuple[str, ...]:
    """Let the load run until it has completed as many transactions as are wanted, unless that takes
    several times as long as the rung; then a note says so.
    """
    until_s = times.most_s(rung.now_s)
    while rung.completed < times.transactions and rung.now_s < until_s:
        per_s = rung.completed / rung.now_s if rung.now_s else 0.0
        left_s = (times.transactions - rung.completed) / per_s if per_s else until_s - rung.now_s
        left_s += times.window_s
        _second(rung, times, "warming up", left_s)
    if rung.completed >= times.transactions:
        return ()
    return (
        f"the window began {times.transactions - rung.completed:,} transactions earlier than on"
        f" other configurations: a warm-up takes at most {time(until_s)}",
    )


def _until_steady(rung: RungRunner, times: Schedule) -> Settled:
    seen = Settled(0.0, False, "no warm-up")
    while not seen.steady and rung.now_s < times.limit_s - 0.5:
        left_s = max(times.minimum_s - rung.now_s, 0.0) + times.window_s
        _second(rung, times, "warming up", left_s)
        seen = _settled(rung, times)
    return seen


def _settled(rung: RungRunner, times: Schedule) -> Settled:
    if unfilled := _unfilled(rung, times.memory_bytes):
        return Settled(0.0, False, unfilled)
    return settled(
        rung.nopm,
        rung.reads_per_s,
        rung.read_time,
        minimum_s=times.minimum_s,
        stretch_s=times.stretch_s,
    )


def _unfilled(rung: RungRunner, memory_bytes: int) -> str:
    """Why memory cannot be full yet: fewer bytes were read than a cold database has to, its limit
    does not count as much, and reads still take some of the users' time.

    Behind a slow drive that is busy filling it, NOPM and reads look flat long before. What is
    written fills memory, too.
    """
    filled = max(rung.read_bytes, rung.held_bytes / FULL)
    if filled >= memory_bytes or not rung.read_time:
        return ""
    late = rung.read_time[-SHORTEST:]
    if fmean(late) <= READ_TIME:
        return ""
    read, memory = size(rung.read_bytes), size(memory_bytes)
    return f"{read} read since the start, less than {memory} of memory to fill"


def _until_a_checkpoint(rung: RungRunner, times: Schedule) -> tuple[str, ...]:
    """Wait for the next checkpoint to begin, where whole cycles are wanted; a note where none can
    be seen or none comes.
    """
    if not times.cycles:
        return ()
    if rung.checkpoints_begun is None:
        return (
            (
                "the server does not report checkpoints: the window ends by time, not by whole"
                " checkpoint cycles"
            ),
        )
    begun, until_s = rung.checkpoints_begun, rung.now_s + times.cycle_s + LATE_S
    while rung.now_s < until_s:
        left_s = until_s - rung.now_s + times.cycles * times.cycle_s
        _second(rung, times, "waiting for a checkpoint to start", left_s)
        if rung.checkpoints_begun != begun:
            return ()
    return (
        (
            f"no checkpoint started within {times.cycle_s + LATE_S:.0f} s, so the window does not"
            " start at one"
        ),
    )


def completed_before(rung: RungRunner, at_s: float) -> int:
    """Transactions completed in the seconds before a time, which counts from go."""
    return sum(one.committed + one.rolled_back for one in rung.seconds if one.at_s + 0.5 < at_s)
