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


class Schedule(NamedTuple):
    """When windows of 2 s are measured: a window in each turn, and so long for a restore."""

    called: str
    every: int
    turn_s: float
    restore_s: float = 20.0
    repeats: tuple[int, int] = (10, 24)


SCHEDULES = (
    Schedule("2, turns of 5.5 s, 10 to 14 rounds", 2, 5.5, repeats=(10, 14)),
    Schedule("2", 2, 4.2),
    Schedule("4", 4, 4.2),
    Schedule("6", 6, 4.2),
    Schedule("8", 8, 4.2),
)
CPU_S, CPU, WINDOW, WINDOW_S = 6.0, 0.11, 0.03, 2.0
"""Time constant and scatter of the speed of a shared CPU; of one window besides; its length."""


def on_a_shared_cpu(asked: Schedule, restores: float, seed: int) -> tuple[float, Ended]:
    """(seconds, the campaign): rounds at the speed that the CPU has when they are measured. Two of
    four also measure the fixed rate, which takes two turns more.
    """
    rng = np.random.default_rng((seed, asked.every))
    most, ends, starts, now_s = asked.repeats[1], [], [], 0.0
    for number in range(most):
        now_s += asked.restore_s * (number % asked.every == 0)
        starts += [now_s + asked.turn_s - WINDOW_S, now_s + 2 * asked.turn_s - WINDOW_S]
        now_s += asked.turn_s * (4 if number % 2 == 0 else 2)
        ends.append(now_s)
    speed = _speed(np.add.outer(starts, WINDOW_S * np.array([0.1, 0.3, 0.5, 0.7, 0.9])), rng)
    windows = (speed.mean(axis=1) + WINDOW * rng.normal(size=2 * most)).reshape(most, 2)
    windows[1::2] = windows[1::2, ::-1]
    own = np.repeat(restores * rng.normal(size=(2, most)), asked.every, axis=1)[:, :most]
    nopm = np.exp(windows.T + own)
    for n in range(asked.repeats[0], most + 1):
        a, b = (_by_restore(values[:n], asked.every) for values in nopm)
        if ended_by(paired(a, b), Wanted(PRECISION, *asked.repeats)):
            break
    ratio = rounds_ratio(a, b)
    return ends[n - 1], Ended(n, half_width(ratio), ratio.low <= 1 <= ratio.high, True)


def _speed(at_s: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """ln of the CPU's speed at these times."""
    kept = np.exp(-np.diff(at_s.ravel(), prepend=-np.inf) / CPU_S)
    speed = CPU * rng.normal(size=kept.size) * (1 - kept**2) ** 0.5
    for i in range(1, kept.size):
        speed[i] += kept[i] * speed[i - 1]
    return speed.reshape(at_s.shape)


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


def schedules(count: int) -> Iterable[str]:
    """The table of schedules in docs/decisions/short-rounds.md."""
    columns = "restored every | restores differ by | rounds | seconds | half-width"
    yield f"| {columns} | precise | covered |"
    yield "|---|---|---|---|---|---|---|"
    for asked in SCHEDULES:
        for restores in (0.0, 0.03):
            seconds, ended = zip(
                *(on_a_shared_cpu(asked, restores, seed) for seed in range(count)), strict=True
            )
            width = 100 * np.quantile([one.half_width for one in ended], [0.5, 0.9])
            rounds = np.mean([one.rounds for one in ended])
            precise = 100 * np.mean([one.half_width <= PRECISION for one in ended])
            covered = 100 * np.mean([one.ratio_covered for one in ended])
            yield (
                f"| {asked.called} | {100 * restores:.0f}% | {rounds:.1f} | {np.mean(seconds):.0f}"
                f" | {width[0]:.1f}%, {width[1]:.1f}% | {precise:.0f}% | {covered:.1f}% |"
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=400, help="campaigns per row")
    parser.add_argument("--every", type=int, default=4, help="rounds per restore")
    parser.add_argument("--schedules", action="store_true", help="the table of schedules")
    asked = parser.parse_args()
    found = schedules(asked.count) if asked.schedules else table(asked.every, asked.count)
    print("\n".join(found))
