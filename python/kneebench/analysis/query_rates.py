"""Queries of TPROC-H per hour, as figures that campaigns are compared by: in a pass of one stream,
and of all streams at their knee.

A pass has the same parameters in every campaign of one seed, so passes are paired by their number,
also those of two campaigns; what drifted between them is in the ratio and in no interval. They
count by the queries that have a time in both.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from math import exp, log
from statistics import fmean

from kneebench.analysis.estimate import estimate
from kneebench.analysis.quantity_ratio import ComparedQuantity
from kneebench.analysis.query_streams import per_hour, stream_knee
from kneebench.analysis.query_times import HOUR_S, runs, speed
from kneebench.records import Climb, Estimate


def timed(climb: Climb) -> frozenset[int]:
    """The queries and refresh functions with a time."""
    return frozenset(one.order.query for one in climb.of("query") if not one.invalid)


def pass_rate(of: Collection[int], climb: Climb) -> Estimate | None:
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


def _stream_rate(_: Collection[int], climb: Climb) -> Estimate | None:
    found = stream_knee(climb)
    return found.per_hour if found else None


QUERIES = ComparedQuantity(
    "queries.per_hour",
    "query",
    per_hour,
    "queries per hour in a pass",
    more_is_better=True,
    over=speed,
)
STREAMS = ComparedQuantity(
    "streams.per_hour", "final_run", per_hour, "queries per hour at {}", more_is_better=True
)


OF_QUERIES = ((QUERIES, pass_rate), (STREAMS, _stream_rate))
"""The figures of TPROC-H, each with its estimate by these queries of a climb."""


def query_rates(climbs: Sequence[Climb]) -> Iterator[tuple[ComparedQuantity, list[Estimate]]]:
    """The figures that all of these have, each by climb; nothing of TPROC-C."""
    of = frozenset.intersection(*map(timed, climbs))
    for quantity, rate_of in OF_QUERIES:
        found = [rate for climb in climbs if (rate := rate_of(of, climb))]
        if len(found) == len(climbs):
            yield quantity, found
