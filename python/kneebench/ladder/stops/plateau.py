"""The plateau: throughput no longer grows with users.

It fires when the elasticity stays below the limit on so many steps running. One flat step is often noise: in simulations on USL
curves with 0.5 to 3 % of it, the 5th percentile of throughput at the knee is 0.95 to 0.97 of the true peak with two steps, and 0.81
to 0.95 with one, as the curves are chosen. On curves that never peak it ends at 0.86 to 0.92 of what unlimited users would reach: a plateau, not the peak.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from kneebench.analysis.elasticity import elasticity
from kneebench.plan.plan import Part, Plateau
from kneebench.records import Rung, Verdict


def judge(rungs: Sequence[Rung], limits: Part) -> Verdict:
    """Fires when the last `steps` elasticities are all below `elasticity`; the knee is the last rung before them."""
    assert isinstance(limits, Plateau)
    if len(rungs) <= limits.steps:
        return _verdict(False, "too few rungs", limits, f"no plateau yet: {len(rungs)} rungs are too few to judge {limits.steps} steps")
    last = rungs[-1 - limits.steps :]
    found = [elasticity(a, b) for a, b in pairwise(last)]
    fired = max(found) < limits.elasticity
    seen = ", ".join(f"{e:.2f}" for e in found)
    gain = 100 * (last[-1].tally.throughput_per_s / last[0].tally.throughput_per_s - 1) if last[0].tally.throughput_per_s else 0.0
    said = f"from {last[0].users} to {last[-1].users} users throughput changed by {gain:+.1f} % (elasticity {seen})"
    lower = "; the climb began there, so the knee may lie at fewer users" if fired and len(last) == len(rungs) and last[0].users > 1 else ""
    return _verdict(fired, f"elasticity {seen}", limits, f"{'plateau' if fired else 'no plateau'}: {said}{lower}")


def beyond(rungs: Sequence[Rung], limits: Part) -> int:
    """As many rungs as there were flat steps."""
    assert isinstance(limits, Plateau)
    return limits.steps


def _verdict(fired: bool, seen: str, limits: Plateau, said: str) -> Verdict:
    limit = f"elasticity below {limits.elasticity:g} on {limits.steps} steps running"
    return Verdict(stop="plateau", fired=fired, seen=seen, limit=limit, sentence=f"{said}; the limit is {limit}")
