"""Power of an analyser by PTDaemon, as SPEC, TPC and MLPerf use it: its words over TCP.

The daemon itself comes under SPEC's licence and is not ours to ship. The words are those that
MLPerf's client sends (mlcommons/power-dev, ptd_client_server): Hello, Identify, Go with samples of
one second, RL for the samples that were not read yet, Stop. Its ranges are left as they are.
"""

from __future__ import annotations

import contextlib
import re
import socket
import time
from typing import Annotated, ClassVar, TextIO

from pydantic import Field

from kneebench.errors import PlanError
from kneebench.measurement.power_meters.power_source import (
    NoAnswer,
    PlainSource,
    PowerReading,
    PowerSource,
    believed,
)
from kneebench.plan.power import PowerMeter, Private
from kneebench.plan.values import Name, Whole
from kneebench.records import Scope

GREETING = "Hello, PTDaemon here!"
ANSWER_S = 5.0
SAMPLE_MS = 1000
POLL_S = 0.1
UNREAD = re.compile(r"Last (\d+) samples")
WATTS = re.compile(r"(?:^|,)\s*Watts,\s*(-?[\d.eE+]+)")


class PtdMeter(PowerMeter):
    """A power analyser by PTDaemon (which comes from SPEC)."""

    of_scope: ClassVar[Scope | None] = "wall"
    address: Annotated[Name, Private("host"), Field(description="Address of PTDaemon")] = (
        "127.0.0.1"
    )
    port: Annotated[Whole, Field(ge=1, le=65_535, description="Its port; PTDaemon has 8888")] = 8888


class Ptd(PlainSource):
    """Sessions with the daemon, which samples from the beginning of one to its end. After one that
    broke off, the next reading begins another.
    """

    paced = True

    def __init__(self, table: PtdMeter) -> None:
        self._table = table
        self._lines: TextIO | None = None
        self._begin()

    def _begin(self) -> TextIO:
        table = self._table
        with socket.create_connection((table.address, table.port), ANSWER_S) as connected:
            lines = connected.makefile("rw", encoding="latin-1", newline="")
        self._lines = lines
        greeting = self._asked(lines, "Hello")
        if greeting != GREETING:
            raise NoAnswer(f"it answers {greeting[:60]!r} and not as PTDaemon does")
        self.described = self._asked(lines, "Identify")[:200]
        self._asked(lines, f"Go,{SAMPLE_MS},0,kneebench")
        return lines

    def _asked(self, lines: TextIO, words: str) -> str:
        lines.write(f"{words}\r\n")
        lines.flush()
        return self._line(lines)

    def _line(self, lines: TextIO) -> str:
        if not (found := lines.readline()):
            raise ConnectionError("PTDaemon closed the connection")
        return found.strip()

    def read(self) -> PowerReading:
        """The next sample: the mean of the second that has just ended."""
        try:
            lines = self._lines or self._begin()
            samples = self._next(lines)
        except (OSError, ValueError) as error:
            self._end()
            raise NoAnswer(str(error)) from None
        if not (found := WATTS.search(samples[-1])):
            raise NoAnswer(f"no watts in {samples[-1][:60]!r}")
        watts = believed(float(found[1]), 1.0, self._table.most)
        return PowerReading(watts=watts, ago_s=SAMPLE_MS / 2000)

    def _next(self, lines: TextIO) -> list[str]:
        """Samples that were not read yet; waits for one."""
        until_s = time.monotonic() + ANSWER_S
        while True:
            said = self._asked(lines, "RL")
            if not (unread := UNREAD.match(said)):
                raise ValueError(f"it answers RL with {said[:60]!r}")
            if samples := [self._line(lines) for _ in range(int(unread[1]))]:
                return samples
            if time.monotonic() > until_s:
                raise ConnectionError(f"no sample in {ANSWER_S:g} s")
            time.sleep(POLL_S)

    def _end(self) -> None:
        if self._lines:
            with contextlib.suppress(OSError, ValueError):
                self._lines.close()
        self._lines = None

    def close(self) -> None:
        if self._lines:
            with contextlib.suppress(OSError, ValueError):
                self._asked(self._lines, "Stop")
        self._end()


def open_source(table: PowerMeter) -> PowerSource:
    """The daemon. Raises PlanError where there is none."""
    assert isinstance(table, PtdMeter)
    try:
        return Ptd(table)
    except (OSError, NoAnswer) as error:
        what = f"power meter {table.name}: {table.address} port {table.port}"
        raise PlanError(what, seen=str(error), do="start PTDaemon there") from None


TABLE = PtdMeter
