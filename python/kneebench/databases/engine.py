"""What an engine does with its servers: the protocol that `engine.py` in each folder of this room
fulfils, and that the contract test checks. What is known without a server is in
engine_properties.py.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, Self, TypeVar, runtime_checkable

from pydantic import SecretStr, ValidationError
from typing_extensions import TypedDict

from kneebench._core import Address as CoreAddress
from kneebench._core import Dataset, GeneratorSpec, LoadGenerator, Loading, TableLoad
from kneebench.databases.tproc_c.orders import KeptOrder, NextNumbers
from kneebench.engine_properties import EngineProperties, less_safe
from kneebench.errors import KneebenchError, PlanError, Refused
from kneebench.records import (
    Check,
    Configuration,
    Finding,
    Record,
    Role,
    Setting,
    Watch,
    Whereabouts,
)
from kneebench.secrets import without_passwords

UNLOCK = (
    "end those transactions or wait for them; completed rungs are saved, and the same command"
    " resumes there"
)
"""What to do about a lock of somebody else's."""


LOG_HISTOGRAM = "log write histogram"
"""The subject of findings on it."""


class LogCalls(NamedTuple):
    """The system calls by which a server on this machine writes its log.

    A flush is one `sync` of a file in `directory` and the `write` calls before it; the two are the
    same call where each write is synced by itself.
    """

    directory: Path
    write: str
    sync: str


@runtime_checkable
class PassesTime(Protocol):
    """A server whose clock stands while nobody uses it: a model."""

    def pass_time(self, seconds: float) -> None:
        """Let so much time pass on it."""


class Server(Protocol):
    """A running database that holds the workload's tables, freshly restored: what each one answers.
    What only some can do is below.
    """

    settings: Sequence[Setting]
    measures: frozenset[str]
    """Names of the meters that the server itself answers by `readings`."""
    cores: Sequence[int]
    """Cores that the server may run on; empty when it is not on this machine."""
    paths: Sequence[Path]
    """Directories of its files on this machine; empty when they are not known."""
    roles: Sequence[Role]
    """What each of these directories holds."""
    restore_s: float
    notes: Sequence[str]

    def load_generator(self, spec: GeneratorSpec) -> LoadGenerator:
        """A load generator for this server."""

    def readings(self, meter: str) -> dict[str, float]:
        """The meter's counters (cumulative) and gauges by "quantity|source"
        (measurement/quantities.py).
        """

    def sum_next_order_ids(self) -> int:
        """sum D_NEXT_O_ID, to be compared with the load generator's New-Orders, idle to idle."""

    def transaction_counts(self) -> tuple[int, int] | None:
        """(committed, rolled back) in the workload's database, everything flushed: ask when idle.
        None where the database does not count the workload's transactions apart from others.
        """

    def conditions(self, watch: Watch) -> Sequence[Check]:
        """The twelve consistency conditions (docs/method/climb.md); the sentences say what was
        sampled.
        """

    def processes(self) -> Sequence[int]:
        """The server's process ids on this machine; empty when it runs elsewhere."""

    def now_s(self) -> float:
        """The server's clock: monotonic, or the simulated one."""

    def checkpoint(self) -> None:
        """Start a checkpoint and wait for its end."""

    def connection_hint(self, code: str, message: str) -> str:
        """What to do about the error by which it refused connections: its code (empty if it has
        none) and its message.
        """

    def alive(self) -> str:
        """Empty while the server answers; else what was seen of its end (log lines, OOM)."""


class OpenedServer(Server, Protocol):
    """A server by the sessions that ask it."""

    def close(self) -> None:
        """End them."""


@runtime_checkable
class HasDatabases(Protocol):
    """A server with several databases of the workload."""

    def next_order_ids(self) -> tuple[int, ...]:
        """What `sum_next_order_ids` adds up, of each database."""


@runtime_checkable
class WritesLogHere(Protocol):
    """A server that may write its log on this machine, where its system calls can be timed."""

    def log_calls(self) -> LogCalls | str:
        """How it writes its log; or why that cannot be told, for a note."""


@runtime_checkable
class MakesLogFiles(Protocol):
    """A server whose log takes new files as it grows, which users would wait for."""

    def ready_log(self, for_s: float, limit_s: float) -> bool | None:
        """Make the files that so many seconds of log will take; for `limit_s` at most. Whether they
        are there; None where more time would not help: the server makes them, as it goes.
        """


@runtime_checkable
class ReachedByUsers(Protocol):
    """A server that users on other hosts can connect to."""

    def users_address(self) -> WireAddress:
        """Where they connect, with the password: it is kept nowhere."""

    def end_users(self) -> int:
        """End every user's session that is left, of a host that was lost; how many there still
        are.
        """


@runtime_checkable
class EndsStuckUsers(Protocol):
    """A server that shows which sessions keep others waiting, and can end those that wait."""

    def end_stuck(self, for_s: float) -> str:
        """Which sessions that are none of ours have kept users waiting for so long; empty where
        none has. Those users are ended.
        """


def finding_of(error: KneebenchError, subject: str = "") -> Finding:
    """What stands in a campaign's way, told before it begins: refused where going on could destroy
    something that is not ours.
    """
    return Finding(
        level="refused" if isinstance(error, Refused) else "error",
        subject=subject or error.what,
        seen=error.seen,
        do=error.do,
    )


def safety_findings(
    engine: EngineProperties, values: Mapping[str, str], subject: str
) -> Iterator[Finding]:
    """A warning for each setting, by its value in the plan or on the server, that buys speed with
    safety.
    """
    for one, seen in less_safe(engine.safety_settings, values):
        do = (
            f"set {one.name} = {one.safe[0]} to measure a server that keeps its data ({one.source})"
        )
        yield Finding(level="warning", subject=subject, seen=seen, do=do)


@runtime_checkable
class KeepsOrders(Protocol):
    """A server whose orders can be compared with a ledger of those that it acknowledged."""

    def next_order_numbers(self) -> NextNumbers:
        """The number of each district's next order."""

    def orders_from(self, first: NextNumbers) -> Sequence[KeptOrder]:
        """The orders of every district from these numbers on."""

    def damage(self) -> str:
        """What the server's own checksums say against its pages; empty where they agree, or where
        it has none.
        """


class Analyst(NamedTuple):
    """A session that runs queries, one at a time."""

    ask: Callable[[str], Sequence[Sequence[Any]] | None]
    """All rows of a query's answer; None where it took longer than it may, or was cancelled."""
    cancel: Callable[[], None]
    """End the query that another thread asked."""
    settle: Callable[[], object] = bool
    """Have the server count what the last query did."""


@runtime_checkable
class AnswersQueries(Protocol):
    """A server that can be asked the queries of an analyst."""

    def querying(self, limit_s: float) -> AbstractContextManager[Analyst]:
        """A session whose queries may take so long."""

    def losses_reported(self, what: str) -> AbstractContextManager[None]:
        """Raises DatabaseLost where the server goes away inside, and a KneebenchError in its words
        where it refuses something.
        """


class Engine(Protocol):
    """One kind of database, made from a plan for one database. Of a plan with several, its
    configurations are those with its database; what all have in common is the same as in the whole
    plan.
    """

    def findings(self) -> Sequence[Finding]:
        """What is there, what is missing, what would be written where; changes nothing."""

    def where(self, configuration: Configuration) -> Whereabouts:
        """Where the configuration's server runs, or will."""

    def prepare(self, watch: Watch) -> dict[str, str]:
        """Load the database, or find its image; facts about the image (key, bytes, seconds,
        rows).
        """

    def restored(
        self, configuration: Configuration, watch: Watch, restore: int = 0
    ) -> AbstractContextManager[Server]:
        """A server on the configuration's storage, restored and started; stopped and removed at the
        end.

        `restore` is the number of the restore: 0 for the climb, from 1 for the final runs.

        Short rounds keep the servers of all configurations up side by side and measure them in
        turn. A load on one changes nothing in another, and closing one leaves the others up. The
        engine postpones background work (checkpoints, autovacuum or their like) as far as it can:
        an idle server must not write into the window of another.
        """

    def close(self) -> None:
        """Put back what was kept between restores. Servers have ended before."""


@runtime_checkable
class AdmitsUsers(Engine, Protocol):
    """An engine whose servers listen for users on other machines."""

    def admit(self, addresses: Sequence[str]) -> None:
        """Let users connect from these addresses to every server that is restored from now on."""


class Crashing(Protocol):
    """A server over a freshly restored database that is killed, and started again over what that
    left.
    """

    server: OpenedServer
    """The one that runs."""

    def begin(self) -> None:
        """A load begins; what is on the drives now is safe."""

    def cut(self, at_s: float | None = None) -> None:
        """End all of its processes at once, in the middle of what they do; recorded drives lose
        their power as well, now or with all that came after one of `moments`. Raises FileSystemLost
        where a file system does not mount any more.
        """

    def is_there(self) -> bool:
        """Whether it takes sessions; after a cut not yet, or again."""

    def moments(self, number: int, from_s: float) -> list[float]:
        """So many random moments of the load that was cut off, from one on, by the monotonic clock,
        at which recorded drives could have been cut off as well; none without such drives.
        """

    def recover(self) -> float:
        """Start it again; seconds until it answers. Raises KneebenchError where it does not."""


@runtime_checkable
class Crashes(Engine, Protocol):
    """An engine whose servers can be killed."""

    def crashing(
        self, configuration: Configuration, watch: Watch
    ) -> AbstractContextManager[Crashing]:
        """A server on the configuration's storage; stopped and removed at the end."""


def crashes(engine: Engine) -> Crashes:
    """The engine as one whose servers can be killed. Raises PlanError where they cannot."""
    if isinstance(engine, Crashes):
        return engine
    raise PlanError(
        "durability",
        seen="kneebench cannot cut off servers of this engine, and ask them again",
        do='set durability.level = "none"',
    )


class Restarting(Protocol):
    """A freshly restored database, over which its server is started again and again."""

    def started(self) -> AbstractContextManager[Server]:
        """A server with nothing of its files in memory; stopped at the end."""


@runtime_checkable
class Restarts(Engine, Protocol):
    """An engine whose servers can be started again, so that a query begins with nothing cached."""

    def restarting(
        self, configuration: Configuration, watch: Watch
    ) -> AbstractContextManager[Restarting]:
        """A database on the configuration's storage; removed at the end."""


@runtime_checkable
class RemovesImages(Engine, Protocol):
    """An engine whose base image can be removed: of a trial nothing is kept."""

    def remove_image(self, watch: Watch) -> str:
        """Remove what `prepare` made and keeps for the next run; what was removed, in words."""


# The address of a database by its wire protocol, as plain data.


class WireAddress(TypedDict):
    """What `_core.Address` takes. `sslrootcert`: a file of this machine, or certificates themselves
    (PEM); empty for the system's.
    """

    protocol: Literal["postgres", "mysql", "tds"]
    host: str
    port: int
    user: str
    password: str | None
    database: str
    sslmode: str
    sslrootcert: str


class ServerAddress(Record):
    """Address of a server. It is never stored: results contain only the engine's settings."""

    protocol: ClassVar[Literal["postgres", "mysql", "tds", "odbc"]]
    host: str
    port: int
    user: str = "kneebench"
    password: SecretStr | None = None
    database: str
    sslmode: Literal["disable", "prefer", "require", "verify-ca", "verify-full"] = "disable"
    sslrootcert: str = ""

    @property
    def place(self) -> str:
        """Where it listens, for messages."""
        return f"{self.host}:{self.port}"

    def load_generator(self, spec: GeneratorSpec, *beside: Self) -> LoadGenerator:
        """Users of this database, or spread over it and others of the same server."""
        return LoadGenerator(spec, *map(core_address, (self, *beside)))

    def loading(self, dataset: Dataset, streams: int, tables: Sequence[TableLoad]) -> Loading:
        """A load of its tables; nothing is opened before it starts."""
        address = core_address(self)
        return Loading(address=address, dataset=dataset, streams=streams, tables=tables)

    def with_password(self, password: str) -> Self:
        """The same with a password, or without one where it is empty."""
        return self.model_copy(update={"password": SecretStr(password) if password else None})


AddressOf = TypeVar("AddressOf", bound=ServerAddress)


def address_in(
    url: str,
    kind: type[AddressOf],
    parts: Mapping[str, object],
    parameters: Collection[str],
    understood: Collection[str],
) -> AddressOf:
    """The address that a URL's parts make. Raises PlanError for parts that make none, and for
    parameters that are not understood.
    """
    what = f"cannot read the URL {without_passwords(url)}"
    if unknown := sorted({*parameters} - {*understood}):
        seen, do = f"unsupported parameters: {', '.join(unknown)}", ", ".join(sorted(understood))
        raise PlanError(what, seen=seen, do=f"use {do}")
    try:
        return kind.model_validate(parts)
    except ValidationError as error:
        seen = "; ".join(f"{e['loc'][0]}: {e['msg']}" for e in error.errors())
        raise PlanError(what, seen=seen, do="correct it") from None


def core_address(address: ServerAddress) -> CoreAddress:
    """The address as the Rust core takes it."""
    return CoreAddress(**wire_address(address))


def wire_address(address: ServerAddress) -> WireAddress:
    """The address as plain data, which also goes to other hosts."""
    assert address.protocol != "odbc", "a driver has its own"
    return WireAddress(
        protocol=address.protocol,
        host=address.host,
        port=address.port,
        user=address.user,
        password=address.password.get_secret_value() if address.password else None,
        database=address.database,
        sslmode=address.sslmode,
        sslrootcert=address.sslrootcert,
    )


def checked_by(authority: str) -> dict[str, str]:
    """The part of an address that says how the server is checked: by this authority's certificate
    (PEM), or not at all and without encryption where it is empty.
    """
    return {"sslmode": "verify-full" if authority else "disable", "sslrootcert": authority}
