"""The machine of a database host, as its agent has it: what cannot travel as plain data stays
there.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from kneebench.campaign.machines.machine import DatabaseMachine
from kneebench.databases.engine import Engine, Server
from kneebench.measurement.instruments import Instruments, Samples
from kneebench.measurement.log_trace import NO_TRACE, LogTrace
from kneebench.measurement.meters.meter import MeterContext
from kneebench.measurement.power.recordings import Recordings
from kneebench.plan.database_plan import DatabasePlan
from kneebench.plan.power import PowerMeterTable
from kneebench.records import Remark


class MachineThere(DatabaseMachine):
    """The machine of the database host."""

    def open_engine(
        self, databases: Mapping[str, DatabasePlan], environment: Mapping[str, str]
    ) -> Engine:
        """`DatabaseMachine.engine`; `environment`: passwords that the engines read there."""
        os.environ.update(environment)
        return self.engine(databases)


class Sample(NamedTuple):
    """The latest reading of one meter."""

    meter: str
    at_s: float
    values: dict[str, float]


class LatestSamples:
    """Samples of a rung's meters, of which only the latest is kept here."""

    def __init__(self, samples: Samples) -> None:
        self._samples = samples

    def sample(self, completed: int) -> tuple[Sample, ...]:
        """One more sample, of a load that has completed so many transactions."""
        self._samples.load.completed = completed
        self._samples.sample()
        return self.latest()

    def latest(self) -> tuple[Sample, ...]:
        """The latest sample."""
        found = []
        for raw in self._samples.raw_series:
            found.append(Sample(raw.meter, raw.at_s[-1], raw.values[-1]))
            del raw.at_s[:-1], raw.values[:-1]
        return tuple(found)

    def remarks(self) -> tuple[Remark, ...]:
        return self._samples.remarks

    def close(self) -> None:
        self._samples.close()


class InstrumentsThere(Instruments):
    """What reads the machine of the database host."""

    def __init__(self) -> None:
        self._traces: dict[int, LogTrace | str] = {}

    @contextlib.contextmanager
    def traced(self, server: Server) -> Iterator[None]:
        """`Instruments.log_trace`: samples of that server read the trace."""
        with self.log_trace(server) as self._traces[id(server)]:
            try:
                yield
            finally:
                del self._traces[id(server)]

    def open_samples(
        self, server: Server, wanted: Sequence[str], links: Mapping[str, float]
    ) -> LatestSamples:
        """`Instruments.samples`."""
        trace = self._traces.get(id(server), NO_TRACE)
        context = MeterContext(server, server.paths, trace, links)
        return LatestSamples(self.samples(wanted, context, real=True))

    def open_power_meters(self, tables: Sequence[PowerMeterTable]) -> Recordings:
        """`Instruments.power_meters`."""
        return self.power_meters(tables)
