"""Power of an analyser by PTDaemon, as SPEC, TPC and MLPerf use it: its words over TCP.

The daemon itself comes under SPEC's licence and is not ours to ship. The words are those that
MLPerf's client sends (mlcommons/power-dev, ptd_client_server): Hello, Identify, Go with samples of
one second, RL for the samples that were not read yet, Stop. Its ranges are left as they are.
"""

from __future__ import annotations

import contextlib
import re
import socket
from typing import Annotated, ClassVar

from pydantic import Field

from kneebench.errors import PlanError
from kneebench.measurement.power_meters.power_source import (
    NoAnswer,
    PlainSource,
    PowerSource,
    Reading,
    believed,
)
from kneebench.plan.power import PowerMeter
from kneebench.plan.values import Name, Whole
from kneebench.records import Scope

GREETING = "Hello, PTDaemon here!"
ANSWER_S = 5.0
SAMPLE_MS = 1000
UNREAD = re.compile(r"Last (\d+) samples")
WATTS = re.compile(r"(?:^|,)\s*Watts,\s*(-?[\d.eE+]+)")


class PtdMeter(PowerMeter):
    """A power analyser by PTDaemon (which comes from SPEC)."""

    of_scope: ClassVar[Scope | None] = "wall"
    address: Annotated[Name, Field(description="Where PTDaemon runs")] = "127.0.0.1"
    port: Annotated[Whole, Field(ge=1, le=65_535, description="Its port")] = 8888


class Ptd(PlainSource):
    """A session with the daemon, which samples from its beginning to its end."""

    def __init__(self, table: PtdMeter) -> None:
        self._most_w = table.most
        self._socket = socket.create_connection((table.address, table.port), ANSWER_S)
        self._lines = self._socket.makefile("rw", encoding="latin-1", newline="\r\n")
        greeting = self._asked("Hello")
        if greeting != GREETING:
            self._socket.close()
            raise NoAnswer(f"it answers {greeting[:60]!r} and not as PTDaemon does")
        self.described = self._asked("Identify")[:200]
        self._asked(f"Go,{SAMPLE_MS},0,kneebench")
        self._latest: str = ""

    def _asked(self, words: str) -> str:
        try:
            self._lines.write(f"{words}\r\n")
            self._lines.flush()
            return self._line()
        except OSError as error:
            raise NoAnswer(str(error)) from None

    def _line(self) -> str:
        if not (found := self._lines.readline()):
            raise NoAnswer("PTDaemon closed the connection")
        return found.strip()

    def read(self) -> Reading:
        """The latest sample."""
        said = self._asked("RL")
        if not (unread := UNREAD.match(said)):
            raise NoAnswer(f"it answers RL with {said[:60]!r}")
        try:
            samples = [self._line() for _ in range(int(unread[1]))]
        except OSError as error:
            raise NoAnswer(str(error)) from None
        self._latest = samples[-1] if samples else self._latest
        if not (watts := WATTS.search(self._latest)):
            raise NoAnswer(
                f"no watts in {self._latest[:60]!r}" if self._latest else "no sample yet"
            )
        return Reading(watts=believed(float(watts[1]), 1.0, self._most_w))

    def close(self) -> None:
        """End the sampling."""
        with contextlib.suppress(NoAnswer, OSError):
            self._asked("Stop")
        self._lines.close()
        self._socket.close()


def open_source(table: PowerMeter) -> PowerSource:
    """The daemon. Raises PlanError where there is none."""
    assert isinstance(table, PtdMeter)
    try:
        return Ptd(table)
    except (OSError, NoAnswer) as error:
        what = f"power meter {table.name}: {table.address} port {table.port}"
        raise PlanError(what, seen=str(error), do="start PTDaemon there") from None


TABLE = PtdMeter
