"""The fixed rate: how many transactions per second every configuration is offered in an open loop,
and by how many users.

Latency in an open loop counts from the intended start. If all users are busy then, a transaction
waits for one, and that wait says nothing about the database: it must be a small share of the mean.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from math import ceil

from kneebench.analysis.fixed_rate import MOST_WAIT, wait_share
from kneebench.plan.ladder import Ladder
from kneebench.records import Configuration, Order, Phase, Rung

USERS_PER_BUSY = 4
"""Users for each one that is busy on average (rate x mean latency): transactions start at random,
and a stall of the database lets many wait at once."""
SPARE_USERS = 8
"""Besides: of one busy user's four all are busy too often."""
FEWER = 1.25
"""Times its users that a run which waited must have needed: otherwise a stall of the database was
what all users waited for, and more of them would only start at once behind it."""
MOST_RAISED = 4
"""Times the users that a configuration began with: each connection takes memory from the database.
"""


class FixedRate:
    """The plan's rate, or `fixed_rate_share` of the lowest knee as the first final runs measured
    it. `knees`: the climbs' rungs. `kept`: an order at a rate that is known: of a load
    level, or of configurations that were measured before others joined. `pooled`: users share
    connections, so their wait is the plan's.

    A rate that is a share is chosen again only if a final run at fewer users leaves it too near
    the lowest throughput: what was measured at it before then no longer counts.
    """

    def __init__(
        self,
        ladder: Ladder,
        knees: Mapping[Configuration, Rung],
        kept: Order | None = None,
        *,
        pooled: bool = False,
    ) -> None:
        self._share, self._most, self._pooled = ladder.fixed_rate_share, ladder.most_users, pooled
        self.planned_per_s = (kept and kept.rate_per_s) or ladder.latency_per_s
        self.per_s = self.planned_per_s
        """Transactions per second; 0 until it is known."""
        self._seen = dict(knees) if self.planned_per_s else {}
        self._configurations = len(knees)
        self._begun = kept.users if kept else 0
        self._phase: Phase = kept.phase if kept else "fixed_rate"
        self._users: dict[Configuration, int] = {}
        self._repeats: dict[Configuration, list[int]] = {}
        if self.per_s and not self._begun:
            self._begun = self._enough_users()

    def take_first(self, configuration: Configuration, rung: Rung) -> None:
        """Take the first final run of a configuration at a number of users."""
        if self.planned_per_s or not self._share:
            return
        self._seen[configuration] = rung
        lowest_per_s = min(one.tpm for one in self._seen.values()) / 60
        if len(self._seen) < self._configurations or (
            self.per_s > 0 and self._is_below(lowest_per_s)
        ):
            return
        self.per_s = round(self._share * lowest_per_s, 3)
        self._begun, self._users, self._repeats = self._enough_users(), {}, {}

    def repeats(self, configuration: Configuration) -> tuple[int, ...]:
        """The repeats in which a configuration was measured at the rate as it is now."""
        return tuple(self._repeats.get(configuration, ()))

    def runs(
        self, configuration: Configuration, repeat: int, restore: int = 0
    ) -> Generator[Order, Rung, Rung]:
        """The order of a configuration's run at the rate, and again with twice the users while more
        than 2% of the mean latency was the wait for one, and too few of them were there.
        """
        while True:
            rung = yield self._order(configuration, repeat, restore)
            users = self._raised(configuration, rung)
            if not users:
                break
            self._users[configuration] = users
        self._repeats.setdefault(configuration, []).append(repeat)
        return rung

    def _order(self, configuration: Configuration, repeat: int, restore: int) -> Order:
        return Order(
            configuration=configuration.id,
            phase=self._phase,
            users=self._users.get(configuration, self._begun),
            repeat=repeat,
            rate_per_s=self.per_s,
            restore=restore,
        )

    def _raised(self, configuration: Configuration, rung: Rung) -> int:
        """The users to measure a run again with; 0 if it stays: it hardly waited or is invalid, its
        users were enough but for a stall, the rate exceeds what the configuration can do, or there
        may be no more users.
        """
        waited = wait_share(rung)
        saturated = configuration in self._seen and 60 * self.per_s >= self._seen[configuration].tpm
        most = min(self._most, MOST_RAISED * self._begun)
        if waited is None or waited <= MOST_WAIT or rung.invalid or saturated or self._pooled:
            return 0
        if self._enough_for(_served_s(rung)) <= FEWER * rung.users:
            return 0
        users = min(2 * rung.users, most)
        return users if users > rung.users else 0

    def _is_below(self, lowest_per_s: float) -> bool:
        """Whether the rate is still nearer to its share of the lowest throughput than to all of
        it.
        """
        return self.per_s <= (1 + self._share) / 2 * lowest_per_s

    def _enough_users(self) -> int:
        """As many on every configuration: several times as many as are busy at once on the
        slowest.
        """
        longest_s = max(map(_mean_s, self._seen.values()), default=0.0)
        return min(self._most, self._enough_for(longest_s))

    def _enough_for(self, mean_s: float) -> int:
        return ceil(USERS_PER_BUSY * self.per_s * mean_s) + SPARE_USERS


def _mean_s(rung: Rung) -> float:
    """Mean latency at the knee: at the fixed rate, which is lower, it is hardly longer."""
    if rung.tally.latency:
        return rung.tally.latency.mean_s
    return rung.users / rung.tally.throughput_per_s if rung.tally.throughput_per_s else 0.0


def _served_s(rung: Rung) -> float:
    """Mean latency without the wait for a user."""
    latency, wait = rung.tally.latency, rung.tally.wait
    return latency.mean_s - (wait.mean_s if wait else 0.0) if latency else 0.0
