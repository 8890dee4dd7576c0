"""What is known of each load host before a run: `kneebench hosts check`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from kneebench.analysis.wording import plural
from kneebench.errors import KneebenchError
from kneebench.hosts.connection import HostLine
from kneebench.hosts.load_hosts import Way
from kneebench.hosts.spread_load import offset
from kneebench.records import Finding
from kneebench.units import bit_rate, size, time

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


def host_findings(
    ways: Mapping[str, Way], urls: Sequence[str], sender: Destination | None = None
) -> Iterator[Finding]:
    """What each load host is, and whether it reaches the databases; an error for one that cannot
    be used. Each is written its files of kneebench, if they are not there, and nothing else.
    `sender`: where the database host sends bytes meanwhile.
    """
    to = [one for one in map(destination, dict.fromkeys(urls)) if one]
    for name, way in ways.items():
        subject = f"load host {name}"
        try:
            with way.connect() as host:
                yield what_it_is(host, subject)
                yield from its_clock(host, subject)
                yield from (_reaches(host, subject, where) for where in to)
                if sender:
                    answer = host.ask("bandwidth", REACH_S, **sender._asdict())
                    yield bandwidth_finding(answer, subject, sender)
        except KneebenchError as error:
            yield Finding(level="error", subject=subject, seen=error.seen, do=error.do)


def what_it_is(host: HostLine, subject: str) -> Finding:
    """Its cores, memory, kernel and Python."""
    facts = host.facts
    python = ".".join(map(str, facts["python"]))
    seen = (
        f"{plural(facts['cores'], 'core')}, {size(facts['memory_bytes'])} of memory, Linux"
        f" {facts['kernel']}, Python {python}"
    )
    return Finding(level="ok", subject=subject, seen=seen)


def its_clock(host: HostLine, subject: str) -> Iterator[Finding]:
    """How far its clock is off; a note where that is worth setting."""
    found = offset(host)
    ahead = "ahead" if found.ahead_s >= 0 else "behind"
    seen = (
        f"clock {time(abs(found.ahead_s))} {ahead}, known to {time(found.bound_s)}; round trip"
        f" {time(found.round_trip_s)}"
    )
    far = abs(found.ahead_s) > AHEAD_S
    do = "set it by NTP; windows are aligned all the same" if far else ""
    yield Finding(level="note" if far else "ok", subject=subject, seen=seen, do=do)


def bandwidth_finding(answer: Mapping[str, Any], subject: str, sender: Destination) -> Finding:
    """What was measured on the way from the database host."""
    at = f"the database host at {sender.host}"
    if words := answer.get("failed"):
        do = f"open the ports of hosts.database for this host (tried: {sender.port})"
        return Finding(level="error", subject=subject, seen=f"cannot reach {at}: {words}", do=do)
    rate, took = bit_rate(answer["bytes_per_s"]), time(answer["took_s"])
    seen = f"{at} sends {rate} (one connection), connected in {took}"
    return Finding(level="ok", subject=subject, seen=seen)


def _reaches(host: HostLine, subject: str, where: Destination) -> Finding:
    answer = host.ask("reach", REACH_S, **where._asdict())
    at = f"the database at {where.host}:{where.port}"
    if words := answer.get("failed"):
        do = "open the port for this host, and have the server listen on that address"
        return Finding(level="error", subject=subject, seen=f"cannot reach {at}: {words}", do=do)
    return Finding(
        level="ok", subject=subject, seen=f"reaches {at}, connected in {time(answer['took_s'])}"
    )
