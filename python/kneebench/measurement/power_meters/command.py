"""Power or energy that a program prints, one number a line, as long as it runs.

It is started once and ends with the campaign. A line may have more words after the number. Lines
are read as they come, and the time of a reading is when its line arrived; `every` is not used. The
program is killed with kneebench, also by kill -9. Its environment is its own: passwords of other
meters are not in it.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import tempfile
import time
from typing import IO, Annotated, ClassVar, Literal

import psutil
from pydantic import Field

from kneebench.errors import PlanError
from kneebench.lab.programs import PATHS, ending_with_us, found
from kneebench.measurement.power_meters.power_source import (
    EnergySince,
    NoAnswer,
    PlainSource,
    PowerReading,
    PowerSource,
    believed,
)
from kneebench.plan.power import PUBLIC, PowerMeter
from kneebench.plan.values import Name, Sentence, Switch

LINE_S = 5.0
"""For the next line, before there is a reading without a value."""
MOST_LINE = 4096
END_S = 2.0


class CommandMeter(PowerMeter):
    """A program that prints readings."""

    starts_program: ClassVar[bool] = True
    command: Annotated[
        tuple[Sentence, ...],
        PUBLIC,
        Field(
            min_length=1,
            max_length=100,
            description="Program and its arguments; no shell reads them, and no secret belongs"
            " in them",
        ),
    ]
    unit: Annotated[
        Literal["W", "J"], Field(description="Watts now, or joules so far, which is better")
    ] = "W"
    environment: Annotated[
        tuple[Name, ...],
        PUBLIC,
        Field(
            max_length=100,
            description="Names of environment variables that the program gets besides PATH, HOME,"
            " LANG and LC_*",
        ),
    ] = ()
    there: Annotated[Switch, Field(description="Run it on the database host, not here")] = False

    @property
    def on_database_host(self) -> bool:
        """As the plan says."""
        return self.there


class Command(PlainSource):
    """The program, running."""

    paced = True

    def __init__(self, table: CommandMeter) -> None:
        self._table, self._counted = table, EnergySince()
        self.counts_energy = table.unit == "J"
        self.described = os.path.basename(table.command[0])  # noqa: PTH119
        environment = _environment(table)
        self._said: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  closed by close()
        try:
            self._program = subprocess.Popen(
                ending_with_us(table.command),
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=self._said,
                start_new_session=True,
            )
        except OSError:
            self._said.close()
            raise
        assert self._program.stdout
        self._out = self._program.stdout.fileno()
        os.set_blocking(self._out, False)
        self._rest = b""
        self._latest: bytes | None = None
        self._cpu_s = 0.0

    def read(self) -> PowerReading:
        """The next line, or the latest of those that have arrived meanwhile."""
        words = self._next().split()
        try:
            number = float(words[0]) if words else float("nan")
        except ValueError:
            raise NoAnswer(f"it printed {words[0][:40].decode(errors='replace')!r}") from None
        if self.counts_energy:
            return PowerReading(joules=self._counted.since_first(number, 1.0, self._table.most))
        return PowerReading(watts=believed(number, 1.0, self._table.most))

    def _next(self) -> bytes:
        until_s = time.monotonic() + LINE_S
        while self._latest is None:
            left_s = until_s - time.monotonic()
            ready, _, _ = select.select([self._out], [], [], max(0.0, left_s))
            if not ready:
                raise NoAnswer(f"it printed nothing for {LINE_S:g} s")
            self._take()
        latest, self._latest = self._latest, None
        return latest

    def _take(self) -> None:
        if not (some := os.read(self._out, MOST_LINE)):
            time.sleep(0.2)
            raise NoAnswer(self._why_ended())
        *lines, self._rest = (self._rest + some).split(b"\n")
        self._rest = self._rest[-MOST_LINE:]
        if lines:
            self._latest = lines[-1]

    def _why_ended(self) -> str:
        code = self._ended()
        self._said.seek(0)
        said = self._said.read(2000).decode(errors="replace").strip().splitlines()
        words = f": {said[-1][:200]}" if said else ""
        return f"the program ended{'' if code is None else f' with exit code {code}'}{words}"

    def _ended(self) -> int | None:
        """Its exit code, of a program that has ended; it stays a zombie, so that no other process
        can have its number.
        """
        found = os.waitid(os.P_PID, self._program.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        return None if found is None else found.si_status

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._program.pid, number)

    def cpu_s(self) -> float:
        """Of the program so far."""
        with contextlib.suppress(psutil.Error):
            times = psutil.Process(self._program.pid).cpu_times()
            self._cpu_s = times.user + times.system + times.children_user + times.children_system
        return self._cpu_s

    def close(self) -> None:
        """End the program, and what it started."""
        self._signal(signal.SIGTERM)
        until_s = time.monotonic() + END_S
        while self._ended() is None and time.monotonic() < until_s:
            time.sleep(0.02)
        self._signal(signal.SIGKILL)  # what it started may not have ended
        self._program.wait()
        assert self._program.stdout
        self._program.stdout.close()
        self._said.close()


def _environment(table: CommandMeter) -> dict[str, str]:
    """Raises PlanError for a variable that is not there."""
    usual = [name for name in os.environ if name in ("HOME", "LANG") or name.startswith("LC_")]
    for name in table.environment:
        if name not in os.environ:
            seen, do = f"the environment has no {name}", f"set {name}"
            raise PlanError(f"power meter {table.name}", seen=seen, do=do)
    return {"PATH": PATHS, **{name: os.environ[name] for name in (*usual, *table.environment)}}


def open_source(table: PowerMeter) -> PowerSource:
    """Start the program. Raises PlanError where there is none of that name."""
    assert isinstance(table, CommandMeter)
    what = f"power meter {table.name}: {table.command[0]}"
    if not found(table.command[0]):
        raise PlanError(what, seen="no such program", do="name it by its path")
    try:
        return Command(table)
    except OSError as error:
        raise PlanError(what, seen=error.strerror or str(error), do="make it executable") from None


TABLE = CommandMeter
