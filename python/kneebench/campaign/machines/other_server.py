"""A restored server of a database host, as a rung uses one of this machine."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path

from kneebench._core import Address, GeneratorSpec, LoadGenerator
from kneebench.campaign.machines.agent import DatabaseAgent
from kneebench.campaign.machines.engine_orders import OpenedServer
from kneebench.campaign.machines.line import Line
from kneebench.databases.engine import WireAddress
from kneebench.hosts.load_agent import is_pem, with_certificates
from kneebench.records import Check, Role, Setting, Watch, unwatched


class OtherServer:
    """A restored server on the database host. Its users run on this machine, or on load hosts."""

    def __init__(self, line: Line, opened: OpenedServer, until: ExitStack) -> None:
        """`until`: as long as the server is restored."""
        self._line, self.number, self._until = line, opened.number, until
        self.settings: Sequence[Setting] = opened.settings
        self.measures, self.restore_s = opened.measures, opened.restore_s
        self.cores: Sequence[int] = opened.cores
        self.paths: Sequence[Path] = opened.paths
        self.roles: Sequence[Role] = opened.roles
        self.notes: Sequence[str] = opened.notes

    def load_generator(self, spec: GeneratorSpec) -> LoadGenerator:
        """Users on this machine, who connect over the network."""
        return LoadGenerator(spec, self._address_here)

    @cached_property
    def _address_here(self) -> Address:
        """Where they connect, with the server's own certificates in a file of this machine."""
        address = self._line.call(DatabaseAgent.users_address, unwatched, self.number)
        pem = address["sslrootcert"] if is_pem(address["sslrootcert"]) else ""
        return Address(**self._until.enter_context(with_certificates({**address}, pem)))

    def readings(self, meter: str) -> dict[str, float]:
        """Server.readings."""
        return self._line.call(DatabaseAgent.readings, unwatched, self.number, meter)

    def sum_next_order_ids(self) -> int:
        """Server.sum_next_order_ids."""
        return self._line.call(DatabaseAgent.sum_next_order_ids, unwatched, self.number)

    def transaction_counts(self) -> tuple[int, int] | None:
        """Server.transaction_counts."""
        return self._line.call(DatabaseAgent.transaction_counts, unwatched, self.number)

    def conditions(self, watch: Watch) -> Sequence[Check]:
        """Server.conditions."""
        return self._line.call(DatabaseAgent.conditions, watch, self.number)

    def processes(self) -> Sequence[int]:
        """Server.processes, of that machine."""
        return self._line.call(DatabaseAgent.processes, unwatched, self.number)

    def now_s(self) -> float:
        """The clock of this machine; readings have times of the database host's own."""
        return time.monotonic()

    def checkpoint(self) -> None:
        """Server.checkpoint."""
        self._line.call(DatabaseAgent.checkpoint, unwatched, self.number)

    def connection_hint(self, code: str, message: str) -> str:
        """Server.connection_hint."""
        order = DatabaseAgent.connection_hint
        return self._line.call(order, unwatched, self.number, code, message)

    def alive(self) -> str:
        """Server.alive."""
        return self._line.call(DatabaseAgent.alive, unwatched, self.number)


class _MakesLog(OtherServer):
    def ready_log(self, for_s: float, limit_s: float) -> bool | None:
        """MakesLogFiles.ready_log."""
        return self._line.call(DatabaseAgent.ready_log, unwatched, self.number, for_s, limit_s)


class _Reached(OtherServer):
    def users_address(self) -> WireAddress:
        """ReachedByUsers.users_address."""
        return self._line.call(DatabaseAgent.users_address, unwatched, self.number)

    def end_users(self) -> int:
        """ReachedByUsers.end_users."""
        return self._line.call(DatabaseAgent.end_users, unwatched, self.number)


class _EndsStuck(OtherServer):
    def end_stuck(self, for_s: float) -> str:
        """EndsStuckUsers.end_stuck."""
        return self._line.call(DatabaseAgent.end_stuck, unwatched, self.number, for_s)


ABLE_SERVERS = {
    "MakesLogFiles": _MakesLog,
    "ReachedByUsers": _Reached,
    "EndsStuckUsers": _EndsStuck,
}
"""What only some servers can do."""


def other_server(line: Line, opened: OpenedServer, until: ExitStack) -> OtherServer:
    """A server with the abilities of its original."""
    able = [kind for name, kind in ABLE_SERVERS.items() if name in opened.abilities]
    kind: type[OtherServer] = type("AbleServer", (*able, OtherServer), {})
    return kind(line, opened, until)
