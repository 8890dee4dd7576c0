"""The load of each cell's final runs: its knee, or fewer users once their log writes exceed the
limit there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kneebench.analysis.knee import knee_rung
from kneebench.analysis.quoted_load import exceeds, is_limited, next_lower, stepping_down
from kneebench.records import Cell, Climb, Rung, StopResult

Report = Callable[[Cell, StopResult], None]
"""Receives what ended the final runs at one load, before those at fewer users."""


def unreported(cell: Cell, result: StopResult) -> None:
    """Reports nothing."""


class FinalLoads:
    """The number of users of each cell's final runs, and these runs.

    Cells whose climb found no knee are left out. The same rungs always give the same loads.
    """

    def __init__(self, climbs: Sequence[Climb], report: Report = unreported) -> None:
        self._climbs = {climb.cell: climb for climb in climbs if knee_rung(climb)}
        self._users = {cell: climb.knee_users or 0 for cell, climb in self._climbs.items()}
        self._runs: dict[Cell, list[Rung]] = {cell: [] for cell in self._climbs}
        self._report = report

    @property
    def cells(self) -> tuple[Cell, ...]:
        """In the order of the climbs."""
        return tuple(self._climbs)

    @property
    def runs(self) -> tuple[Rung, ...]:
        """The runs of all cells, each at its load as it is now."""
        return tuple(rung for runs in self._runs.values() for rung in runs)

    def users(self, cell: Cell) -> int:
        """The load of a cell."""
        return self._users[cell]

    def number(self, cell: Cell) -> int:
        """Number of a cell's runs at its load as it is now."""
        return len(self._runs[cell])

    def searched(self, cell: Cell) -> Rung:
        """The rung that the climb measured at the cell's load."""
        found = knee_rung(self._climbs[cell].model_copy(update={"knee_users": self._users[cell]}))
        assert found is not None
        return found

    def keep(self, cell: Cell, rung: Rung) -> None:
        """Keep a run at the cell's load."""
        self._runs[cell].append(rung)

    def step_down(self, complete: Callable[[Cell], bool]) -> bool:
        """Give each cell whose runs exceed the limit the next lower number of users that its climb
        measured; whether there was one. The mean of the runs decides once they are `complete`;
        before, they must exceed the limit clearly.
        """
        stepped = [cell for cell in self._climbs if self._stepped_down(cell, complete(cell))]
        return bool(stepped)

    def _stepped_down(self, cell: Cell, complete: bool) -> bool:
        climb, runs = self._climbs[cell], self._runs[cell]
        limit_s = climb.limits.log_write_s
        lower = next_lower(climb, self._users[cell])
        if not lower or not is_limited(climb) or not exceeds(runs, limit_s, clearly=not complete):
            return False
        self._report(cell, stepping_down(runs, limit_s, lower))
        self._users[cell], self._runs[cell] = lower, []
        return True
