"""The check before any prediction: each number of users is left out in turn, the model is fitted to
the others, and predicts the one that was left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from math import sqrt
from statistics import median
from typing import NamedTuple

from kneebench.databases.engines.simulated.storage import SimulatedStorage
from kneebench.prediction.fit import fitted
from kneebench.prediction.model import Simulation
from kneebench.prediction.observed import Observed

FEWEST = 5
"""Numbers of users that a fit needs: it has four parameters."""
LIMIT = 0.15
"""Median error above which nothing is predicted."""
NORMAL = 0.6745
"""Median of the absolute errors of a normal distribution, in standard deviations."""


class HeldOut(NamedTuple):
    """A number of users that the model of the others predicted; `error`: of its throughput, as a
    share.
    """

    measured: Observed
    predicted_per_s: float
    model: SimulatedStorage

    @property
    def error(self) -> float:
        return self.predicted_per_s / self.measured.throughput_per_s - 1


class Fit(NamedTuple):
    """A fitted model, and how it predicted what was held out."""

    model: SimulatedStorage
    held_out: tuple[HeldOut, ...]
    noise: float = 0.0
    """Standard deviation of a rung's throughput, as a share, on an unchanged database."""

    @property
    def median_error(self) -> float:
        return median(abs(one.error) for one in self.held_out)

    @property
    def worst_error(self) -> float:
        return max(abs(one.error) for one in self.held_out)

    @property
    def scatter(self) -> float:
        """Standard deviation of the model's own error: that of the errors, by their median since
        single rungs may be far off, without the rungs' noise.
        """
        return sqrt(max(0.0, (self.median_error / NORMAL) ** 2 - self.noise**2))


def fit(
    rungs: Sequence[Observed],
    cores: int,
    simulation: Simulation,
    *,
    log_apart: bool,
    noise: float = 0.0,
) -> Fit:
    """The model of all rungs, checked. Raises ValueError where they are too few."""
    if len(rungs) < FEWEST:
        raise ValueError(f"{len(rungs)} numbers of users were measured; at least {FEWEST} needed")
    model = fitted(rungs, cores, simulation, log_apart=log_apart)

    def held_out(one: Observed) -> HeldOut:
        others = [other for other in rungs if other is not one]
        without = fitted(others, cores, simulation, model, log_apart=log_apart)
        predicted = simulation.at(without, one.users).seen.throughput_per_s
        return HeldOut(one, predicted, without)

    with ThreadPoolExecutor() as pool:
        return Fit(model, tuple(pool.map(held_out, rungs)), noise)
