"""Trend over campaigns: each storage against itself in the first campaign that has it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kneebench.analysis.comparison import called, ratio_of
from kneebench.analysis.fixed_rate import fixed_rate_latency, same_rate
from kneebench.analysis.knee import knee, place
from kneebench.analysis.quantity_ratio import MEAN, NOPM, P999, ComparedQuantity
from kneebench.records import Climb, Comparison, Estimate, Record, Results
from kneebench.units import count


class TrendPoint(Record):
    """A figure of one campaign. `against` compares it with the first campaign's; None there, and
    where either has no figure.
    """

    campaign: str
    value: Estimate | None
    against: Comparison | None


class Trend(Record):
    """One figure of one storage, by campaign in the order given. `quantity` is "nopm",
    "latency.mean" or "latency.p999".
    """

    storage: str
    quantity: str
    called: str
    points: tuple[TrendPoint, ...]


def trends(campaigns: Sequence[Results]) -> tuple[Trend, ...]:
    """NOPM of every storage that at least two campaigns have, and its mean latency where all of
    them had the same fixed rate; its P99.9 where enough transactions exceed it in each. Runs of
    different campaigns are not paired.
    """
    found = [(one.campaign.id, climb) for one in campaigns for climb in one.climbs if knee(climb)]
    names = dict.fromkeys(called(climb) for _, climb in found)
    return tuple(
        trend
        for name in names
        for trend in _of_storage(name, [one for one in found if called(one[1]) == name])
    )


def _of_storage(name: str, found: Sequence[tuple[str, Climb]]) -> Iterator[Trend]:
    if len(found) < 2:
        return
    nopm = [(id_, climb, _nopm(climb)) for id_, climb in found]
    yield _trend(name, NOPM, NOPM.called.format(place(found[0][1])), nopm)
    there = [fixed_rate_latency(climb) for _, climb in found]
    rates = [one.rate_per_s if one else 0.0 for one in there]
    if rates[0] and same_rate(rates):
        measured = [
            (id_, climb, one) for (id_, climb), one in zip(found, there, strict=True) if one
        ]
        mean = [(id_, climb, one.mean_s) for id_, climb, one in measured]
        p999 = [(id_, climb, one.p999_s) for id_, climb, one in measured]
        yield _trend(name, MEAN, f"mean latency at {count(rates[0])}/s", mean)
        if all(one.p999_certain for _, _, one in measured):
            yield _trend(name, P999, f"P99.9 latency at {count(rates[0])}/s", p999)


def _nopm(climb: Climb) -> Estimate | None:
    found = knee(climb)
    return found.nopm if found else None


def _trend(
    name: str,
    quantity: ComparedQuantity,
    title: str,
    found: Sequence[tuple[str, Climb, Estimate | None]],
) -> Trend:
    first = found[0][1]
    points = tuple(
        TrendPoint(
            campaign=id_,
            value=value,
            against=ratio_of(climb, first, quantity, interleaved=False) if number else None,
        )
        for number, (id_, climb, value) in enumerate(found)
    )
    return Trend(storage=name, quantity=quantity.name, called=title, points=points)
