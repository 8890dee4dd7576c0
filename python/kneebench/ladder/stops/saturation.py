"""Saturation: the database's cores are flat out and throughput has stopped growing.

Both are needed. Busy cores alone are no knee: group commit and batching still find work for more users. Where the load
generator shares the cores, its own time counts as busy too: pin them apart, or read the verdict so. What other programs use does
not count: the kernel does not tell whose a core's time was, so above a limit of it saturation is not judged.
"""

from __future__ import annotations

from collections.abc import Sequence

from kneebench.analysis.bottleneck import OTHERS_BUSY
from kneebench.analysis.elasticity import elasticity
from kneebench.plan.plan import Part, Saturation
from kneebench.records import Rung, Verdict

QUANTITY, OTHERS = "database.busy", "database.others"


def judge(rungs: Sequence[Rung], limits: Part) -> Verdict:
    """Fires when the least busy core of the last rung reaches `busy` and the last step's elasticity is below `elasticity`, unless other programs
    used more than `OTHERS_BUSY` of these cores."""
    assert isinstance(limits, Saturation)
    limit = f"every core of the database at least {100 * limits.busy:g} % busy, with an elasticity below {limits.elasticity:g}"
    busy = rungs[-1].quantity(QUANTITY)
    if busy is None:
        said = "how busy the database's cores were was not measured, so saturation was not judged"
        return Verdict(stop="saturation", fired=False, seen="not measured", limit=limit, sentence=said)
    others = rungs[-1].quantity(OTHERS) or 0.0
    if busy >= limits.busy and others > OTHERS_BUSY:
        seen = f"{100 * busy:.1f} % busy, {100 * others:.0f} % used by other programs"
        said = (
            f"saturation could not be judged at {rungs[-1].users} users: the least busy core of the database was {100 * busy:.1f} % busy, but other "
            f"programs used {100 * others:.0f} % of the database's cores (limit {100 * OTHERS_BUSY:.0f} %); the limit is {limit}"
        )
        return Verdict(stop="saturation", fired=False, seen=seen, limit=limit, sentence=said)
    growth = elasticity(rungs[-2], rungs[-1]) if len(rungs) > 1 else None
    fired = busy >= limits.busy and growth is not None and growth < limits.elasticity
    seen = f"{100 * busy:.1f} % busy, elasticity {'unknown at the first rung' if growth is None else f'{growth:.2f}'}"
    said = f"{'' if fired else 'not '}saturated: the least busy core of the database was {seen} at {rungs[-1].users} users; the limit is {limit}"
    return Verdict(stop="saturation", fired=fired, seen=seen, limit=limit, sentence=said)


def beyond(rungs: Sequence[Rung], limits: Part) -> int:
    """The last rung added users and no throughput."""
    return 1
