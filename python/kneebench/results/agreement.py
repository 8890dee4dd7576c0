"""Whether a kept rung agrees with itself: what its file says is worked out once more from the
file's own numbers.

A rung's numbers depend on each other, so a file that was damaged or edited shows it. The sums of
the counts must hold, histograms must give the latencies beside them, the database's counts must
give TPM, and each self-check must find again what it found. A check that failed when it was
measured agrees with itself: what is compared is stored against recomputed.

A kneebench that works out one of these differently needs a new format number (formats.py), with an
upgrade that recomputes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import isclose

from kneebench._core import merge_histograms
from kneebench.measurement.checks import (
    CheckInput,
    counted_by_the_database,
    little,
    new_orders,
    overflow,
    ratio,
    rollbacks,
    unstarted,
)
from kneebench.measurement.idle_counts import Idle
from kneebench.plan.plan import Workload
from kneebench.records import Check, Counted, Counts, Latency, Rung, Tally

SAME, SAME_S = 2e-3, 1e-6
"""Relative difference, and time, up to which two values are one: a histogram keeps three digits,
and counts from 1 µs."""
SAME_VALUE = 1e-4
"""Of a check: a hundredth of a percent; counts are whole."""
NOTHING = Idle(0, 0, 0)
NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.(?P<decimals>\d+))?")
OF_A_HISTOGRAM = ("mean_s", "p50_s", "p90_s", "p95_s", "p99_s", "p999_s", "max_s")


def disagreement(rung: Rung, workload: Workload | None) -> str:
    """The first thing in which a rung disagrees with itself; empty where it agrees.

    Without a workload what depends on it is left out.
    """
    return next(_disagreements(rung, workload), "")


def _disagreements(rung: Rung, workload: Workload | None) -> Iterator[str]:
    if rung.tally.users != rung.users:
        yield f"{rung.tally.users} users are counted where {rung.users} were ordered"
    known = {check.name for check in rung.checks if not check.passed}
    yield from _counts(rung.tally, identity_failed="identity" in known)
    for latency in _latencies(rung.tally):
        yield from _histogram(latency)
    if rung.counted:
        yield from _tpm(rung, rung.counted)
    if workload and rung.checks:
        yield from _checks(rung, workload)


def _counts(tally: Tally, *, identity_failed: bool) -> Iterator[str]:
    """Nothing counted in the window that is not in the whole, and the identity of both, unless it
    failed when it was measured.
    """
    for name, one in tally.transactions.items():
        for scope, counts in (("", one.whole), (" in the window", one.window)):
            ended = counts.completed + counts.failed + counts.unknown
            if counts.started != ended and not identity_failed:
                yield f"{name}{scope}: {counts.started:,} started and {ended:,} ended"
        for field in Counts.model_fields:
            whole, window = getattr(one.whole, field), getattr(one.window, field)
            if not 0 <= window <= whole:
                yield f"{name}: {window:,} {field} in the window and {whole:,} in all"
        if one.latency and one.latency.n > one.whole.completed:
            yield f"{name}: {one.latency.n:,} latencies of {one.whole.completed:,} that completed"
    parts = [one.latency for one in tally.transactions.values() if one.latency]
    if (
        tally.latency
        and parts
        and all(part.histogram for part in parts)
        and sum(part.n for part in parts) != tally.latency.n
    ):
        yield (
            f"{tally.latency.n:,} latencies in all and {sum(part.n for part in parts):,} by"
            " transaction"
        )


def _latencies(tally: Tally) -> list[Latency]:
    """Those with a histogram."""
    found = [
        tally.latency,
        tally.wait,
        *(part for one in tally.transactions.values() for part in (one.latency, one.wait)),
    ]
    return [latency for latency in found if latency and latency.histogram]


def _histogram(latency: Latency) -> Iterator[str]:
    """What the histogram says where the numbers beside it say something else."""
    try:
        found = Latency.model_validate(merge_histograms([latency.histogram]))
    except ValueError as error:
        yield str(error)
        return
    if found.n != latency.n:
        yield f"a histogram holds {found.n:,} latencies where {latency.n:,} are counted"
    for name in OF_A_HISTOGRAM:
        stored, recomputed = getattr(latency, name), getattr(found, name)
        if not isclose(stored, recomputed, rel_tol=SAME, abs_tol=SAME_S):
            yield f"{name} is {stored:.6g} where its histogram gives {recomputed:.6g}"


def _tpm(rung: Rung, counted: Counted) -> Iterator[str]:
    tpm = counted_by_the_database(rung.tally, NOTHING, _idle(counted))
    if not isclose(tpm, rung.tpm, rel_tol=SAME):
        yield f"tpm is {rung.tpm:,.0f} where the database's counts give {tpm:,.0f}"


def _checks(rung: Rung, workload: Workload) -> Iterator[str]:
    """Checks that find something else now.

    One that the file does not hold must pass: a rung that failed it would hold it.
    """
    stored = {check.name: check for check in rung.checks}
    for again in _again(rung, workload):
        before = stored.get(again.name)
        if not again.passed if before is None else _differ(before, again):
            sentence = (
                f"passed with {before.seen}"
                if before and before.passed
                else f"failed with {before.seen}"
                if before
                else "is missing"
            )
            yield f"the check {again.name} {sentence}, and its numbers now give {again.seen}"


def _again(rung: Rung, workload: Workload) -> Iterator[Check]:
    """The checks that the file has the numbers for; the identity is judged by itself."""
    after = _idle(rung.counted) if rung.counted else NOTHING
    seen = CheckInput(rung.order, workload, rung.tally, NOTHING, after, rung.tpm, None)
    rules = (ratio, little, overflow, unstarted) + ((new_orders, rollbacks) if rung.counted else ())
    yield from filter(None, (rule(seen) for rule in rules))


def _differ(before: Check, again: Check) -> bool:
    """By their numbers, and by those that they show, as far as the stored one has digits: an older
    file has no others. By their result where they show the same limit (campaigns of old have a
    space before %).
    """
    if _apart(before.value, again.value):
        return True
    one, other = (NUMBER.search(check.seen) for check in (before, again))
    if one and other and abs(_value(one) - _value(other)) > _rounding(one):
        return True
    return before.limit.replace(" %", "%") == again.limit and before.passed != again.passed


def _apart(one: float | None, other: float | None) -> bool:
    return one is not None and other is not None and abs(one - other) > SAME_VALUE


def _value(number: re.Match[str]) -> float:
    return float(number[0].replace(",", ""))


def _rounding(number: re.Match[str]) -> float:
    """By how much a number with so many decimals may be off; whole ones are counts."""
    return 10.0 ** -len(number["decimals"]) if number["decimals"] else 0.0


def _idle(counted: Counted) -> Idle:
    return Idle(counted.next_order_ids, counted.commits, counted.rollbacks)
