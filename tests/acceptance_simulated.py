"""Acceptance of campaigns whose true ratio to the baseline is known: how often each answer comes.

`python -m tests.acceptance_simulated --count 4000` prints the table of docs/method/acceptance.md.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from kneebench.analysis.equivalence import judgement, ratio_to_baseline
from kneebench.analysis.estimate import estimate
from kneebench.analysis.rounds import rounds_estimate
from kneebench.records import Estimate

MARGIN = 0.05
Measure = Callable[[np.random.Generator, float, int], Estimate]


class Kind(NamedTuple):
    """Campaigns of one kind: how a figure is estimated from `n` runs or rounds."""

    called: str
    measure: Measure
    n: int


def long_runs(rng: np.random.Generator, truth: float, n: int) -> Estimate:
    """Long runs that scatter by 2%."""
    return estimate((truth * np.exp(0.02 * rng.normal(size=n))).tolist())


def rounds(rng: np.random.Generator, truth: float, n: int) -> Estimate:
    """Rounds of 4% noise on restores that differ by 1%, four rounds on each."""
    noise = np.repeat(0.01 * rng.normal(size=n // 4), 4) + 0.04 * rng.normal(size=n)
    return rounds_estimate((truth * np.exp(noise)).reshape(-1, 4).tolist())


KINDS = (
    Kind("3 long runs, 2% noise", long_runs, 3),
    Kind("5 long runs, 2% noise", long_runs, 5),
    Kind("12 short rounds, 4% noise", rounds, 12),
    Kind("24 short rounds, 4% noise", rounds, 24),
)


def answers(kind: Kind, truth: float, count: int, margin: float = MARGIN) -> Counter[str]:
    """The answers for `count` campaigns, each against a baseline of its own."""
    rng = np.random.default_rng((9300, kind.n))
    found = (
        ratio_to_baseline(kind.measure(rng, truth, kind.n), kind.measure(rng, 1.0, kind.n))
        for _ in range(count)
    )
    return Counter(judgement(ratio, margin, more_is_better=True) for ratio in found)


def table(count: int) -> Iterable[str]:
    """Rows of docs/method/acceptance.md."""
    names = ("same", "same or better", "better", "worse", "cannot say")
    yield f"| campaign and baseline | truth | {' | '.join(names)} |"
    yield f"|---|---|{'---|' * len(names)}"
    for kind in KINDS:
        for truth in (1.0, 1 / (1 + MARGIN), 0.90, 1.10):
            found = answers(kind, truth, count)
            shares = " | ".join(f"{100 * found[name] / count:.1f}%" for name in names)
            yield f"| {kind.called} | {truth:.2f}x | {shares} |"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="campaigns per row")
    print("\n".join(table(parser.parse_args().count)))
