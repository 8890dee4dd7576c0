"""Whether the transactions compared were equally heavy, by the bytes of log that each took.

After a checkpoint the first change of each page logs the whole page, so log per transaction falls
with the transactions since then. A slow storage has fewer of them at the same time: it is measured
on heavier transactions than a fast one. Windows that begin after as many transactions, or contain
whole cycles of the same length, avoid it. What is left is said, and where it may be the whole
difference in NOPM the comparison fails a check.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations
from math import exp, log
from statistics import fmean
from typing import NamedTuple

from kneebench.analysis.comparison import called
from kneebench.analysis.databases import by_database
from kneebench.records import Check, Climb, Results
from kneebench.units import size

LOG, WRITTEN = "log.bytes_per_transaction", "device.write_bytes_per_transaction"
WORDS = {LOG: "log", WRITTEN: "writes to its devices"}
SAID = 1.10
"""Times the bytes of the other configuration: said from here."""
MOST = 1.25
"""Times the bytes of log: from here the check fails, where NOPM does not differ by far more."""


class Weight(NamedTuple):
    """Two configurations of which one had heavier transactions: names, bytes per transaction, and
    how many times the NOPM the lighter one had.
    """

    quantity: str
    heavier: str
    lighter: str
    bytes: tuple[float, float]
    nopm_ratio: float

    @property
    def times(self) -> float:
        """How much heavier."""
        return self.bytes[0] / self.bytes[1]

    @property
    def matters(self) -> bool:
        """Whether it may be what the comparison shows."""
        whole = abs(log(self.nopm_ratio))
        return self.quantity == LOG and log(self.times) > max(log(MOST), whole)

    @property
    def sentence(self) -> str:
        """Both figures."""
        more, less = (size(value) for value in self.bytes)
        return (
            f"{WORDS[self.quantity]} per transaction: {more} on {self.heavier}, {less} on"
            f" {self.lighter} ({self.times:.2f}x)"
        )


def order_weights(results: Results) -> Iterator[Weight]:
    """For each quantity the two configurations of one database that differ most, if by more than a
    tenth; and those of which heavier transactions may explain the difference in NOPM.
    """
    for part in by_database(results).values():
        for quantity in WORDS:
            pairs = sorted(_pairs(part.climbs, quantity), key=lambda one: -one.times)
            pairs = [one for one in pairs if one.times > SAID]
            yield from dict.fromkeys([*pairs[:1], *(one for one in pairs if one.matters)])


def _pairs(climbs: Sequence[Climb], quantity: str) -> Iterator[Weight]:
    known = [(climb, found) for climb in climbs if (found := _means(climb, quantity))]
    for (climb, (ours, nopm)), (other, (theirs, other_nopm)) in permutations(known, 2):
        if not _compared(climb, other):
            continue
        if ours > theirs and (quantity == LOG or _as_much_memory(climb, other)):
            both = (ours, theirs)
            yield Weight(quantity, called(climb), called(other), both, other_nopm / nopm)


def _compared(one: Climb, other: Climb) -> bool:
    """Whether the brief compares the two: storages under one constraint, or constraints of one
    storage.
    """
    ours, theirs = one.configuration, other.configuration
    return ours.storage == theirs.storage or ours.constraint == theirs.constraint


def _as_much_memory(one: Climb, other: Climb) -> bool:
    """With less memory changed pages are written more often: no transaction is heavier for that."""
    ours, theirs = one.configuration, other.configuration
    return (ours.memory_bytes, ours.engine_memory_bytes) == (
        theirs.memory_bytes,
        theirs.engine_memory_bytes,
    )


def _means(climb: Climb, quantity: str) -> tuple[float, float] | None:
    """(bytes per transaction, NOPM) of its final runs, geometric means; None where one is not
    known.
    """
    runs = [rung for rung in climb.of("final_run") if not rung.invalid and rung.tally.nopm > 0]
    values = [value for rung in runs if (value := rung.quantity(quantity))]
    if not values or len(values) < len(runs):
        return None
    return exp(fmean(map(log, values))), exp(fmean(log(rung.tally.nopm) for rung in runs))


def weight_checks(results: Results) -> tuple[Check, ...]:
    """The check of a finished comparison that heavier transactions do not explain it; none where
    the log was not measured, or nothing is compared.
    """
    if len(results.climbs) < 2 or not results.finished:
        return ()
    if not any(rung.quantity(LOG) for climb in results.climbs for rung in climb.of("final_run")):
        return ()
    found = [one for one in order_weights(results) if one.matters]
    seen = "; ".join(one.sentence for one in found)
    return (
        Check(
            name="equally heavy transactions",
            passed=not found,
            seen=seen or "alike",
            limit=f"{MOST}x, or the difference in NOPM",
            sentence=f"the transactions compared are not equally heavy: {seen}"
            if found
            else "the transactions compared are about equally heavy",
        ),
    )
