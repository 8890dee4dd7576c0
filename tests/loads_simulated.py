"""Which load is quoted where restores differ: four rules for final runs whose log writes may exceed
the limit, on storages whose log write latency at every number of users is known.

`python -m tests.loads_simulated --count 20000` prints the table of
docs/decisions/load-within-the-limit.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from math import sqrt
from typing import NamedTuple

import numpy as np

from kneebench.analysis.estimate import student_t
from kneebench.analysis.quoted_load import CLEARLY, exceeds
from kneebench.records import Order
from tests.curves import rung

STEP, RUNGS, LOWEST = 1.19, 10, 0.5
"""Growth of log write latency from rung to rung, and that of the first as a share of the limit."""
SCATTERS = ((0.02, 0.02), (0.06, 0.03), (0.12, 0.05))
"""Of restores and of search windows, relative; a final window is longer: half of that."""
Rule = Callable[[np.ndarray], bool]


class Quoted(NamedTuple):
    """Shares of simulated campaigns: the printed mean exceeds the limit, the true one does. Means:
    rungs below the highest that is truly within it, and final runs made.
    """

    printed_above: float
    truly_above: float
    below: float
    runs: float


def _half(logs: np.ndarray) -> float:
    return float(student_t(len(logs) - 1) * logs.std(ddof=1) / sqrt(len(logs)))


RULES: dict[str, Rule] = {
    "the search alone": lambda logs: False,
    "no run above": lambda logs: bool(logs.max() > 0),
    "the mean not above": lambda logs: bool(logs.mean() > 0),
    "the interval not above": lambda logs: bool(logs.mean() + _half(logs) > 0),
}
"""Whether final runs exceed the limit, by the logarithms of their log writes over the limit."""


def quoted(
    rule: Rule, scatter: tuple[float, float], count: int, repeats: int = 3, seed: int = 9300
) -> Quoted:
    """Campaigns whose search stops at the first rung above the limit and whose final runs step
    down.
    """
    rng, (restores, windows) = np.random.default_rng(seed), scatter
    found = []
    for _ in range(count):
        true = np.log(LOWEST * STEP ** (np.arange(RUNGS) + rng.uniform()))
        seen = true + rng.normal(0, restores) + rng.normal(0, windows, RUNGS)
        at = max(0, int(np.argmax(seen > 0)) - 1)
        best, runs = int(np.argmax(true > 0)) - 1, 0
        while True:
            logs = true[at] + rng.normal(0, restores, repeats) + rng.normal(0, windows / 2, repeats)
            used = _ended_early(logs) if rule is RULES["the mean not above"] else repeats
            runs += used
            if not (rule(logs[:used]) and at):
                break
            at -= 1
        found.append((logs.mean() > 0, true[at] > 0, best - at, runs))
    return Quoted(*np.mean(found, axis=0))


def _ended_early(logs: np.ndarray) -> int:
    """After how many runs the limit is clearly exceeded, or all are made."""
    for made in range(2, len(logs)):
        some = logs[:made]
        if some.mean() > np.log(CLEARLY) and some.mean() > _half(some):
            return made
    return len(logs)


def is_like_the_campaigns(ratios: Sequence[float]) -> bool:
    """Whether `the mean not above` decides as kneebench does, of log writes over the limit."""
    order = Order(configuration="a", phase="final_run", users=8)
    runs = [rung(order, 100.0, log__write_latency=0.005 * one) for one in ratios]
    return RULES["the mean not above"](np.log(ratios)) == exceeds(runs, 0.005)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2_000, help="campaigns per row")
    count = parser.parse_args().count
    print("| restores differ by | rule | printed above | truly above | rungs too low | runs |")
    print("|---|---|---|---|---|---|")
    for scatter in SCATTERS:
        for name, rule in RULES.items():
            one = quoted(rule, scatter, count)
            print(
                f"| {scatter[0]:.0%} | {name} | {one.printed_above:.0%} | {one.truly_above:.0%} |"
                f" {one.below:.2f} | {one.runs:.1f} |"
            )


if __name__ == "__main__":
    main()
