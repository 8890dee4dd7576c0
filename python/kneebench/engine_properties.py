"""What every room may ask of an engine by its name, without a server of it; what its servers do is
in databases/engine.py.

The properties are in `properties.py` of the engine's folder (`databases/engines/<engine>/`), which
imports from the ground floor only: the plan, which comes before the engines, asks them too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from signal import Signals
from typing import Literal, NamedTuple, Protocol, cast

from kneebench.records import Setting
from kneebench.shelf import ENGINES

ErrorClass = Literal["retry", "full", "refused", "stopped", "broken", "other"]
"""What an error of the database means for a campaign.

- retry: the transaction may succeed when it is run again (serialization failure, deadlock)
- full: the server lacks disk space, memory or connections
- refused: the server does not let a session in
- stopped: the server was shut down, or somebody ended the session
- broken: a drive or a file of the server failed
- other: an error of one transaction
"""
WaitClass = Literal["log", "data_read", "data_write", "lock", "lightweight_lock", "cpu", "other"]
"""What a session waits for.

- log: a write or flush of the log, its own or one that it shares
- data_read, data_write: a read or write of a data file
- lock: a row or table that another transaction has locked
- lightweight_lock: a structure in the database's memory that another session has
- cpu: nothing; it runs, or waits for a core
- other: all else
"""


Listens = Literal["never", "for users", "for users with TLS"]


class Quantity(NamedTuple):
    """A thing read: `over` says how the sources combine. The sources of a histogram are its
    buckets; no series and no summary contains it.

    `event`: what a sentence says of a count above 0 where that is background work ("a checkpoint
    started"). `heading`: that of its column among the brief's costs, where an engine's own quantity
    has one. `reading`: that of its row among the brief's readings of the server. `tpm`: that of its
    column beside TPM, where another tool takes its rate for TPM.
    """

    unit: str
    kind: Literal["counter", "gauge", "histogram"]
    over: Literal["sum", "mean", "max"] = "sum"
    event: str = ""
    heading: str = ""
    reading: str = ""
    tpm: str = ""


class SafetySetting(NamedTuple):
    """A setting that can buy speed with safety.

    `safe`: its values, in lower case, with which nothing is lost. `lost`: what a crash may cost
    with any other, or what is measured otherwise, as the rest of a sentence. `source`: what says
    so. `only_with`: another setting and its value, without which this one does not matter.
    """

    name: str
    safe: Sequence[str]
    lost: str
    source: str
    only_with: tuple[str, str] | None = None

    def unsafe_in(self, values: Mapping[str, str]) -> bool:
        """Whether a server with these values is less safe by this one."""
        if self.name not in values:
            return False
        if self.only_with and values.get(self.only_with[0], "").lower() != self.only_with[1]:
            return False
        return not {values[self.name].lower(), _switch(values[self.name])} & set(self.safe)


def _switch(value: str) -> str:
    """A switch as servers show it, however a plan writes it."""
    on, off = ("1", "true", "yes"), ("0", "false", "no")
    return "on" if value.lower() in on else "off" if value.lower() in off else value.lower()


UNFLUSHED = "flushes do not reach the drive, so a power cut can lose acknowledged commits"
"""What a mount option without barriers means."""


def without_flushes(mount_options: Iterable[str]) -> tuple[str, ...]:
    """Those that keep a file system's flushes from the drive (ext4(5), btrfs(5)).

    >>> without_flushes(["noatime", "barrier=0"])
    ('barrier=0',)
    """
    return tuple(one for one in mount_options if one in ("nobarrier", "barrier=0"))


def less_safe(
    table: Sequence[SafetySetting], values: Mapping[str, str]
) -> Iterator[tuple[SafetySetting, str]]:
    """The settings by which a server with these values is less safe, and what that means.

    >>> fsync = SafetySetting("fsync", ["on"], "a crash can damage the data", "the manual, 19.5")
    >>> [sentence for _, sentence in less_safe([fsync], {"fsync": "off"})]
    ['fsync is off: a crash can damage the data']
    >>> list(less_safe([fsync], {"fsync": "1"})), list(less_safe([fsync], {}))
    ([], [])
    """
    for one in table:
        if one.unsafe_in(values):
            yield one, f"{one.name} is {values[one.name]}: {one.lost}"


class ServerProgram(NamedTuple):
    """The program of an engine's servers: the name of its processes, and the signal that stops one
    without waiting for its sessions.

    A server's working directory is one of ours (its data directory); what starts it stays at /.
    """

    name: str
    stop: Signals


class Footprint(Protocol):
    """What a database of so many warehouses takes of a machine, in bytes, unless a name says
    else.
    """

    WAREHOUSE_BYTES: int
    """One warehouse with its keys, freshly loaded."""

    def data_bytes(self, warehouses: int) -> int:
        """The loaded tables and their indexes."""

    def image_bytes(self, warehouses: int) -> int:
        """The loaded data as it is kept, with what the load writes beside it."""

    def climb_bytes(self, warehouses: int) -> int:
        """The loaded data and what a climb adds to it."""

    def cache_bytes(self, memory_bytes: int, warehouses: int) -> int:
        """The database's cache on a machine with so much memory."""

    def log_bytes(self, cores: int, space_bytes: int, *, quick: bool) -> int:
        """The limit of the log where it may take so much space; `quick` in plans without whole
        checkpoint cycles.
        """


class EngineProperties(Protocol):
    """What is known of an engine before one of its servers runs; a module can be it."""

    label: str
    """The engine's name for people."""
    measures_real_hardware: bool
    """False for a model: its clock is its own, and this machine's drives, cores and load do not
    matter."""
    footprint: Footprint
    server_program: ServerProgram | None
    """None where kneebench starts no server of it."""
    packages: Sequence[str]
    """Python packages that talk to its servers."""
    password_variable: str
    """The environment variable that a password for a server by URL may come from; empty: none."""
    listens: Listens
    """Whether a server of it that kneebench starts can listen for users on other machines, and
    whether they can log in without TLS."""
    answers_queries: bool
    """Whether its servers run the queries of TPROC-H."""
    postponed: str
    """What short rounds set on a server that kneebench starts, as a sentence of the brief; empty:
    nothing."""
    publishing: str
    """What its licence asks of those who publish figures of it, as a sentence of the brief; empty:
    nothing."""
    named_settings: Sequence[str]
    """Settings that decide what a commit and a cached page cost: the brief has them with the
    machine, all others in its appendix."""
    safety_settings: Sequence[SafetySetting]
    """Settings that buy speed with safety: `check` warns of those in the plan and on a server, the
    brief has them among its caveats."""
    own_quantities: Mapping[str, Quantity]
    """Quantities that its servers read beside those of every database, by name."""

    def major_version(self, settings: Sequence[Setting]) -> str:
        """The major version of a server with these settings; empty where they do not say."""

    def checkpoint_cycle_s(self, settings: Sequence[Setting]) -> float:
        """The longest checkpoint cycle, in seconds, of a server with these settings."""

    def error_class(self, code: str) -> ErrorClass:
        """The class of an error by the database's own code."""

    def wait_class(self, event: str) -> WaitClass:
        """The class of a wait by the database's own name for it."""


def engine_properties(name: str) -> EngineProperties:
    """The properties of an engine. Raises UnknownPart with the names of the engines.

    >>> engine_properties("simulated").measures_real_hardware
    False
    """
    return cast(EngineProperties, ENGINES.module(name, "properties"))


def server_programs() -> dict[str, Signals]:
    """The signal that stops a server, by the name of its processes; of all engines, so that what a
    killed run left is known whichever engine it was of.

    >>> {name: signal.name for name, signal in server_programs().items()}
    {'mariadbd': 'SIGTERM', 'mysqld': 'SIGTERM', 'postgres': 'SIGINT'}
    """
    programs = (engine_properties(name).server_program for name in ENGINES.names())
    return {one.name: one.stop for one in programs if one}
