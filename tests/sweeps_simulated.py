"""Sweeps whose truth is known, some of their configurations still warming: how often the answer is
wrong, and how often there is one.

A configuration that was still warming did only a share of what it would do when warm. The answer is
wrong if more of the resource stops paying elsewhere: at another configuration than the named one,
at or below the one beyond which it is said to pay, or outside the range that is given.

`python -m tests.sweeps_simulated --count 2000` prints the table of docs/method/sweeps.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from math import exp
from statistics import fmean
from typing import NamedTuple

import numpy as np

from kneebench.analysis.levelling import WITHIN, Levelling, levelling
from kneebench.analysis.sweep import sweeps
from kneebench.records import Climb, Configuration, Moved, Order, Results, Rung
from tests.curves import rung
from tests.recordings import recorded

GIB = 2**30
SIZES = (1, 2, 4, 8, 16, 32)
RUNS = 3
LEAST_WARM = 0.6
"""Of its warm throughput, what a configuration did at least that was still warming."""
FILLING = Moved(nopm=1e6, reads=-1.0)
"""Beyond any noise floor."""
Course = Callable[[float], float]


def flat(gib: float) -> float:
    """No difference."""
    return 1.0


def rising(gib: float) -> float:
    """23% more for each doubling."""
    return float(gib**0.3)


def off(gib: float) -> float:
    """99% of the most at 8 GiB, 92% at 4."""
    return 1 - 0.08 * (4 / gib) ** 3 if gib >= 4 else 0.92 * gib / 4


def slowly(gib: float) -> float:
    """94.5% of the most at 8 GiB and 97.3% at 16: close to the limit of 5%."""
    return 1 - 0.44 / gib


COURSES: dict[str, Course] = {
    "flat": flat,
    "rising": rising,
    "levelling off": off,
    "slowly": slowly,
}
WARMING: dict[str, tuple[int, ...]] = {
    "none": (),
    "the largest": (5,),
    "the two largest": (4, 5),
    "the three largest": (3, 4, 5),
    "one between": (3,),
    "the smallest and the largest": (0, 5),
}
"""Which of six configurations were still warming."""
NOISE = (0.01, 0.03, 0.10, 0.30)


class Judged(NamedTuple):
    """One simulated sweep. `named`: a configuration, or one beyond which more pays."""

    named: bool
    wrong: bool
    outside: bool


def memory_sweep(
    course: Course,
    *,
    scatter: float = 0.01,
    seed: int = 0,
    runs: int = RUNS,
    drift: float = 0.0,
    gib: Sequence[int] = SIZES,
    warming: Sequence[int] = (),
) -> Results:
    """A sweep over memory; all runs of a repeat drift alike. `warming`: the numbers of the sizes
    that were still warming.
    """
    rng = np.random.default_rng(seed)
    repeats = drift * rng.normal(size=runs)
    warm = {n: rng.uniform(LEAST_WARM, 1.0) for n in warming}
    climbs = tuple(
        climb(
            Configuration(
                id=f"disk-{size}", storage="disk", constraint=f"{size} GiB", memory_bytes=size * GIB
            ),
            [
                1000 * course(size) * warm.get(n, 1.0) * exp(scatter * rng.normal() + moved)
                for moved in repeats
            ],
            warming=n in warm,
        )
        for n, size in enumerate(gib)
    )
    return recorded().model_copy(update={"climbs": climbs})


def climb(
    configuration: Configuration,
    per_s: Sequence[float],
    knee_users: int = 8,
    *,
    warming: bool = False,
) -> Climb:
    """Final runs with these throughputs."""

    def run(repeat: int, each_s: float) -> Rung:
        made = rung(
            Order(configuration=configuration.id, phase="final_run", users=8, repeat=repeat), each_s
        )
        return made.model_copy(update={"steady": False, "moved": FILLING}) if warming else made

    rungs = tuple(run(repeat, each_s) for repeat, each_s in enumerate(per_s, start=1))
    return Climb(configuration=configuration, rungs=rungs, knee_users=knee_users, bracket=(8, 8))


def truth(course: Course, gib: Sequence[int] = SIZES) -> int:
    """The number of the smallest size within 5% of the best."""
    best = max(map(course, gib))
    return next(n for n, size in enumerate(gib) if course(size) >= (1 - WITHIN) * best)


def judged(found: Levelling, stops: int) -> Judged:
    """An answer beside the number of the size at which more really stops paying."""
    configurations = [one.configuration.id for one in found.sweep.configurations]
    at = configurations.index(found.at.configuration.id) if found.at else None
    if at is not None:
        wrong = stops <= at if found.answer == "pays beyond" else stops != at
        return Judged(True, wrong, wrong)
    first, last = found.between or (None, None)
    low = configurations.index(first.configuration.id) if first else 0
    high = configurations.index(last.configuration.id) if last else len(configurations) - 1
    return Judged(False, False, not low <= stops <= high)


class Shares(NamedTuple):
    """Of simulated sweeps: the share that names a configuration, that names a wrong one, and whose
    answer or range leaves out the true one.
    """

    named: float
    wrong: float
    outside: float


def shares(course: Course, warming: Sequence[int], scatter: float, count: int) -> Shares:
    """Those of so many sweeps."""
    stops = truth(course)
    made = (
        memory_sweep(course, scatter=scatter, seed=seed, drift=scatter, warming=warming)
        for seed in range(count)
    )
    every = [judged(levelling(sweeps(one)[0]), stops) for one in made]
    return Shares(*(sum(one[n] for one in every) / count for n in range(3)))


def table(count: int) -> Iterable[str]:
    """Rows of docs/method/sweeps.md."""
    yield (
        "| still warming | sweeps with an answer, noise of 1% / 3% / 10% / 30% | wrong answer, at"
        " most | range without the true one, at most |"
    )
    yield "|---|---|---|---|"
    for called, warming in WARMING.items():
        found = {
            scatter: [shares(course, warming, scatter, count) for course in COURSES.values()]
            for scatter in NOISE
        }
        named = " / ".join(_percent(fmean(one.named for one in some)) for some in found.values())
        wrong, outside = (
            _percent(max(one[n] for some in found.values() for one in some)) for n in (1, 2)
        )
        yield f"| {called} | {named} | {wrong} | {outside} |"


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200, help="sweeps per course and noise")
    print("\n".join(table(parser.parse_args().count)))
