"""How it was measured."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from kneebench import units
from kneebench.analysis.drift import FLOOR
from kneebench.analysis.final_estimates import rounds_of
from kneebench.analysis.knee_fit import LOWER
from kneebench.analysis.noise_floor import QUANTITIES
from kneebench.analysis.steady import READ_TIME
from kneebench.analysis.wording import (
    as_sentence,
    listed,
    number_of_users,
    percent,
    plural,
    said_once,
)
from kneebench.brief import server_provenance
from kneebench.brief.section import Section
from kneebench.brief.view_model import ViewModel
from kneebench.plan.database_plan import DatabasePlan
from kneebench.plan.study import Study
from kneebench.records import NoiseFloor

BEGAN = {
    "copy": "Every climb and repeat started from a restored database (copy)",
    "clone": "Every climb and repeat started from a restored database (clone)",
    "template": (
        "Every climb and repeat started from a fresh copy of a template database on the server"
    ),
    "backup": "Every climb and repeat started from the same backup, which the server restored",
    "load": "Every climb and repeat started from a database that was loaded again",
    "command": "Every climb and repeat started from a database restored by the plan's command",
    "none": (
        "The database was never restored: every climb and repeat started from the state the"
        " previous one left"
    ),
    "model": "Every climb and repeat started from a fresh model with a cold cache",
}
"""By how the database was really restored."""

HAMMERDB = {
    "template": (
        "The tables were built by HammerDB. A copy of that database was measured; the original was"
        " not changed"
    ),
    "command": (
        "The tables were HammerDB's own, in the user's database; the plan's command restored them"
        " before each climb and repeat"
    ),
    "none": (
        "The tables were HammerDB's own, in the user's database; measuring added orders, payments"
        " and history to them"
    ),
}
"""Whose tables they were, by the same."""

ALIGNED = (
    ", then, also beyond that, until about as many transactions since the restore as the fastest"
    " configuration had"
)


def section(view: ViewModel) -> Section:
    notes = said_once(view.campaign.notes, view.names)
    return Section(
        name="method",
        title="How we tested",
        sentences=(*_method(view), *map(as_sentence, (*notes, *view.notes))),
        part="method",
    )


def _method(view: ViewModel) -> Iterator[str]:
    ladder = view.plan.ladder
    yield _workload(view)
    if several := [*filter(None, view.plan.databases)]:
        names = listed(several)
        yield f"Databases: {names}. Each storage was measured with each of them, all in turn."
    if not ladder.fixed:
        yield (
            "Climb: one rung with many users warms up the database. Then each rung multiplies the"
            f" users by {ladder.step:g}, with a window of {units.time(ladder.window)}, until a stop"
            " condition fires. More rungs narrow down the knee: the fewest users that give"
            f" {100 * (1 - LOWER):.0f}% of the best throughput by a curve through all rungs, so"
            " that no single high rung decides."
        )
    yield from _stop_conditions(view.plan)
    yield _quoted_runs(view)
    yield from _fixed_rate(view)
    yield from _load_levels(view)
    yield (
        "Throughput counts completions in the window; latency covers transactions that started in"
        " it, followed to their end."
    )
    yield f"Intervals are 95% CIs; {_sampling_unit(view)}.{_paired(view)}"
    yield (
        "Values of several runs are geometric means; of device traffic, waits and pressure they are"
        " arithmetic. The noise of a configuration is what two of its final runs differ by, at"
        f" least {percent(FLOOR)}."
    )
    if view.campaign.noise_floor:
        yield _noise_floor(view.campaign.noise_floor)
    yield from view.databases.said(partial(_began, view))
    yield from view.databases.said(partial(_schema, view))
    yield f"{plural(view.checked, 'self-check')}: {len(view.failed) or 'none'} failed."


def _stop_conditions(study: Study) -> Iterator[str]:
    """The limits of the climb's conditions, and those that single storages have of their own."""
    own = {name: one.stops.conditions for name, one in study.storages.items()}
    if not study.ladder.fixed:
        yield f"Stop conditions: {'; '.join(study.ladder.stops.rules.values())}."
    for name, conditions in own.items():
        if conditions:
            rules = "; ".join(one.rule for one in conditions.values())
            yield f"On {name} instead: {rules}."


def _began(view: ViewModel, database: str, plan: DatabasePlan) -> str:
    restored = server_provenance.restored(view.campaign, database, plan)
    began = f"{BEGAN[restored]}, and" if restored else "Every climb and repeat"
    return f"{began} was warmed under load. {_pinned(view, plan)}"


def _schema(view: ViewModel, database: str, plan: DatabasePlan) -> str:
    """Whose tables they were, where they were not ours."""
    restored = server_provenance.restored(view.campaign, database, plan)
    origin = view.campaign.image_of(database).get("schema_from")
    return f"{HAMMERDB[restored]}." if origin == "hammerdb" and restored in HAMMERDB else ""


def _workload(view: ViewModel) -> str:
    workload = view.plan.workload
    size = workload.size
    profile = {
        "spec": "45/43/4/4/4 from a deck of 100, NURand picks",
        "hammerdb": "10/10/1/1/1 of 23 cards, uniform picks",
    }[workload.profile]
    spread = workload.home == "all"
    home = "spread over all warehouses" if spread else "each bound to one home warehouse"
    think = "with" if workload.think_times else "without"
    return (
        f"Workload: TPROC-C, {size}, profile {workload.profile} ({profile}); users {home},"
        f" {think} keying and think times. 1% of New-Orders roll back by design."
    )


def _quoted_runs(view: ViewModel) -> str:
    """How the runs that the brief quotes were made: repeats, windows, warm-up, checkpoints."""
    ladder = view.plan.ladder
    if ladder.rounds == "short" and ladder.most_repeats:
        return _rounds(view)
    if ladder.most_repeats:
        times = f"{_times(view)}{view.own_restore}"
        runs = f"Final runs: each {view.point} {times}, storages interleaved, "
    else:
        runs = (
            f"Each {view.point} was measured once, without repeats: no interval, no latency at a"
            " fixed rate; "
        )
    warm_up = (
        f"until throughput and device reads are steady{_filled(view)}, for at most"
        f" {units.time(ladder.cold_warm_up_limit)}"
        if ladder.warm_up == "auto"
        else units.time(float(ladder.warm_up))
    ) + (ALIGNED if ladder.aligned and len(view.climbs) > 1 else "")
    cycles = (
        f"at least {plural(ladder.checkpoints, 'whole checkpoint cycle')} per window."
        if ladder.checkpoints
        else "checkpoint cycles are not awaited."
    )
    return f"{runs}windows of {units.time(ladder.final_window)}, warm-up {warm_up}; {cycles}"


def _filled(view: ViewModel) -> str:
    """What a warm-up with limited memory waits for besides."""
    if all(climb.configuration.memory_bytes is None for climb in view.climbs):
        return ""
    return (
        " and, with limited memory, as much was read as it holds or reads take at most"
        f" {percent(READ_TIME)} of the users' time"
    )


def _fixed_rate(view: ViewModel) -> Iterator[str]:
    """How many users offered the fixed rate, and how long transactions waited for one."""
    users = sorted({one.users for one in view.fixed_rate_latency.values()})
    waits = [one.wait for one in view.fixed_rate_latency.values() if one.wait is not None]
    if users:
        many = f"{users[0]} to {users[-1]} users" if users[1:] else number_of_users(users[0])
        waited = (
            f"; the wait for a free one was at most {percent(round(max(waits), 3))} of the mean"
            " latency"
            if waits
            else ""
        )
        ladder = view.plan.ladder
        chosen = (
            "the plan's"
            if ladder.latency_rate
            else f"{percent(ladder.fixed_rate_share)} of what the slowest storage did when it was"
            " chosen, after its first final run or rounds"
        )
        yield f"Fixed rate: {chosen}; an open loop of {many} per storage{waited}."


def _load_levels(view: ViewModel) -> Iterator[str]:
    """Where the curve of latency vs. rate comes from."""
    if view.load_levels:
        levels = listed([f"{level}%" for level in view.plan.ladder.levels])
        yield (
            f"Load levels: after the final runs, one run of each storage at each of {levels} of the"
            f" throughput at its {view.point}, the lowest first, in an open loop; on one more"
            " restored database, warmed up at that load."
        )


def _times(view: ViewModel) -> str:
    """How often each configuration was measured at its quoted load: more often than planned beside
    one that stepped down.
    """
    planned = view.plan.ladder.most_repeats
    most = max((len(climb.of("final_run")) for climb in view.climbs), default=0)
    return plural(planned, "time") if most <= planned else f"{planned} to {most} times"


def _rounds(view: ViewModel) -> str:
    rounds = plural(max(len(climb.of("final_run")) for climb in view.climbs), "round")
    if any(climb.stepped_down for climb in view.climbs) and (compared := rounds_of(view.results)):
        rounds += f", {compared.rounds} of them with every storage at its quoted load"
    window = units.time(view.plan.ladder.final_window)
    return (
        f"Final runs: {rounds}{view.own_restore}. In each round every storage is measured in turn,"
        f" at the {view.point} and in two of four rounds at the fixed rate, with windows of"
        f" {window}; the order reverses from round to round. The servers stay up side by side and"
        " only one is under load."
        f"{_postponed(view.plan)}"
    )


def _postponed(study: Study) -> str:
    """What idle servers wait with, by engine; nothing of servers by URL."""
    own = [one for one in study.databases.values() if server_provenance.kind(one) == "own"]
    return "".join(dict.fromkeys(f" {one.engine.postponed}" for one in own if one.engine.postponed))


def _paired(view: ViewModel) -> str:
    """Why the interval of a ratio may be narrower than those of its parts."""
    if not view.comparisons:
        return ""
    return " A ratio pairs the runs of a repeat, so variation common to both cancels."


def _sampling_unit(view: ViewModel) -> str:
    if view.plan.ladder.rounds == "short":
        return (
            "they contain the variation between rounds and between restores, and are widened"
            " because the rounds ended by their own precision"
        )
    run = "restored run" if view.own_restore else "run"
    return f"the sampling unit is one {run}, never one second of it"


def _noise_floor(floor: NoiseFloor) -> str:
    shares = listed(
        [
            f"{called} {percent(floor.shares[quantity.name])}"
            for quantity, called in QUANTITIES.items()
            if quantity.name in floor.shares
        ]
    )
    return (
        f"Noise floor of the machine, from {plural(floor.pairs, 'A/A pair')} (kneebench noise,"
        f" {floor.measured_at[:10]}): {shares}. No smaller difference is claimed."
    )


def _pinned(view: ViewModel, plan: DatabasePlan) -> str:
    server, generator = plan.database.server_cores, plan.workload.load_generator_cores
    kind = server_provenance.kind(plan)
    if plan.hosts.apart and kind == "own":
        where = f"was pinned to {_cores(server)}" if server else "could use all of its cores"
        return f"The users ran on other machines; the database {where}."
    if kind == "simulated":
        return (
            "The database was a model with its own cores and shared none with the load generator."
        )
    if kind == "url":
        how = f"pinned to {_cores(generator)}" if generator else "not pinned"
        if server_provenance.is_here(view.campaign):
            return (
                "The server was an external one on the load generator's machine; the load"
                f" generator was {how}."
            )
        return f"The server was an external one with its own cores; the load generator was {how}."
    if not server and not generator:
        return "Nothing was pinned: load generator and database shared the machine's cores."
    return f"Pinned: the database to {_cores(server)}, the load generator to {_cores(generator)}."


def _cores(cores: tuple[int, ...]) -> str:
    if not cores:
        return "no cores"
    return f"{'core' if len(cores) == 1 else 'cores'} {', '.join(map(str, cores))}"
