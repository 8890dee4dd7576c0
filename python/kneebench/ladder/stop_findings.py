"""Findings of `check` on the stop conditions of a plan."""

from __future__ import annotations

from collections.abc import Iterator

from kneebench.plan.study import Study
from kneebench.records import Finding


def stop_findings(study: Study) -> Iterator[Finding]:
    """A line for each storage that has its own stop conditions."""
    for name, storage in study.storages.items():
        own = [one.rule for one in storage.stops.conditions.values()]
        if own:
            seen = f"{'; '.join(own)}; others as in [ladder.stops]"
            yield Finding(level="ok", subject=f"stop conditions of {name}", seen=seen)
