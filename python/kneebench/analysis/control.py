"""The control of a fixed load: the database's cores must be busy, else fewer cores limit nothing.

The published method sweeps memory at a fixed number of users and a number of cores that this load
keeps above 97% busy, and checks that on every configuration. The figure is that of the bottleneck's
evidence (cpu_utilization.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kneebench.analysis.cpu_utilization import cpu_utilization
from kneebench.analysis.knee import final_rungs
from kneebench.analysis.wording import by_finding, capital, percent
from kneebench.records import Check, Climb, Results


def control(climb: Climb) -> Check | None:
    """Whether the least busy core was busy enough in the final runs of a configuration with a fixed
    load and a constraint on its cores; None for any other configuration.
    """
    runs = final_rungs(climb)
    if not climb.configuration.cores or not climb.of("fixed_load") or not runs:
        return None
    limit, used = percent(climb.limits.cores_busy), cpu_utilization(runs)
    if used is None:
        return _check(False, "not measured", limit, "the load of the cores was not measured")
    seen = percent(used.least_busy.value)
    words = f"the least busy database core was {seen} busy (limit: {limit})"
    return _check(used.least_busy.value >= climb.limits.cores_busy, seen, limit, words)


def controls(climbs: Sequence[Climb]) -> dict[str, Check]:
    """The control of each configuration that has one, by configuration id."""
    return {climb.id: found for climb in climbs if (found := control(climb))}


def control_caveats(results: Results) -> Iterator[str]:
    """A sentence for all configurations whose cores were not busy enough: not the cores limited
    them.
    """
    found = [(climb.configuration, control(climb)) for climb in results.climbs]
    failed = [(of, one) for of, one in found if one and not one.passed]
    if len(failed) == 1:
        [(of, one)] = failed
        yield f"{capital(of.name)}: {one.sentence}; something other than its cores limits it"
    elif failed:
        limit, seen = failed[0][1].limit, [(of, f"{one.seen} busy") for of, one in failed]
        yield (
            "Something other than their cores limits these configurations: the least busy database"
            f" core was {by_finding(seen, len(found))} (limit: {limit})"
        )


def _check(passed: bool, seen: str, limit: str, sentence: str) -> Check:
    return Check(name="busy cores", passed=passed, seen=seen, limit=limit, sentence=sentence)
