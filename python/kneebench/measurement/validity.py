"""Whether a rung may be used: what makes it invalid, and what ends the campaign instead.

An invalid rung is kept with its reason and never quoted. A server that has run out of room, memory
or connections makes every rung after it as bad: the campaign stops, and goes on at the same rung
once there is enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kneebench.analysis import disturbance
from kneebench.analysis.bottleneck import LOAD_GENERATOR_BUSY
from kneebench.analysis.wording import number_of_users, plural
from kneebench.engine_properties import EngineProperties, ErrorClass
from kneebench.errors import InvalidMeasurement
from kneebench.measurement import delay
from kneebench.measurement.held_window import HeldWindow
from kneebench.measurement.rung_runner import described
from kneebench.records import HostTally, Order, Remark, Rung, Severity, Tally
from kneebench.units import rounded, time

JUDGED_BY_THE_STOP = ("search", "fixed_load")
"""Phases whose errors the errors stop judges: they may say where a climb ends, and are not quoted.
"""
STARVED: dict[ErrorClass, str] = {
    "full": "give the server the resource that the message names (disk space, memory, connections)",
    "stopped": "see the server's log for why it was shut down or unreachable",
    "broken": "check the server's log and the drive under its files",
}
"""What to do about errors that end the campaign, by the class that the engine gives them."""


def invalid(order: Order, tally: Tally, most_errors: float) -> tuple[Remark, ...]:
    """Why the rung must not be used, the first reason that there is; empty where it may.

    `most_errors` is the limit of the errors stop.

    A rung that only warms up is used for nothing, and may have more users than the climb ever
    reaches.
    """
    found = () if order.phase == "warm_up" else _reasons(order, tally, most_errors)
    return tuple(one for one in found if one)[:1]


def _reasons(order: Order, tally: Tally, most_errors: float) -> Iterator[Remark | None]:
    if (busy := tally.load_generator_busy) > LOAD_GENERATOR_BUSY:
        words = (
            f"the load generator{busiest_host(tally)} was {100 * busy:.0f}% busy (limit"
            f" {100 * LOAD_GENERATOR_BUSY:.0f}%) and limited the throughput"
        )
        yield _wrong("load_generator", words, busy, LOAD_GENERATOR_BUSY, "share")
    if lost := tally.lost_users:
        words = f"{lost} of {number_of_users(tally.users)} lost their connection, so the load was"
        yield _wrong("lost_users", f"{words} incomplete", lost, 0, "users")
    if not tally.window.completed:
        yield _wrong("nothing_done", "no transaction completed within the window")
    yield delay.invalid(tally)
    if order.phase not in JUDGED_BY_THE_STOP:
        yield _errors(tally, most_errors)


def _wrong(
    kind: str, words: str, value: float | None = None, limit: float | None = None, unit: str = ""
) -> Remark:
    return Remark(kind=kind, severity="invalid", words=words, value=value, limit=limit, unit=unit)


def judged(rung: Rung, held: HeldWindow, silent: Sequence[Remark]) -> tuple[Rung, str]:
    """The rung with what disturbed it from outside; and that alone in words, where it makes the
    rung invalid. `silent`: seconds in which users got no response (silence.py).
    """
    outside = () if rung.order.phase == "warm_up" else tuple(_disturbances(rung, held, silent))
    found = rung.with_remarks(*outside, *disturbance.caveats(rung), *_made_late(rung, held))
    if held.late_s <= disturbance.LATE_S and rung.order.phase != "warm_up":
        found = found.with_remarks(*(one for one in silent if one.severity == "caveat"))
    found = found.with_remarks(*host_caveats(rung.tally))
    return found, "; ".join(one.words for one in outside)


def _made_late(rung: Rung, held: HeldWindow) -> Iterator[Remark]:
    """Where the log's files could not be made before the window."""
    made = _segments_made(rung)
    if made and not held.log_ready and rung.order.phase != "warm_up":
        words = f"{_made(made)}, filled with zeros while all users waited"
        yield Remark(kind="log_made", severity="caveat", words=words, value=made, limit=0)


def with_faults(rung: Rung, found: Sequence[str]) -> Rung:
    """The rung, invalid if there are faults of its storage by now: it ran from memory, or
    elsewhere.
    """
    return rung.with_remarks(*(_wrong("storage_fault", one) for one in found))


def _disturbances(rung: Rung, held: HeldWindow, silent: Sequence[Remark]) -> Iterator[Remark]:
    """What makes the rung invalid and may not recur."""
    most_s, longest_s = disturbance.LATE_S, disturbance.longest_s(held.ordered_s)
    if held.late_s > most_s:
        words = f"the load generator stalled for {held.late_s:.1f} s (limit {most_s:g} s)"
        yield _wrong("stalled", words, held.late_s, most_s, "s")
    else:
        yield from (one for one in silent if one.severity == "invalid")
    if (window_s := rung.tally.window_s) > longest_s:
        limit = f"{100 * disturbance.LONGER:.0f}% and {disturbance.LONGER_S:g} s longer"
        words = f"the window lasted {window_s:.1f} s instead of {held.ordered_s:.1f} s"
        yield _wrong("long_window", f"{words} (limit {limit})", window_s, longest_s, "s")
    if held.log_ready and (made := _segments_made(rung)):
        yield _wrong("log_made", f"{_made(made)}, while all users waited", made, 0)
    yield from hosts_too_far_apart(rung.tally)
    stolen, most = disturbance.STOLEN.of(rung), disturbance.STEAL_MOST
    if stolen and stolen[0] > most:
        words = f"the hypervisor took {100 * stolen[0]:.0f}% of {stolen[1]}"
        yield _wrong("steal", f"{words} (limit {100 * most:.0f}%)", stolen[0], most, "share")


def _segments_made(rung: Rung) -> int:
    """How many the server made of its log in the window; 0 also if it is not known."""
    return round(rung.quantity("log.segments_made") or 0.0)


def _made(segments: int) -> str:
    return f"the server made {plural(segments, 'log segment')} in the window"


def _errors(tally: Tally, most_errors: float) -> Remark | None:
    whole = tally.whole
    lost = whole.failed + whole.unknown
    if lost <= most_errors * whole.started:
        return None
    first = f"; first error: {tally.errors[0].first}" if tally.errors else ""
    share = lost / whole.started
    words = (
        f"{lost:,} of {whole.started:,} transactions failed ({rounded(100 * share, 2)}%,"
        f" limit {100 * most_errors:g}%){first}"
    )
    return _wrong("errors", words, share, most_errors, "share")


def refuse_starved(order: Order, tally: Tally, engine: EngineProperties) -> None:
    """Raises InvalidMeasurement where the server had not what it needs, or was being shut down."""
    for error in tally.errors:
        if do := STARVED.get(engine.error_class(error.code)):
            seen = f"{error.count:,} transactions failed with {error.code}: {error.first}"
            raise InvalidMeasurement(described(order), seen=seen, do=do)


# Whether load hosts measured the same window, and had cores to spare.

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
