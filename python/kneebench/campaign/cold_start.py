"""Cold starts: what a restored database has to reach before its first window.

Limited memory has to be filled. A reference without a limit has more to fill and looks steady long
before it is as warm as the largest configuration beside it. So it reads at least as much as that
one's memory holds, and warms at least as long as that one has taken so far.
"""

from __future__ import annotations

from collections.abc import Sequence

from kneebench.measurement.warm_up import ColdStart
from kneebench.plan.configurations import largest_beside
from kneebench.records import Configuration
from kneebench.results.campaign_reader import rungs_in, workload
from kneebench.results.store import Store


def cold_start(
    configuration: Configuration, every: Sequence[Configuration], store: Store, *, cold: bool
) -> ColdStart:
    """That of a configuration among all of its campaign, by the rungs measured until now; nothing
    for a database that is not `cold`.
    """
    if not cold:
        return ColdStart()
    largest = largest_beside(configuration, every)
    if largest is None:
        return ColdStart(configuration.memory_bytes or 0)
    rungs = rungs_in(store.folder, workload(store.campaign))
    first = (r for r in rungs if r.order.configuration == largest.id and r.restore_s is not None)
    least_s = max((rung.age_s or rung.warm_up_s for rung in first), default=0.0)
    return ColdStart(largest.memory_bytes or 0, least_s)
