"""A database host: the machine of the databases, reached by ssh. What it is asked is done there by
agent.py; results stay here.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from kneebench.campaign.machines.agent import DatabaseAgent
from kneebench.campaign.machines.line import Line
from kneebench.campaign.machines.machine import Interface, Room
from kneebench.campaign.machines.other_engine import OtherEngine, other_engine, passwords
from kneebench.campaign.machines.other_instruments import OtherInstruments
from kneebench.campaign.preflight import logo_findings
from kneebench.databases.engine import Engine
from kneebench.hosts.connection import Connection, by_ssh
from kneebench.hosts.package import database_package
from kneebench.measurement.instruments import Instruments
from kneebench.plan.database_plan import DatabasePlan
from kneebench.plan.duration import Expected
from kneebench.plan.hosts import DatabaseHost
from kneebench.plan.kernel import Kernel
from kneebench.plan.study import Study
from kneebench.records import Finding, Host, Setting, Watch, WholeDrive, unwatched

PROGRAM = "kneebench.campaign.machines.agent"
SILENT_S = 10
"""So long the host may be silent: a rung is lost with it, and it may be busy."""
PUT_BACK_S = 60.0
"""For the host to be put back when the connection ends; it goes on if that takes longer."""


class OtherMachine:
    """The database host. Paths are its own."""

    def __init__(self, connection: Connection) -> None:
        self.connection, self._line = connection, Line(connection)
        self.instruments: Instruments = OtherInstruments(self._line)

    def clean(self, watch: Watch) -> tuple[str, ...]:
        """By its journal."""
        return self._line.call(DatabaseAgent.clean, watch)

    def engine(self, databases: Mapping[str, DatabasePlan]) -> Engine:
        """Made there."""
        of = dict(databases)
        opened = self._line.call(DatabaseAgent.open_engine, unwatched, of, passwords())
        return other_engine(self._line, opened)

    def findings(
        self, study: Study, engine: Engine, erase: Sequence[WholeDrive], watch: Watch
    ) -> tuple[Finding, ...]:
        """Those of that machine, and on the logo, which is a file of this one."""
        number = _number(engine)
        order = DatabaseAgent.findings
        found = self._line.call(order, watch, number, _there(study), tuple(erase))
        return (*(self._named(one) for one in found), *logo_findings(study))

    def _named(self, finding: Finding) -> Finding:
        """What must be changed there says where that is."""
        if finding.level not in ("error", "refused"):
            return finding
        subject = f"database host {self.connection.name}: {finding.subject}"
        return finding.model_copy(update={"subject": subject})

    def expected_duration(self, study: Study) -> Expected:
        """As such steps took there before."""
        return self._line.call(DatabaseAgent.expected_duration, unwatched, _there(study))

    def load_now(self, databases: Collection[DatabasePlan]) -> tuple[Finding, ...]:
        """Measured there."""
        return self._line.call(DatabaseAgent.load_now, unwatched, tuple(databases))

    def others(self) -> tuple[Finding, ...]:
        """By its journal."""
        found = self._line.call(DatabaseAgent.others, unwatched)
        return tuple(self._named(one) for one in found)

    def in_the_way(self, study: Study, engine: Engine) -> tuple[Finding, ...]:
        """As there."""
        number = _number(engine)
        return self._line.call(DatabaseAgent.in_the_way, unwatched, number, _there(study))

    def host(self, paths: Sequence[Path], *, whole: bool) -> Host:
        """As it describes itself."""
        return self._line.call(DatabaseAgent.host, unwatched, tuple(paths), whole)

    def drives(self, paths: Sequence[Path], names: Sequence[str]) -> tuple[WholeDrive, ...]:
        """Its own."""
        return self._line.call(DatabaseAgent.drives, unwatched, tuple(paths), tuple(names))

    def named_drives(self, names: Sequence[str], watch: Watch) -> tuple[WholeDrive, ...]:
        """Its own."""
        return self._line.call(DatabaseAgent.named_drives, watch, tuple(names))

    def erase(self, drives: Sequence[WholeDrive], watch: Watch) -> None:
        """Its own."""
        self._line.call(DatabaseAgent.erase, watch, tuple(drives))

    @contextlib.contextmanager
    def sysctls(self, kernel: Kernel, watch: Watch) -> Iterator[tuple[Setting, ...]]:
        """Journaled there."""
        kept = self._line.call(DatabaseAgent.sysctls, watch, kernel)
        try:
            yield kept.settings
        finally:
            self._line.end(kept.number)

    def interface(self, address: str) -> Interface:
        """Of that machine."""
        return self._line.call(DatabaseAgent.interface, unwatched, address)

    @contextlib.contextmanager
    def sending(self, address: str, port: int) -> Iterator[int]:
        """The port where whoever connects is sent bytes, until the end of the block."""
        sender = self._line.call(DatabaseAgent.send_bytes, unwatched, address, port)
        try:
            yield sender.port
        finally:
            self._line.end(sender.number)

    def room(self) -> Room:
        """Of the agent."""
        return self._line.call(DatabaseAgent.room, unwatched)


def _there(study: Study) -> Study:
    """The plan as the database host needs it: the logo is a file of this machine."""
    return study.changed(brief=study.brief.model_copy(update={"logo": None}))


def _number(engine: Engine) -> int:
    if not isinstance(engine, OtherEngine):
        raise TypeError("an engine of the database host is required")
    return engine.number


@contextlib.contextmanager
def database_host(planned: DatabaseHost, of_engines: Sequence[str]) -> Iterator[OtherMachine]:
    """The plan's database host, until the end of the block; then it is as it was. `of_engines`: the
    packages that its engines need. Raises PlanError where it cannot be reached or used.
    """
    command = by_ssh(planned.ssh, planned.python, SILENT_S)
    package = database_package(of_engines)
    with Connection(planned.called, command, PROGRAM, package, PUT_BACK_S) as connection:
        yield OtherMachine(connection)
