"""What disturbs a measurement from outside: other processes, a hypervisor that takes CPU time, a
load generator that stalled.

Every limit is here with its reason. A rung beyond one of the first group is invalid and measured
again; one beyond the second group keeps its figures, and a sentence beside the headline that is
based on them reports it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean
from typing import NamedTuple

from kneebench.analysis.comparison import called
from kneebench.analysis.wording import capital
from kneebench.records import Climb, Phase, Remark, Results, Rung
from kneebench.units import size

QUOTED: tuple[Phase, ...] = ("final_run", "fixed_rate", "load_level", "fixed_load")
"""Phases whose figures are quoted; all others only lead to them."""

CLIMBING: tuple[Phase, ...] = ("search", "bisection", "confirmation", "drift_check")
"""Phases that decide where a climb ends."""

TRIES = 3
"""How often one rung is measured at most: what disturbs three times running is likely to stay."""
LATE_S = 1.0
"""The load generator reads its clock ten times per second. A reading that comes later than this was
no busy core: the process or the machine stalled, and every user's latency includes it."""
LONGER, LONGER_S = 0.25, 2.0
"""A window may last so much longer than ordered, and so many seconds. A slow look at the meters
lengthens a short window by a second or two and does no harm, since throughput is divided by the
time that passed."""
STEAL_MOST = 0.20
"""Share of the database's CPU time that the hypervisor may take: beyond it the figure says more
about the neighbours than the storage. Busy shared machines stay below it most of the time, so that
they still get an answer."""

STEAL = 0.05
"""Stolen time that is worth a caveat: well beyond the noise floor of 2%."""
HEAVIER = 2.0
"""Bytes per transaction, of what the rungs before it had: a checkpoint, whose full-page images
follow it, or the writing of its pages fell into this one. It decays from rung to rung."""
OTHERS_BUSY = 0.15
"""Of the database's cores, used by other processes, and of the I/O on its devices: above it a busy
core or device says nothing about the database. The kernel's own threads, which work for it too,
take a few percent of the cores."""


NEAR = 4.0
"""Times the users, or so many times fewer: a checkpoint's writes are spread over other numbers of
transactions at far more or fewer users."""
HEAVIER_BY = {
    "log.bytes_per_transaction": "log",
    "device.write_bytes_per_transaction": "writes to its devices",
}


class Disturbance(NamedTuple):
    """One `kind` of remark: its quantities (the first one measured counts), the limit, who took
    what.
    """

    kind: str
    quantities: tuple[str, ...]
    limit: float
    who: str
    what: tuple[str, ...]

    def of(self, rung: Rung) -> tuple[float, str] | None:
        """The share taken in a rung, and of what; None where it was not measured."""
        for quantity, what in zip(self.quantities, self.what, strict=True):
            if (share := rung.quantity(quantity)) is not None:
                return share, what
        return None

    def remark(self, share: float, words: str) -> Remark:
        """That so much was taken, which is beyond the limit."""
        return Remark(
            kind=self.kind,
            severity="caveat",
            words=words,
            value=share,
            limit=self.limit,
            unit="share",
        )


OTHERS = Disturbance(
    "others_cpu",
    ("database.others",),
    OTHERS_BUSY,
    "other processes used",
    ("the database's CPU cores",),
)
OTHERS_IO = Disturbance(
    "others_io",
    ("device.others",),
    OTHERS_BUSY,
    "other processes caused",
    ("the I/O on the storage's device",),
)
STOLEN = Disturbance(
    "steal",
    ("database.steal", "cores.steal"),
    STEAL,
    "the hypervisor took",
    ("the database's CPU time", "the CPU time of the load generator's machine"),
)
"""Of a server that is elsewhere only the load generator's own machine tells."""
KINDS = (OTHERS, OTHERS_IO, STOLEN)


def caveats(rung: Rung) -> tuple[Remark, ...]:
    """What disturbed one rung beyond a limit and left it valid."""
    seen = [(one, found) for one in KINDS if (found := one.of(rung))]
    return tuple(
        one.remark(share, f"{one.who} {100 * share:.0f}% of {what} (limit {100 * one.limit:.0f}%)")
        for one, (share, what) in seen
        if share > one.limit
    )


def longest_s(ordered_s: float) -> float:
    """How long a window may last that was ordered as so long.

    >>> longest_s(2.0), longest_s(60.0)
    (4.0, 75.0)
    """
    return ordered_s + max(LONGER_S, LONGER * ordered_s)


def heavier(rung: Rung, before: Sequence[Rung]) -> Iterator[str]:
    """What background work added to the transactions of a rung of a climb: several times the bytes
    of the two rungs before it with about as many users, of its log and of what its devices write.
    """
    alike = [one for one in before if rung.users / NEAR <= one.users <= rung.users * NEAR]
    near = [one for one in alike if not one.invalid][-2:]
    for quantity, what in HEAVIER_BY.items():
        value = rung.quantity(quantity)
        usual = [seen for one in near if (seen := one.quantity(quantity))]
        if value and len(usual) == 2 and value > HEAVIER * max(usual):
            each = " and ".join(size(one) for one in usual)
            yield f"{size(value)} of {what} per transaction, {each} in the rungs before it"


def disturbances(results: Results) -> tuple[Remark, ...]:
    """What disturbed the runs that are quoted: a remark for each kind, to be printed beside the
    finding. Its value is the largest share.
    """
    quoted = {
        called(climb): [rung for rung in _quoted(climb) if not rung.invalid]
        for climb in results.climbs
    }
    return tuple(found for one in KINDS if (found := _over_all(one, quoted)))


def campaigns_disturbed(campaigns: Iterable[Results]) -> dict[str, tuple[Remark, ...]]:
    """By campaign what disturbed its quoted runs; nothing of one that was not disturbed."""
    found = {results.campaign.id: disturbances(results) for results in campaigns}
    return {campaign: some for campaign, some in found.items() if some}


def _quoted(climb: Climb) -> tuple[Rung, ...]:
    """Its final runs; of a fixed load without any, its one rung; of TPROC-H its queries."""
    final = climb.of("final_run", "fixed_rate", "query", "warm_query")
    return final or climb.of(*QUOTED)


def _over_all(one: Disturbance, quoted: dict[str, list[Rung]]) -> Remark | None:
    beyond = {
        configuration: [share for share, _ in _seen(one, rungs) if share > one.limit]
        for configuration, rungs in quoted.items()
    }
    shares = [share for some in beyond.values() for share in some]
    if not shares:
        return None
    what = next(
        what for rungs in quoted.values() for share, what in _seen(one, rungs) if share > one.limit
    )
    each = (
        "; " + ", ".join(f"{configuration} {len(some)}" for configuration, some in beyond.items())
        if len(beyond) > 1
        else ""
    )
    runs = sum(len(rungs) for rungs in quoted.values())
    sentence = (
        f"{one.who} up to {100 * max(shares):.0f}% of {what} in {len(shares)} of {runs} quoted runs"
    )
    words = f"{capital(sentence)} (limit {100 * one.limit:.0f}%{each})."
    return one.remark(max(shares), words)


def _seen(one: Disturbance, rungs: Sequence[Rung]) -> list[tuple[float, str]]:
    return [found for rung in rungs if (found := one.of(rung))]


def taken(rungs: Sequence[Rung]) -> tuple[float, str]:
    """The mean share of the database's cores that neither the database nor the load generator had,
    and who had it.
    """
    others, stolen = (
        fmean(seen) if (seen := _measured(rungs, name)) else 0.0
        for name in ("database.others", "database.steal")
    )
    return (
        others + stolen,
        "other processes and the hypervisor" if stolen > STEAL else "other processes",
    )


def _measured(rungs: Sequence[Rung], quantity: str) -> list[float]:
    return [value for rung in rungs if (value := rung.quantity(quantity)) is not None]
