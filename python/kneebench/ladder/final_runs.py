"""Final runs: the knee of every configuration measured again with repetitions, and its latency at a
fixed rate.

Long runs: a knee is measured several times, each from its own restore, because data grows, bloats
and is cleaned up in a climb. The configurations take turns, first there and then back (A B B A), so
that what drifts with time falls on all alike. Short runs are rounds (ladder/rounds.py). On a
plateau latency is only users / throughput, so configurations are compared on latency in an open
loop at one absolute rate. The plan gives it (`latency_rate`), or it is a share of what the final
runs measured. Then in the first turn it is known only at the last configuration; for long runs the
others are restored once more for it.

Load levels follow the last of them: each configuration alone, on one more restore that was warmed
up at its knee, in an open loop at shares of its own knee's throughput, the lowest first.

A configuration whose runs exceed the limit on log writes is measured again with fewer users
(ladder/final_runs.py), in turn with the configurations under the same constraint: those it is
compared with.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from itertools import count
from typing import NamedTuple

from kneebench.analysis.final_estimates import estimate_of
from kneebench.analysis.knee import knee_rung
from kneebench.analysis.quoted_load import exceeds, is_limited, next_lower, stepping_down
from kneebench.ladder.fixed_rate import FixedRate
from kneebench.plan.ladder import Ladder
from kneebench.records import Climb, Configuration, Order, Rung, StopResult

# The load of each configuration's final runs: its knee, or fewer users once their log writes
# exceed the limit there.

Report = Callable[[Configuration, StopResult], None]
"""Receives what ended the final runs at one load, before those at fewer users."""


def unreported(configuration: Configuration, result: StopResult) -> None:
    """Reports nothing."""


class FinalLoads:
    """The number of users of each configuration's final runs, and these runs.

    Configurations whose climb found no knee are left out. The same rungs always give the same
    loads.
    """

    def __init__(self, climbs: Sequence[Climb], report: Report = unreported) -> None:
        self._climbs = {climb.configuration: climb for climb in climbs if knee_rung(climb)}
        self._users = {
            configuration: climb.knee_users or 0 for configuration, climb in self._climbs.items()
        }
        self._runs: dict[Configuration, list[Rung]] = {
            configuration: [] for configuration in self._climbs
        }
        self._report = report

    @property
    def configurations(self) -> tuple[Configuration, ...]:
        """In the order of the climbs."""
        return tuple(self._climbs)

    @property
    def runs(self) -> tuple[Rung, ...]:
        """The runs of all configurations, each at its load as it is now."""
        return tuple(rung for runs in self._runs.values() for rung in runs)

    def users(self, configuration: Configuration) -> int:
        """The load of a configuration."""
        return self._users[configuration]

    def number(self, configuration: Configuration) -> int:
        """Number of a configuration's runs at its load as it is now."""
        return len(self._runs[configuration])

    def searched(self, configuration: Configuration) -> Rung:
        """The rung that the climb measured at the configuration's load."""
        found = knee_rung(
            self._climbs[configuration].model_copy(
                update={"knee_users": self._users[configuration]}
            )
        )
        assert found is not None
        return found

    def keep(self, configuration: Configuration, rung: Rung) -> None:
        """Keep a run at the configuration's load."""
        self._runs[configuration].append(rung)

    def step_down(self, complete: Callable[[Configuration], bool]) -> bool:
        """Give each configuration whose runs exceed the limit the next lower number of users that
        its climb measured; whether there was one. The mean of the runs decides once they are
        `complete`; before, they must exceed the limit clearly.
        """
        stepped = [
            configuration
            for configuration in self._climbs
            if self._stepped_down(configuration, complete(configuration))
        ]
        return bool(stepped)

    def at_load_levels(
        self, ladder: Ladder, restore: int, *, pooled: bool
    ) -> Iterator[RestoredRuns]:
        """The load levels of each configuration, if the plan has any."""
        for configuration in self._climbs if ladder.levels else ():
            users = self._users[configuration]
            load = Load(Order(configuration=configuration.id, phase="warm_up", users=users))
            shared = restore if ladder.rounds == "short" else 0
            steps = self._levels(configuration, ladder, shared, pooled=pooled)
            yield RestoredRuns((configuration,), restore, steps, {configuration.id: load})

    def _levels(
        self, configuration: Configuration, ladder: Ladder, restore: int, *, pooled: bool
    ) -> Generator[Order, Rung, bool]:
        """One run at each share of what the final runs did at the load that is quoted."""
        runs = [rung for rung in self._runs[configuration] if not rung.invalid and rung.tpm > 0]
        runs = runs or [self.searched(configuration)]
        knee_per_s = estimate_of(runs, lambda rung: rung.tpm).value / 60
        for percent in ladder.levels:
            known = Order(
                configuration=configuration.id,
                phase="load_level",
                users=0,
                rate_per_s=round(percent / 100 * knee_per_s, 3),
            )
            rate = FixedRate(ladder, {configuration: runs[-1]}, known, pooled=pooled)
            yield from rate.runs(configuration, percent, restore)
        return True

    def _stepped_down(self, configuration: Configuration, complete: bool) -> bool:
        climb, runs = self._climbs[configuration], self._runs[configuration]
        limit_s = climb.limits.log_write_s
        lower = next_lower(climb, self._users[configuration])
        if not lower or not is_limited(climb) or not exceeds(runs, limit_s, clearly=not complete):
            return False
        self._report(configuration, stepping_down(runs, limit_s, lower))
        self._users[configuration], self._runs[configuration] = lower, []
        return True


class Load(NamedTuple):
    """A load on a restored database before its first run; it is not quoted.

    `warm_up_s` is None if the warm-up finds its own end.
    """

    order: Order
    warm_up_s: float | None = None


class RestoredRuns(NamedTuple):
    """Final runs on one restore, of one configuration alone or of all configurations side by side.

    `steps` yields orders and is sent rungs; it returns whether the consistency conditions are to be
    checked after them. `loads` are put on the databases first, by configuration id. `begins_at`:
    transactions since the restore after which a final run's window begins, at the earliest.
    """

    configurations: tuple[Configuration, ...]
    restore: int
    steps: Generator[Order, Rung, bool]
    loads: Mapping[str, Load]
    begins_at: int = 0


class FinalRuns:
    """The long final runs of a campaign; the same rungs always give the same orders."""

    def __init__(
        self,
        climbs: Sequence[Climb],
        ladder: Ladder,
        kept_rate: Order | None = None,
        *,
        pooled: bool = False,
        report: Report = unreported,
    ) -> None:
        self._ladder, self._most, self._pooled = ladder, ladder.most_repeats, pooled
        self._loads = FinalLoads(climbs, report)
        self._begins_at = self._foreseen(climbs) if ladder.aligned else 0
        knees = {
            configuration: self._loads.searched(configuration)
            for configuration in self._loads.configurations
        }
        self._rate = FixedRate(ladder, knees, kept_rate, pooled=pooled)

    def restored_runs(self) -> Iterator[RestoredRuns]:
        """Repetitions in the order to measure them; repeats count from 1.

        Configurations whose climb found no knee are left out.
        """
        for repeat in count(1):
            configurations = self._loads.configurations[:: 1 if repeat % 2 else -1]
            due = [configuration for configuration in configurations if self._lacks(configuration)]
            if not due and not any(map(self._lacks_rate, configurations)):
                yield from self._loads.at_load_levels(self._ladder, repeat, pooled=self._pooled)
                return
            for configuration in due:
                steps = self._knee(configuration, repeat)
                yield RestoredRuns((configuration,), repeat, steps, {}, self._begins_at)
            for configuration in reversed(configurations):
                if self._lacks_rate(configuration) and repeat not in self._rate.repeats(
                    configuration
                ):
                    loads = {configuration.id: Load(self._order(configuration, repeat))}
                    steps = self._latency(configuration, repeat)
                    yield RestoredRuns((configuration,), repeat, steps, loads, self._begins_at)
            self._loads.step_down(
                lambda configuration: self._loads.number(configuration) >= self._most
            )

    def _foreseen(self, climbs: Sequence[Climb]) -> int:
        """As many transactions as the fastest configuration will have had when its window begins,
        by the first rungs, which were on restored databases too; of one configuration 0.

        Behind a checkpoint transactions log whole pages, so those of a slow configuration would be
        heavier (analysis/outcome.py).
        """
        firsts = [one.rungs[0] for one in climbs if one.configuration in self._loads.configurations]
        had = (rung.tally.throughput_per_s * rung.warm_up_s for rung in firsts)
        return round(max(had)) if len(firsts) > 1 else 0

    def _lacks(self, configuration: Configuration) -> bool:
        """Whether a configuration is to be measured at its load: until it and those under the same
        constraint were measured often enough at theirs.
        """
        alike = [
            one for one in self._loads.configurations if one.constraint == configuration.constraint
        ]
        return any(self._loads.number(one) < self._most for one in alike)

    def _lacks_rate(self, configuration: Configuration) -> bool:
        return self._rate.per_s > 0 and len(self._rate.repeats(configuration)) < self._most

    def _knee(self, configuration: Configuration, repeat: int) -> Generator[Order, Rung, bool]:
        """The knee, then the latency at the fixed rate on the same restore, if the rate is
        known.
        """
        rung = yield self._order(configuration, repeat)
        self._loads.keep(configuration, rung)
        if self._loads.number(configuration) == 1:
            self._rate.take_first(
                configuration, self._loads.searched(configuration) if rung.invalid else rung
            )
        return (yield from self._latency(configuration, repeat))

    def _latency(self, configuration: Configuration, repeat: int) -> Generator[Order, Rung, bool]:
        if self._lacks_rate(configuration):
            yield from self._rate.runs(configuration, repeat)
        return True

    def _order(self, configuration: Configuration, repeat: int) -> Order:
        users = self._loads.users(configuration)
        return Order(configuration=configuration.id, phase="final_run", users=users, repeat=repeat)
