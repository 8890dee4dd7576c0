"""Electric power: the meters of a campaign, and what they measured in a stretch of time."""

from __future__ import annotations

from pydantic import Field

from kneebench.records.configuration import Configuration
from kneebench.records.record import Record, Scope

SYSTEM_POWER = "system.power"
"""The quantity of the meter or sum that mW/NOPM is of, in watts."""


LOAD_NOT_SEEN = "the load was not seen in its power"
"""Why a meter has no lag that did not show a load at all: it may measure something else."""


class MeasuredPower(Record):
    """What one meter measured in a stretch of time: its mean power, or the reason why there is none
    (never 0).
    """

    meter: str
    """Name of the meter in the plan."""
    watts: float | None = None
    """Mean power; None: not measured."""
    joules: float | None = None
    """Energy of the whole stretch; None: not measured."""
    high_w: float | None = None
    """Mean power of the highest second; None: not measured."""
    why: str = ""
    """Reason why there is no power; empty where there is."""
    caveats: tuple[str, ...] = ()
    """Caveats of this measurement, in sentences."""
    kinds: tuple[str, ...] = ()
    """Kind of the reason, or of each caveat, as programs know it."""
    readings: int = 0
    """Number of readings in the stretch."""
    period_s: float | None = None
    """Time between two new values of the meter itself; None: unknown."""
    gap_s: float | None = None
    """Longest time between two readings; None: not measured."""
    still_s: float | None = None
    """Longest time without a new value; None: not measured."""
    lag_s: float = 0.0
    """Lag of the meter, as it was taken into account."""


class PowerWindow(Record):
    """What all meters measured in a stretch of time."""

    began_at: float
    """Start, in Unix time of the controller."""
    ended_at: float
    """End, in Unix time of the controller."""
    meters: tuple[MeasuredPower, ...] = ()
    """Power of each meter that is no rating."""
    system_w: float | None = None
    """Mean power of the meter or sum that mW/NOPM is of; None: not measured."""
    sums: dict[str, float] = Field(default_factory=dict)
    """Watts of the plan's sums by name, where each part was measured."""

    @property
    def seconds(self) -> float:
        """How long it lasted."""
        return self.ended_at - self.began_at

    def of(self, name: str) -> float | None:
        """Watts of a meter or sum; None where it was not measured."""
        if name in self.sums:
            return self.sums[name]
        return next((one.watts for one in self.meters if one.meter == name), None)


class MeterLag(Record):
    """How late a meter showed a load that was switched on and off, or the reason why that was not
    found.
    """

    meter: str
    """Name of the meter in the plan."""
    lag_s: float | None = None
    """Lag of the meter behind the load; below 0: ahead of it. None: not found."""
    step_w: float | None = None
    """Power that the load added; None: the load was not seen."""
    why: str = ""
    """Reason why no lag was found; empty where one was."""


class PowerMeterFacts(Record):
    """A meter of the plan: what it measures, and how it was read."""

    name: str
    """Name of the meter in results."""
    type: str
    """Type of the meter in the plan, such as rapl."""
    scope: Scope
    """Scope: at the wall, behind the power supplies, processors with their memory, or drives."""
    means: str = ""
    """Measured part in words, where the scope alone does not say it."""
    covers: tuple[str, ...] = ()
    """Hosts, shelves and drives that it measures; empty: the database host."""
    accuracy: float | None = None
    """Accuracy as its maker says, as a share; None: not known."""
    source: str = ""
    """Source of the readings, such as the path of a document."""
    every_s: float = 1.0
    """Time between two readings, as ordered."""
    on_database_host: bool = False
    """Whether it is read on the database host, and not on the controller."""
    rated_w: float | None = None
    """Largest power that its maker rates; None where nothing is rated."""

    @property
    def caption(self) -> str:
        """What it is a measurement of, in words.

        >>> PowerMeterFacts(name="cpu", type="rapl", scope="cpu", means="CPU only (RAPL)").caption
        'CPU only (RAPL)'
        """
        words = {"wall": "at the wall", "dc": "behind the power supplies", "drive": "drives only"}
        return self.means or words.get(self.scope, "CPU only")


def at_rest_on(configuration: Configuration) -> str:
    """What power at rest is measured of: a storage, with one of several databases.

    >>> at_rest_on(Configuration(id="a", storage="disk", database="", constraint="1 GiB"))
    'disk'
    """
    return " with ".join(filter(None, (configuration.storage, configuration.database)))


class CampaignPower(Record):
    """The meters of a campaign. `idle` and `lags` are by storage, with one of several databases as
    "disk with mariadb".
    """

    meters: tuple[PowerMeterFacts, ...] = ()
    """Meters of the plan, with how they were read."""
    sums: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """Names of the meters that add up, by the name of their sum."""
    leading: str = ""
    """Meter or sum that mW/NOPM is of; empty for none."""
    idle: dict[str, PowerWindow] = Field(default_factory=dict)
    """Power with the database up and no user on it."""
    lags: dict[str, tuple[MeterLag, ...]] = Field(default_factory=dict)
    """Lags of all meters, found by switching a load on and off."""
    cost: dict[str, float] = Field(default_factory=dict)
    """Share of a core that reading each meter took, by its name."""

    def parts(self, name: str) -> tuple[PowerMeterFacts, ...]:
        """The meters of a sum, or the one of that name."""
        names = self.sums.get(name, (name,))
        return tuple(one for one in self.meters if one.name in names)
