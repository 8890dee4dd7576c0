"""Electric power: the meters of a campaign, and what they measured in a stretch of time."""

from __future__ import annotations

from pydantic import Field

from kneebench.records.configuration import Configuration
from kneebench.records.record import Record, Scope

SYSTEM_POWER = "system.power"
"""The quantity of the meter or sum that mW/NOPM is of, in watts."""


class MeasuredPower(Record):
    """What one meter measured in a stretch of time: its mean power, or `why` there is none (never
    0).

    `high_w`: of the highest second. `readings`: in the stretch; `period_s`: how often the meter
    itself has a new value; `gap_s`: the longest time between two readings. `lag_s`: how late the
    meter is, as it was taken into account. `caveats`: in sentences.
    """

    meter: str
    watts: float | None = None
    joules: float | None = None
    high_w: float | None = None
    why: str = ""
    caveats: tuple[str, ...] = ()
    readings: int = 0
    period_s: float | None = None
    gap_s: float | None = None
    lag_s: float = 0.0


class PowerWindow(Record):
    """What all meters measured from `began_at` to `ended_at` (Unix time of the controller).

    `system_w`: of the meter or sum that mW/NOPM is of; None where it was not measured. `sums`:
    those of the plan, of which each part was measured.
    """

    began_at: float
    ended_at: float
    meters: tuple[MeasuredPower, ...] = ()
    system_w: float | None = None
    sums: dict[str, float] = Field(default_factory=dict)

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
    """How late a meter showed a load that was switched on and off: `lag_s`, and by how much power
    it changed; or `why` that was not found.
    """

    meter: str
    lag_s: float | None = None
    step_w: float | None = None
    why: str = ""


class PowerMeterFacts(Record):
    """A meter of the plan: what it measures, and how it was read."""

    name: str
    type: str
    scope: Scope
    means: str = ""
    covers: tuple[str, ...] = ()
    accuracy: float | None = None
    source: str = ""
    every_s: float = 1.0
    on_database_host: bool = False
    rated_w: float | None = None
    """What its maker rates at most; None where nothing is rated."""

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
    """The meters of a campaign; `leading`: the meter or sum that mW/NOPM is of, empty for none.

    `idle`: by `at_rest_on`, with the database up and no user on it; `lags`: likewise. `cost`: share
    of a core that reading each meter took.
    """

    meters: tuple[PowerMeterFacts, ...] = ()
    sums: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    leading: str = ""
    idle: dict[str, PowerWindow] = Field(default_factory=dict)
    lags: dict[str, tuple[MeterLag, ...]] = Field(default_factory=dict)
    cost: dict[str, float] = Field(default_factory=dict)

    def parts(self, name: str) -> tuple[PowerMeterFacts, ...]:
        """The meters of a sum, or the one of that name."""
        names = self.sums.get(name, (name,))
        return tuple(one for one in self.meters if one.name in names)
