"""Series of campaigns as a machine could give them: nights that scatter by more than their own
intervals, bad nights among them, and changes of level.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import exp

import numpy as np

from kneebench.analysis.change_points import change_points, outliers
from kneebench.records import Estimate

NIGHT, RUN = 0.02, 0.01
"""Scatter of nights, and the standard error within one, on logarithms."""
RUNS = 6
FLOOR = 0.02


def series(
    seed: int,
    nights: int,
    changes: Iterable[tuple[int, float]] = (),
    *,
    tails: str = "normal",
) -> list[Estimate]:
    """So many nights; from each change's night on the level is multiplied by its ratio."""
    draw = np.random.default_rng(seed)
    noise = draw.normal(size=nights) if tails == "normal" else draw.standard_t(3, nights) / 3**0.5
    logs = NIGHT * noise + RUN * draw.normal(size=nights)
    for night, ratio in changes:
        logs[night:] += np.log(ratio)
    half = 2.571 * RUN
    return [
        Estimate(
            value=30_000 * exp(x), low=30_000 * exp(x - half), high=30_000 * exp(x + half), n=RUNS
        )
        for x in logs
    ]


def false_share(seeds: Iterable[int], nights: int, tails: str, floor: float = FLOOR) -> float:
    """The share of series without a change in which one is marked."""
    found = [bool(change_points(series(seed, nights, tails=tails), floor)) for seed in seeds]
    return sum(found) / len(found)


def alone_share(
    seeds: Iterable[int], nights: int, ratio: float = 1.0, tails: str = "normal"
) -> float:
    """The share of series whose last night, by itself at this ratio, is marked as outlying."""
    last = nights - 1
    found = [
        last in [one.place for one in outliers(series(seed, nights, [(last, ratio)], tails=tails))]
        for seed in seeds
    ]
    return sum(found) / len(found)


def found_share(seeds: Iterable[int], nights: int, ratio: float, after: int) -> float:
    """The share of series in which the only change is found, within one night; it was so many
    nights ago.
    """
    night = nights - after
    found = [
        [one.place for one in change_points(series(seed, nights, [(night, ratio)]), FLOOR)]
        for seed in seeds
    ]
    return sum(len(places) == 1 and abs(places[0] - night) <= 1 for places in found) / len(found)


def false_alarms(seeds: Iterable[int], nights: int) -> float:
    """The share of jobs that mark a change at least once in so many nights, looking every night."""
    found = []
    for seed in seeds:
        whole = series(seed, nights)
        found.append(any(change_points(whole[:end], FLOOR) for end in range(5, nights + 1)))
    return sum(found) / len(found)


if __name__ == "__main__":
    for tails in ("normal", "heavy"):
        for nights in (5, 8, 15, 30, 60, 120):
            shares = [false_share(range(1000), nights, tails, floor) for floor in (0.0, FLOOR)]
            print(f"{tails} {nights} nights: false {shares}", flush=True)
    for ratio in (0.97, 0.95, 0.9):
        for nights, after in ((8, 3), (15, 3), (30, 3), (30, 7), (60, 7)):
            found = found_share(range(400), nights, ratio, after)
            print(f"{ratio} {nights} nights, {after} ago: found {found}", flush=True)
    for nights in (5, 8, 15, 30):
        for ratio, tails in ((1.0, "normal"), (1.0, "heavy"), (0.9, "normal"), (0.85, "normal")):
            marked = alone_share(range(400), nights, ratio, tails)
            print(f"{tails} {nights} nights, the last at {ratio}: outlying {marked}")
    print(f"alarms in 60 nights: {false_alarms(range(200), 60)}")
