"""The power of a campaign: its meters are read from before the first restore to the end; idle power
and lags come before the first climb of each storage.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from kneebench.campaign.restored import Context, Restored
from kneebench.databases.engine import Server
from kneebench.errors import PlanError
from kneebench.measurement.instruments import Instruments
from kneebench.measurement.measure import load_of
from kneebench.measurement.power.idle import find_lags, idle_power
from kneebench.measurement.power.recorder import ModelRecorder, PowerRecorder
from kneebench.measurement.power.recordings import OwnRecordings, facts_of
from kneebench.measurement.power_meters import model
from kneebench.plan.power import Power
from kneebench.records import CampaignPower, Configuration, MeterLag, Order, at_rest_on
from kneebench.results.campaign_reader import rung_files
from kneebench.results.store import Store
from kneebench.workload import LoadGenerators

USERS_PER_CORE = 2
UNKNOWN_CORES = 4
"""Of a server whose machine is not known."""


@contextlib.contextmanager
def recorded_power(
    plan: Power, instruments: Instruments, *, real: bool
) -> Iterator[PowerRecorder | None]:
    """All meters of a plan, read until the end of the block; None without any.

    `instruments`: those of the database's machine; `real`: it is no model. Raises PlanError for a
    meter that cannot be read.
    """
    tables = plan.meters
    if not tables:
        yield None
    elif not real:
        yield _of_the_model(plan)
    else:
        with contextlib.ExitStack() as opened:
            there = [one for one in tables if one.on_database_host]
            here = [one for one in tables if not one.on_database_host]
            parts = [instruments.power_meters(there)] if there else []
            for part in parts:
                opened.callback(part.close)
            parts += [opened.enter_context(OwnRecordings(here))] if here else []
            yield PowerRecorder(plan, parts)


def _of_the_model(plan: Power) -> PowerRecorder:
    for one in model.of_machines(plan.meters):
        seen = f"type {one.type} measures a machine, and a model runs on none"
        raise PlanError(f"power meter {one.name}", seen=seen, do=f'use type = "{model.TYPE}"')
    return ModelRecorder(plan, [facts_of(one) for one in plan.meters])


def campaign_power(power: PowerRecorder | None) -> CampaignPower | None:
    """The meters, for the head of the results."""
    if not power:
        return None
    plan = power.plan
    return CampaignPower(meters=tuple(power.meters), sums=plan.sums, leading=plan.leading)


def use_kept(store: Store, power: PowerRecorder | None) -> None:
    """Take into account what a killed run had found at rest."""
    kept = store.campaign.power
    if power and kept:
        for lags in kept.lags.values():
            power.use_lags(lags)
        for window in kept.idle.values():
            power.use_idle(window)


def measure_at_rest(context: Context, restored: Restored) -> None:
    """Idle power and the lags of the meters, on a database that nobody has used yet; those of a
    storage once.
    """
    configuration = restored.configuration
    kept = _with_idle(context, configuration, lambda: restored.server)
    if not kept:
        return
    if context.power and context.power.plan.load_step:
        lags = _find_lags(context, context.power, restored)
        kept = kept.model_copy(update={"lags": {**kept.lags, at_rest_on(configuration): lags}})
    context.store.put_power(kept)


def measure_idle(context: Context, configuration: Configuration, server: Server) -> None:
    """Idle power alone."""
    if kept := _with_idle(context, configuration, lambda: server):
        context.store.put_power(kept)


def _with_idle(
    context: Context, configuration: Configuration, server: Callable[[], Server]
) -> CampaignPower | None:
    """What is kept of power, with that of a storage at rest; None if it is there, or was loaded."""
    power, kept = context.power, context.store.campaign.power
    place = at_rest_on(configuration)
    if not power or not kept or place in kept.idle or _has_rungs(context.store, configuration):
        return None
    found = idle_power(power, server(), power.plan.idle, context.watch, configuration.name)
    power.use_idle(found)
    return kept.model_copy(update={"idle": {**kept.idle, place: found}})


def _has_rungs(store: Store, configuration: Configuration) -> bool:
    """Whether a killed run had begun its climb: at rest it is no more."""
    return any(file.name.startswith(f"{configuration.id}.") for file in rung_files(store.folder))


def _find_lags(context: Context, power: PowerRecorder, restored: Restored) -> tuple[MeterLag, ...]:
    """By a load of a few users for each core, which is no rung."""
    server, plan, configuration = restored.server, restored.plan, restored.configuration
    users = min(plan.ladder.last, USERS_PER_CORE * (len(server.cores) or UNKNOWN_CORES))
    order = Order(configuration=configuration.id, phase="warm_up", users=users)

    def load() -> LoadGenerators:
        return load_of(order, plan, server, context.load_hosts)

    found = find_lags(power, server, load, context.watch, configuration.name)
    restored.transactions += found.transactions
    return found.lags


def keep_cost(store: Store, power: PowerRecorder | None) -> None:
    """Keep what reading the meters took."""
    if power and (kept := store.campaign.power):
        power.take()
        store.put_power(kept.model_copy(update={"cost": power.cost()}))
