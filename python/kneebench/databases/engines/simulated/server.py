"""A simulated server: the model behind the same door as a real one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kneebench._core import GeneratorSpec, LoadGenerator, SimulatedServer
from kneebench.databases.engines.simulated.conditions import judged
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
        self.settings = _settings(storage)
        self.measures = frozenset(METERS)
        self.cores = tuple(range(storage.cores))
        self.paths: Sequence[Path] = ()
        self.roles: Sequence[Role] = ()
        self.restore_s = 0.0
        self.notes = ("simulated: a model, not a database; its restore takes no time",)

    def load_generator(self, spec: GeneratorSpec) -> LoadGenerator:
        """A load generator on the simulated clock, after those before it."""
        return self._server.load_generator(spec)

    def readings(self, meter: str) -> dict[str, float]:
        """One meter's readings; raises KeyError for one that the model does not answer.

        Nobody else is there to read or write.
        """
        if meter == "process_io":
            return {"processes.io|others": 0.0}
        if meter == POWER:
            return {"server.energy|model": self._joules()}
        beginnings = METERS[meter]
        found = (
            (name, value)
            for name, value in self._server.readings().items()
            if name.startswith(beginnings)
        )
        return {_classified(name): value for name, value in found}

    def _joules(self) -> float:
        """Since the restore: idle power for all the time, more for each busy core and drive."""
        found, model = self._server.readings(), self._storage
        cores_s, drives_s = (
            sum(value for name, value in found.items() if name.startswith(beginning))
            for beginning in ("cores.busy|", "device.busy|")
        )
        return (
            model.idle_power * self.now_s()
            + model.core_power * cores_s
            + model.drive_power * drives_s
        )

    def sum_next_order_ids(self) -> int:
        """sum D_NEXT_O_ID over all districts."""
        return self._server.ledger()["next_order_ids"]

    def transaction_counts(self) -> tuple[int, int]:
        """(committed, rolled back)."""
        ledger = self._server.ledger()
        return ledger["committed"], ledger["rolled_back"]

    def conditions(self, watch: Watch) -> Sequence[Check]:
        """Those of the twelve that the model can answer."""
        return judged(self._server.ledger())

    def processes(self) -> Sequence[int]:
        """None: it is no process."""
        return ()

    def now_s(self) -> float:
        """The simulated clock."""
        return self._server.now_s()

    def pass_time(self, seconds: float) -> None:
        """Let simulated time pass without a load."""
        self._server.pass_time(seconds)

    def checkpoint(self) -> None:
        """Start a checkpoint; its pages are written as time goes on."""
        self._server.checkpoint()

    def connection_hint(self, code: str, message: str) -> str:
        """The model lets everyone in, so the words are those of its core."""
        return "correct what the message names"

    def alive(self) -> str:
        """Empty, unless the model's time to die has come."""
        return self._server.ended()


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
