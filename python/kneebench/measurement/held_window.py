"""The window of a rung: how long it is held, and how far the load still moved across it."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum
from typing import NamedTuple

from kneebench.analysis.steady import moved
from kneebench.measurement.rung_runner import RungRunner
from kneebench.measurement.warm_up import LATE_S, Schedule
from kneebench.records import Moved, Second

UNDER_WAY = 0.005
"""So many of a window's transactions, on average, may end after the load does."""


class HeldWindow(NamedTuple):
    """A window as the sampler's samples bound it. `ordered_s`: how long it would have been with
    every second on time; `late_s`: how late the load generator's clock was at worst, up to the end
    of a cool-down, which still belongs to the latencies; `log_ready`: whether the files of the
    window's log were there when it began.
    """

    first: int
    last: int
    ordered_s: float
    late_s: float
    notes: tuple[str, ...] = ()
    log_ready: bool | None = None


def hold_window(rung: RungRunner, times: Schedule) -> HeldWindow:
    """The window: the plan's time, and as many whole checkpoint cycles as it wants, ended where one
    ends.

    A second of load more follows it, the cool-down, where more than a few of its transactions are
    under way at its end: they end among others, not alone. None follows a load that only warms up.
    Meters of power lag, so they always have that second.
    """
    marked_s = rung.users.mark("window")
    first, begin_s, begun = rung.sampler.last, rung.now_s, [rung.checkpoints_begun]
    cycles = 0 if begun[0] is None else times.cycles
    end_s = begin_s + max(times.window_s, cycles * times.cycle_s)
    whole, late, ticked, due_s = False, False, len(rung.late_s), marked_s
    while not (whole or late):
        due_s = rung.now_s + 1.0
        waits = rung.now_s >= end_s
        until_s = end_s + times.cycle_s + LATE_S if waits else end_s
        doing = "measuring until a checkpoint starts" if waits else "measuring"
        rung.second(doing, until_s - rung.now_s)
        begun.append(rung.checkpoints_begun)
        whole = rung.now_s > begin_s + times.window_s - 0.5 and _at_a_cycles_end(begun, cycles)
        late = rung.now_s > end_s + times.cycle_s + LATE_S
    rung.users.mark("cool_down")
    last = rung.sampler.last
    share = under_way(rung.seconds, begin_s, rung.now_s)
    if rung.power.at_s or (rung.order.phase != "warm_up" and share > UNDER_WAY):
        rung.second("cooling down", 0.0)
    ordered_s = max(times.window_s, due_s - marked_s)
    return HeldWindow(
        first,
        last,
        ordered_s,
        max(rung.late_s[ticked:]),
        (
            ()
            if whole
            else (f"the window does not contain the required {cycles} whole checkpoint cycles",)
        ),
        rung.log_ready,
    )


def under_way(seconds: Sequence[Second], begin_s: float, end_s: float) -> float:
    """Transactions under way at a time in a window, on average, as a share of all that it
    completed: their mean latency, as a share of the window. 1 if it completed none.
    """
    held = [one for one in seconds if begin_s - 0.5 < one.at_s < end_s - 0.5]
    completed = sum(one.committed + one.rolled_back for one in held)
    busy_s = fsum(one.mean_s * (one.committed + one.rolled_back) for one in held)
    return busy_s / completed / (end_s - begin_s) if completed else 1.0


def moved_at_last(rung: RungRunner, held: HeldWindow, times: Schedule) -> Moved:
    """How far the load still moved across a window that has just ended, without its cool-down.

    After a checkpoint any load rises: across whole checkpoint cycles only what also moved before
    the window counts.
    """
    window = held.last - held.first
    within = _moved(rung, 1, window)
    if not times.cycles:
        return within
    before = _moved(rung, window + 1, int(times.stretch_s))
    reads = None if within.reads is None else min(within.reads, before.reads or 0.0, key=abs)
    return Moved(nopm=min(within.nopm, before.nopm, key=abs), reads=reads)


def _moved(rung: RungRunner, end: int, last: int) -> Moved:
    """Of the last values but the ones at the end."""
    series = [values[:-end] for values in (rung.nopm, rung.reads_per_s, rung.read_time)]
    return moved(series[0], series[1], series[2], last)


def _at_a_cycles_end(begun: Sequence[float | None], cycles: int) -> bool:
    """True if `cycles` checkpoints began in the window, the last one in this second."""
    counts = [count or 0.0 for count in begun]
    return not cycles or (counts[-1] - counts[0] >= cycles and counts[-1] > counts[-2])
