"""Orders on the machine of a database host: those of `DatabaseMachine`, as plain data."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import NamedTuple

from kneebench.campaign.machines.kept import Kept
from kneebench.campaign.machines.machine import Interface, Room
from kneebench.plan.database_plan import DatabasePlan
from kneebench.plan.duration import Expected
from kneebench.plan.kernel import Kernel
from kneebench.plan.study import Study
from kneebench.records import Finding, Host, Setting, WholeDrive


class InForce(NamedTuple):
    """Kernel settings, by the number under which they are kept."""

    number: int
    settings: tuple[Setting, ...]


class Sender(NamedTuple):
    """The port where bytes are sent, by the number under which it is kept."""

    number: int
    port: int


class MachineOrders(Kept):
    """What a controller may order of the machine."""

    def clean(self) -> tuple[str, ...]:
        """DatabaseMachine.clean."""
        return self.machine.clean(self.watch)

    def findings(
        self, engine: int, study: Study, erase: tuple[WholeDrive, ...]
    ) -> tuple[Finding, ...]:
        """DatabaseMachine.findings."""
        return self.machine.findings(study, self._engine(engine), erase, self.watch)

    def expected_duration(self, study: Study) -> Expected:
        """DatabaseMachine.expected_duration."""
        return self.machine.expected_duration(study)

    def load_now(self, databases: tuple[DatabasePlan, ...]) -> tuple[Finding, ...]:
        """DatabaseMachine.load_now."""
        return self.machine.load_now(databases)

    def others(self) -> tuple[Finding, ...]:
        """DatabaseMachine.others."""
        return self.machine.others()

    def in_the_way(self, engine: int, study: Study) -> tuple[Finding, ...]:
        """DatabaseMachine.in_the_way."""
        return self.machine.in_the_way(study, self._engine(engine))

    def host(self, paths: tuple[Path, ...], whole: bool) -> Host:
        """DatabaseMachine.host."""
        return self.machine.host(paths, whole=whole)

    def drives(self, paths: tuple[Path, ...], names: tuple[str, ...]) -> tuple[WholeDrive, ...]:
        """DatabaseMachine.drives."""
        return self.machine.drives(paths, names)

    def named_drives(self, names: tuple[str, ...]) -> tuple[WholeDrive, ...]:
        """DatabaseMachine.named_drives."""
        return self.machine.named_drives(names, self.watch)

    def erase(self, drives: tuple[WholeDrive, ...]) -> None:
        """DatabaseMachine.erase."""
        self.machine.erase(drives, self.watch)

    def sysctls(self, kernel: Kernel) -> InForce:
        """DatabaseMachine.sysctls, in force until `end`."""
        with contextlib.ExitStack() as stack:
            settings = stack.enter_context(self.machine.sysctls(kernel, self.watch))
            return InForce(self._keep(settings, stack), settings)

    def room(self) -> Room:
        """DatabaseMachine.room."""
        return self.machine.room()

    def interface(self, address: str) -> Interface:
        """DatabaseMachine.interface."""
        return self.machine.interface(address)

    def send_bytes(self, address: str, port: int) -> Sender:
        """DatabaseMachine.sending, until `end`."""
        with contextlib.ExitStack() as stack:
            found = stack.enter_context(self.machine.sending(address, port))
            return Sender(self._keep(found, stack), found)
