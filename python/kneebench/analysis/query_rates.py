"""Queries of TPROC-H per hour, as figures that campaigns are compared by: in a pass of one stream,
and of all streams at their knee.

A pass has the same parameters in every campaign of one seed, so passes are paired by their number,
also those of two campaigns; what drifted between them is in the ratio and in no interval. They
count by the queries that have a time in both.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from math import exp, log
from statistics import fmean
from typing import NamedTuple

from kneebench.analysis.estimate import estimate
from kneebench.analysis.quantity_ratio import ComparedQuantity
from kneebench.analysis.query_streams import per_hour, stream_knee
from kneebench.analysis.query_times import HOUR_S, runs, speed
from kneebench.records import Climb, Estimate, Rung


def timed(climb: Climb) -> frozenset[int]:
    """The queries and refresh functions with a time."""
    return frozenset(one.order.query for one in climb.of("query") if not one.invalid)


def timed_in_all(climbs: Sequence[Climb]) -> frozenset[int]:
    """Those with a time in each of the campaigns."""
    return frozenset.intersection(*map(timed, climbs)) if climbs else frozenset()


def pass_rate(climb: Climb, of: Collection[int]) -> Estimate | None:
    """These queries per hour in a pass, by the geometric mean of their times. A pass in which one
    lacks it is left out; None without any.
    """
    each = {
        number: {one.order.repeat: one.tally.window_s for one in runs(climb, "query", number)}
        for number in of
    }
    whole = set.intersection(*({*times} for times in each.values())) if each else set()
    rates = [
        HOUR_S / exp(fmean(log(times[repeat]) for times in each.values()))
        for repeat in sorted(whole)
    ]
    return estimate(rates) if rates else None


def _stream_rate(climb: Climb, _: Collection[int]) -> Estimate | None:
    found = stream_knee(climb)
    return found.per_hour if found else None


def _alone(rung: Rung) -> float:
    return HOUR_S / rung.tally.window_s


QUERIES = ComparedQuantity(
    "queries.per_hour",
    "query",
    _alone,
    "queries per hour in a pass",
    more_is_better=True,
    over=speed,
)
STREAMS = ComparedQuantity(
    "streams.per_hour", "final_run", per_hour, "queries per hour at {}", more_is_better=True
)


class QueryFigure(NamedTuple):
    """A figure of TPROC-H, and its estimate for a climb by these queries."""

    quantity: ComparedQuantity
    of: Callable[[Climb, Collection[int]], Estimate | None]

    def by(self, queries: Collection[int], climb: Climb) -> Estimate | None:
        """Its estimate; None where the climb has none."""
        return self.of(climb, queries)


OF_QUERIES = (QueryFigure(QUERIES, pass_rate), QueryFigure(STREAMS, _stream_rate))


def query_rates(climbs: Sequence[Climb]) -> Iterator[tuple[ComparedQuantity, list[Estimate]]]:
    """The figures that all of these have, each by climb; nothing of TPROC-C."""
    of = timed_in_all(climbs)
    for figure in OF_QUERIES:
        found = [rate for climb in climbs if (rate := figure.of(climb, of))]
        if len(found) == len(climbs):
            yield figure.quantity, found
