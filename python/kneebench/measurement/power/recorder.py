"""The power of a campaign: all meters, wherever they are read, on one clock."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from kneebench.databases.engine import Server
from kneebench.measurement.power.energy import measured_power, watts_by_second
from kneebench.measurement.power.lag import Steps, lag_of
from kneebench.measurement.power.record import PowerRecord, PowerSample
from kneebench.measurement.power.recordings import RecordedPower, Recordings
from kneebench.plan.power import Power
from kneebench.records import MeasuredPower, MeterLag, PowerMeterFacts, PowerWindow, Series

LATE_S, LATE_READINGS = 1.0, 2.0
"""How long readings after a stretch are waited for, beyond the meter's lag."""
LONGEST_WAIT_S = 150.0
"""Two readings of the slowest meter that a plan may have."""
POLL_S = 0.05
MODEL = "power"
"""The name under which a simulated server answers with its power."""
DRIVE_TIMES_RATED = 2.0


class ClockOffset(NamedTuple):
    """How far another machine's clock is ahead, as a call of so many seconds saw it."""

    took_s: float
    ahead_s: float


class PowerClock:
    """Reads all meters at each sample of a rung. `at_s`: when, on their clock; without meters
    empty.
    """

    def __init__(self, power: PowerRecorder | None, server: Server) -> None:
        self._power, self._server = power, server
        self.at_s: list[float] = []
        self.read()

    def read(self) -> None:
        """Take in what was read."""
        if self._power:
            self._power.second(self._server)
            self.at_s.append(self._power.now_s())


class PowerRecorder:
    """The records of all meters. Close the recordings after it."""

    def __init__(
        self,
        plan: Power,
        recordings: Sequence[Recordings],
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self.plan, self._recordings, self.now_s = plan, recordings, now_s
        self.meters: list[PowerMeterFacts] = []
        self._records: dict[str, PowerRecord] = {}
        self._idle_w: dict[str, float] = {}
        self._lags: dict[str, MeterLag] = {}
        self._offsets: dict[int, ClockOffset] = {}
        self._cpu_s: dict[str, float] = {}
        self._began_s = now_s()
        for recorded in recordings:
            for one in recorded.meters:
                self._add(one)

    def _add(self, meter: RecordedPower) -> None:
        self.meters.append(meter.facts)
        if meter.facts.rated_w is None:
            self._records[meter.facts.name] = self._record(meter)

    def _record(self, meter: RecordedPower) -> PowerRecord:
        record = PowerRecord(counts_energy=meter.counts_energy, every_s=meter.every_s)
        if meter.facts.scope != "drive":
            record.idle_w = self._idle_w.get(meter.facts.name, 0.0)
        return record

    # --- while time passes ------------------------------------------------------------------------

    def second(self, server: Server) -> None:
        self.take()

    def take(self) -> None:
        """Take in what was read. Another machine's clock is set against ours by the call that took
        the shortest time.
        """
        for number, recorded in enumerate(self._recordings):
            asked_s = self.now_s()
            new = recorded.new_samples()
            took_s = self.now_s() - asked_s
            seen = ClockOffset(took_s, new.now_s - asked_s - took_s / 2)
            best = min(seen, self._offsets.get(number, seen))
            self._offsets[number] = best
            ahead_s = best.ahead_s
            for one, samples, cpu_s in zip(recorded.meters, new.samples, new.cpu_s, strict=True):
                self._cpu_s[one.facts.name] = cpu_s
                if record := self._records.get(one.facts.name):
                    record.add([s._replace(at_s=s.at_s - ahead_s) for s in samples])

    # --- what a stretch of time holds -------------------------------------------------------------

    def window(self, begin_s: float, end_s: float) -> PowerWindow:
        """What was measured from `begin_s` to `end_s` of this clock; waits for readings that come
        late.
        """
        self._await(end_s)
        ahead_s = datetime.now(UTC).timestamp() - self.now_s()
        found = tuple(
            self._plausible(self._measured(name, record, begin_s, end_s))
            for name, record in self._records.items()
        )
        watts = {one.meter: one.watts for one in found}
        sums = {
            name: sum(w for part in parts if (w := watts.get(part)) is not None)
            for name, parts in self.plan.sums.items()
            if all(watts.get(part) is not None for part in parts)
        }
        leading = self.plan.leading
        return PowerWindow(
            began_at=begin_s + ahead_s,
            ended_at=end_s + ahead_s,
            meters=found,
            sums=sums,
            system_w=sums[leading] if leading in sums else watts.get(leading),
        )

    def series(self, begin_s: float, end_s: float) -> tuple[Series, ...]:
        """W of each second of a stretch by meter, with times from its beginning on; of meters that
        were read all through it.
        """
        found = []
        for name, record in self._records.items():
            try:
                watts = watts_by_second(record, begin_s, end_s, self._lag(name))
            except IndexError:
                continue
            at_s = tuple(float(second + 1) for second in range(len(watts)))
            found.append(
                Series(quantity="power", source=name, unit="W", at_s=at_s, value=tuple(watts))
            )
        return tuple(found)

    def find_lags(self, steps: Steps, end_s: float) -> tuple[MeterLag, ...]:
        """How late each meter is, by a load step up to `end_s`; taken into account from now on."""
        self._await(end_s)
        found = tuple(
            lag_of(name, record, steps, min(end_s, record.latest_s))
            for name, record in self._records.items()
        )
        self.use_lags(found)
        return found

    def use_lags(self, lags: Sequence[MeterLag]) -> None:
        """Take lags into account that were found before."""
        self._lags.update({one.meter: one for one in lags})

    def use_idle(self, window: PowerWindow) -> None:
        """Take power without load into account: a running server takes no tenth of it."""
        for one in window.meters:
            record = self._records.get(one.meter)
            if record and record.idle_w is not None and one.watts:
                least_w = min(one.watts, self._idle_w.get(one.meter, one.watts))
                self._idle_w[one.meter] = record.idle_w = least_w

    def cost(self) -> dict[str, float]:
        """Share of a core that reading each meter has taken so far."""
        lasted_s = max(1.0, self.now_s() - self._began_s)
        return {name: round(cpu_s / lasted_s, 6) for name, cpu_s in self._cpu_s.items()}

    def _lag(self, name: str) -> float:
        found = self._lags.get(name)
        return found.lag_s or 0.0 if found else 0.0

    def _measured(
        self, name: str, record: PowerRecord, begin_s: float, end_s: float
    ) -> MeasuredPower:
        found = self._lags.get(name)
        if found and found.why and found.step_w is not None:  # it shows the load, at another time
            return MeasuredPower(meter=name, why=found.why, kinds=("late",))
        return measured_power(name, record, begin_s, end_s, self._lag(name))

    def _await(self, end_s: float) -> None:
        """Until each meter has a reading from after it, or will hardly have one."""
        longest_s = max(
            (
                self._lag(name) + LATE_S + LATE_READINGS * max(one.every_s, one.period_s() or 0.0)
                for name, one in self._records.items()
            ),
            default=0.0,
        )
        until_s = end_s + min(longest_s, LONGEST_WAIT_S)
        self.take()
        while self.now_s() < until_s and any(
            one.latest_s < end_s + self._lag(name) for name, one in self._records.items()
        ):
            time.sleep(POLL_S)
            self.take()

    def _plausible(self, found: MeasuredPower) -> MeasuredPower:
        """Drives that show twice what they are rated at are not believed."""
        meter = next(one for one in self.meters if one.name == found.meter)
        rated_w = sum(
            one.rated_w
            for one in self.meters
            if one.rated_w and (not one.covers or {*one.covers} & {*meter.covers})
        )
        if meter.scope != "drive" or not rated_w or not found.watts:
            return found
        if found.watts <= DRIVE_TIMES_RATED * rated_w:
            return found
        why = f"{found.watts:.0f} W is more than twice the drives' rating of {rated_w:g} W"
        return MeasuredPower(meter=found.meter, why=why, kinds=("beyond_rating",))


class ModelRecorder(PowerRecorder):
    """The power of a simulated server, on its clock: read in each second of a rung."""

    def __init__(self, plan: Power, meters: Sequence[PowerMeterFacts]) -> None:
        self._server: Server | None = None
        super().__init__(plan, (), self._model_s)
        self._modelled = [RecordedPower(facts, counts_energy=True, every_s=1.0) for facts in meters]
        for one in self._modelled:
            self._add(one)

    def _model_s(self) -> float:
        return self._server.now_s() if self._server else 0.0

    def second(self, server: Server) -> None:
        if server is not self._server:  # another restore: its clock begins at 0
            self._server = server
            self._records = {one.facts.name: self._record(one) for one in self._modelled}
        joules = next(iter(server.readings(MODEL).values()), None)
        for record in self._records.values():
            if server.now_s() > record.latest_s and joules is not None:
                record.add([PowerSample(server.now_s(), joules)])

    def _lag(self, name: str) -> float:
        """Its energy is exact at every moment."""
        return 0.0

    def _await(self, end_s: float) -> None:
        """There is nothing to wait for."""
