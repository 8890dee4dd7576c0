"""Rounds: short final runs of all cells in turn, on databases that stay up side by side.

In each round every cell is measured once at its knee, and in two rounds of four then once at the
fixed rate. The order reverses from round to round (A B, B A), so what drifts within minutes affects
all cells alike. All cells are restored again after `restore_every` rounds, and warmed up for the
same time. Rounds end when the comparison is as precise as the plan wants, or after the plan's most
repeats: analysis/rounds_end.py decides. The consistency conditions are checked on the
last restore, as all restores have the same load.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence

from kneebench.ladder.final_runs import FixedRate, Load, RestoredRuns, search_knees
from kneebench.plan.ladder import ROUND_RAMP_S, Ladder
from kneebench.records import Cell, Climb, Order, Phase, Rung

Enough = Callable[[Sequence[Rung]], bool]
"""Whether the rounds so far are precise enough, or as many as the plan allows."""
PHASES: tuple[Phase, Phase] = ("final_run", "fixed_rate")


class Rounds:
    """The rounds of a campaign; the same rungs always give the same orders."""

    def __init__(self, climbs: Sequence[Climb], ladder: Ladder, enough: Enough) -> None:
        self._ladder, self._enough = ladder, enough
        self._knees = search_knees(climbs)
        self._rate = FixedRate(ladder, self._knees)
        longest_s = max(
            (rung.warm_up_s for climb in climbs for rung in climb.rungs[:1]), default=0.0
        )
        self._warm_up_s = max(ROUND_RAMP_S, longest_s - ladder.warm_up_window)
        """The longest that a restored database took to warm up: each is under load for as long,
        the window of its load included, which nobody quotes.
        """
        self._rungs: list[Rung] = []
        self._ended = False

    def restored_runs(self) -> Iterator[RestoredRuns]:
        """The rounds of one restore after another; cells whose climb found no knee are left out."""
        most, each = self._ladder.most_repeats, self._ladder.restore_every
        for restore, first in enumerate(range(1, most + 1, each), start=1):
            if self._ended or not self._knees:
                return
            rounds = range(first, min(first + each, most + 1))
            loads = {
                cell.id: Load(self._order(cell, "warm_up", first, restore), self._warm_up_s)
                for cell in self._fastest_first()
            }
            yield RestoredRuns(tuple(self._knees), restore, self._steps(restore, rounds), loads)

    def _fastest_first(self) -> list[Cell]:
        """The cells by throughput at the knee: the others are loaded until they have completed as
        many transactions.
        """
        return sorted(self._knees, key=lambda cell: -self._knees[cell].tally.throughput_per_s)

    def _steps(self, restore: int, rounds: range) -> Generator[Order, Rung, bool]:
        for repeat in rounds:
            for phase in PHASES[: 1 + self._ladder.at_fixed_rate(repeat)]:
                for cell in in_turn(tuple(self._knees), repeat):
                    if phase == "final_run" or self._rate.per_s:
                        rung = yield self._order(cell, phase, repeat, restore)
                        self._keep(cell, rung)
            if self._enough(self._rungs):
                self._ended = True
                break
        return self._ended

    def _keep(self, cell: Cell, rung: Rung) -> None:
        self._rungs.append(rung)
        if rung.order.phase == "final_run" and rung.order.repeat == 1:
            self._rate.take_first(cell, rung)

    def _order(self, cell: Cell, phase: Phase, repeat: int, restore: int) -> Order:
        if phase == "fixed_rate":
            return self._rate.order(cell, repeat, restore)
        users = self._knees[cell].users
        return Order(cell=cell.id, phase=phase, users=users, repeat=repeat, restore=restore)


def in_turn(cells: Sequence[Cell], repeat: int) -> tuple[Cell, ...]:
    """The order of a round: there and back (A B, B A); with more cells each begins in its turn.

    >>> cells = [Cell(id=name, storage=name) for name in "abc"]
    >>> ["".join(cell.storage for cell in in_turn(cells, repeat)) for repeat in (1, 2, 3, 4)]
    ['abc', 'cba', 'bca', 'acb']
    """
    start = (repeat - 1) // 2 % max(1, len(cells))
    turned = (*cells[start:], *cells[:start])
    return turned if repeat % 2 else turned[::-1]
