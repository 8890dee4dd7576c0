"""How it was measured."""

from __future__ import annotations

from collections.abc import Iterator

from kneebench.brief import served, words
from kneebench.brief.reading import Reading
from kneebench.brief.section import Section

PLACE = 100
BEGAN = {
    "copy": "Every climb and repeat began from a restored database (copy)",
    "clone": "Every climb and repeat began from a restored database (clone)",
    "template": "Every climb and repeat began from a fresh copy of a template database on the server",
    "command": "Every climb and repeat began from a database that the plan's command put back",
    "none": "Nothing was restored: every climb and repeat began with what the last one left in the database",
    "model": "Every climb and repeat began from a fresh model with a cold cache",
}
"""By how the database was really restored; nothing where an old campaign does not tell."""


def section(reading: Reading) -> Section:
    """The method in sentences."""
    return Section(name="method", title="How it was measured", sentences=(*_method(reading), *map(words.sentence, (*reading.campaign.notes, *reading.notes))))


def _method(reading: Reading) -> Iterator[str]:
    ladder, workload = reading.plan.ladder, reading.plan.workload
    profile = {"spec": "45/43/4/4/4 from a deck of 100, NURand picks", "hammerdb": "10/10/1/1/1 of 23 cards, uniform picks"}[workload.profile]
    home = "spread over all warehouses" if workload.home == "all" else "each at home in one warehouse"
    think = "with keying and think times" if workload.think_times else "without keying and think times"
    size = words.plural(workload.warehouses, "warehouse")
    yield f"Workload: TPROC-C, {size}, profile {workload.profile} ({profile}); users {home}, {think}. One New-Order in a hundred rolls back by design."
    if isinstance(ladder.users, tuple):
        yield (
            "Climb: first a rung of many users that only warms the database up; then users multiplied by"
            f" {ladder.step:g} from rung to rung, windows of {words.time(ladder.window)}, until a stop fired; one bisection. "
            "The stop is the rung where a condition fired, the knee the rung before it."
        )
    warm_up = "found from throughput and device reads" if ladder.warm_up == "auto" else words.time(float(ladder.warm_up))
    yield (
        f"Report: each {reading.point} {words.plural(ladder.repeats, 'time')}{reading.own_restore}, storages interleaved, "
        f"windows of {words.time(ladder.report_window)}, warm-up {warm_up}; "
        + (f"at least {words.plural(ladder.checkpoints, 'whole checkpoint cycle')} a window." if ladder.checkpoints else "checkpoint cycles not waited for.")
    )
    yield "Throughput counts completions in the window; latency is of transactions that began in it, followed to their end."
    yield f"Intervals are 95 %; their unit is one {'restored run' if reading.own_restore else 'run'}, never one second of it."
    began = f"{BEGAN[reading.restored]}, and" if reading.restored else "Every climb and repeat"
    yield f"{began} was warmed under load. {_pinned(reading)}"
    yield f"{words.plural(reading.checked, 'self-check')}: {len(reading.failed) or 'none'} failed."


def _pinned(reading: Reading) -> str:
    server, client = reading.plan.database.cores, reading.plan.workload.client_cores
    kind = served.kind(reading.plan)
    if kind == "simulated":
        return "The database was a model with cores of its own: it shared none with the load generator."
    if kind == "url":
        generator = f"pinned to {_cores(client)}" if client else "not pinned"
        return f"The server ran already, by URL, on whatever cores it has; the load generator was {generator}."
    if not server and not client:
        return "Nothing was pinned: load generator and database shared the machine's cores."
    return f"Pinned: the database to {_cores(server)}, the load generator to {_cores(client)}."


def _cores(cores: tuple[int, ...]) -> str:
    return f"cores {', '.join(map(str, cores))}" if cores else "no cores"
