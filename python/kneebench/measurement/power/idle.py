"""Before the first climb of a storage: its power while nobody uses the database, and how late each
meter is.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from kneebench.databases.engine import PassesTime, Server
from kneebench.measurement.power.lag import OFF_S, ON_S
from kneebench.measurement.power.recorder import PowerRecorder
from kneebench.plan.power import SETTLE_S
from kneebench.records import Event, MeterLag, PowerWindow, Watch
from kneebench.workload import LoadGenerators, running_load

SECOND_S = 1.0


class FoundLags(NamedTuple):
    """The lags that a load step showed, and the transactions that it took."""

    lags: tuple[MeterLag, ...]
    transactions: int


def idle_power(
    power: PowerRecorder, server: Server, seconds: float, watch: Watch, doing: str
) -> PowerWindow:
    """The power of so many seconds in which nothing is done."""
    _pass(power, server, SETTLE_S, watch, f"{doing}: settling", seconds)
    begin_s = power.now_s()
    _pass(power, server, seconds, watch, f"{doing}: idle power")
    return power.window(begin_s, power.now_s())


def find_lags(
    power: PowerRecorder,
    server: Server,
    load: Callable[[], LoadGenerators],
    watch: Watch,
    doing: str,
) -> FoundLags:
    """Switch a load on and off, and see how late each meter shows it."""
    steps, transactions, left_s = [], 0, sum(ON_S) + sum(OFF_S)
    for on_s, off_s in zip(ON_S, OFF_S, strict=True):
        watch(Event(kind="progress", doing=f"{doing}: load step of the meters", left_s=left_s))
        generator = load()
        generator.ready()
        begin_s = power.now_s()
        with running_load(generator) as users:
            for _ in range(round(on_s)):
                users.tick()
                power.second(server)
            steps.append((begin_s, power.now_s()))
            transactions += users.stop().whole.completed
        _pass(power, server, off_s)
        left_s -= on_s + off_s
    return FoundLags(power.find_lags(steps, power.now_s()), transactions)


def _pass(
    power: PowerRecorder,
    server: Server,
    seconds: float,
    watch: Watch | None = None,
    doing: str = "",
    more_s: float = 0.0,
) -> None:
    """Let time pass, second by second."""
    begin_s = power.now_s()
    power.second(server)
    while (left_s := begin_s + seconds - power.now_s()) > 1e-6:
        if watch:
            share = (1 - left_s / seconds) if not more_s else 0.0
            watch(Event(kind="progress", doing=doing, share=share, left_s=left_s + more_s))
        step_s = min(SECOND_S, left_s)
        if isinstance(server, PassesTime):
            server.pass_time(step_s)
        else:
            time.sleep(step_s)
        power.second(server)
