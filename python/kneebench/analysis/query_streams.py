"""Streams of TPROC-H's queries side by side: queries per hour of each number of streams, and of the
knee.

A knee is measured again in turn with the others, so its ratios are of pairs. Every stream has all
queries of the plan, so a pass of N streams answers N times as many.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt
from typing import Any, NamedTuple

from kneebench.analysis.comparison import base_climbs
from kneebench.analysis.estimate import estimate
from kneebench.analysis.query_times import EVERY, HOUR_S, numbers, power_per_hour, ratio_by_pass
from kneebench.analysis.wording import times_another, times_with_interval
from kneebench.records import REFRESH, Climb, Estimate, Results, Rung


class StreamKnee(NamedTuple):
    """Streams at the knee, and queries per hour there."""

    streams: int
    per_hour: Estimate


def per_hour(rung: Rung) -> float:
    """Queries answered per hour of a pass of streams; refresh functions do not count."""
    answered = sum(one.answered and one.query not in REFRESH for one in rung.queries)
    return HOUR_S * answered / rung.tally.window_s


def stream_curve(climb: Climb) -> list[tuple[int, float]]:
    """(streams, queries per hour) of its rungs, in the order of streams; of two the later. Nothing
    of a climb in users.
    """
    found = {
        one.users: per_hour(one)
        for one in climb.of("search", "bisection", "fixed_load")
        if one.queries and not one.invalid
    }
    return sorted(found.items())


def stream_knee(climb: Climb) -> StreamKnee | None:
    """That of a climb, by its final runs; None without any."""
    runs = _final_runs(climb)
    if not runs:
        return None
    return StreamKnee(runs[0].users, estimate([per_hour(one) for one in runs]))


def _final_runs(climb: Climb) -> list[Rung]:
    return [one for one in climb.of("final_run") if not one.invalid and one.queries]


def stream_ratio(climb: Climb, against: Climb) -> Estimate | None:
    """Queries per hour over another configuration's, each at its own knee; None without pairs."""
    return ratio_by_pass(_final_runs(climb), _final_runs(against), per_hour)


def composite(results: Results, climb: Climb) -> float | None:
    """The square root of power and throughput, each times the scale, as HammerDB's users know it:
    power is queries per hour by the geometric mean of the 22 queries and both refresh functions,
    throughput that of the streams at the knee. None where one of them was not measured.
    """
    of = numbers(results)
    power, found = power_per_hour(climb, of), stream_knee(climb)
    if len(of) < len(EVERY) + len(REFRESH) or power is None or found is None:
        return None
    return results.campaign.resolved.scale * sqrt(power * found.per_hour.value)


def streams_said(results: Results) -> Iterator[str]:
    """What each storage's knee gives over the baseline's."""
    bases = base_climbs(results)
    for climb in results.climbs:
        base, found = bases.get(climb.id, climb), stream_knee(climb)
        ratio = stream_ratio(climb, base) if base is not climb else None
        if found and ratio:
            said = times_another(times_with_interval(ratio), base.configuration.name, "queries")
            yield f"{climb.configuration.name} at its knee of {found.streams} streams: {said}/h"


def stream_document(results: Results) -> dict[str, Any]:
    """The same by configuration, for programs; empty without streams."""
    return {
        climb.id: {
            "curve": curve,
            "knee": found and found._asdict(),
            "composite": composite(results, climb),
            "stopped_by": climb.stopped_by,
        }
        for climb in results.climbs
        if (curve := stream_curve(climb))
        for found in [stream_knee(climb)]
    }
