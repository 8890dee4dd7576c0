"""What is known of each load host before a run: `kneebench hosts check`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple
from urllib.parse import urlsplit

from kneebench.analysis.wording import plural
from kneebench.errors import KneebenchError
from kneebench.hosts.clock import offset
from kneebench.hosts.connection import Connection
from kneebench.hosts.load_hosts import connect
from kneebench.plan.hosts import LoadHost
from kneebench.records import Finding
from kneebench.units import size, time

AHEAD_S = 1.0
"""A clock that is farther off is worth setting, though no figure depends on it."""
REACH_S = 10.0


class Destination(NamedTuple):
    """Where a database listens."""

    host: str
    port: int


def destination(url: str) -> Destination | None:
    """Where the database of a URL listens; None for a socket's directory, and without a port.

    >>> destination("sql://me@db1:6000/x"), destination("sql://me@db1/x")
    (Destination(host='db1', port=6000), None)
    """
    parts = urlsplit(url)
    return Destination(parts.hostname, parts.port) if parts.hostname and parts.port else None


def host_findings(planned: Sequence[LoadHost], urls: Sequence[str]) -> Iterator[Finding]:
    """What each load host is, and whether it reaches the databases; an error for one that cannot
    be used. Each is written its files of kneebench, if they are not there, and nothing else.
    """
    to = [one for one in map(destination, dict.fromkeys(urls)) if one]
    for one in planned:
        subject = f"load host {one.called}"
        try:
            with connect(one) as host:
                yield _ok(host, subject)
                yield from _clock(host, subject)
                yield from (_reaches(host, subject, where) for where in to)
        except KneebenchError as error:
            yield Finding(level="error", subject=subject, seen=error.seen, do=error.do)


def _ok(host: Connection, subject: str) -> Finding:
    facts = host.facts
    python = ".".join(map(str, facts["python"]))
    seen = (
        f"{plural(facts['cores'], 'core')}, {size(facts['memory_bytes'])} of memory, Linux"
        f" {facts['kernel']}, Python {python}"
    )
    return Finding(level="ok", subject=subject, seen=seen)


def _clock(host: Connection, subject: str) -> Iterator[Finding]:
    found = offset(host)
    ahead = "ahead" if found.ahead_s >= 0 else "behind"
    seen = (
        f"clock {time(abs(found.ahead_s))} {ahead}, known to {time(found.bound_s)}; round trip"
        f" {time(found.round_trip_s)}"
    )
    far = abs(found.ahead_s) > AHEAD_S
    do = "set it by NTP; windows are aligned all the same" if far else ""
    yield Finding(level="note" if far else "ok", subject=subject, seen=seen, do=do)


def _reaches(host: Connection, subject: str, where: Destination) -> Finding:
    answer = host.ask("reach", REACH_S, **where._asdict())
    at = f"the database at {where.host}:{where.port}"
    if words := answer.get("failed"):
        do = "open the port for this host, and have the server listen on that address"
        return Finding(level="error", subject=subject, seen=f"cannot reach {at}: {words}", do=do)
    return Finding(
        level="ok", subject=subject, seen=f"reaches {at}, connected in {time(answer['took_s'])}"
    )
