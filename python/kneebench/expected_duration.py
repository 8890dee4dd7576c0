"""How long a plan is expected to take, with its drives: for `check` and for the time left."""

from __future__ import annotations

from kneebench import units
from kneebench.lab.volumes import preconditioning_s
from kneebench.plan import Plan
from kneebench.plan.duration import Expected, expected
from kneebench.records import Finding, Host


def expected_duration(plan: Plan, machine: Host) -> Expected:
    """The parts of the duration, with what the drives of volumes take."""
    return expected(plan, machine)._replace(drives_s=preconditioning_s(plan))


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
    breakdown = (
        f"{drives}loading {units.rough_time(parts.load_s)} (once), climbs"
        f" {units.rough_time(parts.climbs_s)}, final runs {units.rough_time(parts.final_runs_s)}"
    )
    return Finding(
        level="ok",
        subject="duration",
        seen=f"about {units.rough_time(parts.total_s)}: {breakdown}",
        takes_s=parts.total_s,
    )
