"""A running database that a driver reaches: what measuring asks of it, as far as its dialect says
how.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from kneebench.databases.odbc.dialect import Dialect
from kneebench.databases.odbc.schema import OdbcSchema
from kneebench.databases.odbc.session import CLIENT, OdbcAddress, OdbcSession, connect, readings_of
from kneebench.databases.server_sessions import TIMEOUTS, ServerSessions, Timeouts
from kneebench.databases.tproc_c.orders import Rows
from kneebench.records import Check, Setting


class OdbcReadings:
    """The counters and gauges of one database."""

    def __init__(self, session: OdbcSession) -> None:
        self._session = session

    def read(self, meter: str) -> dict[str, float]:
        """One meter's readings by "quantity|source"; raises KeyError for one that it has not."""
        queries = self._session.dialect.readings[meter]
        return {f"{name}|database": value for name, value in readings_of(self._session, queries)}


class OdbcWaits:
    """The waits of the database's sessions, by a session of their own."""

    def __init__(self, session: OdbcSession) -> None:
        self._session, self._seen = session, set[str]()

    def read(self) -> dict[str, float]:
        """Sessions by what they wait for; a wait seen once is 0 when nobody waits for it."""
        rows = self._session.rows(self._session.dialect.waits)
        found = {f"waits.{kind}|{event}": float(count or 0) for kind, event, count in rows}
        self._seen |= found.keys()
        return {name: found.get(name, 0.0) for name in sorted(self._seen)}


class OdbcServer(ServerSessions):
    """Answers for one database."""

    address: OdbcAddress
    client = CLIENT
    counts_by_database = True

    def __init__(
        self,
        address: OdbcAddress,
        warehouses: int,
        restore_s: float,
        notes: Sequence[str],
        timeouts: Timeouts = TIMEOUTS,
    ) -> None:
        super().__init__(address, restore_s)
        self.warehouses, self.notes, self._timeouts = warehouses, notes, timeouts
        self._session = connect(address, limit_s=timeouts.reading_s)
        self._readings = OdbcReadings(self._session)
        self.settings: Sequence[Setting] = in_force(self._session)
        self._sampled = connect(address, limit_s=timeouts.reading_s) if self.dialect.waits else None
        self._waits = OdbcWaits(self._sampled) if self._sampled else None
        waits = {"waits"} if self._waits else set[str]()
        self.measures = frozenset({*self.dialect.readings, *waits})

    @property
    def dialect(self) -> Dialect:
        """The database's."""
        return self.address.dialect

    @contextlib.contextmanager
    def asking(self, what: str, limit_s: float | None = None) -> Iterator[OdbcSession]:
        with self._lock, self.losses_reported(what):
            self._session.limit_s = round(limit_s or self._timeouts.reading_s)
            yield self._session

    @contextlib.contextmanager
    def reaching(self, what: str) -> Iterator[OdbcSession]:
        opened = connect(self.address, limit_s=self._timeouts.whole_s)
        with self.losses_reported(what), opened as session:
            yield session

    def rows(self, session: OdbcSession, statement: str) -> Rows:
        return session.rows(statement)

    def sum_next_order_ids(self) -> int:
        with self.asking("cannot add up the orders", self._timeouts.idle_s) as session:
            return int(session.value("SELECT SUM(d_next_o_id) FROM district") or 0)

    def transaction_counts(self) -> tuple[int, int] | None:
        """None where the dialect has no query of the workload's own."""
        if not (query := self.dialect.transactions):
            return None
        with self.asking("cannot count the transactions", self._timeouts.idle_s) as session:
            committed, rolled_back = session.rows(query)[0]
            return int(committed or 0), int(rolled_back or 0)

    def checks(self, session: OdbcSession) -> Sequence[Check]:
        return OdbcSchema(session).conditions(self.warehouses)

    def checkpoint(self) -> None:
        with self.asking("cannot start a checkpoint", self._timeouts.idle_s) as session:
            for statement in self.dialect.checkpoint:
                session.rows(statement)

    def close(self) -> None:
        for session in filter(None, (self._session, self._sampled)):
            session.close()


def in_force(session: OdbcSession) -> list[Setting]:
    """The server's version, the dialect, and the settings that it asks for."""
    dialect = session.dialect
    version = str(session.value(dialect.version) or "")
    own = {"version": version, "dialect": f"{dialect.label}, {session.digest}"}
    found = session.rows(dialect.settings) if dialect.settings else []
    asked = {str(name): "" if value is None else str(value) for name, value in found}
    return [Setting(name=name, value=value) for name, value in {**own, **asked}.items()]
