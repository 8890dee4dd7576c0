"""The meters of power of a plan or of this machine, looked at without a campaign."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from kneebench.errors import PlanError
from kneebench.measurement.instruments import Instruments
from kneebench.measurement.power.energy import PERIODS
from kneebench.measurement.power.now import PowerNow, own_meters, power_now
from kneebench.measurement.power.recordings import OwnRecordings, Recordings, facts_of
from kneebench.measurement.power_meters import model
from kneebench.plan.power import PowerMeter
from kneebench.plan.study import Study
from kneebench.records import Finding
from kneebench.units import power, time

SECONDS = 3.0


def meters_of_this_machine(seconds: float) -> list[PowerNow]:
    """What the meters say that this machine has."""
    return _read([*own_meters()], None, seconds)


def meters_of_plan(
    study: Study, instruments: Instruments, seconds: float, *, start: bool
) -> list[PowerNow]:
    """What a plan's meters say; `instruments`: of its database's machine. A model's power is read
    while it runs. Without `start`, those that are programs of the plan are left out.
    """
    if not study.measures_real_hardware:
        why = "read from the model while a campaign runs"
        return [PowerNow(facts=facts_of(one), why=why) for one in study.power.meters]
    meters = [one for one in study.power.meters if start or not one.starts_program]
    return _read(meters, instruments, seconds)


def _read(
    tables: Sequence[PowerMeter], instruments: Instruments | None, seconds: float
) -> list[PowerNow]:
    """Each is opened alone: one that cannot be read does not hide the others."""
    opened: list[Recordings] = []
    found: dict[str, PowerNow] = {}
    with contextlib.ExitStack() as closing:
        for table in tables:
            try:
                one = _opened(table, instruments)
            except PlanError as error:
                facts = facts_of(table)
                found[table.name] = PowerNow(facts=facts, why=error.seen, do=error.do)
                continue
            closing.callback(one.close)
            opened.append(one)
        found |= {one.facts.name: one for one in power_now(opened, seconds if opened else 0.0)}
    return [found[table.name] for table in tables]


def _opened(table: PowerMeter, instruments: Instruments | None) -> Recordings:
    if instruments and table.on_database_host:
        return instruments.power_meters([table])
    return OwnRecordings([table])


def power_findings(study: Study, instruments: Instruments) -> Iterator[Finding]:
    """A finding on each meter of a plan that is no program: what it says now, or why nothing."""
    budgets = [study.ladder.on(one.stops).stops.power.limit for one in study.storages.values()]
    if any(budgets) and not study.power.leading:
        seen = "no meter measures the power that it limits"
        do = "name a meter of scope wall in [power]"
        yield Finding(level="error", subject="ladder.stops.power", seen=seen, do=do)
    if not study.measures_real_hardware:
        seen, do = "it measures a machine, and a model runs on none", f'use type = "{model.TYPE}"'
        for table in model.of_machines(study.power.meters):
            yield Finding(level="error", subject=f"power meter {table.name}", seen=seen, do=do)
        return
    if not study.power.meters:
        return
    found = meters_of_plan(study, instruments, SECONDS, start=False)
    yield from map(_finding, found)
    if not study.power.leading:
        seen = "no mW/NOPM: no meter, or several, of scope wall"
        yield Finding(level="note", subject="power", seen=seen, do="name one as power.headline")
    for one in found:
        if one.period_s and (window_s := study.ladder.window) < PERIODS * one.period_s:
            seen = (
                f"it has a new value every {time(one.period_s)}: a window of {time(window_s)} has"
                f" fewer than {PERIODS}, which is a caveat in the brief"
            )
            subject = f"power meter {one.facts.name}"
            yield Finding(level="note", subject=subject, seen=seen, do="use longer windows")


def _finding(one: PowerNow) -> Finding:
    subject = f"power meter {one.facts.name}"
    if one.why and one.facts.rated_w is None:
        return Finding(level="error", subject=subject, seen=one.why, do=one.do)
    if one.facts.rated_w is not None:
        return Finding(level="ok", subject=subject, seen=one.facts.source)
    said = f"{power(one.watts)} now, {one.facts.caption}; {one.facts.source}"
    return Finding(level="ok", subject=subject, seen=said)
