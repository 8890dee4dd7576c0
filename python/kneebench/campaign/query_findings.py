"""What passes over queries need, said before they begin."""

from __future__ import annotations

from collections.abc import Iterator

from kneebench.analysis.query_times import of_queries
from kneebench.databases.engine import Engine, Restarts
from kneebench.plan.study import Study
from kneebench.records import Finding


def query_findings(study: Study, engine: Engine) -> Iterator[Finding]:
    """What passes over queries need: a server that can be started again, on this machine; and what
    of the plan they do not have.
    """
    workload, ladder = study.workload, study.ladder
    if not isinstance(engine, Restarts):
        yield Finding(
            level="error",
            subject="workload.type",
            seen="queries begin cold on servers that kneebench starts; it starts none of these",
            do="remove the url, or use an engine whose servers kneebench starts",
        )
    lacking = {
        "hosts": study.hosts.apart,
        "power": bool(study.power.meters),
        "constraints": bool(study.saturating),
        "ladder.prove": ladder.prove != "none",
        "ladder.load_levels": bool(ladder.levels),
    }
    for key in (key for key, is_set in lacking.items() if is_set):
        seen = 'not with type = "tproc-h"'
        yield Finding(level="error", subject=key, seen=seen, do=f"remove {key} from the plan")
    passes = f"{ladder.fewest_repeats} to {ladder.most_repeats} passes"
    seen = f"{of_queries(workload.asked)}, {workload.cache}, {passes}"
    yield Finding(level="ok", subject="queries", seen=seen)
