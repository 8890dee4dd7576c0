"""A server whose every count follows from a formula, with the faults that a test wants: a whole
implementation of the protocol, without a database.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kneebench._core import GeneratorSpec
from kneebench.core_errors import ConnectError
from kneebench.records import (
    TRANSACTIONS,
    Check,
    Counts,
    Latency,
    Role,
    Second,
    SeenError,
    Setting,
    Tally,
    Tick,
    TransactionTally,
    Watch,
)

DECK = dict(zip(TRANSACTIONS, (45, 43, 4, 4, 4), strict=True))


def rolled_back(decks: int) -> int:
    """One New-Order in a hundred, of so many decks since the beginning of time."""
    return decks * DECK["new_order"] // 100


@dataclass
class Formula:
    """A database that does `decks` decks of 100 transactions per second, whoever asks; with the
    faults that a test wants. All users are busy for `busy_s`, then one in ten.
    """

    decks: int = 40
    filling_s: int = 0
    busy_s: float = float("inf")
    scans: int = 0
    extra_orders: int = 0
    extra_rollbacks: int = 0
    load_generator_cpu_share: float = 0.1
    delay_share: float | None = 0.0
    lose_users: int = 0
    failed: int = 0
    error: str = "XX000"
    freezes: int = 0
    frozen_s: float = 12.0
    dies_at_s: float = float("inf")
    refuses: str = ""
    stuck: str = ""
    checkpoint_every_s: float = float("inf")
    cores: Sequence[int] = (0,)
    paths: Sequence[Path] = ()
    roles: Sequence[Role] = ()
    settings: Sequence[Setting] = (Setting(name="checkpoint_timeout", value="30s"),)
    measures: frozenset[str] = frozenset({"log_writes", "tables", "cores", "checkpoints"})
    restore_s: float = 0.0
    notes: Sequence[str] = ()
    clock_s: float = 5.0
    done: int = 0
    under_load: bool = False
    specs: list[GeneratorSpec] = field(default_factory=list)

    def load_generator(self, spec: GeneratorSpec) -> FormulaLoad:
        self.specs.append(spec)
        return FormulaLoad(self, spec)

    def decks_now(self) -> int:
        """From half as many on while its caches fill."""
        filled = min(1.0, (self.clock_s - 5.0) / self.filling_s) if self.filling_s else 1.0
        return round(self.decks * (1 + filled) / 2)

    def new_orders(self) -> int:
        return self.done * DECK["new_order"] - rolled_back(self.done)

    def readings(self, meter: str) -> dict[str, float]:
        if self.alive():
            raise OSError("the connection is closed")
        ended, undone = self.done * 100.0, rolled_back(self.done)
        return {
            "log_writes": {
                "database.commits|": ended - undone,
                "database.rollbacks|": float(undone),
                "log.flushes|": ended / 2,
                "log.write_time|": ended / 2 * 0.001,
                "log.flush_time|": ended / 2 * 0.003,
            },
            "tables": {"tables.sequential_scans|stock": float(self.scans) if self.done else 0.0},
            "cores": {"cores.busy|0": 0.98 * self.clock_s},
            "checkpoints": {"checkpoints.timed|": float(self.clock_s // self.checkpoint_every_s)},
        }[meter]

    def sum_next_order_ids(self) -> int:
        return 3001 + self.new_orders() + (self.extra_orders if self.done else 0)

    def transaction_counts(self) -> tuple[int, int]:
        undone = rolled_back(self.done)
        return self.done * 100 - undone, undone + (
            self.extra_rollbacks + self.failed if self.done else 0
        )

    def conditions(self, watch: Watch) -> Sequence[Check]:
        return ()

    def processes(self) -> Sequence[int]:
        return ()

    def now_s(self) -> float:
        return self.clock_s

    def checkpoint(self) -> None:
        """Nothing to write."""

    def connection_hint(self, code: str, message: str) -> str:
        return f"what helps against {message!r}"

    def end_stuck(self, for_s: float) -> str:
        return self.stuck

    def alive(self) -> str:
        return (
            "the server's log ends with: out of memory"
            if self.clock_s - 5.0 >= self.dies_at_s
            else ""
        )


class FormulaLoad:
    """Its users: the clock moves a second a tick and `decks` are done in each."""

    def __init__(self, server: Formula, spec: GeneratorSpec) -> None:
        self.server, self.spec = server, spec
        self.window: list[tuple[float, int]] = []
        self.begun = server.done
        self.stopped = 0
        self.frozen = False

    def ready(self) -> None:
        if self.server.refuses:
            raise ConnectError(self.server.refuses)

    def go(self) -> None:
        self.start_s = self.server.clock_s

    def tick(self) -> dict[str, Any]:
        at_s, decks = int(self.server.clock_s - self.start_s), self.server.decks_now()
        self.server.done += decks
        late_s = self._frozen_s()
        self.server.clock_s += 1 + late_s
        alive = self.spec.users - self.server.lose_users if not self.server.alive() else 0
        seconds = [self._second(at_s, name, self.server.done - decks, decks) for name in DECK]
        return Tick(
            now_s=at_s + 1 + late_s, alive=alive, seconds=tuple(seconds), late_s=late_s
        ).model_dump()

    def _frozen_s(self) -> float:
        """In the first second of the window, in so many rungs: the clock goes on and nothing is
        done.
        """
        if len(self.window) != 1 or self.frozen or not self.server.freezes:
            return 0.0
        self.frozen = True
        self.server.freezes -= 1
        return self.server.frozen_s

    def _second(self, at_s: int, name: str, before: int, decks: int) -> Second:
        counts = self._counts(name, before, before + decks)
        busy = self.spec.users * (1.0 if at_s < self.server.busy_s else 0.1)
        zero = dict.fromkeys(("failed", "unknown", "p50_s", "p99_s", "p999_s", "max_s"), 0)
        return Second.model_validate(
            {
                "at_s": at_s,
                "transaction": name,
                "committed": counts.committed,
                "rolled_back": counts.rolled_back,
                "mean_s": busy / (100 * decks),
                **zero,
            }
        )

    def mark(self, phase: str) -> float:
        self.window.append((self.server.clock_s - self.start_s, self.server.done))
        return self.window[-1][0]

    def stop(self) -> dict[str, Any]:
        self.stopped += 1
        (begin_s, begin), (end_s, end) = self.window or [(0, 0), (1, 0)]
        ended, share = (end - begin) * 100, self.server.delay_share
        mean_s = self.spec.users * (end_s - begin_s) / max(1, ended) / (1 + (share or 0))
        return Tally(
            users=self.spec.users,
            window_s=end_s - begin_s,
            whole_s=self.server.clock_s - self.start_s,
            transactions={
                n: TransactionTally(whole=self._whole(n), window=self._counts(n, begin, end))
                for n in DECK
            },
            latency=_all_alike(ended, mean_s),
            delay=None if share is None else _all_alike(ended, share * mean_s),
            delay_stamped=ended,
            errors=(
                (
                    SeenError(
                        code=self.server.error, count=self.server.failed, first="the server's words"
                    ),
                )
                if self.server.failed
                else ()
            ),
            lost_users=self.server.lose_users,
            load_generator_cpu_s=self.server.load_generator_cpu_share * (end_s - begin_s),
        ).model_dump()

    def _whole(self, name: str) -> Counts:
        """Idle to idle, with the Payments that failed besides."""
        failed = self.server.failed if name == "payment" else 0
        return self._counts(name, self.begun, self.server.done) + Counts(
            started=failed, failed=failed
        )

    def _counts(self, name: str, before: int, after: int) -> Counts:
        ended = DECK[name] * (after - before)
        back = rolled_back(after) - rolled_back(before) if name == "new_order" else 0
        return Counts(started=ended, committed=ended - back, rolled_back=back)


def _all_alike(n: int, each_s: float) -> Latency:
    """As many that took the same time."""
    percentiles = dict.fromkeys(
        ("p50_s", "p90_s", "p95_s", "p99_s", "p999_s", "p999_low_s", "p999_high_s", "max_s"), each_s
    )
    return Latency.model_validate({"n": n, "mean_s": each_s, **percentiles})
