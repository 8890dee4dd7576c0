"""The power of a rung: of its window, and of each second since go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kneebench.measurement.held_window import HeldWindow
from kneebench.measurement.power.recorder import PowerRecorder
from kneebench.records import SYSTEM_POWER, PowerWindow, Rung, Series, Summary


class RungPower(NamedTuple):
    """What was measured; nothing without meters."""

    window: PowerWindow | None = None
    series: tuple[Series, ...] = ()

    def on(self, rung: Rung) -> Rung:
        """The rung with its power."""
        if not self.window:
            return rung
        changed: dict[str, object] = {"power": self.window}
        if self.window.system_w is not None:
            each = {one.meter: one.watts for one in self.window.meters if one.watts is not None}
            high = next(
                (one.high_w for one in self.window.meters if one.watts == self.window.system_w),
                None,
            )
            summary = Summary(unit="W", value=self.window.system_w, high=high, sources=each)
            changed["quantities"] = {**rung.quantities, SYSTEM_POWER: summary}
        return rung.model_copy(update=changed)


def rung_power(
    power: PowerRecorder | None, clock_s: Sequence[float], held: HeldWindow
) -> RungPower:
    """The power of a window, which began and ended with these samples of the rung."""
    if not power:
        return RungPower()
    begin_s, end_s = clock_s[held.first], clock_s[held.last]
    window = power.window(begin_s, end_s)
    return RungPower(window, power.series(clock_s[0], end_s))
