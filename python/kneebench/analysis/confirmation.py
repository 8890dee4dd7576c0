"""The confirmed knee: numbers of users that may be it, measured in turn at the end of a climb.

A search rung is one short window, so the best of many is partly luck, and curves through all of
them (knee_fit.py) miss a peak that no smooth curve has, such as one at as many users as cores. What
the candidates did in turn decides. docs/method/climb.md says by simulations how often the knee is
then within 3% of the best.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import exp, floor, log, sqrt
from statistics import fmean
from typing import NamedTuple

from kneebench.analysis.estimate import student_t
from kneebench.analysis.knee_fit import LOWER
from kneebench.analysis.wording import listed, number_of_users
from kneebench.records import Rung

BETTER, SURE = 0.015, 1.4
"""More users must be better than the fitted knee by that share and so many standard errors, and by
what a knee may have less than the best (LOWER): numbers of users on a plateau are equal, and a knee
among them would move from climb to climb."""


class Confirmed(NamedTuple):
    """The confirmed knee, the other candidates, and how often they took turns. `at_least`: its
    throughput as a share of the best candidate's, at the least (one-sided, 95%).
    """

    users: int
    others: tuple[int, ...]
    turns: int
    at_least: float

    @property
    def sentence(self) -> str:
        """How sure the number of users is."""
        *fewer, most = self.others
        others = listed([*(f"{users:,}" for users in fewer), number_of_users(most)])
        share = f"at least {floor(100 * self.at_least)}% of the best candidate"
        sure = share if self.at_least < 1 else "none did better"
        return f"Confirmed in up to {self.turns} turns with {others}: {sure}."


def confirmed(rungs: Iterable[Rung]) -> Confirmed | None:
    """What the "confirmation" rungs of a climb say, of which the first is at the fitted knee. Fewer
    users are the knee if they were better on average, more users if they were clearly better.

    None without two candidates that had two turns, and where a rung is invalid.
    """
    own = [rung for rung in rungs if rung.order.phase == "confirmation"]
    if any(rung.invalid or rung.tally.throughput_per_s <= 0 for rung in own):
        return None
    logs: dict[int, list[float]] = {}
    for rung in own:
        logs.setdefault(rung.users, []).append(log(rung.tally.throughput_per_s))
    if len(logs) < 2 or min(map(len, logs.values())) < 2:
        return None
    means = {users: fmean(values) for users, values in logs.items()}
    freedom = sum(len(values) - 1 for values in logs.values())
    square = sum((one - means[users]) ** 2 for users, values in logs.items() for one in values)

    def error(one: int, other: int) -> float:
        return sqrt(square / freedom * (1 / len(logs[one]) + 1 / len(logs[other])))

    fitted = own[0].users
    least = {
        users: means[fitted]
        + (max(LOWER, BETTER + SURE * error(users, fitted)) if users > fitted else 0.0)
        for users in logs
    }
    better = [users for users in logs if means[users] > least[users]] or [fitted]
    best = max(means[users] for users in better)
    knee = min(users for users in better if means[users] >= best - LOWER)
    others = tuple(sorted(logs.keys() - {knee}))
    t = student_t(freedom, 1 - 0.05 / len(others))
    share = min(means[knee] - means[one] - t * error(knee, one) for one in others)
    return Confirmed(knee, others, max(map(len, logs.values())), min(1.0, exp(share)))
