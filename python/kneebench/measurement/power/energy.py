"""The energy of a stretch of time, from what a meter was read: exactly its bounds, and only where
nothing speaks against it.

A counter's energy at a moment lies on the line between the readings beside it; a gauge is taken to
change evenly from one reading to the next. Not measured (never 0): a stretch with a reading that
cannot be, with a gap, with readings that do not change, or that the readings do not enclose.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from kneebench.measurement.power.record import PowerRecord
from kneebench.records import MeasuredPower
from kneebench.units import energy, rounded, time

GAP_S, GAP_READINGS = 3.0, 3.0
"""Longest time without a reading: so long, or so many readings."""
STILL_SHARE, STILL_UPDATES = 0.1, 3.0
"""Longest time with the same reading: a share of the stretch, or so many updates of the meter."""
PERIODS = 20
"""Fewest periods of the meter in a stretch of time without a caveat."""
LAG_SHARE = 0.1
"""Largest lag, as a share of the stretch: 1 s of 10 s."""
COARSE = 0.01
"""Largest step of a counter, as a share of the energy, without a caveat."""


def measured_power(
    meter: str, record: PowerRecord, begin_s: float, end_s: float, lag_s: float = 0.0
) -> MeasuredPower:
    """What a meter measured from `begin_s` to `end_s`; its readings are `lag_s` late."""
    found = MeasuredPower(meter=meter, lag_s=lag_s, period_s=record.period_s())
    if why := _too_late(lag_s, end_s - begin_s):
        return _lacking(found, "late", why)
    a, b = begin_s + lag_s, end_s + lag_s
    try:
        before, after = record.within(a, b)
    except IndexError:
        return _lacking(found, "not_enclosed", _unenclosed(record, a, b))
    times = record.at_s[before : after + 1]
    gap_s, (still_s, _) = max(y - x for x, y in pairwise(times)), record.still(a, b)
    readings = sum(a <= t <= b for t in times)
    seen = {"gap_s": gap_s, "still_s": still_s, "readings": readings}
    found = found.model_copy(update=seen)
    if reason := _not_believed(record, before, after, a, b, gap_s):
        return _lacking(found, *reason)
    joules = energy_at(record, b) - energy_at(record, a)
    caveats = dict(_caveats(record, found, a, b, joules))
    return found.model_copy(
        update={
            "joules": joules,
            "watts": joules / (b - a),
            "high_w": max(watts_by_second(record, begin_s, end_s, lag_s), default=None),
            "caveats": tuple(caveats.values()),
            "kinds": tuple(caveats),
        }
    )


def _lacking(found: MeasuredPower, kind: str, why: str) -> MeasuredPower:
    return found.model_copy(update={"why": why, "kinds": (kind,)})


def watts_by_second(
    record: PowerRecord, begin_s: float, end_s: float, lag_s: float = 0.0
) -> list[float]:
    """The mean power of each whole second of a stretch that the readings enclose."""
    edges = [begin_s + lag_s + n for n in range(int(end_s - begin_s + 1e-6) + 1)]
    energies = [energy_at(record, edge) for edge in edges]
    return [b - a for a, b in pairwise(energies)]


def energy_at(record: PowerRecord, at_s: float) -> float:
    """Joules at a moment that two readings enclose, from the first reading of the record on.

    >>> from kneebench.measurement.power.record import PowerSample
    >>> gauge = PowerRecord(counts_energy=False, every_s=1.0)
    >>> gauge.add([PowerSample(0.0, 100.0), PowerSample(1.0, 100.0), PowerSample(2.0, 200.0)])
    >>> energy_at(gauge, 1.0), energy_at(gauge, 1.5)
    (100.0, 175.0)
    """
    before, _ = record.within(at_s, at_s)
    joules = record.joules[before]
    if at_s == record.at_s[before]:
        return joules
    share = (at_s - record.at_s[before]) / (record.at_s[before + 1] - record.at_s[before])
    return joules + share * (record.joules[before + 1] - joules)


def longest_gap_s(record: PowerRecord) -> float:
    """Longest time between two readings that is no gap."""
    return max(GAP_S, GAP_READINGS * record.reading_s())


def _too_late(lag_s: float, lasted_s: float) -> str:
    if abs(lag_s) <= LAG_SHARE * lasted_s:
        return ""
    limit_s = LAG_SHARE * lasted_s
    return f"it is {time(abs(lag_s))} late, for {time(lasted_s)} (limit {time(limit_s)})"


def _unenclosed(record: PowerRecord, a: float, b: float) -> str:
    why = next((one.why for one in reversed(record.failures(a, b))), "")
    where = "after" if record.at_s and record.at_s[0] <= a else "before"
    return f"no reading {where} it{f': {why}' if why else ''}"


def _not_believed(
    record: PowerRecord, before: int, after: int, a: float, b: float, gap_s: float
) -> tuple[str, str] | None:
    """The kind of a reason and the reason; None where nothing speaks against it."""
    failures = record.failures(record.at_s[before], record.at_s[after])
    if refused := next((one.why for one in failures if one.refused), ""):
        return "refused", refused
    if gap_s > (limit_s := longest_gap_s(record)):
        why = f" ({failures[-1].why})" if failures else ""
        return "gap", f"no reading for {time(gap_s)}{why} (limit {time(limit_s)})"
    if (little_s := record.too_little(before, after)) > limit_s:
        least = f"less than a tenth of idle power for {time(little_s)}"
        return "too_little", f"its counter shows {least} (limit {time(limit_s)})"
    still_s, value = record.still(a, b)
    seen = "its counter" if record.counts_energy else f"{rounded(value)} W"
    if still_s > (limit_s := max(STILL_SHARE * (b - a), STILL_UPDATES * record.update_s())):
        return "still", f"{seen} did not change for {time(still_s)} (limit {time(limit_s)})"
    return ("still", f"{seen} did not change at all") if still_s >= b - a else None


def _caveats(
    record: PowerRecord, found: MeasuredPower, a: float, b: float, joules: float
) -> Iterator[tuple[str, str]]:
    if found.period_s and b - a < PERIODS * found.period_s:
        periods = (b - a) / found.period_s
        seen = f"its {time(b - a)} have {periods:.0f} periods of {time(found.period_s)}"
        yield "few_periods", f"{seen} (at least {PERIODS})"
    if record.counts_energy:
        before, after = record.within(a, b)
        steps = [y - x for x, y in pairwise(record.values[before : after + 1])]
        step = min((one for one in steps if one > 0), default=0.0)
        if 0 in steps and step > COARSE * joules:  # a fine one moves with every reading
            yield "coarse", f"its counter goes by {energy(step)}, of {energy(joules)}"
