"""The figures of a storage that an acceptance judges; None where they were not measured."""

from __future__ import annotations

from kneebench.analysis.fixed_rate import fixed_rate_latency
from kneebench.analysis.knee import knee, metered, quoted_rungs
from kneebench.records import Climb, Estimate


def nopm(climb: Climb) -> Estimate | None:
    """At the knee, or at the fixed load."""
    found = knee(climb)
    return found.nopm if found else None


def mean_latency(climb: Climb) -> Estimate | None:
    """At the fixed rate."""
    found = fixed_rate_latency(climb)
    return found.mean_s if found else None


def p999_latency(climb: Climb) -> Estimate | None:
    """At the fixed rate."""
    found = fixed_rate_latency(climb)
    return found.p999_s if found else None


def log_at_rate(climb: Climb) -> Estimate | None:
    """The mean log write at the fixed rate."""
    rungs = [rung for rung in climb.of("fixed_rate") if not rung.invalid]
    return metered(rungs, "log.write_latency")


def log_at_knee(climb: Climb) -> Estimate | None:
    """The mean log write at the knee."""
    return metered(quoted_rungs(climb), "log.write_latency")
