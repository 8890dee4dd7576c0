"""Restored databases of several configurations that take turns: short rounds, and the final runs of
one.
"""

from __future__ import annotations

import contextlib
from typing import Any

from kneebench.campaign.restored import Context, Restored
from kneebench.databases.engine import Server
from kneebench.ladder.final_runs import RestoredRuns
from kneebench.records import Order, Rung


class SideBySide:
    """Restored databases of several configurations, up at the same time; one at a time is under
    load.

    All are restored and loaded before the first rung is measured. In short rounds they take turns,
    and the windows of a turn begin after as many transactions on all.
    """

    def __init__(self, context: Context, runs: RestoredRuns) -> None:
        self._context, self._loads = context, runs.loads
        beside = self if context.plan.ladder.rounds == "short" else None
        self._restored = {
            one.id: Restored(
                context, one, runs.restore, runs.loads.get(one.id), beside, runs.begins_at
            )
            for one in runs.configurations
        }
        self._turn: tuple[str, int] | None = None
        self._begins_at = 0
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> SideBySide:
        for restored in self._restored.values():
            self._stack.enter_context(restored)
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)

    def rung(self, order: Order) -> Rung:
        """The rung of this order, kept or measured."""
        kept = self._context.store.rung(order)
        if order.restore and not kept:
            for id in self._loads or self._restored:
                self._restored[id].load_again()
        return self._restored[order.configuration].recall_or_measure(order, kept)

    def servers(self) -> dict[str, Server]:
        """The servers by configuration."""
        return {
            restored.configuration.name: restored.server for restored in self._restored.values()
        }

    def checkpoint(self) -> None:
        """A checkpoint on every server; transactions count from there."""
        for restored in self._restored.values():
            restored.server.checkpoint()
            restored.transactions = 0
        self._turn = None

    def begins_at(self, order: Order) -> int:
        """Transactions since the restore after which every window of a turn begins: as many as the
        foremost database has after its ramp. In the load before, as many as the foremost had.
        """
        every = self._restored.values()
        if order.phase == "warm_up":
            return max(one.transactions for one in every)
        if self._turn != (order.phase, order.repeat):
            self._turn = order.phase, order.repeat
            self._begins_at = round(max(one.after_ramp(order) for one in every))
        return self._begins_at

    def check_conditions(self) -> None:
        """Check the consistency conditions of every database after its last rung."""
        for restored in self._restored.values():
            restored.check_conditions()
