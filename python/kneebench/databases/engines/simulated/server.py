"""A simulated server: the model behind the same door as a real one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from kneebench._core import GeneratorSpec, LoadGenerator, SimulatedServer
from kneebench.databases.engines.simulated.properties import wait_class
from kneebench.databases.engines.simulated.storage import SimulatedStorage
from kneebench.records import Check, Role, Setting, Watch

POWER = "power"
METERS: dict[str, tuple[str, ...]] = {
    "cores": ("cores.",),
    "devices": ("device.",),
    "log_writes": ("log.", "database."),
    "checkpoints": ("checkpoints.",),
    "tables": ("tables.", "cache."),
    "waits": ("waits.",),
    "pressure": ("pressure.",),
    "processes": ("processes.",),
    "process_io": (),
    POWER: (),
}
"""The meters that the model answers, and the quantities of each by the beginning of their names."""


class Simulated:
    """One model, from its restore on.

    Its only clock is `now_s`: a tick of the load generator advances it.
    """

    def __init__(self, server: SimulatedServer, storage: SimulatedStorage) -> None:
        self._server, self._storage = server, storage
        self._read_at_s, self._read = -1.0, dict[str, dict[str, float]]()
        self.settings: Sequence[Setting] = _settings(storage)
        self.measures = frozenset(METERS)
        self.cores: Sequence[int] = tuple(range(storage.cores))
        self.paths: Sequence[Path] = ()
        self.roles: Sequence[Role] = ()
        self.restore_s = 0.0
        self.notes: Sequence[str] = (
            "simulated: a model, not a database; its restore takes no time",
        )

    def load_generator(self, spec: GeneratorSpec) -> LoadGenerator:
        """A load generator on the simulated clock, after those before it."""
        self._read_at_s = -1.0
        return self._server.load_generator(spec)

    def readings(self, meter: str) -> dict[str, float]:
        """One meter's readings; raises KeyError for one that the model does not answer.

        Nobody else is there to read or write.
        """
        if meter == "process_io":
            return {"processes.io|others": 0.0}
        if meter == POWER:
            return {"server.energy|model": self._joules()}
        return self._readings()[meter]

    def _readings(self) -> dict[str, dict[str, float]]:
        """Those of all meters. The model is read once per moment of its clock: a second's meters
        share one reading.
        """
        if (now_s := self.now_s()) != self._read_at_s:
            self._read_at_s, self._read = now_s, {name: {} for name in METERS}
            for key, value in self._server.readings().items():
                meter, name = _place(key)
                self._read[meter][name] = value
        return self._read

    def _joules(self) -> float:
        """Since the restore: idle power for all the time, more for each busy core and drive."""
        found, model = self._readings(), self._storage
        cores_s, drives_s = (
            sum(value for name, value in found[meter].items() if name.startswith(beginning))
            for meter, beginning in (("cores", "cores.busy|"), ("devices", "device.busy|"))
        )
        return (
            model.idle_power * self.now_s()
            + model.core_power * cores_s
            + model.drive_power * drives_s
        )

    def sum_next_order_ids(self) -> int:
        return self._server.ledger()["next_order_ids"]

    def transaction_counts(self) -> tuple[int, int]:
        ledger = self._server.ledger()
        return ledger["committed"], ledger["rolled_back"]

    def conditions(self, watch: Watch) -> Sequence[Check]:
        """Those of the twelve that the model can answer."""
        return judged(self._server.ledger())

    def processes(self) -> Sequence[int]:
        """None: it is no process."""
        return ()

    def now_s(self) -> float:
        return self._server.now_s()

    def pass_time(self, seconds: float) -> None:
        """Let simulated time pass without a load."""
        self._server.pass_time(seconds)

    def checkpoint(self) -> None:
        """Start a checkpoint; its pages are written as time goes on."""
        self._read_at_s = -1.0
        self._server.checkpoint()

    def connection_hint(self, code: str, message: str) -> str:
        """The model lets everyone in, so the words are those of its core."""
        return "correct what the message names"

    def alive(self) -> str:
        """Empty, unless the model's time to die has come."""
        return self._server.ended()


@cache
def _place(key: str) -> tuple[str, str]:
    """The meter that a reading of the model belongs to, and its name there.

    >>> _place("database.commits|database")
    ('log_writes', 'database.commits|database')
    """
    meter = next(meter for meter, begins in METERS.items() if begins and key.startswith(begins))
    return meter, _classified(key)


def _classified(name: str) -> str:
    """A wait by its class; any other reading by the name that the model gives it.

    >>> _classified("waits.sessions|IO:WalSync"), _classified("log.flushes|database")
    ('waits.log|IO:WalSync', 'log.flushes|database')
    """
    quantity, _, source = name.partition("|")
    return f"waits.{wait_class(source)}|{source}" if quantity == "waits.sessions" else name


def _settings(storage: SimulatedStorage) -> tuple[Setting, ...]:
    """The model's figures as settings: what storage is made of matters, and is printed.

    `checkpoint_timeout` as a real server names it.
    """
    figures = tuple(
        Setting(name=f"simulated.{name}", value=f"{value:g}", source="plan", matters=True)
        for name, value in storage
    )
    if not storage.checkpoint_every:
        return figures
    return (
        *figures,
        Setting(name="checkpoint_timeout", value=f"{storage.checkpoint_every:g}s", source="model"),
    )


# The consistency conditions (TPC-C 3.3.2) that a model without rows can answer: those over sums.
#
# It keeps order numbers by district and everything else in total, so conditions 5 to 7, 9, 10 and
# 12, which compare single orders, districts or customers, are not asked; 11 holds on a fresh load
# only.


def judged(ledger: Mapping[str, int]) -> tuple[Check, ...]:
    """Conditions 1, 2, 3, 4 and 8, over all districts at once.

    >>> orders = {"next_order_ids": 3011, "districts": 1, "orders": 3010}
    >>> lines = {"new_orders": 9, "undelivered": 9, "ol_cnt": 5, "order_lines": 5}
    >>> payments = {"w_ytd_cents": 1, "d_ytd_cents": 1, "h_amount_cents": 2}
    >>> [check.name for check in judged(orders | lines | payments) if not check.passed]
    ['condition 8']
    """
    return (
        _equal(1, "sum W_YTD", ledger["w_ytd_cents"], "sum D_YTD", ledger["d_ytd_cents"]),
        _equal(
            2,
            "sum of D_NEXT_O_ID - 1",
            ledger["next_order_ids"] - ledger["districts"],
            "orders",
            ledger["orders"],
        ),
        _equal(
            3,
            "sum of max NO_O_ID - min NO_O_ID + 1",
            ledger["undelivered"],
            "new-orders",
            ledger["new_orders"],
        ),
        _equal(4, "sum O_OL_CNT", ledger["ol_cnt"], "order lines", ledger["order_lines"]),
        _equal(8, "sum W_YTD", ledger["w_ytd_cents"], "sum H_AMOUNT", ledger["h_amount_cents"]),
    )


def _equal(number: int, left: str, left_is: int, right: str, right_is: int) -> Check:
    off = left_is - right_is
    sentence = (
        f"Condition {number} (simulated, in total): {left} is {left_is:,}, {right} {right_is:,};"
        f" off by {off:,} (limit 0)."
    )
    return Check(
        name=f"condition {number}",
        passed=off == 0,
        seen=f"{off:,}",
        limit="0",
        sentence=sentence,
        value=off,
        limit_value=0,
    )
