"""Final runs in rounds whose truth is known: how often the interval covers it, and how many rounds
the stopping rule needs.

`python -m tests.rounds_simulated --count 2000` prints the table of docs/method/rounds.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from math import exp, log
from typing import NamedTuple

import numpy as np

from kneebench.analysis.final_estimates import Wanted, ended_by
from kneebench.analysis.rounds import half_width, paired, rounds_estimate, rounds_ratio
from kneebench.records import Estimate

PRECISION, REPEATS = 0.10, (5, 30)
STALLED = log(2)
"""A stall takes half of a window, once in twenty."""


class Noise(NamedTuple):
    """What makes rounds differ; all are scatters of ln NOPM of one configuration."""

    called: str
    rounds: float
    restores: float = 0.0
    autocorrelation: float = 0.0
    tails: bool = False
    stalls: float = 0.0
    walk: float = 0.0
    line: float = 0.0


NOISES = (
    Noise("1% noise", 0.01),
    Noise("3% noise", 0.03),
    Noise("10% noise", 0.10),
    Noise("3% noise, drift: 2% random walk per window", 0.03, walk=0.02),
    Noise("3% noise, drift: 0.5% per window", 0.03, line=0.005),
    Noise("5% noise, heavy tails (t, 3 df)", 0.05, tails=True),
    Noise("10% noise, heavy tails (t, 3 df)", 0.10, tails=True),
    Noise("3% noise, stalls", 0.03, stalls=0.05),
    Noise("3% noise, autocorrelation 0.5", 0.03, autocorrelation=0.5),
    Noise("10% noise, autocorrelation 0.5", 0.10, autocorrelation=0.5),
    Noise("1% noise, restores differ by 2%", 0.01, restores=0.02),
    Noise("1% noise, restores differ by 5%", 0.01, restores=0.05),
    Noise("1% noise, restores differ by 10%", 0.01, restores=0.10),
    Noise("3% noise, restores differ by 2%", 0.03, restores=0.02),
    Noise("3% noise, restores differ by 5%", 0.03, restores=0.05),
    Noise("3% noise, restores differ by 10%", 0.03, restores=0.10),
    Noise("10% noise, restores differ by 2%", 0.10, restores=0.02),
    Noise("10% noise, restores differ by 5%", 0.10, restores=0.05),
    Noise("10% noise, restores differ by 10%", 0.10, restores=0.10),
)


LASTING = tuple(
    Noise(f"{100 * noise:.0f}% noise, autocorrelation 0.8", noise, autocorrelation=0.8)
    for noise in (0.03, 0.10)
)
"""Noise that outlasts what the interval allows for."""


class Ended(NamedTuple):
    """One campaign: rounds measured, and whether the two intervals contain their truth."""

    rounds: int
    half_width: float
    ratio_covered: bool
    nopm_covered: bool


def campaign(noise: Noise, every: int, seed: int) -> Ended:
    """Two configurations with the same truth, in A B B A order, restored again after `every`
    rounds, until the stopping rule ends it.
    """
    drift, nopm = _simulated(noise, every, np.random.default_rng((seed, every)))
    for n in range(REPEATS[0], REPEATS[1] + 1):
        a, b = (_by_restore(values[:n], every) for values in nopm)
        if ended_by(paired(a, b), Wanted(PRECISION, *REPEATS)):
            break
    ratio = rounds_ratio(a, b)
    alone = rounds_estimate(a)
    level = exp(float(drift[:n].mean()) - noise.stalls * STALLED)
    return Ended(
        n,
        half_width(ratio),
        ratio.low <= 1 <= ratio.high,
        alone.low <= level <= alone.high,
    )


def at_the_fixed_rate(noise: Noise, rounds: int, seed: int) -> Estimate:
    """The ratio of two configurations with the same truth from the rounds that measure the fixed
    rate: the first and the third of four, which have a restore of their own.
    """
    a, b = nopm_by_round(noise, 4, rounds, np.random.default_rng((seed, rounds)))
    of, to = ([[*side[[at, at + 2]]] for at in range(0, rounds, 4)] for side in (a, b))
    n = 2 * len(of)
    return rounds_ratio(of, to, spacing=(rounds - 2) / (n - 1))


def nopm_by_round(noise: Noise, every: int, rounds: int, rng: np.random.Generator) -> np.ndarray:
    """NOPM of two configurations with the same truth, by configuration and round."""
    return _simulated(noise, every, rng)[1][:, :rounds]


def _simulated(noise: Noise, every: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """(drift of the first configuration by round, NOPM by configuration and round)."""
    n = REPEATS[1]
    scatter = rng.standard_t(3, (2, n)) / 3**0.5 if noise.tails else rng.normal(size=(2, n))
    for i in range(1, n):
        scatter[:, i] *= (1 - noise.autocorrelation**2) ** 0.5
        scatter[:, i] += noise.autocorrelation * scatter[:, i - 1]
    restores = np.repeat(rng.normal(size=(2, n)), every, axis=1)[:, :n]
    stalls = STALLED * (rng.random((2, n)) < noise.stalls)
    windows = np.cumsum(noise.walk * rng.normal(size=2 * n) + noise.line).reshape(n, 2)
    windows[1::2] = windows[1::2, ::-1]
    own = noise.rounds * scatter + noise.restores * restores - stalls
    return windows[:, 0], np.exp(own + windows.T)


def _by_restore(values: np.ndarray, every: int) -> list[list[float]]:
    return [values[at : at + every].tolist() for at in range(0, len(values), every)]


def _row(noise: Noise, every: int, count: int) -> str:
    ended = [campaign(noise, every, seed) for seed in range(count)]
    rounds = np.mean([one.rounds for one in ended])
    ratio, nopm = (
        100 * np.mean(list(covered))
        for covered in ((e.ratio_covered for e in ended), (e.nopm_covered for e in ended))
    )
    precise = 100 * np.mean([one.half_width <= PRECISION for one in ended])
    return f"| {noise.called} | {rounds:.0f} | {precise:.0f}% | {ratio:.1f}% | {nopm:.1f}% |"


def table(every: int, count: int) -> Iterable[str]:
    """Rows of docs/method/rounds.md."""
    yield "| rounds differ by | rounds | precise | ratio covered | NOPM covered |"
    yield "|---|---|---|---|---|"
    yield from (_row(noise, every, count) for noise in (*NOISES, *LASTING))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=400, help="campaigns per row")
    parser.add_argument("--every", type=int, default=4, help="rounds per restore")
    asked = parser.parse_args()
    print("\n".join(table(asked.every, asked.count)))
