"""What is read once per second."""

from __future__ import annotations

from pydantic import Field

from kneebench.records.record import Record


class Series(Record):
    """One quantity from one source, one value per second; `at_s` counts from the rung's start."""

    quantity: str
    source: str
    unit: str
    at_s: tuple[float, ...]
    value: tuple[float, ...]


class Second(Record):
    """One second of one transaction type: completions in it, and their latency.

    `at_s` counts from go.
    """

    at_s: int
    transaction: str
    committed: int
    rolled_back: int
    failed: int
    unknown: int
    mean_s: float
    p50_s: float
    p99_s: float
    p999_s: float
    max_s: float
    histogram: str = Field(default="", repr=False)


class LiveSecond(Record):
    """What is known of a second of a rung when it ends, for a watcher; None where it was not
    measured.

    `mean_s`: of all transactions; `failed`: of them; `late_s`: the longest delay of the load
    generator's clock; `log_write_s`, `read_await_s`, `write_await_s`: means of the log's writes and
    of the devices' reads and writes; `cores`: how busy each of the database's is, as a share.
    """

    nopm: float = 0.0
    mean_s: float | None = None
    failed: int = 0
    late_s: float = 0.0
    log_write_s: float | None = None
    read_await_s: float | None = None
    write_await_s: float | None = None
    cores: dict[str, float] = Field(default_factory=dict)


class AnsweredSecond(Record):
    """What the database answered in one second, on one load host if there are any.

    `waiting_s`: ages, at its end, of the transactions that had been without a response for 4 s.
    """

    at_s: int
    answered: int
    waiting_s: tuple[float, ...] = ()
    host: str = ""


class Tick(Record):
    """The load generator's report of one second.

    `late_s`: the longest delay of its threads since the last report; `progress`: of each second
    that ended since then; `network`: what the interfaces of load hosts have carried, by
    "quantity|source".
    """

    now_s: float
    alive: int
    seconds: tuple[Second, ...]
    late_s: float = 0.0
    progress: tuple[AnsweredSecond, ...] = ()
    network: dict[str, float] = Field(default_factory=dict)
