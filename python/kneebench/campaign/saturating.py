"""Before the first configuration of a plan with `cores = "saturating"`: measure the fixed load on
all cores, then on fewer, until they are all busy. What is measured here is kept as the search
alone.
"""

from __future__ import annotations

from kneebench.analysis.cpu_utilization import QUANTITY
from kneebench.analysis.wording import plural
from kneebench.campaign.restored import Context
from kneebench.errors import KneebenchError
from kneebench.ladder.saturating import next_try, saturated
from kneebench.measurement.measure import measure
from kneebench.measurement.warm_up import ColdStart
from kneebench.records import Configuration, Event, Order


def with_cores(context: Context) -> tuple[Configuration, ...]:
    """The plan's configurations; those with saturating cores have the number that was found, now or
    before the campaign was resumed. Raises KneebenchError where the load of the cores is not
    measured.
    """
    every, names = context.plan.configurations, context.plan.saturating
    if not names:
        return every
    some = [configuration for configuration in every if configuration.constraint in names]
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
    busy = context.plan.rungs(configuration).ladder.stops.saturation.busy
    every = configuration.model_copy(update={"cores": 10**6})
    most = len(context.engine.where(every).cores)
    tried = dict(context.store.campaign.saturation)
    while (number := next_try(tried, most, busy)) is not None:
        tried[number] = _busy(context, configuration, number)
        context.store.put_saturation(tried)
    found = saturated(tried, busy)
    shown = ", ".join(f"{cores}: {100 * share:.3g}%" for cores, share in tried.items())
    users, limit = context.plan.ladder.last, f"at least {100 * busy:g}% busy"
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
        users=context.plan.ladder.last,
    )
    with context.engine.restored(tried, context.watch) as server:
        plan = context.with_its_cores(tried)
        start = ColdStart(tried.memory_bytes or 0)
        watch, machines = context.watch, context.machines
        rung = measure(
            order, plan, server, server.paths, watch, cold=True, start=start, machines=machines
        ).rung
    share = rung.quantity(QUANTITY)
    if rung.invalid or share is None:
        seen = rung.invalid or "the load of the database's cores was not measured"
        do = 'give cores a number, or correct that (the meter "cores" measures it)'
        raise KneebenchError(f"cannot find saturating cores: {number} of them", seen=seen, do=do)
    return share
