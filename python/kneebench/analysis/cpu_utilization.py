"""CPU utilization of a configuration: one definition for tables, evidence, checks and figures.

It is the mean busy share of the database's cores in a window, and over the final runs the
geometric mean. What decides whether they are all busy is the least busy core of each run, which is
called by that name. On a server elsewhere both are by its own count of its own work on each core.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

from kneebench.analysis.final_estimates import estimate_of
from kneebench.analysis.wording import percent
from kneebench.records import Estimate, Rung

QUANTITY = "database.busy"
"""Its value is the utilization of the least busy core, its sources that of each."""


class CpuUtilization(NamedTuple):
    """`mean` over the database's cores, and that of the least busy one."""

    mean: Estimate
    least_busy: Estimate

    @property
    def words(self) -> str:
        """Both, for people; one where they are the same."""
        mean, least = percent(self.mean.value), percent(self.least_busy.value)
        return f"{mean} busy" if mean == least else f"{mean} busy (least busy core {least})"


def cpu_utilization(rungs: Sequence[Rung]) -> CpuUtilization | None:
    """That of the final runs of a configuration (knee.final_rungs); None if no run measured it."""
    measured = [rung for rung in rungs if QUANTITY in rung.quantities]
    if not measured:
        return None
    return CpuUtilization(
        estimate_of(measured, _mean),
        estimate_of(measured, lambda rung: rung.quantities[QUANTITY].value),
    )


def cpu_per_transaction_s(rungs: Sequence[Rung]) -> float | None:
    """CPU time of the database's cores for each transaction of these runs, in seconds; None if the
    cores were not measured one by one. A load generator on the same cores is in it.
    """
    measured = [rung for rung in rungs if database_cores(rung) and rung.tally.throughput_per_s > 0]
    if not measured:
        return None
    return estimate_of(
        measured,
        lambda rung: _mean(rung) * len(database_cores(rung)) / rung.tally.throughput_per_s,
    ).value


def database_cores(rung: Rung) -> frozenset[str]:
    """The names of the cores that it counts; empty if they were not measured one by one."""
    found = rung.quantities.get(QUANTITY)
    return frozenset(found.sources) if found else frozenset()


def _mean(rung: Rung) -> float:
    found = rung.quantities[QUANTITY]
    return fmean(found.sources.values()) if found.sources else found.value
