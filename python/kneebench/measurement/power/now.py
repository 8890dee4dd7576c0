"""What meters of power say now: `kneebench power`, and the findings of `check`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from kneebench.measurement.power.record import PowerSample
from kneebench.measurement.power.recordings import RecordedPower, Recordings
from kneebench.plan.power import PowerMeter, table_of
from kneebench.records import PowerMeterFacts, Record
from kneebench.shelf import POWER_METERS


class PowerNow(Record):
    """A meter now: its latest power, of a counter that between its latest readings; how old that
    reading is; how often it had a new value meanwhile. `why`: there is no power; `do`: what helps.
    """

    facts: PowerMeterFacts
    watts: float | None = None
    age_s: float | None = None
    period_s: float | None = None
    why: str = ""
    do: str = ""


def _now(meter: RecordedPower, samples: Sequence[PowerSample], now_s: float) -> PowerNow:
    good = [(one.at_s, one.value) for one in samples if one.value is not None]
    if meter.facts.rated_w is not None:
        return PowerNow(facts=meter.facts, why="a rating, not measured")
    if len(good) < 2:
        why = next((one.why for one in reversed(samples) if one.why), "too few readings")
        return PowerNow(facts=meter.facts, why=why)
    (first_s, first), (last_s, last) = good[0], good[-1]
    watts = (last - first) / (last_s - first_s) if meter.counts_energy else last
    changed = [t for (t, b), (_, a) in zip(good[1:], good, strict=False) if a != b]
    shown = max(value for _, value in good)
    if meter.facts.scope != "drive" and not meter.counts_energy and shown <= 0:
        why = "it answers 0 W, and a running server takes more"
        return PowerNow(facts=meter.facts, why=why, do="see what it measures")
    period_s = (changed[-1] - changed[0]) / (len(changed) - 1) if len(changed) > 1 else None
    return PowerNow(facts=meter.facts, watts=watts, age_s=now_s - last_s, period_s=period_s)


def own_meters(sysfs: Path = Path("/sys"), dev: Path = Path("/dev")) -> Iterator[PowerMeter]:
    """The meters that this machine seems to have, as tables of a plan; of the types that are looked
    for (`found_here`).
    """
    for kind in POWER_METERS.names():
        look: Callable[[Path, Path], Iterator[Mapping[str, object]]] | None
        if look := getattr(POWER_METERS.module(kind), "found_here", None):
            for keys in look(sysfs, dev):
                yield table_of(kind).model_validate({**keys, "type": kind})


def power_now(opened: Sequence[Recordings], seconds: float) -> list[PowerNow]:
    """What meters say, all read for the same seconds."""
    begun = [one.new_samples() for one in opened]
    time.sleep(seconds)
    found = []
    for recordings, before in zip(opened, begun, strict=True):
        after = recordings.new_samples()
        parts = zip(recordings.meters, before.samples, after.samples, strict=True)
        found += [_now(meter, first + rest, after.now_s) for meter, first, rest in parts]
    return found
