"""The Universal Scalability Law: a curve through rungs, to predict with.

Never printed as a measurement.

X(N) = l N / (1 + a (N - 1) + b N (N - 1)): l is one user's throughput, a the contention, b the
coherency. Its peak is at sqrt((1 - a) / b) (Gunther, "Guerrilla Capacity Planning", 2007). Fitted
on log X, as throughput scatters by factors.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isfinite, sqrt
from typing import NamedTuple


class Usl(NamedTuple):
    """A fitted curve; `scatter` is the root mean square of ln(measured / fitted)."""

    lone_per_s: float
    contention: float
    coherency: float
    scatter: float = 0.0

    def throughput_per_s(self, users: float) -> float:
        """What the curve predicts for so many users.

        >>> round(Usl(100.0, 0.02, 0.0001).throughput_per_s(50))
        2247
        """
        return (
            self.lone_per_s
            * users
            / (1 + self.contention * (users - 1) + self.coherency * users * (users - 1))
        )

    @property
    def peak_users(self) -> float:
        """Where the curve is highest; infinite where it never falls.

        >>> round(Usl(100.0, 0.02, 0.0001).peak_users)
        99
        """
        return sqrt((1 - self.contention) / self.coherency) if self.coherency > 0 else inf


def fit(users: Sequence[float], throughput_per_s: Sequence[float]) -> Usl | None:
    """The curve through rungs, by least squares on ln X; None for fewer than four different numbers
    of users.

    >>> known = Usl(100.0, 0.02, 0.0001)
    >>> found = fit([1, 4, 16, 64, 128], [known.throughput_per_s(n) for n in (1, 4, 16, 64, 128)])
    >>> found is not None and round(found.peak_users)
    99
    """
    points = [(n, x) for n, x in zip(users, throughput_per_s, strict=True) if x > 0 and isfinite(x)]
    if len({n for n, _ in points}) < 4:
        return None
    import numpy as np
    from scipy.optimize import least_squares

    n, logs = np.array([p[0] for p in points], float), np.log([p[1] for p in points])

    def residuals(parameters: np.ndarray) -> np.ndarray:
        lone, a, b = parameters
        left: np.ndarray = lone + np.log(n) - np.log(1 + a * (n - 1) + b * n * (n - 1)) - logs
        return left

    start = [float(max(logs - np.log(n))), 0.05, 1e-4]
    found = least_squares(
        residuals, start, bounds=([-np.inf, 0.0, 0.0], [np.inf, 1.0, 1.0]), x_scale=[1.0, 0.1, 1e-3]
    )
    return Usl(
        float(np.exp(found.x[0])),
        float(found.x[1]),
        float(found.x[2]),
        float(np.sqrt(np.mean(found.fun**2))),
    )
