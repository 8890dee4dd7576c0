"""What the rungs at the knee measured, each quantity as one number."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from statistics import fmean

from kneebench.analysis.final_estimates import estimate_of
from kneebench.analysis.knee import latency_of
from kneebench.records import Rung

SAMPLES, READS_UNSEEN = "waits.samples", "waits.reads_unseen"
SAMPLED = ("cpu", "log", "data_read", "data_write", "lock", "lightweight_lock", "other")
"""Classes of waits in which a session can be found; "cpu": it waits for nothing, or for a core."""


class KneeReadings:
    """Means over the rungs at the knee; a rung that did not measure a quantity does not count in
    its mean. What the knee is quoted by, throughput and latency, has its mean: one thing has one
    number.
    """

    def __init__(self, rungs: Sequence[Rung]) -> None:
        self.rungs = rungs
        self._waited = [r for r in rungs if any(name.startswith("waits.") for name in r.quantities)]

    def value(self, quantity: str) -> float | None:
        """The window's value; None if no rung measured it."""
        seen = [value for r in self.rungs if (value := r.quantity(quantity)) is not None]
        return fmean(seen) if seen else None

    def sources(self, quantity: str) -> dict[str, float]:
        """The window's value by source; empty if no rung measured it."""
        found = [r.quantities[quantity].sources for r in self.rungs if quantity in r.quantities]
        names = sorted({name for sources in found for name in sources})
        return {name: fmean(sources.get(name, 0.0) for sources in found) for name in names}

    def pressure(self, resource: str) -> tuple[str, float | None]:
        """The kernel's pressure on a resource, with whose it is: that of the database's group, else
        the machine's; None if neither was measured.
        """
        own = self.sources(f"group_pressure.{resource}").get("some")
        if own is not None:
            return "the database", own
        return "the machine", self.sources(f"pressure.{resource}").get("some")

    @property
    def waits_measured(self) -> bool:
        """Whether the database's sessions were sampled."""
        return bool(self._waited)

    @cached_property
    def samples(self) -> int | None:
        """How often the sessions were looked at within the windows; None where nothing
        says so.
        """
        rates = [(rung.quantity(SAMPLES), rung.tally.window_s) for rung in self._waited]
        known = [rate * window_s for rate, window_s in rates if rate is not None]
        return round(sum(known)) if known else None

    @property
    def waits_split(self) -> bool:
        """Whether lightweight locks and data writes have classes of their own; a model has them
        among the other waits.
        """
        return any(SAMPLES in r.quantities for r in self.rungs)

    def sessions(self, quantity: str) -> float:
        """Mean number of sessions in a class of waits; 0 where none was found in it."""
        return fmean(
            found.value if (found := r.quantities.get(quantity)) else 0.0 for r in self._waited
        )

    def waiting(self, *quantities: str) -> float | None:
        """The share of the transactions' time in classes of waits; 0 for a class that no sample
        found, None where waits were not sampled. Reads are not where the database does not show
        which session reads.
        """
        unseen = {"waits.data_read"} if self.value(READS_UNSEEN) else set[str]()
        measured = set(quantities) - unseen
        if not (self._waited and measured):
            return None
        return sum(map(self.sessions, measured)) / self.at_once

    @cached_property
    def at_once(self) -> float:
        """Mean number of transactions at once, of which the sessions in each class are a share: by
        Little's law, else that of users. Where more sessions were found in waits than that, by
        chance, it is their number, so that the shares are no more than all.
        """
        known = self.throughput_per_s * self.latency_s or fmean(r.users for r in self.rungs)
        found = sum(self.sessions(f"waits.{name}") for name in SAMPLED)
        return max(known, found + self.queue_s * self.throughput_per_s)

    @property
    def on_or_ready_for_a_core(self) -> float | None:
        """Mean number of the server's processes on a core or ready for one, as the kernel counts;
        None if it was not measured.
        """
        used = self.sources("processes.cpu").get("server")
        ready = self.sources("processes.run_delay").get("server")
        return None if used is None or ready is None else used + ready

    @cached_property
    def throughput_per_s(self) -> float:
        """Transactions per second, the mean that the knee has."""
        return estimate_of(self.rungs, lambda rung: rung.tally.throughput_per_s).value

    @cached_property
    def latency_s(self) -> float:
        """Mean latency of a transaction, the wait for a connection included, as the knee has it; 0
        if unknown.
        """
        timed = [rung for rung in self.rungs if rung.tally.latency]
        return estimate_of(timed, lambda rung: latency_of(rung).mean_s).value if timed else 0.0

    @property
    def queue_s(self) -> float:
        """Mean wait of a transaction for a connection."""
        waits = [rung.tally.wait.mean_s if rung.tally.wait else 0.0 for rung in self.rungs]
        return fmean(waits) if waits else 0.0
