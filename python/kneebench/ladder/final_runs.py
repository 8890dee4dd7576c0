"""Final runs: the knee of every cell measured again with repetitions, and its latency at a fixed
rate.

Long runs: a knee is measured several times, each from its own restore, because data grows, bloats
and is cleaned up in a climb. The cells take turns, first there and then back (A B B A), so that
what drifts with time falls on all alike. Short runs are rounds (ladder/rounds.py). On a plateau
latency is only users / throughput, so cells are compared on latency in an open loop at one absolute
rate. The plan gives it (`latency_rate`), or it is a share of what the final runs measured. Then in
the first turn it is known only at the last cell; for long runs the others are restored once more
for it.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import NamedTuple

from kneebench.analysis.knee import knee_rung
from kneebench.plan.ladder import Ladder
from kneebench.records import Cell, Climb, Order, Rung


class Load(NamedTuple):
    """A load on a restored database before its first run; it is not quoted.

    `warm_up_s` is None if the warm-up finds its own end.
    """

    order: Order
    warm_up_s: float | None = None


class RestoredRuns(NamedTuple):
    """Final runs on one restore, of one cell alone or of all cells side by side.

    `steps` yields orders and is sent rungs; it returns whether the consistency conditions are to be
    checked after them. `loads` are put on the databases first, by cell id.
    """

    cells: tuple[Cell, ...]
    restore: int
    steps: Generator[Order, Rung, bool]
    loads: Mapping[str, Load]


class FixedRate:
    """The fixed rate: the plan's, or `fixed_rate_share` of the lowest knee as the first final runs
    measured it. `kept`: an order at the rate of cells that were measured before others joined.
    """

    def __init__(
        self, ladder: Ladder, knees: Mapping[Cell, Rung], kept: Order | None = None
    ) -> None:
        self._share, self._knees = ladder.fixed_rate_share, knees
        self.planned_per_s = (kept and kept.rate_per_s) or ladder.latency_per_s
        highest = max((rung.users for rung in knees.values()), default=0)
        self._users = kept.users if kept else highest
        self._first: dict[Cell, Rung] = {}

    def take_first(self, cell: Cell, rung: Rung) -> None:
        """Take the first final run of a cell."""
        self._first[cell] = rung

    @property
    def per_s(self) -> float:
        """Transactions per second; of a share 0 until every cell has its first final run.

        Of a cell whose rung was invalid, the climb's counts.
        """
        if self.planned_per_s:
            return self.planned_per_s
        if len(self._first) < len(self._knees):
            return 0.0
        knees = (self._knees[cell] if rung.invalid else rung for cell, rung in self._first.items())
        return round(self._share * min((rung.tpm for rung in knees), default=0.0) / 60, 3)

    def order(self, cell: Cell, repeat: int, restore: int = 0) -> Order:
        """As many users as the highest knee, so that no cell waits for a free user."""
        return Order(
            cell=cell.id,
            phase="fixed_rate",
            users=self._users,
            repeat=repeat,
            rate_per_s=self.per_s,
            restore=restore,
        )


class FinalRuns:
    """The long final runs of a campaign; the same rungs always give the same orders."""

    def __init__(
        self, climbs: Sequence[Climb], ladder: Ladder, kept_rate: Order | None = None
    ) -> None:
        self._ladder = ladder
        self._knees = search_knees(climbs)
        self._rate = FixedRate(ladder, self._knees, kept_rate)

    def restored_runs(self) -> Iterator[RestoredRuns]:
        """Repetitions in the order to measure them; repeats count from 1.

        Cells whose climb found no knee are left out.
        """
        cells = list(self._knees)
        for repeat in range(1, self._ladder.most_repeats + 1):
            for cell in cells if repeat % 2 else reversed(cells):
                yield RestoredRuns((cell,), repeat, self._knee(cell, repeat), {})
            if repeat == 1 and self._rate.per_s and not self._rate.planned_per_s:
                for cell in reversed(cells[:-1]):
                    loads = {cell.id: Load(self._order(cell, 1))}
                    yield RestoredRuns((cell,), 1, self._latency(cell, 1), loads)

    def _knee(self, cell: Cell, repeat: int) -> Generator[Order, Rung, bool]:
        """The knee, then the latency at the fixed rate on the same restore, if the rate is
        known.
        """
        rung = yield self._order(cell, repeat)
        if repeat == 1:
            self._rate.take_first(cell, rung)
        return (yield from self._latency(cell, repeat))

    def _latency(self, cell: Cell, repeat: int) -> Generator[Order, Rung, bool]:
        if self._rate.per_s:
            yield self._rate.order(cell, repeat)
        return True

    def _order(self, cell: Cell, repeat: int) -> Order:
        return Order(cell=cell.id, phase="final_run", users=self._knees[cell].users, repeat=repeat)


def search_knees(climbs: Sequence[Climb]) -> dict[Cell, Rung]:
    """The search rung at each cell's knee; cells without a knee are left out."""
    return {climb.cell: rung for climb in climbs if (rung := knee_rung(climb)) is not None}
