"""What passes over queries need, said before they begin."""

from __future__ import annotations

from collections.abc import Iterator

from kneebench.analysis.query_times import of_queries
from kneebench.databases.engine import Engine, Restarts
from kneebench.plan.study import Study
from kneebench.records import Finding


def query_findings(study: Study, engine: Engine) -> Iterator[Finding]:
    """What passes over queries need: a server that can be started again, on this machine."""
    workload = study.workload
    if not isinstance(engine, Restarts):
        yield Finding(
            level="error",
            subject="workload.type",
            seen="queries begin cold on servers that kneebench starts; it starts none of these",
            do="remove the url, or use an engine whose servers kneebench starts",
        )
    if study.hosts.apart:
        seen, do = "queries come from this machine", "remove [hosts], or measure tproc-c"
        yield Finding(level="error", subject="hosts", seen=seen, do=do)
    passes = f"{study.ladder.fewest_repeats} to {study.ladder.most_repeats} passes"
    seen = f"{of_queries(workload.asked)}, {workload.cache}, {passes}"
    yield Finding(level="ok", subject="queries", seen=seen)
