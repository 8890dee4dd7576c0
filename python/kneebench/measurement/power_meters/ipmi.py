"""Input power of a server as its BMC reports it, by ipmitool (DCMI).

Over the network where the plan gives an address, from this machine; else in band, on the database
host. Only the instantaneous reading counts: a BMC's own mean covers minutes or days, and many say
that they are not active although their readings are right. A server without DCMI may have a sensor
instead. The password goes by the environment, so that no list of processes has it.
"""

from __future__ import annotations

import os
import re
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field

from kneebench.errors import PlanError
from kneebench.lab.programs import environment, found
from kneebench.measurement.power_meters.credentials import password
from kneebench.measurement.power_meters.power_source import (
    NoAnswer,
    PlainSource,
    PowerReading,
    PowerSource,
    believed,
)
from kneebench.plan.power import PUBLIC, MeterLogIn, PowerMeter, Private
from kneebench.plan.values import Name, Whole
from kneebench.records import Scope

PROGRAM = "ipmitool"
ANSWER_S = 10.0
NO_SESSION = "RMCP+ session"
WRONG = {
    "HMAC is invalid": "wrong password for its user {user}",
    "RAKP 2 message indicates": "wrong user {user}, or wrong password",
    "no response from RAKP 1": "wrong user {user}, or wrong password",
}
"""What ipmitool prints, mostly with -v alone, where a BMC does not let a user in."""
DCMI = re.compile(r"Instantaneous power reading:\s+([\d.]+)\s+Watts")


class IpmiMeter(PowerMeter, MeterLogIn):
    """A server's BMC by IPMI (program ipmitool)."""

    of_scope: ClassVar[Scope | None] = "wall"
    means: ClassVar[str] = "input power as the BMC reports it"
    address: Annotated[
        Name,
        Private("host"),
        Field(description="Address of the BMC; empty: in band, on the database host"),
    ] = ""
    port: Annotated[Whole, Field(ge=1, le=65_535, description="Its port; IPMI has 623")] = 623
    sensor: Annotated[
        Name, PUBLIC, Field(description="Sensor in watts, for a BMC without DCMI power readings")
    ] = ""

    @property
    def on_database_host(self) -> bool:
        """In band it is."""
        return not self.address


class Ipmi(PlainSource):
    """A BMC."""

    def __init__(self, command: list[str], secret: str, table: IpmiMeter) -> None:
        self._command, self._table = command, table
        self._environment = {**environment(), "IPMI_PASSWORD": secret}
        self._cpu_s = 0.0
        self._refused: str | None = None
        where = table.address or "in band"
        what = f"sensor {table.sensor}" if table.sensor else "DCMI power reading"
        self.described = f"{what}, {where}"

    def read(self) -> PowerReading:
        """The instantaneous reading."""
        printed = self._printed()
        if self._table.sensor:
            found = re.search(rf"{re.escape(self._table.sensor)}[,|\s]+([\d.]+)", printed)
        else:
            found = DCMI.search(printed)
        if not found:
            raise NoAnswer(f"{PROGRAM} printed no reading: {printed.strip()[:100] or 'nothing'}")
        return PowerReading(watts=believed(float(found[1]), 1.0, self._table.most))

    def cpu_s(self) -> float:
        """Of ipmitool."""
        return self._cpu_s

    def _printed(self) -> str:
        failed, printed = self._run(self._command)
        if failed:
            raise NoAnswer(self._why(printed))
        return printed

    def _why(self, printed: str) -> str:
        """Why it failed; a BMC is asked once more, and once only, why there is no session."""
        if NO_SESSION in printed and self._refused is None:
            program, *more = self._command
            _, said = self._run([program, "-v", *more])
            why = (why for seen, why in WRONG.items() if seen in printed + said)
            self._refused = next(why, "").format(user=self._table.user)
        if NO_SESSION in printed and self._refused:
            return self._refused
        return (printed.strip() or f"{PROGRAM} failed").splitlines()[0][:200]

    def _run(self, command: list[str]) -> tuple[int, str]:
        program = subprocess.Popen(
            command,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        assert program.stdout
        late = threading.Timer(ANSWER_S, program.kill)
        late.start()
        with program.stdout as out:
            printed = out.read()
        _, status, used = os.wait4(program.pid, 0)
        late.cancel()
        program.returncode = os.waitstatus_to_exitcode(status)
        self._cpu_s += used.ru_utime + used.ru_stime
        if program.returncode < 0:
            raise NoAnswer(f"no answer in {ANSWER_S:g} s")
        return program.returncode, printed


def open_source(table: PowerMeter) -> PowerSource:
    """The BMC, by ipmitool. Raises PlanError where the program is missing."""
    assert isinstance(table, IpmiMeter)
    if not (program := found(PROGRAM)):
        do = f"apt-get install {PROGRAM}"
        raise PlanError(f"power meter {table.name}", seen=f"{PROGRAM} is missing", do=do)
    return Ipmi([program, *_reached(table), *_asked(table)], password(table, table.name), table)


def _reached(table: IpmiMeter) -> list[str]:
    if not table.address:
        return []
    login = ["-U", table.user] if table.user else []
    return ["-I", "lanplus", "-H", table.address, "-p", str(table.port), *login, "-E"]


def _asked(table: IpmiMeter) -> list[str]:
    return ["sensor", "reading", table.sensor] if table.sensor else ["dcmi", "power", "reading"]


def found_here(sysfs: Path, dev: Path) -> Iterator[dict[str, object]]:
    """The BMC in band."""
    if any(dev.glob("ipmi[0-9]*")):
        yield {"name": "bmc"}


TABLE = IpmiMeter
