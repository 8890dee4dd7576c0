"""The bench: a climb on every configuration, then the final runs at their knees."""

from __future__ import annotations

from collections.abc import Sequence

from kneebench.analysis.fixed_rate import rate_caveats
from kneebench.analysis.rounds_end import Wanted, rounds_so_far
from kneebench.campaign.power import measure_at_rest
from kneebench.campaign.restored import Context, Restored
from kneebench.campaign.saturating import with_cores
from kneebench.campaign.side_by_side import SideBySide
from kneebench.errors import PlanError
from kneebench.ladder.climb import climb, measure_orders
from kneebench.ladder.final_runs import FinalRuns, RestoredRuns
from kneebench.ladder.rounds import Rounds
from kneebench.plan.configurations import running_order
from kneebench.records import Climb, Configuration, Event, Rung, StopResult


class Bench:
    """One campaign under way: what was kept is not measured again."""

    def __init__(self, context: Context) -> None:
        self.context = context

    def measure(self) -> None:
        """A climb on every configuration, then the final runs at their knees."""
        found = with_cores(self.context)
        where = self.context.engine.where
        self.context.store.put_servers(
            {configuration.id: where(configuration) for configuration in found}
        )
        climbs = [self.climb(configuration) for configuration in running_order(found)]
        self.warn_of_rate(climbs)
        for runs in _final_runs(self.context, climbs).restored_runs():
            self.final_runs(runs)

    def climb(self, configuration: Configuration) -> Climb:
        """Add users on one configuration until something stops the climb; then check the
        consistency conditions.
        """
        kept = self.context.store.climb(configuration)
        for rung in kept.rungs if kept else ():
            self.context.report_rung(rung, kept=True)
        climbed = kept or self._make_climb(configuration)
        for result in climbed.reported:
            self.context.watch(
                Event(kind="stop", doing=configuration.name, data=result.model_dump())
            )
        limits = self.context.plan.rungs(configuration).ladder.stops.limits
        return climbed.model_copy(update={"limits": limits})

    def _make_climb(self, configuration: Configuration) -> Climb:
        ladder = self.context.plan.rungs(configuration).ladder
        with Restored(self.context, configuration) as restored:
            measure_at_rest(self.context, configuration, restored)
            climbed = measure_orders(
                climb(configuration, ladder, self._cores(configuration)), restored.rung
            )
            restored.load_again()
            self._profile(configuration, restored)
            fills = self.context.machine.instruments.drive_fills(restored.server.paths)
            self.context.store.put_drive_fills(fills)
            checks = tuple(restored.server.conditions(self.context.watch))
        climbed = climbed.model_copy(update={"checks": checks})
        self.context.store.put_climb(climbed)
        return climbed

    def _profile(self, configuration: Configuration, restored: Restored) -> None:
        """What the configuration's storage does without its database, if the plan asks for it:
        after the first climb on it, when the server is idle and its data are written out.
        """
        context, plan = self.context, self.context.plan
        storage = plan.database(configuration).storages[configuration.storage]
        wanted = plan.database(configuration).raw_profile and (storage.path or storage.volumes)
        same = [one.id for one in plan.configurations if one.storage == configuration.storage]
        profiles = context.store.campaign.raw_profiles
        if kept := next((profiles[id] for id in same if id in profiles), None):
            context.store.put_raw_profile(configuration, kept)
        elif wanted:
            restored.server.checkpoint()
            doing = f"profiling {configuration.storage!r} without its database"
            paths = restored.server.paths[: 2 if storage.log_apart else 1]
            try:
                instruments = context.machine.instruments
                profile = instruments.storage_profile(paths, doing, context.watch)
            except PlanError as error:  # no space for its file by now
                context.store.put_unprofiled(configuration, str(error))
                return
            if profile:
                context.store.put_raw_profile(configuration, profile)

    def warn_of_rate(self, climbs: Sequence[Climb]) -> None:
        """Warn before the final runs if the plan's own fixed rate exceeds a knee of the climbs."""
        if planned_per_s := self.context.plan.ladder.latency_per_s:
            for caveat in rate_caveats(climbs, planned_per_s):
                self.context.watch(Event(kind="warning", doing=caveat))

    def final_runs(self, runs: RestoredRuns) -> None:
        """Measure the final runs of one restore; then check the conditions of the data, if the runs
        say so.
        """
        with SideBySide(self.context, runs) as databases:
            if measure_orders(runs.steps, databases.rung):
                databases.check_conditions()

    def _cores(self, configuration: Configuration) -> int:
        """Number of the configuration's database cores.

        Those of a server on another machine are unknown: its climb begins at 1 user.
        """
        cores = self.context.engine.where(configuration).cores
        if not cores and not self.context.plan.ladder.first:
            self.context.store.put_note(
                "the climb started at 1 user because the core count of an external server is"
                " unknown"
            )
        return len(cores) or 1


def _final_runs(context: Context, climbs: Sequence[Climb]) -> FinalRuns | Rounds:
    ladder, watch = context.plan.ladder, context.watch
    pooled = context.plan.workload.connections > 0

    def report(configuration: Configuration, result: StopResult) -> None:
        watch(Event(kind="stop", doing=configuration.name, data=result.model_dump()))

    if ladder.rounds == "long":
        kept = context.store.campaign.fixed_rate
        return FinalRuns(climbs, ladder, kept, pooled=pooled, report=report)
    wanted = Wanted(ladder.precision, ladder.fewest_repeats, ladder.most_repeats)

    def enough(rungs: Sequence[Rung]) -> bool:
        so_far = rounds_so_far(rungs, wanted)
        left = so_far.left(ladder.fewest_rounds)
        watch(Event(kind="round", doing=so_far.sentence, data={"rounds_left": left}))
        return bool(so_far.ended_by)

    return Rounds(climbs, ladder, enough, pooled=pooled, report=report)
