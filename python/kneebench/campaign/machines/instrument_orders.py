"""Orders on what reads the machine of a database host: those of `Instruments`, as plain data."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import NamedTuple, cast

from kneebench.campaign.machines.kept import Kept
from kneebench.campaign.machines.machine import ThisMachine
from kneebench.measurement.instruments import Samples
from kneebench.measurement.log_trace import NO_TRACE, LogTrace
from kneebench.measurement.meters.meter import MeterContext
from kneebench.measurement.power.recordings import NewSamples, RecordedPower, Recordings
from kneebench.plan.power import PowerMeterTable
from kneebench.records import CountedDevice, DriveFill, RawProfile, Remark, Role


class Sample(NamedTuple):
    """The latest reading of one meter."""

    meter: str
    at_s: float
    values: dict[str, float]


class PowerMeters(NamedTuple):
    """Meters of power, by the number under which they are kept."""

    number: int
    meters: tuple[RecordedPower, ...]


class InstrumentOrders(Kept):
    """What a controller may order of the meters."""

    def __init__(self, machine: ThisMachine) -> None:
        super().__init__(machine)
        self._traces: dict[int, LogTrace | str] = {}

    def trace_log(self, server: int) -> int:
        """Instruments.log_trace of a server, until `end`; samples of that server then read it."""
        with contextlib.ExitStack() as stack:
            trace = stack.enter_context(self.machine.instruments.log_trace(self._server(server)))
            self._traces[server] = trace
            stack.callback(self._traces.pop, server)
            return self._keep(trace, stack)

    def open_samples(self, server: int, wanted: tuple[str, ...], links: dict[str, float]) -> int:
        """Instruments.samples, until `end`."""
        asked = self._server(server)
        trace = self._traces.get(server, NO_TRACE)
        context = MeterContext(asked, asked.paths, trace, links)
        with contextlib.ExitStack() as stack:
            samples = self.machine.instruments.samples(wanted, context, real=True)
            stack.callback(samples.close)
            return self._keep(samples, stack)

    def sample(self, samples: int, completed: int) -> tuple[Sample, ...]:
        """One more sample, of a load that has completed so many transactions."""
        kept = cast(Samples, self._kept[samples])
        kept.load.completed = completed
        kept.sample()
        return self.last_sample(samples)

    def last_sample(self, samples: int) -> tuple[Sample, ...]:
        """The latest sample; what came before is not kept here."""
        found = []
        for raw in cast(Samples, self._kept[samples]).raw_series:
            found.append(Sample(raw.meter, raw.at_s[-1], raw.values[-1]))
            del raw.at_s[:-1], raw.values[:-1]
        return tuple(found)

    def close_samples(self, samples: int) -> tuple[Remark, ...]:
        """Samples.close; their remarks."""
        remarks = cast(Samples, self._kept[samples]).remarks
        self.end(samples)
        return remarks

    def open_power_meters(self, tables: tuple[PowerMeterTable, ...]) -> PowerMeters:
        """Instruments.power_meters, until `end`."""
        with contextlib.ExitStack() as stack:
            recordings = self.machine.instruments.power_meters(tables)
            stack.callback(recordings.close)
            return PowerMeters(self._keep(recordings, stack), tuple(recordings.meters))

    def new_power_samples(self, meters: int) -> NewSamples:
        """Recordings.new_samples."""
        return cast(Recordings, self._kept[meters]).new_samples()

    def storage_faults(self, paths: tuple[Path, ...]) -> tuple[str, ...]:
        """Instruments.storage_faults."""
        return self.machine.instruments.storage_faults(paths)

    def counted_devices(
        self, paths: tuple[Path, ...], roles: tuple[Role, ...]
    ) -> tuple[CountedDevice, ...]:
        """Instruments.counted_devices."""
        return self.machine.instruments.counted_devices(paths, roles)

    def drive_fills(self, paths: tuple[Path, ...]) -> tuple[DriveFill, ...]:
        """Instruments.drive_fills."""
        return self.machine.instruments.drive_fills(paths)

    def storage_profile(self, paths: tuple[Path, ...], doing: str) -> RawProfile | None:
        """Instruments.storage_profile."""
        return self.machine.instruments.storage_profile(paths, doing, self.watch)
