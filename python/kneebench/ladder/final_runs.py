"""Final runs: the knee of every cell measured again with repetitions, and its latency at a fixed
rate.

A knee is measured several times, each from its own restore, because data grows, bloats and is
cleaned up in a climb. The cells take turns, first there and then back (A B B A), so that what
drifts with time falls on all alike. On a plateau latency is only users / throughput, so cells are
compared on latency in an open loop at one absolute rate. That rate is a share of what the final
runs measured, so in the first turn it is known only at the last cell; the others are restored once
more for it.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from typing import NamedTuple

from kneebench.analysis.knee import knee_rung
from kneebench.plan.ladder import Ladder
from kneebench.records import Cell, Climb, Order, Rung


class Repetition(NamedTuple):
    """One restored run: `steps` yields orders and is sent rungs.

    `load` is put on the database first; it is not quoted.
    """

    cell: Cell
    repeat: int
    steps: Generator[Order, Rung, None]
    load: Order | None = None


class FinalRuns:
    """The repetitions of a campaign, and the fixed rate, which the first turn decides.

    The same rungs always give the same rate.
    """

    def __init__(self, climbs: Sequence[Climb], ladder: Ladder) -> None:
        self._ladder = ladder
        self._search_knees = {
            climb.cell: rung for climb in climbs if (rung := knee_rung(climb)) is not None
        }
        self._first: dict[Cell, Rung] = {}

    @property
    def rate_per_s(self) -> float:
        """`fixed_rate_share` of the lowest knee as the first turn measured it; 0 before its end.

        Of a cell whose rung was invalid, the climb's counts.
        """
        if len(self._first) < len(self._search_knees):
            return 0.0
        knees = (
            self._search_knees[cell] if rung.invalid else rung for cell, rung in self._first.items()
        )
        return round(
            self._ladder.fixed_rate_share * min((rung.tpm for rung in knees), default=0.0) / 60, 3
        )

    def repetitions(self) -> Iterator[Repetition]:
        """Repetitions in the order to measure them; repeats count from 1.

        Cells whose climb found no knee are left out.
        """
        cells = list(self._search_knees)
        for repeat in range(1, self._ladder.repeats + 1):
            yield from (
                Repetition(cell, repeat, self._knee(cell, repeat))
                for cell in (cells if repeat % 2 else reversed(cells))
            )
            if repeat == 1:
                yield from (
                    Repetition(cell, 1, self._latency(cell, 1), load=self._order(cell, 1))
                    for cell in reversed(cells[:-1])
                    if self.rate_per_s
                )

    def _knee(self, cell: Cell, repeat: int) -> Generator[Order, Rung, None]:
        """The knee, then the latency at the fixed rate on the same restore, if the rate is
        known.
        """
        rung = yield self._order(cell, repeat)
        if repeat == 1:
            self._first[cell] = rung
        yield from self._latency(cell, repeat)

    def _latency(self, cell: Cell, repeat: int) -> Generator[Order, Rung, None]:
        """The fixed rate with as many users as the highest knee, so that no cell waits for a free
        user.
        """
        if self.rate_per_s:
            users = max(rung.users for rung in self._search_knees.values())
            yield Order(
                cell=cell.id,
                phase="fixed_rate",
                users=users,
                repeat=repeat,
                rate_per_s=self.rate_per_s,
            )

    def _order(self, cell: Cell, repeat: int) -> Order:
        return Order(
            cell=cell.id, phase="final_run", users=self._search_knees[cell].users, repeat=repeat
        )
