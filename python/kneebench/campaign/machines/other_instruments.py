"""What reads the machine of a database host: meters, traces and faults, by its agent."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

from kneebench.campaign.machines.agent import DatabaseAgent
from kneebench.campaign.machines.instrument_orders import Sample
from kneebench.campaign.machines.line import DatabaseHostLost, Line
from kneebench.campaign.machines.other_server import OtherServer
from kneebench.databases.engine import Server
from kneebench.measurement.instruments import Samples
from kneebench.measurement.log_trace import NO_TRACE, LogTrace
from kneebench.measurement.meters.meter import MeterContext
from kneebench.measurement.power.recordings import NewSamples, Recordings
from kneebench.measurement.sampler import LoadMeter, RawSeries
from kneebench.plan.power import PowerMeter
from kneebench.records import CountedDevice, DriveFill, RawProfile, Remark, Role, Watch, unwatched


class OtherInstruments:
    """Those of the database host."""

    def __init__(self, line: Line) -> None:
        self._line = line

    @contextlib.contextmanager
    def log_trace(self, server: Server) -> Iterator[LogTrace | str]:
        """Kept by the agent, which gives it to the server's samples."""
        number = self._line.call(DatabaseAgent.trace_log, unwatched, _number(server))
        try:
            yield NO_TRACE
        finally:
            self._line.end(number)

    def samples(self, wanted: Sequence[str], context: MeterContext, *, real: bool) -> Samples:
        """On the clock of the database host."""
        return OtherSamples(self._line, context, tuple(wanted))

    def power_meters(self, tables: Sequence[PowerMeter]) -> Recordings:
        """Read by the agent, on its clock."""
        return OtherRecordings(self._line, tables)

    def storage_faults(self, paths: Sequence[Path]) -> tuple[str, ...]:
        """As there."""
        return self._line.call(DatabaseAgent.storage_faults, unwatched, tuple(paths))

    def counted_devices(
        self, paths: Sequence[Path], roles: Sequence[Role]
    ) -> tuple[CountedDevice, ...]:
        """As there."""
        order = DatabaseAgent.counted_devices
        return self._line.call(order, unwatched, tuple(paths), tuple(roles))

    def drive_fills(self, paths: Sequence[Path]) -> tuple[DriveFill, ...]:
        """As there."""
        return self._line.call(DatabaseAgent.drive_fills, unwatched, tuple(paths))

    def storage_profile(self, paths: Sequence[Path], doing: str, watch: Watch) -> RawProfile | None:
        """As there."""
        return self._line.call(DatabaseAgent.storage_profile, watch, tuple(paths), doing)


class OtherSamples:
    """Samples taken on the database host and kept here, one call for each."""

    def __init__(self, line: Line, context: MeterContext, wanted: tuple[str, ...]) -> None:
        self._line, self.load = line, LoadMeter()
        self.remarks: tuple[Remark, ...] = ()
        self._number = line.call(
            DatabaseAgent.open_samples,
            unwatched,
            _number(context.server),
            wanted,
            dict(context.links),
        )
        first = line.call(DatabaseAgent.last_sample, unwatched, self._number)
        self.raw_series = tuple(RawSeries(one.meter, [], []) for one in first)
        self._add(first)

    def _add(self, sample: tuple[Sample, ...]) -> int:
        for raw, one in zip(self.raw_series, sample, strict=True):
            raw.at_s.append(one.at_s)
            raw.values.append(one.values)
        self.raw_series[0].values[-1].update(self.load.network)
        return self.last

    @property
    def last(self) -> int:
        """The number of the last sample."""
        return len(self.raw_series[-1].at_s) - 1

    def sample(self) -> int:
        """Have a reading of every meter taken; the number of this sample."""
        order = DatabaseAgent.sample
        return self._add(self._line.call(order, unwatched, self._number, self.load.completed))

    def close(self) -> None:
        """Close all meters; their remarks stay. Where the host is lost, it closes them itself."""
        with contextlib.suppress(DatabaseHostLost):
            self.remarks = self._line.call(DatabaseAgent.close_samples, unwatched, self._number)


class OtherRecordings:
    """Meters of power that the agent reads."""

    def __init__(self, line: Line, tables: Sequence[PowerMeter]) -> None:
        self._line = line
        opened = line.call(DatabaseAgent.open_power_meters, unwatched, tuple(tables))
        self._number, self.meters = opened.number, opened.meters

    def new_samples(self) -> NewSamples:
        """What was read there since the last call."""
        return self._line.call(DatabaseAgent.new_power_samples, unwatched, self._number)

    def close(self) -> None:
        """End the reading there."""
        self._line.end(self._number)


def _number(server: Server) -> int:
    return cast(OtherServer, server).number
