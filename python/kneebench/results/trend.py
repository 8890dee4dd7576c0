"""Trend over campaigns: each storage against itself in the first campaign that has it, and where it
changed for good.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kneebench.analysis.change_points import FEWEST, change_points, outliers
from kneebench.analysis.comparison import called, machine_floor, ratio_of
from kneebench.analysis.drift import FLOOR
from kneebench.analysis.fixed_rate import fixed_rate_latency, rate_text, same_rate
from kneebench.analysis.knee import knee, place
from kneebench.analysis.quantity_ratio import MEAN, NOPM, P999, ComparedQuantity
from kneebench.analysis.query_rates import query_rates, timed
from kneebench.analysis.wording import capital, plural, times, times_with_interval
from kneebench.records import Campaign, Climb, Comparison, Estimate, Record, Results
from kneebench.units import count


class TrendPoint(Record):
    """A figure of one campaign. `against` compares it with the first campaign's; None there, and
    where either has no figure.
    """

    campaign: str
    started_at: str = ""
    value: Estimate | None
    against: Comparison | None


class TrendChange(Record):
    """A change point (analysis/change_points.py). `campaign`: the first one after it; `last`: the
    one before. `ratio`: the level after it over the level before; `worse`: in the direction that
    is.
    """

    campaign: str
    started_at: str
    last: str
    ratio: Estimate
    worse: bool


class TrendOutlier(Record):
    """A campaign that is alone, such as one bad night. `ratio`: its figure over the level beside
    it; `worse`: in the direction that is.
    """

    campaign: str
    started_at: str
    ratio: float
    worse: bool


class Trend(Record):
    """One figure of one storage, by campaign in the order given. `quantity` is "nopm",
    "latency.mean" or "latency.p999", of TPROC-H "queries.per_hour" or "streams.per_hour". `floor`:
    the noise floor of its machines, as a share.
    """

    storage: str
    quantity: str
    called: str
    points: tuple[TrendPoint, ...]
    floor: float = 0.0
    changes: tuple[TrendChange, ...] = ()
    outliers: tuple[TrendOutlier, ...] = ()


class _Measured(NamedTuple):
    """A storage in one campaign."""

    campaign: Campaign
    climb: Climb


def trends(campaigns: Sequence[Results]) -> tuple[Trend, ...]:
    """NOPM of every storage that at least two campaigns have, and its mean latency where all of
    them had the same fixed rate; its P99.9 where enough transactions exceed it in each. Of TPROC-H
    queries per hour. Runs of different campaigns are not paired.
    """
    found = [
        _Measured(one.campaign, climb)
        for one in campaigns
        for climb in one.climbs
        if knee(climb) or timed(climb)
    ]
    names = dict.fromkeys(called(one.climb) for one in found)
    return tuple(
        trend
        for name in names
        for trend in _of_storage(name, [one for one in found if called(one.climb) == name])
    )


def hidden_latencies(campaigns: Sequence[Results]) -> str:
    """Why latencies have no trend, in a sentence; empty where the fixed rates are the same."""
    found = (fixed_rate_latency(climb) for one in campaigns for climb in one.climbs)
    rates = [one.rate_per_s for one in found if one]
    if not rates or same_rate(rates):
        return ""
    seen = ", ".join(dict.fromkeys(f"{count(rate)}/s" for rate in rates))
    return f"latencies are not shown: the fixed rates differ ({seen}); set ladder.latency_rate"


def _of_storage(name: str, found: Sequence[_Measured]) -> Iterator[Trend]:
    if len(found) < 2:
        return
    climbs = [one.climb for one in found]
    if timed(climbs[0]):
        for quantity, per_hour in query_rates(climbs):
            called_ = quantity.called.format(place(climbs[0]))
            yield _trend(name, quantity, called_, found, per_hour)
        return
    nopm = [_nopm(one.climb) for one in found]
    yield _trend(name, NOPM, NOPM.called.format(place(found[0].climb)), found, nopm)
    there = [one for each in found if (one := fixed_rate_latency(each.climb))]
    rates = [one.rate_per_s for one in there]
    if len(there) == len(found) and same_rate(rates):
        at = rate_text(rates)
        mean = [one.mean_s for one in there]
        yield _trend(name, MEAN, f"mean latency at {at}", found, mean)
        if all(one.p999_certain for one in there):
            p999 = [one.p999_s for one in there]
            yield _trend(name, P999, f"P99.9 latency at {at}", found, p999)


def _nopm(climb: Climb) -> Estimate | None:
    found = knee(climb)
    return found.nopm if found else None


def _trend(
    name: str,
    quantity: ComparedQuantity,
    title: str,
    found: Sequence[_Measured],
    values: Sequence[Estimate | None],
) -> Trend:
    first = found[0].climb
    points = tuple(
        TrendPoint(
            campaign=one.campaign.id,
            started_at=one.campaign.started_at,
            value=value,
            against=ratio_of(one.climb, first, quantity, interleaved=False) if number else None,
        )
        for number, (one, value) in enumerate(zip(found, values, strict=True))
    )
    floor = max(FLOOR, machine_floor([one.climb for one in found], quantity.name))
    known = [point for point in points if point.value and point.value.value > 0]
    return Trend(
        storage=name,
        quantity=quantity.name,
        called=title,
        points=points,
        floor=floor,
        changes=tuple(_changes(known, floor, more_is_better=quantity.more_is_better)),
        outliers=tuple(_outliers(known, floor, more_is_better=quantity.more_is_better)),
    )


def _changes(
    points: Sequence[TrendPoint], floor: float, *, more_is_better: bool
) -> Iterator[TrendChange]:
    for change in change_points(_values(points), floor):
        after, before = points[change.place], points[change.last]
        yield TrendChange(
            campaign=after.campaign,
            started_at=after.started_at,
            last=before.campaign,
            ratio=change.ratio,
            worse=(change.ratio.value < 1) == more_is_better,
        )


def _outliers(
    points: Sequence[TrendPoint], floor: float, *, more_is_better: bool
) -> Iterator[TrendOutlier]:
    for one in outliers(_values(points), floor):
        yield TrendOutlier(
            campaign=points[one.place].campaign,
            started_at=points[one.place].started_at,
            ratio=one.ratio,
            worse=(one.ratio < 1) == more_is_better,
        )


def _values(points: Sequence[TrendPoint]) -> list[Estimate]:
    return [point.value for point in points if point.value]


# Trends in words: their change points, and what they come to.


def change_sentence(trend: Trend, change: TrendChange) -> str:
    """A change point in a sentence."""
    return (
        f"{capital(trend.storage)}: {trend.called} is {times_with_interval(change.ratio)} the level"
        f" before, since {change.campaign} ({change.started_at[:10]})"
    )


def outlier_sentence(trend: Trend, outlier: TrendOutlier) -> str:
    """An outlying campaign in a sentence."""
    return (
        f"{capital(trend.storage)}: {trend.called} of {outlier.campaign}"
        f" ({outlier.started_at[:10]}) is outlying, {times(outlier.ratio)} the level beside it"
    )


def headline(trends: Sequence[Trend]) -> str:
    """What the trends come to: the latest change, or that there is none; and that the last campaign
    is outlying.
    """
    last = last_outliers(trends)
    return f"{_changed(trends)}{'; the last one is outlying' if last else ''}"


def _changed(trends: Sequence[Trend]) -> str:
    found = list(latest_changes(trends))
    campaigns = max((len(one.points) for one in trends), default=0)
    if found:
        trend, change = found[0]
        more = f", and {plural(len(found) - 1, 'more change')}" if len(found) > 1 else ""
        direction = "worse" if change.worse else "better"
        return (
            f"{capital(trend.storage)}: {trend.called} {direction} since"
            f" {change.started_at[:10]}{more}"
        )
    if campaigns < FEWEST:
        return f"Too few campaigns for change points: {campaigns} of {FEWEST}"
    return f"No change point in {plural(campaigns, 'campaign')}"


def latest_changes(trends: Sequence[Trend]) -> Iterator[tuple[Trend, TrendChange]]:
    """The last change of each trend that has one: first those for the worse, the newest first."""
    last = [(one, one.changes[-1]) for one in trends if one.changes]
    newest = sorted(last, key=lambda pair: pair[1].started_at, reverse=True)
    yield from sorted(newest, key=lambda pair: not pair[1].worse)


def last_outliers(trends: Sequence[Trend]) -> list[tuple[Trend, TrendOutlier]]:
    """Where the last campaign is outlying: first those for the worse."""
    last = max((point.started_at for one in trends for point in one.points), default="")
    found = [(one, each) for one in trends for each in one.outliers if each.started_at == last]
    return sorted(found, key=lambda pair: not pair[1].worse)
