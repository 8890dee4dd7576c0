"""How long a plan is expected to take, with its drives: for `check` and for the time left."""

from __future__ import annotations

from collections.abc import Iterator

from kneebench import units
from kneebench.lab.volumes import preconditioning_s
from kneebench.plan import Plan
from kneebench.plan.cells import cells, running_order
from kneebench.plan.duration import Expected, expected
from kneebench.records import Finding, Host


def expected_duration(plan: Plan, machine: Host) -> Expected:
    """The parts of the duration, with what the drives of volumes take."""
    return expected(plan, machine)._replace(drives_s=preconditioning_s(plan))


def cell_findings(plan: Plan, machine: Host) -> Iterator[Finding]:
    """The cells of a plan with constraints or several databases in running order, with the time and
    the bytes that each takes; none for other plans.
    """
    crossed = plan.constraints_by_name or plan.databases
    order = running_order(cells(plan)) if crossed else ()
    parts = expected_duration(plan, machine)
    for place, cell in enumerate(order, start=1):
        each_s = (parts.total_s - parts.load_s) / len(order)
        seen = f"{cell.name}: about {units.rough_time(each_s)}"
        if plan.engine.measures_real_hardware:
            restores = plan.ladder.most_restores
            footprint = plan.of(cell).engine.footprint
            needs = units.size(footprint.climb_bytes(plan.workload.warehouses))
            seen += f", {restores} restores of up to {needs}"
        yield Finding(level="ok", subject=f"cell {place} of {len(order)}", seen=seen)


def duration_finding(plan: Plan, machine: Host) -> Finding:
    """The duration and its parts."""
    parts = expected_duration(plan, machine)
    if not plan.engine.measures_real_hardware:
        return Finding(
            level="ok",
            subject="duration",
            seen="a few seconds: the clock is simulated",
            takes_s=parts.total_s,
        )
    drives = f"drives {units.rough_time(parts.drives_s)}, " if parts.drives_s else ""
    once = "once for each database" if plan.databases else "once"
    loading = f"loading {units.rough_time(parts.load_s)} ({once}), " if parts.load_s else ""
    breakdown = (
        f"{drives}{loading}climbs {units.rough_time(parts.climbs_s)},"
        f" final runs {units.rough_time(parts.final_runs_s)}"
    )
    return Finding(
        level="ok",
        subject="duration",
        seen=f"about {units.rough_time(parts.total_s)}: {breakdown}",
        takes_s=parts.total_s,
    )
