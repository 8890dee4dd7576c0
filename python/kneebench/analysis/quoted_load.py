"""The load that is quoted: the knee, or the highest measured load below it whose final runs keep
the limit on log writes.

A search window is short, and its stop condition looks at it once. What is quoted is judged by the
final runs: by the mean log write over all of them at one number of users, as the brief prints it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from kneebench.analysis.knee import metered
from kneebench.analysis.wording import (
    as_sentence,
    listed,
    lower,
    number_of_users,
    plural,
    stop_reason,
)
from kneebench.records import (
    Climb,
    Estimate,
    ExceededLoad,
    Phase,
    QuotedLoad,
    Results,
    Rung,
    StopResult,
)
from kneebench.units import time

LOG_WRITE = "log.write_latency"
STOP = "log_latency"
CLEARLY = 1.25
"""Times the limit: restores of one storage differ by less, with all their noise."""
REPEATED: tuple[Phase, ...] = ("final_run", "fixed_rate", "load_level")
"""Phases after the climbs."""


def is_limited(climb: Climb) -> bool:
    """Whether the limit on log writes decides the load of the final runs: not if the first rung of
    the climb exceeded it, which is flagged, or if the climb did not judge it.
    """
    return any(result.stop == STOP and result.severity == "note" for result in climb.stop_results)


def log_write(rungs: Sequence[Rung]) -> Estimate | None:
    """The mean log write over the valid ones of some final runs; None if it was not measured."""
    return metered([rung for rung in rungs if not rung.invalid], LOG_WRITE)


def exceeds(rungs: Sequence[Rung], limit_s: float, *, clearly: bool = False) -> bool:
    """Whether the mean log write of final runs at one load exceeds the limit; `clearly`: by so much
    that it would after more runs too. Few runs show neither noise nor how restores differ, so both
    their 95% interval and a margin of a quarter decide.
    """
    found = log_write(rungs)
    if found is None or not clearly:
        return found is not None and found.value > limit_s
    return found.low > limit_s and found.value > CLEARLY * limit_s


def next_lower(climb: Climb, users: int) -> int | None:
    """The highest number of users below `users` that the climb measured; None without any."""
    measured = {r.users for r in climb.of("search", "bisection") if not r.invalid}
    return max((one for one in measured if one < users), default=None)


def with_quoted_load(climb: Climb) -> Climb:
    """The climb as it is quoted, of all its measured rungs: the knee's users are those of the last
    final runs, `rungs` has these and the last runs at the fixed rate and the load levels,
    `superseded` all others.
    """
    finals = list(_by_users(climb.of("final_run")))
    of_rates = (*_at_last_rate(climb), *_last_of_each(climb.of("load_level")))
    quoted = {rung.order.key for rung in (*(finals[-1] if finals else ()), *of_rates)}
    superseded = [r for r in climb.of(*REPEATED) if r.order.key not in quoted]
    others = {rung.order.key for rung in superseded}
    update: dict[str, object] = {
        "rungs": tuple(rung for rung in climb.rungs if rung.order.key not in others),
        "superseded": tuple(superseded),
    }
    if len(finals) > 1:
        above, users = finals[-2][0].users, finals[-1][0].users
        found = _stepped_down(finals, climb.limits.log_write_s)
        stop_results = (found, *(one for one in climb.stop_results if one.stop != STOP))
        update |= {"knee_users": users, "bracket": (users, above)}
        update |= {"stopped_by": STOP, "stop_results": stop_results}
    return climb.model_copy(update=update)


def climb_end(climb: Climb) -> str:
    """Where the climb ended and why, in one sentence with the name of its stop reason; empty while
    it goes on.
    """
    sentence = climb.ended_by.sentence if climb.ended_by else ""
    reason = stop_reason(climb.stopped_by)
    named = not sentence or reason in sentence.lower()
    return as_sentence(sentence if named else f"{reason}: {lower(sentence)}") if sentence else ""


def _stepped_down(finals: Sequence[Sequence[Rung]], limit_s: float) -> StopResult:
    """What the final runs found at one load after another, of which the last is quoted."""
    *above, last = finals
    found = log_write(last)
    took = f" ({time(found.value)})" if found else ""
    why = "the fewest measured" if found and found.value > limit_s else "the last within the limit"
    beyond = f"Log write {listed([_seen(runs) for runs in above])} in the final runs"
    quoted = f"the quoted load is {number_of_users(last[0].users)}{took}, {why}"
    return _exceeded(above[-1], limit_s, f"{beyond} (limit {time(limit_s)}); {quoted}")


def stepping_down(runs: Sequence[Rung], limit_s: float, to: int) -> StopResult:
    """What is reported when final runs exceed the limit, before those at fewer users begin."""
    beyond = f"Log write {_seen(runs)} in {plural(len(runs), 'final run')}"
    again = f"measured again at {number_of_users(to)}"
    return _exceeded(runs, limit_s, f"{beyond} (limit {time(limit_s)}); {again}")


def _exceeded(runs: Sequence[Rung], limit_s: float, sentence: str) -> StopResult:
    seen = log_write(runs)
    return StopResult(
        stop=STOP,
        fired=True,
        seen=time(seen.value) if seen else "not measured",
        limit=f"{time(limit_s)}, mean of the final runs",
        sentence=sentence,
        value=seen.value if seen else None,
        limit_value=limit_s,
        unit="s",
    )


def quoted_load(climb: Climb) -> QuotedLoad | None:
    """The quoted load and the loads above it whose final runs exceeded the limit; None without
    final runs.
    """
    if not (runs := climb.of("final_run")):
        return None
    found, limit_s = log_write(runs), climb.limits.log_write_s
    superseded = [rung for rung in climb.superseded if rung.order.phase == "final_run"]
    return QuotedLoad(
        users=runs[-1].users,
        limit_s=limit_s,
        log_write_s=found,
        within=None if found is None else found.value <= limit_s,
        exceeded=tuple(
            ExceededLoad(users=some[0].users, log_write_s=log_write(some), runs=len(some))
            for some in _by_users(superseded)
        ),
    )


def quoted_loads(results: Results) -> dict[str, object]:
    """The same of every configuration that has final runs, by id, for programs."""
    found = {climb.id: quoted_load(climb) for climb in results.climbs}
    return {
        configuration: one.model_dump(mode="json") for configuration, one in found.items() if one
    }


def limit_caveats(results: Results) -> tuple[str, ...]:
    """Sentences on the configurations of a finished campaign whose quoted final runs exceed the
    limit on log writes, one for each reason; nothing where a flag of the climb says so.
    """
    found: dict[str, list[str]] = {}
    for climb in results.climbs if results.finished else ():
        runs, limit_s = climb.of("final_run"), climb.limits.log_write_s
        if is_limited(climb) and exceeds(runs, limit_s):
            beyond = f"{climb.configuration.name} {_seen(runs)} (limit {time(limit_s)})"
            found.setdefault(_why_beyond(climb), []).append(beyond)
    return tuple(
        f"Quoted log writes exceed the limit: {listed(beyond)}. {why}"
        for why, beyond in found.items()
    )


def _why_beyond(climb: Climb) -> str:
    if climb.of("fixed_load"):
        return "The plan sets this number of users."
    if next_lower(climb, climb.of("final_run")[-1].users):
        return "No final run had fewer users."
    return "The climb measured no fewer users, so no load within the limit is known."


def _seen(runs: Sequence[Rung]) -> str:
    found = log_write(runs)
    took = time(found.value) if found else "not measured"
    return f"{took} at {number_of_users(runs[0].users)}"


def _by_users(runs: Sequence[Rung]) -> Iterator[list[Rung]]:
    """The runs at one number of users after another, as measured."""
    for _, some in groupby(runs, lambda rung: rung.users):
        yield list(some)


def _at_last_rate(climb: Climb) -> list[Rung]:
    """The runs at the last rate; those before the last one of a repeat waited for users."""
    runs = climb.of("fixed_rate")
    return _last_of_each([rung for rung in runs if rung.order.rate_per_s == _rate(runs)])


def _last_of_each(runs: Sequence[Rung]) -> list[Rung]:
    """Of each repeat, or load level, the last run."""
    return [*{rung.order.repeat: rung for rung in runs}.values()]


def _rate(runs: Sequence[Rung]) -> float | None:
    return runs[-1].order.rate_per_s if runs else None
