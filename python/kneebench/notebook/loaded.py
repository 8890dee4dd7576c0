"""A campaign's results as Python and notebooks have them."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from kneebench import records
from kneebench.errors import PlanError
from kneebench.notebook import frames
from kneebench.notebook.frame import Frame
from kneebench.notebook.plot import Plot
from kneebench.notebook.results_page import results_html
from kneebench.records import Climb

_NEAR = 0.5
"""How near a name must be to what was typed to be suggested, from 0 to 1."""


class UnknownConfiguration(PlanError, KeyError):
    """A name that no configuration of the campaign has."""

    def __str__(self) -> str:
        return self.alone


class LoadedResults(records.Results):
    """A campaign as `run` and `load` give it.

    `results["slow drive"]` is the climb of a configuration, by its name, its id, or its storage
    where that has only one. A loop over the results has all climbs. Frames (`rungs`, `knees`,
    `comparisons`, `series`, `seconds`, `sweep`) are columns of numpy arrays for pandas, polars and
    DuckDB. `plot` has the brief's charts.
    """

    def __getitem__(self, name: str) -> Climb:
        """The climb of a configuration; raises UnknownConfiguration, which is a KeyError, and
        TypeError for what is no name.
        """
        if not isinstance(name, str):
            names = ", ".join(repr(climb.configuration.name) for climb in self.climbs)
            raise TypeError(f"results[{name!r}]: a name is required: {names}")
        found = self._named(name)
        if len(found) == 1:
            return found[0]
        names = [climb.configuration.name for climb in found or self.climbs]
        seen, do = "no such configuration", f"available: {', '.join(names)}"
        if found:
            seen, do = "it has several configurations", f"use one of: {', '.join(names)}"
        elif near := get_close_matches(name, names, 1, _NEAR):
            do = f"did you mean {near[0]!r}? {do}"
        raise UnknownConfiguration(f"results[{name!r}]", seen=seen, do=do)

    def __iter__(self) -> Iterator[Climb]:  # type: ignore[override]
        """Its climbs; pydantic's own gives pairs of fields and values."""
        return iter(self.climbs)

    def __contains__(self, name: object) -> bool:
        """Whether `results[name]` is a climb."""
        return isinstance(name, str) and len(self._named(name)) == 1

    def _named(self, name: str) -> list[Climb]:
        """The climbs of the configuration with this name or id, or on the storage."""
        exact = [one for one in self.climbs if name in (one.configuration.name, one.id)]
        return exact or [one for one in self.climbs if one.configuration.storage == name]

    def rungs(self) -> Frame:
        """A row for each rung, by configuration and in the order measured, invalid ones too: load,
        NOPM, TPM, latencies, log write, device traffic, and what must be known of it.
        """
        return frames.rungs_frame(self)

    def knees(self) -> Frame:
        """A row for each configuration: its knee and its latency at the fixed rate, each with its
        95% interval, stop reason and bottleneck.
        """
        return frames.knees_frame(self)

    def comparisons(self) -> Frame:
        """A row for each configuration and quantity that is compared with the baseline."""
        return frames.comparisons_frame(self)

    def series(self, *quantities: str) -> Frame:
        """What the meters read, a row for each second and source: of the quantities named, such as
        "log.write_latency", or of all. Raises PlanError for a name that no quantity has, TypeError
        for what is no text, and KneebenchError where the campaign's series are missing.
        """
        if not all(isinstance(name, str) for name in quantities):
            raise TypeError("quantities are separate texts: series('a', 'b')")
        return frames.series_frame(self, quantities)

    def seconds(self) -> Frame:
        """Transactions and their latency, a row for each second and transaction type. Raises
        KneebenchError where the campaign's seconds are missing.
        """
        return frames.seconds_frame(self)

    def wait_shares(self) -> Frame:
        """Where a transaction's mean time goes at the knee, a row for each configuration and class
        of waits: the shares that the brief has. Empty where waits were not sampled.
        """
        return frames.wait_shares_frame(self)

    def sweep(self) -> Frame:
        """A row for each configuration of a sweep, the smallest first: limits, NOPM with its
        interval, NOPM relative to the largest, reads. Raises PlanError without a sweep.
        """
        return frames.sweep_frame(self)

    @property
    def plot(self) -> Plot:
        """The brief's charts: `results.plot.curve()`."""
        return Plot(self)

    def __repr_name__(self) -> str:
        return records.Results.__name__

    def _repr_html_(self) -> str:
        """The finding, what must be known before it, and the table of answers."""
        return results_html(self)


def loaded(results: records.Results) -> LoadedResults:
    """Results with all that Python adds to them."""
    return LoadedResults(**{name: getattr(results, name) for name in type(results).model_fields})
