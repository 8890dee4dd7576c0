"""A database host: the machine of the databases, reached by ssh. What it is asked is done there by
agent.py; results stay here.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence

from kneebench.campaign.machines.machine_there import InstrumentsThere, MachineThere, Sample
from kneebench.campaign.machines.remote import DatabaseHostLost, Handle, Line, Remote
from kneebench.campaign.preflight import logo_findings
from kneebench.databases.engine import Engine, Server
from kneebench.engine_properties import engine_properties
from kneebench.hosts.connection import Connection, by_ssh
from kneebench.hosts.package import database_package
from kneebench.measurement.instruments import Samples
from kneebench.measurement.log_trace import NO_TRACE, LogTrace
from kneebench.measurement.meters.meter import MeterContext
from kneebench.measurement.power.recordings import Recordings
from kneebench.measurement.sampler import LoadMeter, RawSeries
from kneebench.plan.database_plan import DatabasePlan
from kneebench.plan.duration import Expected
from kneebench.plan.hosts import DatabaseHost
from kneebench.plan.power import PowerMeter
from kneebench.plan.study import Study
from kneebench.records import Finding, Remark, Watch, WholeDrive
from kneebench.shelf import ENGINES

PROGRAM = "kneebench.campaign.machines.agent"
SILENT_S = 10
"""So long the host may be silent: a rung is lost with it, and it may be busy."""
PUT_BACK_S = 60.0
"""For the host to be put back when the connection ends; it goes on if that takes longer."""
MACHINE, INSTRUMENTS = Handle(0), Handle(1)
"""What the agent always has."""


class OtherMachine(Remote):
    """The database host. Paths are its own."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        super().__init__(Line(connection), MACHINE, MachineThere)
        self.instruments = OtherInstruments(self.line, INSTRUMENTS, InstrumentsThere)

    def engine(self, databases: Mapping[str, DatabasePlan]) -> Engine:
        return self.call(MachineThere.open_engine, databases, passwords())

    def findings(
        self, study: Study, engine: Engine, erase: Sequence[WholeDrive], watch: Watch
    ) -> tuple[Finding, ...]:
        """Those of that machine, and on the logo, which is a file of this one."""
        found = self.call(MachineThere.findings, _there(study), engine, erase, watch)
        return (*map(self._named, found), *logo_findings(study))

    def _named(self, finding: Finding) -> Finding:
        """What must be changed there says where that is."""
        if finding.level not in ("error", "refused"):
            return finding
        subject = f"database host {self.connection.name}: {finding.subject}"
        return finding.model_copy(update={"subject": subject})

    def expected_duration(self, study: Study) -> Expected:
        return self.call(MachineThere.expected_duration, _there(study))

    def others(self) -> tuple[Finding, ...]:
        return tuple(map(self._named, self.call(MachineThere.others)))

    def in_the_way(self, study: Study, engine: Engine) -> tuple[Finding, ...]:
        return self.call(MachineThere.in_the_way, _there(study), engine)


def _there(study: Study) -> Study:
    """The plan as the database host needs it: the logo is a file of this machine."""
    return study.changed(brief=study.brief.model_copy(update={"logo": None}))


def passwords() -> dict[str, str]:
    """The variables of this process that contain passwords of databases; an engine on the database
    host reads them there. They travel within ssh, and are kept nowhere.
    """
    names = {engine_properties(name).password_variable for name in ENGINES.names()}
    return {name: os.environ[name] for name in sorted(names) if name in os.environ}


class OtherInstruments(Remote):
    """What reads the database host: meters, traces and faults."""

    @contextlib.contextmanager
    def log_trace(self, server: Server) -> Iterator[LogTrace | str]:
        """Kept by the agent, which gives it to the server's samples."""
        with self.call(InstrumentsThere.traced, server):
            yield NO_TRACE

    def samples(self, wanted: Sequence[str], context: MeterContext, *, real: bool) -> Samples:
        """On the clock of the database host."""
        return OtherSamples(self, wanted, context)

    def power_meters(self, tables: Sequence[PowerMeter]) -> Recordings:
        """Read by the agent, on its clock."""
        return self.call(InstrumentsThere.open_power_meters, tables)


class OtherSamples:
    """Samples taken on the database host and kept here, one call for each."""

    def __init__(
        self, there: OtherInstruments, wanted: Sequence[str], context: MeterContext
    ) -> None:
        self.load = LoadMeter()
        self.remarks: tuple[Remark, ...] = ()
        self._there = there.call(
            InstrumentsThere.open_samples, context.server, wanted, context.links
        )
        first = self._there.latest()
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
        return self._add(self._there.sample(self.load.completed))

    def close(self) -> None:
        """Close all meters; their remarks stay. Where the host is lost, it closes them itself."""
        with contextlib.suppress(DatabaseHostLost):
            self.remarks = self._there.remarks()
            self._there.close()


@contextlib.contextmanager
def database_host(planned: DatabaseHost, of_engines: Sequence[str]) -> Iterator[OtherMachine]:
    """The plan's database host, until the end of the block; then it is as it was. `of_engines`: the
    packages that its engines need. Raises PlanError where it cannot be reached or used.
    """
    command = by_ssh(planned.ssh, planned.python, SILENT_S)
    package = database_package(of_engines)
    with Connection(planned.called, command, PROGRAM, package, PUT_BACK_S) as connection:
        yield OtherMachine(connection)
