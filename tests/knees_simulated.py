"""Whole climbs on curves whose knee is known: how often the knee is right, how near to each other
the knees of one curve are, and how many rungs that takes.

`python -m tests.knees_simulated --count 100` prints the table of docs/method/climb.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from functools import cache, cached_property
from itertools import combinations
from math import exp, log

import numpy as np

from kneebench.analysis.knee_fit import fit_knee, users_interval
from kneebench.ladder import steps
from kneebench.plan.ladder import Ladder
from kneebench.records import Climb, Configuration
from tests.curves import Usl, climb, rung, walk

Curve = Callable[[float], float]
LIMIT, STEP, LAST = 0.07, 1.5, 512
NOISES = (0.01, 0.03, 0.10)
"""Of one rung, relative."""


def soft(rng: np.random.Generator) -> Curve:
    """A USL curve: contention 0.001 to 0.1, peak at 8 to 300 users."""
    contention, peak = 10 ** rng.uniform(-3, -1), rng.uniform(8, 300)
    return Usl(1000.0, contention, (1 - contention) / peak**2).throughput_per_s


def sharp(rng: np.random.Generator) -> Curve:
    """One resource that is full at 3 to 100 users: a line, then flat."""
    full = exp(rng.uniform(log(3), log(100)))
    return lambda users: 100 * min(users, full)


def shared_flushes(rng: np.random.Generator) -> Curve:
    """A log whose flushes are shared by more and more commits: a power of 0.5 to 0.8, then flat."""
    up, power = sharp(rng), rng.uniform(0.5, 0.8)
    return lambda users: up(users) ** power


def thrashing(rng: np.random.Generator) -> Curve:
    """A line, flat up to twice as many users, then a fall."""
    full, fall = exp(rng.uniform(log(3), log(100))), rng.uniform(0.1, 0.5)
    return lambda users: 100 * min(users, full) * min(1, 2 * full / users) ** fall


def peaked(rng: np.random.Generator) -> Curve:
    """A line that falls at once: one number of users is the best."""
    full, fall = exp(rng.uniform(log(3), log(100))), rng.uniform(0.1, 0.5)
    return lambda users: 100 * min(users, full) * min(1, full / users) ** fall


def peak_at_the_cores(rng: np.random.Generator) -> Curve:
    """PostgreSQL in memory: more than linear up to a user per core, then a tenth or two lower. No
    smooth curve has such a peak.
    """
    cores = int(rng.integers(2, 4))
    alone, low = rng.uniform(0.35, 0.45) * 2 / cores, rng.uniform(0.82, 0.92)

    def per_s(users: float) -> float:
        if users <= cores:
            return 100 * (alone + (1 - alone) * (users - 1) / (cores - 1))
        return 100 * (low + (1 - low) * exp(-(users - cores) / 0.7))

    return per_s


CURVES = {
    "soft (USL)": soft,
    "one full resource": sharp,
    "shared flushes": shared_flushes,
    "thrashing": thrashing,
    "sharp peak": peaked,
    "peak at the cores": peak_at_the_cores,
}


@cache
def numbers(first: int) -> tuple[int, ...]:
    """The ladder's numbers of users, up and down from the first."""
    found = [first]
    while found[0] > 1:
        found.insert(0, steps.preceding(found[0], STEP))
    while found[-1] < LAST:
        found.append(steps.following(found[-1], STEP, LAST))
    return tuple(found)


def growth_end(curve: Curve) -> float:
    """Users from which elasticity is below the plateau's limit."""
    end = 1.0
    while end < LAST and curve(1.01 * end) / curve(end) >= 1.01**LIMIT:
        end *= 1.01
    return end


def true_knee(curve: Curve, first: int) -> int:
    """The knee by its definition, on the curve without noise."""
    best = min(curve(growth_end(curve)), max(map(curve, numbers(first))))
    return next(users for users in numbers(first) if curve(users) >= 0.98 * best)


def climbed(curve: Curve, noise: float, seed: Sequence[int], first: int) -> Climb:
    """One climb."""
    rng = np.random.default_rng(seed)
    found, _ = walk(
        climb(Configuration(id="disk", storage="disk"), Ladder(users=(first, LAST), step=STEP), 4),
        lambda order: rung(order, curve(order.users) * exp(noise * rng.normal())),
    )
    return found


class Storage:
    """One curve, climbed several times."""

    def __init__(self, shape: str, noise: float, seed: int, climbs: int, first: int = 2) -> None:
        self.curve = CURVES[shape](np.random.default_rng(seed))
        self._first = first
        self.climbs = [climbed(self.curve, noise, (seed, n), first) for n in range(climbs)]
        self.knees = [one.knee_users or 0 for one in self.climbs]
        self.truth = true_knee(self.curve, first)

    @property
    def right(self) -> list[bool]:
        """True throughput at the knee is within 5% of that at the true knee."""
        return [abs(self.curve(n) / self.curve(self.truth) - 1) <= 0.05 for n in self.knees]

    def within(self, knees: Iterable[int]) -> list[bool]:
        """True throughput at these knees is at most 3% lower than the best of all numbers of users,
        or than where growth ends.
        """
        best = max(map(self.curve, numbers(self._first)))
        least = 0.97 * min(best, self.curve(growth_end(self.curve)))
        return [self.curve(n) >= least for n in knees]

    @property
    def fitted(self) -> list[int]:
        """The knees that the curves through all rungs give."""
        fits = (fit_knee(one.rungs, LIMIT) for one in self.climbs)
        return [fit.users if fit else 0 for fit in fits]

    @property
    def turns(self) -> list[int]:
        """Rungs that candidates took."""
        return [len(one.of("confirmation")) for one in self.climbs]

    @property
    def apart(self) -> list[int]:
        """By how many steps two knees differ, each pair."""
        at = [numbers(self._first).index(users) for users in self.knees]
        return [abs(a - b) for a, b in combinations(at, 2)]

    @cached_property
    def intervals(self) -> list[tuple[float, float]]:
        """Of the knee's users."""
        found = map(users_interval, self.climbs)
        return [(one.low, one.high) for one in found if one]

    @property
    def covered(self) -> list[bool]:
        """The interval contains the true knee."""
        return [low <= self.truth <= high for low, high in self.intervals]

    @property
    def narrowing(self) -> list[int]:
        """Rungs between the search and the drift check."""
        return [len(one.of("bisection")) for one in self.climbs]


def table(count: int, first: int) -> Iterable[str]:
    """Lines of Markdown."""
    yield (
        "| curve | noise of a rung | knee right | within 3% of the best: fitted, confirmed | same"
        " or next step | five climbs within one step | interval covers | rungs, without noise |"
        " bisections: mean, most | turns |"
    )
    yield "|" + "---|" * 10
    for shape in CURVES:
        for noise in NOISES:
            found = [Storage(shape, noise, seed, 5, first) for seed in range(count)]
            yield _row(shape, noise, found, count, first)


def _row(shape: str, noise: float, found: list[Storage], count: int, first: int) -> str:
    quiet = [Storage(shape, 0.0, seed, 1, first) for seed in range(count)]
    rungs, without = (
        np.mean([len(one.rungs) for storage in each for one in storage.climbs])
        for each in (found, quiet)
    )
    extra = [n for storage in found for n in storage.narrowing]
    shares = (
        np.mean([one for storage in found for one in storage.right]),
        np.mean([steps <= 1 for storage in found for steps in storage.apart]),
        np.mean([max(storage.apart) <= 1 for storage in found]),
        np.mean([one for storage in found for one in storage.covered]),
    )
    cells = [shape, f"{100 * noise:g}%", *(f"{100 * share:.0f}%" for share in shares)]
    fitted, confirmed = (
        np.mean([one for storage, knees in each for one in storage.within(knees)])
        for each in (
            [(storage, storage.fitted) for storage in found],
            [(storage, storage.knees) for storage in found],
        )
    )
    cells.insert(3, f"{100 * fitted:.0f}%, {100 * confirmed:.0f}%")
    cells += [f"{rungs:.1f}, {without:.1f}", f"{np.mean(extra):.1f}, {max(extra)}"]
    cells.append(f"{np.mean([n for storage in found for n in storage.turns]):.1f}")
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=40, help="curves per row, five climbs each")
    parser.add_argument("--first", type=int, default=2, help="users of the first rung")
    asked = parser.parse_args()
    for line in table(asked.count, asked.first):
        print(line, flush=True)
