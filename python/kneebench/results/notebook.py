"""A campaign's results as a notebook shows them."""

from __future__ import annotations

from kneebench.analysis.configuration_summary import as_html
from kneebench.analysis.sweep_rows import SweepRow, sweep_rows
from kneebench.records import Results


class LoadedResults(Results):
    """What `run` and `load` give: the results, with tables for a notebook."""

    def __repr_name__(self) -> str:
        return Results.__name__

    def sweep(self) -> list[SweepRow]:
        """The configurations of its sweeps, the smallest first, as flat rows: storage, memory,
        cores, NOPM with its interval, NOPM relative to the largest configuration, reads. Empty
        without a sweep.
        """
        return sweep_rows(self)

    def _repr_html_(self) -> str:
        """The answer table."""
        return as_html(self)
