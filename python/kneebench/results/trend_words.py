"""Trends in words: their change points, and what they come to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kneebench.analysis.change_points import FEWEST
from kneebench.analysis.wording import capital, plural, times, times_with_interval
from kneebench.results.trend import Trend, TrendChange, TrendOutlier


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
