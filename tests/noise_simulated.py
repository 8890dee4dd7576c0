"""A/A campaigns whose noise is known: how often a later one claims a difference, by the number of
pairs behind the noise floor.

`python -m tests.noise_simulated --count 2000` prints the table of docs/method/comparing.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from math import exp
from statistics import median, stdev
from typing import NamedTuple

import numpy as np

from kneebench.analysis.comparison import is_claimed
from kneebench.analysis.drift import FLOOR
from kneebench.analysis.noise_floor import NoiseRatio, floor
from kneebench.analysis.rounds import rounds_ratio
from tests.rounds_simulated import Noise, nopm_by_round

ROUNDS, EVERY = 10, 4
PAIRS = (0, 1, 2, 3, 5, 10)


class Case(NamedTuple):
    """Noise within a campaign, and what the two names differ by in all of its rounds."""

    called: str
    noise: Noise
    between: float = 0.0


CASES = (
    Case("1% noise", Noise("", 0.01)),
    Case("3% noise", Noise("", 0.03)),
    Case("10% noise", Noise("", 0.10)),
    Case("3% noise, autocorrelation 0.5", Noise("", 0.03, autocorrelation=0.5)),
    Case("10% noise, autocorrelation 0.5", Noise("", 0.10, autocorrelation=0.5)),
    Case("1% noise, restores differ by 5%", Noise("", 0.01, restores=0.05)),
    Case("3% noise, stalls", Noise("", 0.03, stalls=0.05)),
    Case("3% noise, names differ by 2%", Noise("", 0.03), 0.02),
    Case("1% noise, names differ by 5%", Noise("", 0.01), 0.05),
)


def aa_pair(case: Case, seed: int) -> NoiseRatio:
    """The ratio of NOPM in one A/A campaign of short rounds."""
    rng = np.random.default_rng((seed, ROUNDS))
    a, b = nopm_by_round(case.noise, EVERY, ROUNDS, rng)
    b = b * exp(case.between * rng.normal())
    error = stdev(np.log(b / a).tolist()) / ROUNDS**0.5
    return NoiseRatio(ratio=rounds_ratio(_by_restore(b), _by_restore(a)), error=error)


def _by_restore(values: np.ndarray) -> list[list[float]]:
    return [values[at : at + EVERY].tolist() for at in range(0, ROUNDS, EVERY)]


def floors(case: Case, pairs: int, seed: int) -> float:
    """The noise floor from so many pairs."""
    first = 1000 * seed
    found = [aa_pair(case, first + number) for number in range(1, pairs + 1)]
    return floor(found) if found else FLOOR


def claimed(case: Case, pairs: int, count: int) -> float:
    """The share of later A/A campaigns that claim a difference; each has a floor from its own
    pairs.
    """
    later = ((aa_pair(case, 1000 * seed), floors(case, pairs, seed)) for seed in range(count))
    return sum(is_claimed(one.ratio, share) for one, share in later) / count


def table(count: int) -> Iterable[str]:
    """Rows of docs/method/comparing.md."""
    names = " | ".join(f"{pairs} pairs" for pairs in PAIRS)
    yield f"| noise of one window | {names} | median floor of 3 pairs |"
    yield "|---" * (len(PAIRS) + 2) + "|"
    for case in CASES:
        shares = " | ".join(f"{100 * claimed(case, pairs, count):.1f}%" for pairs in PAIRS)
        middle = median(floors(case, 3, seed) for seed in range(min(count, 200)))
        yield f"| {case.called} | {shares} | {100 * middle:.1f}% |"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200, help="later campaigns per figure")
    print("\n".join(table(parser.parse_args().count)))
