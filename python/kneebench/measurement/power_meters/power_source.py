"""Protocol of a meter of power, and what its readings may be.

A file of this shelf has `TABLE`, the keys of a plan for it (plan/power.py), and
`open_source(table) -> PowerSource`, which raises PlanError where the meter cannot be read at all.
`kneebench power` looks for meters of a type that has `found_here(sysfs, dev)`: it gives the keys of
each table but for `type`.
"""

from __future__ import annotations

from math import inf, isfinite
from time import monotonic
from typing import NamedTuple, Protocol

NO_VALUE = frozenset([0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 0x100000000])
"""Numbers that devices send in place of one they do not have, in the unit that they send."""


class PowerReading(NamedTuple):
    """Power now, in watts, or the energy since the source was opened, in joules: one of both.
    `ago_s`: so long ago, where the source knows.
    """

    watts: float | None = None
    joules: float | None = None
    ago_s: float = 0.0


class NoAnswer(Exception):
    """The meter did not answer; it may the next time."""


class NoDocument(NoAnswer):
    """The meter answered that it has no such document."""


class NotBelieved(Exception):
    """The meter answered with what cannot be: a number that means none, a counter that went
    back.
    """


class PowerSource(Protocol):
    """A meter that is open."""

    @property
    def described(self) -> str:
        """What is read, such as the path of a document."""

    @property
    def counts_energy(self) -> bool:
        """Whether its readings have joules, not watts."""

    @property
    def longest_s(self) -> float:
        """Longest time between two readings that it can be read by."""

    @property
    def paced(self) -> bool:
        """Whether a reading waits for the next value of the meter, and is over when it arrives."""

    def read(self) -> PowerReading:
        """One reading. Raises NoAnswer and NotBelieved, both with the reason."""

    def cpu_s(self) -> float:
        """CPU time of its programs so far, without that of the thread that calls."""

    def close(self) -> None:
        """Read no more."""


class PlainSource:
    """What most sources have in common."""

    described = ""
    counts_energy = False
    longest_s = inf
    paced = False

    def cpu_s(self) -> float:
        """It starts no program."""
        return 0.0

    def close(self) -> None:
        """It keeps nothing open."""


class EnergySince:
    """The energy since the first reading, of a counter that does not wrap. What a reading that is
    not believed adds is left out.
    """

    def __init__(self) -> None:
        self._joules = 0.0
        self._before: tuple[float, float] | None = None

    def since_first(self, number: float, unit: float, most_w: float) -> float:
        """Joules of a number that a device sent, in this unit. Raises NotBelieved for one that
        means none, that went back, or that rose faster than by the largest power.
        """
        if number in NO_VALUE or not isfinite(number):
            raise NotBelieved(f"{number:.0f} stands for no value")
        now_s, now_j = monotonic(), number * unit
        before_s, before_j = self._before or (now_s, now_j)
        self._before = now_s, now_j
        risen_j, elapsed_s = now_j - before_j, max(now_s - before_s, 1.0)
        if risen_j < 0:
            raise NotBelieved("its counter went back, and what it counts to is unknown")
        if risen_j > most_w * elapsed_s:
            raise NotBelieved(f"its counter rose by {risen_j:.3g} J in {elapsed_s:.1f} s")
        self._joules += risen_j
        return self._joules


def believed(number: float, unit: float, most_w: float) -> float:
    """Watts of a number that a device sent, in this unit. Raises NotBelieved.

    >>> believed(347, 1.0, 50_000.0)
    347.0
    >>> believed(2**32, 1e-6, 50_000.0)
    Traceback (most recent call last):
    kneebench.measurement.power_meters.power_source.NotBelieved: 4294967296 stands for no value
    """
    if number in NO_VALUE:
        raise NotBelieved(f"{number:.0f} stands for no value")
    watts = number * unit
    if not isfinite(watts) or watts < 0:
        raise NotBelieved(f"{watts:g} W is no power")
    if watts > most_w:
        raise NotBelieved(f"{watts:,.0f} W is above {most_w:,.0f} W (its key `most`)")
    return watts
