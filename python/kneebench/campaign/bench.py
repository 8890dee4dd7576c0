"""The bench: a climb on every configuration, then the final runs at their knees."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from kneebench.analysis.cpu_utilization import QUANTITY
from kneebench.analysis.final_estimates import Wanted, rounds_so_far
from kneebench.analysis.fixed_rate import rate_caveats
from kneebench.analysis.wording import plural
from kneebench.campaign.power import measure_at_rest
from kneebench.campaign.profiled import profile_storage
from kneebench.campaign.queries import QueryPasses
from kneebench.campaign.restored import Context, Restored
from kneebench.databases.engine import Server
from kneebench.errors import KneebenchError
from kneebench.ladder.climb import measure_orders
from kneebench.ladder.final_runs import FinalRuns, Load, RestoredRuns
from kneebench.ladder.rounds import Rounds
from kneebench.ladder.saturating import next_try, saturated
from kneebench.measurement.measure import measure
from kneebench.measurement.warm_up import Beginning, ColdStart
from kneebench.plan.configurations import running_order
from kneebench.records import Climb, Configuration, Event, Order, Rung, StopResult


class Bench:
    """One campaign under way: what was kept is not measured again."""

    def __init__(self, context: Context) -> None:
        self.context = context

    def measure(self, saturating: Collection[str]) -> None:
        """A climb on every configuration, then the final runs at their knees; of TPROC-H passes
        over its queries. `saturating`: names of the constraints whose number of cores is found
        first.
        """
        if self.context.workload.type == "tproc-h":
            QueryPasses(self.context).measure()
            return
        found = with_cores(self.context, saturating)
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
        ladder = self.context.database(configuration).ladder_on(configuration.storage)
        return climbed.model_copy(update={"limits": ladder.stops.limits})

    def _make_climb(self, configuration: Configuration) -> Climb:
        with Restored(self.context, configuration) as restored:
            measure_at_rest(self.context, restored)
            found = measure_orders(restored.climb(), restored.step)
            restored.load_again()
            profile_storage(self.context, configuration, restored.server)
            fills = self.context.machine.instruments.drive_fills(restored.server.paths)
            self.context.store.put_drive_fills(fills)
            checks = tuple(restored.server.conditions(self.context.watch))
        climbed = Climb(configuration=configuration, checks=checks, **found._asdict())
        self.context.store.put_climb(climbed)
        return climbed

    def warn_of_rate(self, climbs: Sequence[Climb]) -> None:
        """Warn before the final runs if the plan's own fixed rate exceeds a knee of the climbs."""
        if planned_per_s := self.context.ladder.latency_per_s:
            for caveat in rate_caveats(climbs, planned_per_s):
                self.context.watch(Event(kind="warning", doing=caveat))

    def final_runs(self, runs: RestoredRuns) -> None:
        """Measure the final runs of one restore; then check the conditions of the data, if the runs
        say so.
        """
        contexts = dict.fromkeys(runs.configurations, self.context)
        with SideBySide(contexts, runs.restore, runs.loads, runs.begins_at) as databases:
            if measure_orders(runs.steps, databases.rung):
                databases.check_conditions()


def _final_runs(context: Context, climbs: Sequence[Climb]) -> FinalRuns | Rounds:
    ladder, watch = context.ladder, context.watch
    pooled = any(one.workload.connections for one in context.databases.values())

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


# Before the first configuration of a plan with `cores = "saturating"`: measure the fixed load on
# all cores, then on fewer, until they are all busy. What is measured here is kept as the search
# alone.


def with_cores(context: Context, saturating: Collection[str]) -> tuple[Configuration, ...]:
    """The plan's configurations; those with saturating cores have the number that was found, now or
    before the campaign was resumed. Raises KneebenchError where the load of the cores is not
    measured.
    """
    every = context.configurations
    some = [configuration for configuration in every if configuration.constraint in saturating]
    if not some:
        return every
    found = _found(context, max(some, key=_roomy))
    update = {"cores": found}
    return tuple(
        configuration.model_copy(update=update) if configuration in some else configuration
        for configuration in every
    )


def _roomy(configuration: Configuration) -> tuple[bool, float]:
    """The order of configurations by memory; of equal ones `max` gives the first, the
    baseline's.
    """
    sizes = (configuration.memory_bytes, configuration.engine_memory_bytes)
    return sizes == (None, None), sum(size or 0 for size in sizes)


def _found(context: Context, configuration: Configuration) -> int:
    ladder = context.database(configuration).ladder_on(configuration.storage)
    busy = ladder.stops.saturation.busy
    every = configuration.model_copy(update={"cores": 10**6})
    most = len(context.engine.where(every).cores)
    tried = dict(context.store.campaign.saturation)
    while (number := next_try(tried, most, busy)) is not None:
        tried[number] = _busy(context, configuration, number)
        context.store.put_saturation(tried)
    found = saturated(tried, busy)
    shown = ", ".join(f"{cores}: {100 * share:.3g}%" for cores, share in tried.items())
    users, limit = ladder.last, f"at least {100 * busy:g}% busy"
    said = f"{plural(found, 'saturating core')}: the most that {users} users keep {limit}"
    if tried[found] < busy:
        said = f"{users} users keep no number of cores {limit}, so one core is used"
    by_number = f"least busy core by number of cores: {shown}"
    context.store.put_note(f"{said} on {configuration.name} ({by_number})")
    return found


def _busy(context: Context, configuration: Configuration, number: int) -> float:
    """How busy the least busy of so many cores is under the fixed load."""
    doing = f"looking for saturating cores: {number} of them"
    context.watch(Event(kind="start", doing=doing))
    tried = configuration.model_copy(update={"cores": number})
    order = Order(
        configuration=f"{configuration.id}-on-{number}",
        phase="fixed_load",
        users=context.ladder.last,
    )
    with context.engine.restored(tried, context.watch) as server:
        plan = context.with_its_cores(tried)
        cold = Beginning(ColdStart(tried.memory_bytes or 0))
        rung = measure(order, plan, server, context.watch, cold, context.machines).rung
    share = rung.quantity(QUANTITY)
    if rung.invalid or share is None:
        seen = rung.invalid or "the load of the database's cores was not measured"
        do = 'give cores a number, or correct that (the meter "cores" measures it)'
        raise KneebenchError(f"cannot find saturating cores: {number} of them", seen=seen, do=do)
    return share


# Restored databases of several configurations that take turns: short rounds, and the final runs of
# one.


class SideBySide:
    """Restored databases of several configurations, up at the same time; one at a time is under
    load.

    All are restored and loaded before the first rung is measured. In short rounds they take turns,
    and the windows of a turn at the knee begin after as many transactions on all. `loads` and
    `begins_at`: as `RestoredRuns` has them.
    """

    def __init__(
        self,
        contexts: Mapping[Configuration, Context],
        restore: int,
        loads: Mapping[str, Load],
        begins_at: int = 0,
    ) -> None:
        self._restored = {
            one.id: Restored(
                context,
                one,
                restore,
                loads.get(one.id),
                self if context.ladder.rounds == "short" else None,
                begins_at,
            )
            for one, context in contexts.items()
        }
        self._loads = [*(loads or self._restored)]
        self.at = ""
        """The configuration that is restored, loaded or measured."""
        self._turn: tuple[str, int] | None = None
        self._begins_at = 0
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> SideBySide:
        for restored in self._restored.values():
            self._stack.enter_context(restored)
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)

    def rung(self, order: Order) -> Rung:
        """The rung of this order, kept or measured."""
        restored = self._restored[order.configuration]
        if order.restore and not restored.context.store.rung(order):
            for configuration in self._loads:
                self.at = configuration
                self._restored[configuration].load_again()
        self.at = order.configuration
        return restored.rung(order)

    def leave_out(self, configuration: str) -> None:
        """It takes no further turns."""
        del self._restored[configuration]
        self._loads.remove(configuration)

    def servers(self) -> dict[str, Server]:
        """The servers by configuration."""
        return {
            restored.configuration.name: restored.server for restored in self._restored.values()
        }

    def checkpoint(self) -> None:
        """A checkpoint on every server; transactions count from there."""
        for restored in self._restored.values():
            restored.server.checkpoint()
            restored.transactions = 0
        self._turn = None

    def begins_at(self, order: Order) -> int:
        """Transactions since the restore after which every window of a turn begins: as many as the
        foremost database has after its ramp. In the load before, as many as the foremost had. At
        the fixed rate nothing catches up, as that takes long: the next turn at the knee does.
        """
        every = self._restored.values()
        if order.phase == "fixed_rate":
            return 0
        if order.phase == "warm_up":
            return max(one.transactions for one in every)
        if self._turn != (order.phase, order.repeat):
            self._turn = order.phase, order.repeat
            self._begins_at = round(max(one.after_ramp(order) for one in every))
        return self._begins_at

    def check_conditions(self) -> None:
        """Check the consistency conditions of every database after its last rung."""
        for restored in self._restored.values():
            restored.check_conditions()
