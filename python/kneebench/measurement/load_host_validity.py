"""Whether load hosts measured the same window, and had cores to spare."""

from __future__ import annotations

from collections.abc import Iterator

from kneebench.records import HostTally, Remark, Severity, Tally
from kneebench.units import time

APART_S, TOO_FAR_S = 0.005, 0.05
"""Between the first and the last host that opened or closed its window: a caveat from here, and an
invalid rung. A tenth of what a tail of 50 ms needs, and all of it."""
BUSY = 0.7
"""Of a host's cores: beyond it, users may have waited for a core."""


def hosts_too_far_apart(tally: Tally) -> Iterator[Remark]:
    """The rung is invalid where the hosts did not measure the same window."""
    if apart_s(tally) > TOO_FAR_S:
        yield _apart(tally, TOO_FAR_S, "invalid")


def host_caveats(tally: Tally) -> Iterator[Remark]:
    """Where windows of hosts began or ended apart; each host that used most of its cores."""
    if APART_S < apart_s(tally) <= TOO_FAR_S:
        yield _apart(tally, APART_S, "caveat")
    yield from (_crowded(one) for one in tally.hosts if one.of_its_cores > BUSY)


def busiest_host(tally: Tally) -> str:
    """The busiest load host in words; empty where this machine made the load."""
    if not tally.hosts:
        return ""
    return f" on host {max(tally.hosts, key=lambda one: one.busy).name}"


def apart_s(tally: Tally) -> float:
    """Seconds by which the hosts' windows may have begun or ended apart: as seen, and as far as
    their clocks are known. 0 of a single host, whose window is the only one.
    """
    if len(tally.hosts) < 2:
        return 0.0
    opened = [one.opened_s for one in tally.hosts]
    closed = [one.closed_s for one in tally.hosts]
    return max(max(opened) - min(opened), max(closed) - min(closed)) + _unknown_s(tally)


def _unknown_s(tally: Tally) -> float:
    return max(one.bound_s + abs(one.moved_s) for one in tally.hosts)


def _apart(tally: Tally, limit_s: float, severity: Severity) -> Remark:
    found_s, unknown_s = apart_s(tally), _unknown_s(tally)
    return Remark(
        kind="hosts_apart",
        severity=severity,
        words=(
            f"load hosts opened or closed their windows up to {time(found_s - unknown_s)} apart,"
            f" by clocks known to {time(unknown_s)} (limit {time(limit_s)} together)"
        ),
        value=found_s,
        limit=limit_s,
        unit="s",
    )


def _crowded(one: HostTally) -> Remark:
    return Remark(
        kind="load_host_busy",
        severity="caveat",
        words=(
            f"load host {one.name} used {100 * one.of_its_cores:.0f}% of its {one.cores} cores"
            f" (limit {100 * BUSY:.0f}%)"
        ),
        value=one.of_its_cores,
        limit=BUSY,
        unit="share",
    )
