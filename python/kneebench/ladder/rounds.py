"""Rounds: short final runs of all configurations in turn, on databases that stay up side by side.

In each round every configuration is measured once at its knee, and in two rounds of four then once
at the fixed rate. The order reverses from round to round (A B, B A), so what drifts within minutes
affects all configurations alike. All configurations are restored again after `restore_every`
rounds, and warmed up by as many transactions. Rounds end when the comparison is as precise as the
plan wants, or after the plan's most repeats: analysis/final_estimates.py decides. If a
configuration exceeds the limit on log writes by then, or clearly after the rounds of one restore,
rounds begin again with fewer users on it (ladder/final_runs.py, which also measures load levels
after the rounds). The consistency conditions are checked on the last restore, as all restores have
the same load.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from itertools import count

from kneebench.ladder.final_runs import FinalLoads, Load, Report, RestoredRuns, unreported
from kneebench.ladder.fixed_rate import FixedRate
from kneebench.plan.ladder import ROUND_LOAD_S, ROUND_RAMP_S, Ladder
from kneebench.records import Climb, Configuration, Order, Phase, Rung

Enough = Callable[[Sequence[Rung]], bool]
"""Whether the rounds so far are precise enough, or as many as the plan allows."""


class Rounds:
    """The rounds of a campaign; the same rungs always give the same orders."""

    def __init__(
        self,
        climbs: Sequence[Climb],
        ladder: Ladder,
        enough: Enough,
        *,
        pooled: bool = False,
        report: Report = unreported,
    ) -> None:
        self._ladder, self._enough, self._pooled = ladder, enough, pooled
        self._loads = FinalLoads(climbs, report)
        knees = {
            configuration: self._loads.searched(configuration)
            for configuration in self._loads.configurations
        }
        self._rate = FixedRate(ladder, knees, pooled=pooled)
        longest_s = max(
            (rung.warm_up_s for climb in climbs for rung in climb.rungs[:1]), default=0.0
        )
        self._warm_up_s = max(ROUND_RAMP_S, longest_s - ROUND_LOAD_S)
        """The longest that a restored database took to warm up, its load's window left out."""
        self._rungs: list[Rung] = []
        """Of the rounds since all configurations have their loads as they are now."""
        self._begun, self._next, self._ended = 1, 1, False
        """The first of these rounds, the next one, and whether there is none."""

    def restored_runs(self) -> Iterator[RestoredRuns]:
        """The rounds of one restore after another; configurations whose climb found no knee are
        left out.
        """
        most, each = self._ladder.most_repeats, self._ladder.restore_every
        configurations = self._loads.configurations
        for restore in count(1):
            first, last = self._next, self._begun + most
            if self._ended or not configurations or first == last:
                yield from self._loads.at_load_levels(self._ladder, restore, pooled=self._pooled)
                return
            rounds = range(first, min(first + each, last))
            loads = {
                configuration.id: Load(
                    self._order(configuration, "warm_up", first, restore), warm_up_s
                )
                for configuration, warm_up_s in self._warm_ups().items()
            }
            yield RestoredRuns(configurations, restore, self._steps(restore, rounds), loads)

    def _warm_ups(self) -> dict[Configuration, float]:
        """By configuration, the fastest first: how long a restored database is warmed up, so that
        it completes as many transactions as the slowest one does in the longest warm-up; within its
        window alone, where it is fast enough. The others are then loaded until they have as many.
        """
        per_s = {
            configuration: self._loads.searched(configuration).tally.throughput_per_s
            for configuration in self._loads.configurations
        }
        done = (self._warm_up_s + ROUND_LOAD_S) * min(per_s.values())
        return {
            configuration: max(0.0, done / per_s[configuration] - ROUND_LOAD_S)
            if per_s[configuration]
            else self._warm_up_s
            for configuration in sorted(per_s, key=lambda configuration: -per_s[configuration])
        }

    def _steps(self, restore: int, rounds: range) -> Generator[Order, Rung, bool]:
        for repeat in rounds:
            for configuration in in_turn(self._loads.configurations, repeat):
                rung = yield self._order(configuration, "final_run", repeat, restore)
                self._keep(configuration, rung)
            if self._ladder.at_fixed_rate(repeat) and self._rate.per_s:
                for configuration in in_turn(self._loads.configurations, repeat):
                    rung = yield from self._rate.runs(configuration, repeat, restore)
                    self._rungs.append(rung)
            self._next = repeat + 1
            if self._enough(self._rungs):
                self._ended = True
                break
        complete = self._ended or self._next == self._begun + self._ladder.most_repeats
        if self._loads.step_down(lambda configuration: complete):
            self._begun, self._rungs, self._ended = self._next, [], False
        return self._ended

    def _keep(self, configuration: Configuration, rung: Rung) -> None:
        self._rungs.append(rung)
        self._loads.keep(configuration, rung)
        if self._loads.number(configuration) == 1:
            self._rate.take_first(
                configuration, self._loads.searched(configuration) if rung.invalid else rung
            )

    def _order(
        self, configuration: Configuration, phase: Phase, repeat: int, restore: int
    ) -> Order:
        users = self._loads.users(configuration)
        return Order(
            configuration=configuration.id, phase=phase, users=users, repeat=repeat, restore=restore
        )


def in_turn(configurations: Sequence[Configuration], repeat: int) -> tuple[Configuration, ...]:
    """The order of a round: there and back (A B, B A); with more configurations each begins in its
    turn.

    >>> every = [Configuration(id=name, storage=name) for name in "abc"]
    >>> ["".join(one.id for one in in_turn(every, repeat)) for repeat in (1, 2, 3, 4)]
    ['abc', 'cba', 'bca', 'acb']
    """
    start = (repeat - 1) // 2 % max(1, len(configurations))
    turned = (*configurations[start:], *configurations[:start])
    return turned if repeat % 2 else turned[::-1]
