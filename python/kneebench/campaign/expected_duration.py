"""How long a plan is expected to take, with its drives: for `check` and for the time left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing

from kneebench import units
from kneebench.analysis.proof import LEAST_RUNS, ROUNDS
from kneebench.campaign.durability import cuts_s
from kneebench.databases.several import engine_of
from kneebench.errors import KneebenchError
from kneebench.lab.journal import Journal
from kneebench.lab.volumes import preconditioning_s
from kneebench.plan.configurations import running_order
from kneebench.plan.database_plan import DatabasePlan
from kneebench.plan.duration import Expected, expected, restored_run_s, rounds_s
from kneebench.plan.study import Study
from kneebench.records import Configuration, Finding, Host
from kneebench.results.step_times import StepTimes


def expected_duration(study: Study, machine: Host, *, loaded: bool | None = None) -> Expected:
    """The parts of the duration, as such steps took here before, with what the drives of volumes
    take; `loaded`: whether the databases are there, None if that is to be found out.
    """
    parts = expected(study.databases, machine, StepTimes(machine, study).as_before())
    there = _finds_loaded(study) if loaded is None else loaded
    load_s = 0.0 if there else parts.load_s
    at_rest = len(study.storages) * len(study.databases)
    at_rest_s = study.power.at_rest_s * at_rest if study.measures_real_hardware else 0.0
    if study.workload.type == "tproc-h":
        final_runs_s = parts.final_runs_s + at_rest_s
        drives_s = preconditioning_s(study)
        return parts._replace(load_s=load_s, drives_s=drives_s, final_runs_s=final_runs_s)
    return parts._replace(
        load_s=load_s,
        climbs_s=parts.climbs_s + at_rest_s,
        drives_s=preconditioning_s(study),
        proofs_s=_proofs_s(study),
        cuts_s=cuts_s(study),
    )


def _proofs_s(study: Study) -> float:
    """Of the plan's own proofs, with one relief each, settled as early as may be."""
    wanted = {"none": (), "baseline": study.configurations[:1], "all": study.configurations}
    if not study.measures_real_hardware:
        return 0.0
    return 2 * sum(proof_s(study.databases[one.database]) for one in wanted[study.ladder.prove])


def proof_s(plan: DatabasePlan) -> float:
    """The least that one side of a proof takes."""
    if plan.ladder.rounds == "short":
        return rounds_s(plan, ROUNDS)
    return LEAST_RUNS * restored_run_s(plan)


def _finds_loaded(study: Study) -> bool:
    """Whether the base images of managed servers are there; no external server is asked."""
    if study.servers:
        return False
    try:
        with closing(engine_of(study.databases, Journal())) as engine:
            return is_loaded(tuple(engine.findings()))
    except KneebenchError:  # the run will say so
        return False


def is_loaded(of_engine: Sequence[Finding]) -> bool:
    """Whether every database that the plan needs has been loaded before, by the engine's
    findings.
    """
    images = [one for one in of_engine if one.about == "base_image"]
    there = [one for one in images if one.level == "ok" and not one.keeps_bytes]
    return len(images) == len(there) > 0


def configuration_findings(
    configurations: Sequence[Configuration],
    databases: Mapping[str, DatabasePlan],
    parts: Expected,
) -> Iterator[Finding]:
    """The configurations of a plan with constraints or several databases in running order, with the
    time and the bytes that each takes; none for other plans.
    """
    crossed = any(one.database or one.constraint for one in configurations)
    order = running_order(configurations) if crossed else ()
    for place, configuration in enumerate(order, start=1):
        each_s = (parts.total_s - parts.load_s) / len(order)
        plan = databases[configuration.database]
        seen = f"{configuration.name}: about {units.rough_time(each_s)}"
        if plan.engine.measures_real_hardware:
            needs = units.size(plan.engine.footprint.climb_bytes(plan.workload.sized_as))
            seen += f", {plan.ladder.most_restores} restores of up to {needs}"
        yield Finding(level="ok", subject=f"configuration {place} of {len(order)}", seen=seen)


def duration_finding(parts: Expected, *, databases: int, real: bool) -> Finding:
    """The duration and its parts; `databases`: how many are loaded; `real`: the clock is."""
    if not real:
        return Finding(
            level="ok",
            subject="duration",
            seen="a few seconds: the clock is simulated",
            takes_s=parts.total_s,
        )
    drives = f"drives {units.rough_time(parts.drives_s)}, " if parts.drives_s else ""
    once = "once for each database" if databases > 1 else "once"
    loading = f"loading {units.rough_time(parts.load_s)} ({once}), " if parts.load_s else ""
    climbs = (
        f"climbs {units.rough_time(parts.climbs_s)}, final runs" if parts.climbs_s else "passes"
    )
    breakdown = (
        f"{drives}{loading}{climbs} {units.rough_time(parts.final_runs_s)}"
        + (f", proof {units.rough_time(parts.proofs_s)}" if parts.proofs_s else "")
        + (f", cuts {units.rough_time(parts.cuts_s)}" if parts.cuts_s else "")
    )
    return Finding(
        level="ok",
        subject="duration",
        seen=f"about {units.rough_time(parts.total_s)}: {breakdown}",
        takes_s=parts.total_s,
    )
