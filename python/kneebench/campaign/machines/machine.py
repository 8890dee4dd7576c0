"""All that a campaign does on the machine of its databases, here or on a database host."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

import psutil

from kneebench.campaign.expected_duration import expected_duration
from kneebench.campaign.preflight import load_now, preflight_checks
from kneebench.databases.engine import Engine
from kneebench.databases.managed.listening import free_port
from kneebench.databases.several import engine_of
from kneebench.hosts.bandwidth import sending
from kneebench.hosts.interfaces import line_rate
from kneebench.lab.host import described, host
from kneebench.lab.inventory import drives_called, drives_under
from kneebench.lab.journal import Journal, others
from kneebench.lab.kernel_settings import sysctls
from kneebench.lab.limit_findings import constraint_findings
from kneebench.lab.volumes import erase_drives, named_drives, volume_findings
from kneebench.measurement.instruments import OWN, Instruments
from kneebench.plan.database_plan import DatabasePlan
from kneebench.plan.duration import Expected
from kneebench.plan.kernel import Kernel
from kneebench.plan.study import Study
from kneebench.records import Finding, Host, Setting, Watch, WholeDrive


class Room(NamedTuple):
    """What a process of ours may use: numbers of cores, and bytes of memory that are free."""

    cores: tuple[int, ...]
    free_bytes: int


class Interface(NamedTuple):
    """A network interface; empty where none was found. Bytes per second that its driver reports."""

    name: str
    line_rate: float | None


class DatabaseMachine:
    """The machine that databases run on: that of this process. `OtherMachine` stands for one on a
    database host; its paths are its own.
    """

    instruments: Instruments = OWN
    """What reads it."""

    def __init__(self, journal: Journal | None = None) -> None:
        self.journal = journal or Journal()

    def clean(self, watch: Watch) -> tuple[str, ...]:
        """Undo what killed runs left there; what was undone, and the drafts, in words."""
        undone = self.journal.clean(watch)
        changes = (f"{change.VERBS[1]}: {change.words}" for change in undone)
        return (*changes, *self.journal.drafts)

    def engine(self, databases: Mapping[str, DatabasePlan]) -> Engine:
        """The engine of a plan's databases. Raises what `engine_of` raises."""
        return engine_of(databases, self.journal)

    def findings(
        self, study: Study, engine: Engine, erase: Sequence[WholeDrive], watch: Watch
    ) -> tuple[Finding, ...]:
        """All findings on a plan before it runs (preflight.py)."""
        return preflight_checks(study, engine, self.journal, erase=erase, watch=watch)

    def expected_duration(self, study: Study) -> Expected:
        """How long a plan is expected to take, as such steps took there before."""
        return expected_duration(study, host())

    def load_now(self, databases: Collection[DatabasePlan]) -> tuple[Finding, ...]:
        """Findings on the present load of the machine, measured for a second."""
        return load_now(databases)

    def others(self) -> tuple[Finding, ...]:
        """A refusal while another kneebench run is active there."""
        return tuple(others(self.journal))

    def in_the_way(self, study: Study, engine: Engine) -> tuple[Finding, ...]:
        """Findings on one side of a proof: its engine, its volumes, its limits; without what is the
        same on all sides.
        """
        limits = constraint_findings(study.only_database)
        return (*engine.findings(), *volume_findings(study), *limits)

    def host(self, paths: Sequence[Path], *, whole: bool) -> Host:
        """What it is; `whole`: with what takes longer to read."""
        return described(host(paths)) if whole else host(paths)

    def drives(self, paths: Sequence[Path], names: Sequence[str]) -> tuple[WholeDrive, ...]:
        """The drives under some paths, then those of some names. Raises PlanError for a name that
        it does not have.
        """
        return (*drives_under(paths), *drives_called(names))

    def named_drives(self, names: Sequence[str], watch: Watch) -> tuple[WholeDrive, ...]:
        """Drives by name, with what is on them."""
        return named_drives(names, watch)

    def erase(self, drives: Sequence[WholeDrive], watch: Watch) -> None:
        """Erase drives that their owner was shown so. Raises Refused before anything is written."""
        erase_drives(drives, watch)

    def sysctls(self, kernel: Kernel, watch: Watch) -> AbstractContextManager[tuple[Setting, ...]]:
        """The plan's kernel settings, in force until the end of the block."""
        return sysctls(kernel, self.journal, watch)

    def room(self) -> Room:
        """What a process may use there now: by the affinity of this thread, and the kernel's
        estimate.
        """
        cores = tuple(sorted(os.sched_getaffinity(0)))
        return Room(cores, psutil.virtual_memory().available)

    def interface(self, address: str) -> Interface:
        """The interface that has an address."""
        every = psutil.net_if_addrs().items()
        having = (name for name, some in every if any(one.address == address for one in some))
        name = next(having, "")
        return Interface(name, line_rate(name) if name else None)

    def sending(self, address: str, port: int) -> AbstractContextManager[int]:
        """The port where whoever connects is sent bytes, until the end of the block: this one or
        one of the next. Raises KneebenchError where it cannot listen there.
        """
        return sending(address, free_port(address, port))
