"""Meters of power under way: each is read in a thread of its own, as long as the campaign lasts.

They are read where they are: on this machine, or on the database host by whoever runs there.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Sequence
from types import TracebackType
from typing import NamedTuple, Protocol, Self

from kneebench.errors import PlanError
from kneebench.measurement.power.record import PowerSample
from kneebench.measurement.power_meters.power_source import NoAnswer, NotBelieved, PowerSource
from kneebench.plan.power import PowerMeter
from kneebench.records import PowerMeterFacts
from kneebench.shelf import POWER_METERS

CLOSE_LIMIT_S = 10.0
FAILED_S = 0.25
"""Least time from a reading that failed to the next."""
FIRST_S = 10.0
"""For the first reading of a meter: one that gives none by then is an error of the plan."""


class RecordedPower(NamedTuple):
    """A meter: what it is, whether it counts energy, and the seconds between its readings."""

    facts: PowerMeterFacts
    counts_energy: bool
    every_s: float


class NewSamples(NamedTuple):
    """What was read since the last time: by meter, with the clock of that machine now, and the CPU
    time that reading took so far.
    """

    now_s: float
    samples: tuple[tuple[PowerSample, ...], ...]
    cpu_s: tuple[float, ...]


class Recordings(Protocol):
    """The meters of one machine."""

    @property
    def meters(self) -> Sequence[RecordedPower]:
        """Each with how it is read."""

    def new_samples(self) -> NewSamples:
        """What was read since the last call."""

    def close(self) -> None:
        """Read no more."""


class _Recording:
    """One meter and its thread."""

    def __init__(self, table: PowerMeter, source: PowerSource) -> None:
        self.table, self.source = table, source
        self.every_s = 0.0 if source.paced else min(table.every_s, source.longest_s)
        self._samples: list[PowerSample] = []
        self._cpu_s = 0.0
        self._lock, self._ending = threading.Lock(), threading.Event()
        self.first = threading.Event()
        name = f"power meter {table.name}"
        self._thread = threading.Thread(target=self._read_on, name=name, daemon=True)
        self._thread.start()

    def _read_on(self) -> None:
        due_s = time.monotonic()
        while not self._ending.is_set():
            sample = self._sample()
            with self._lock:
                self._samples.append(sample)
                self._cpu_s = time.thread_time()
            if sample.value is not None:
                self.first.set()
            pause_s = self.every_s if sample.value is not None else max(self.every_s, FAILED_S)
            due_s = max(due_s + pause_s, time.monotonic())
            self._ending.wait(due_s - time.monotonic())

    def _sample(self) -> PowerSample:
        began_s = time.monotonic()
        try:
            reading = self.source.read()
        except (NoAnswer, NotBelieved) as error:
            return PowerSample(time.monotonic(), None, str(error), isinstance(error, NotBelieved))
        except PlanError as error:  # a certificate that is another one by now
            return PowerSample(time.monotonic(), None, error.seen, refused=True)
        except Exception as error:  # an unforeseen one must not end the readings silently
            return PowerSample(time.monotonic(), None, f"{type(error).__name__}: {error}"[:200])
        ended_s = time.monotonic()
        at_s = ended_s if self.source.paced else (began_s + ended_s) / 2
        value = reading.watts if reading.joules is None else reading.joules
        return PowerSample(at_s - reading.ago_s, value)

    def take(self) -> tuple[tuple[PowerSample, ...], float]:
        """The new samples, and the CPU time so far."""
        with self._lock:
            samples, self._samples = tuple(self._samples), []
            return samples, self._cpu_s + self.source.cpu_s()

    @property
    def latest(self) -> PowerSample | None:
        """The latest sample that was not taken."""
        with self._lock:
            return self._samples[-1] if self._samples else None

    def end(self) -> None:
        """Begin no more readings."""
        self._ending.set()

    def close(self) -> None:
        """Wait for the reading under way, then close the source; one that hangs ends by itself."""
        self.end()
        self._thread.join(CLOSE_LIMIT_S)
        if not self._thread.is_alive():
            self.source.close()


class OwnRecordings:
    """The meters of this machine, each in a thread."""

    def __init__(self, tables: Sequence[PowerMeter]) -> None:
        """Raises PlanError for a meter that cannot be read."""
        self._recordings: list[_Recording] = []
        self.meters: list[RecordedPower] = []
        with contextlib.ExitStack() as unopened:
            unopened.callback(self.close)
            for table in tables:
                self._open(table)
            for one in self._recordings:
                _require_reading(one)
            unopened.pop_all()

    def _open(self, table: PowerMeter) -> None:
        source: PowerSource = POWER_METERS.module(table.type).open_source(table)
        facts = facts_of(table, source)
        if table.rates_only:
            source.close()
            self.meters.append(RecordedPower(facts, counts_energy=False, every_s=table.every_s))
            return
        recording = _Recording(table, source)
        self._recordings.append(recording)
        self.meters.append(RecordedPower(facts, source.counts_energy, recording.every_s))

    def new_samples(self) -> NewSamples:
        """What was read since the last call; of a rating nothing."""
        taken = {one.table.name: one.take() for one in self._recordings}
        each = [taken.get(one.facts.name, ((), 0.0)) for one in self.meters]
        samples, cpu_s = tuple(one[0] for one in each), tuple(one[1] for one in each)
        return NewSamples(time.monotonic(), samples, cpu_s)

    def close(self) -> None:
        with contextlib.ExitStack() as closing:
            for one in self._recordings:
                one.end()
                closing.callback(one.close)
        self._recordings = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()


def facts_of(table: PowerMeter, source: PowerSource | None = None) -> PowerMeterFacts:
    """What results say of a meter, as far as is known before it is opened."""
    return PowerMeterFacts(
        name=table.name,
        type=table.type,
        scope=table.measures,
        means=table.means,
        covers=table.covers or getattr(source, "drives", ()),
        accuracy=table.accuracy,
        source=source.described if source else "",
        every_s=min(table.every_s, source.longest_s) if source else table.every_s,
        on_database_host=table.on_database_host,
        rated_w=getattr(source, "rated_w", None),
    )


def _require_reading(one: _Recording) -> None:
    if one.first.wait(FIRST_S):
        return
    seen = one.latest
    why = seen.why if seen else f"no reading in {FIRST_S:g} s"
    do = "see whether it is there, and what `kneebench power` prints"
    raise PlanError(f"power meter {one.table.name}", seen=why, do=do)
