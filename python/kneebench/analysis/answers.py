"""What a campaign answers and what limits its figures: for the brief, the terminal, acceptances and
programs.

Programs read SI units, estimates with their intervals, configurations by id. The caveats are one
list, in the order of a brief; that adds what only the plan tells (`brief/sections/cautions.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from math import log
from typing import Any

from pydantic_core import to_jsonable_python

from kneebench import units
from kneebench.analysis.background import APART, unequal_in
from kneebench.analysis.comparison import all_pairs, compare, own_floor
from kneebench.analysis.configuration_summary import configuration_summaries, point
from kneebench.analysis.control import control_caveats, controls
from kneebench.analysis.course import course_caveats
from kneebench.analysis.cpu_utilization import cpu_per_transaction_s, cpu_utilization
from kneebench.analysis.databases import by_database, database_document
from kneebench.analysis.disturbance import KINDS, disturbances
from kneebench.analysis.drift import Drift, drift, drift_caveat
from kneebench.analysis.durability import less_safe_caveats, lost_caveats
from kneebench.analysis.final_estimates import rounds_of
from kneebench.analysis.fixed_rate import rate_caveats, ratio_without_wait, wait_caveats
from kneebench.analysis.knee import (
    MAY_BE_HIGHER,
    below_best,
    confirmed_knee,
    final_rungs,
    knee,
    knee_rung,
)
from kneebench.analysis.levelling_words import sweep_document
from kneebench.analysis.memory import memory_document
from kneebench.analysis.outcome import exit_code, never_steady, never_steady_caveats, order_weights
from kneebench.analysis.power import doubts
from kneebench.analysis.price import prices_of_work
from kneebench.analysis.proof import bottlenecks
from kneebench.analysis.quantity_ratio import MEAN, NOPM
from kneebench.analysis.query_streams import stream_document
from kneebench.analysis.query_times import query_document, query_pairs_document
from kneebench.analysis.quoted_load import REPEATED, limit_caveats, quoted_loads
from kneebench.analysis.still_steady import still_steady
from kneebench.analysis.sustained_load import Drains, drains
from kneebench.analysis.sweep import rising_reads, sweeps
from kneebench.analysis.wording import (
    FEW_NAMES,
    as_sentence,
    by_finding,
    capital,
    listed,
    lower,
    more_or_less,
    number_of_users,
    percent,
    said_once,
    some_of,
)
from kneebench.records import Climb, Comparison, Configuration, Estimate, Remark, Results

FAR = 0.25
"""So far from what the climb had measured is said even where the final runs scatter as much."""
BUSY, MOSTLY = 0.8, 0.5
"""So busy are cores that limit a database as much as its storage does; of a ratio's logarithm."""
OUTSIDE = frozenset(one.kind for one in KINDS)
"""Kinds of what disturbed a campaign from outside: a brief has it under its title."""
BESIDE = (
    "power_doubt",
    "orders_lost",
    "less_safe",
    "log_write_limit",
    "rate",
    "wait",
    "control",
    "below_best",
    "course",
)
"""Kinds that are said beside an answer everywhere, not only in the brief; so is what is OUTSIDE."""


def answers(results: Results) -> dict[str, Any]:
    """Answers with what limits and what disturbed them, bottlenecks with their evidence, ratios.

    A campaign of TPROC-H has no knees in NOPM: `queries` and `streams` are its configurations.
    """
    rounds, compared = rounds_of(results), compare(results)
    of_users = results.campaign.resolved.workload == "tproc-c"
    found: dict[str, Any] = to_jsonable_python(
        {
            "finished": results.finished,
            "exit_code": exit_code(results),
            "configurations": configuration_summaries(results) if of_users else (),
            "comparisons": compared,
            "pairs": [*all_pairs(results), *query_pairs_document(results)],
            "databases": database_document(results),
            "sweep": sweep_document(results),
            "bottlenecks": bottlenecks(results) if of_users else {},
            "quoted_loads": quoted_loads(results),
            "rounds": rounds and rounds._asdict(),
            "caveats": caveats(results),
            "caveat_figures": caveat_figures(results, compared),
            "disturbances": disturbances(results),
            "prices": {id_: one._asdict() for id_, one in prices_of_work(results).items()},
            "power_doubts": doubts(results.climbs, results.campaign.power),
            "controls": controls(results.climbs),
            "limited_memory": memory_document(results),
            "still_warming": never_steady(results),
            "still_steady": still_steady(results),
            "queries": query_document(results),
            "streams": stream_document(results),
        }
    )
    return found


def caveat_figures(results: Results, compared: Sequence[Comparison]) -> dict[str, Any]:
    """The numbers behind the caveats, and the same of what is none: by kind, and by configuration
    where it is of one.

    `noise`: the difference between two runs of one configuration that is not claimed. `drift`: how
    much more the first rung did when it was repeated last. `climb_at_knee`: what the climb had
    measured there, and the final runs over it. `best_rung`: the climb's best rung or candidate, and
    the final runs over it, where that is less than a knee promises. `confirmed`: what candidates
    did in turn. `weights`: configurations whose transactions were not equally heavy, with their
    bytes per transaction. `cpu`: how busy the cores were at the knee. `without_wait`: the ratio of
    the mean latencies without the wait for a free user, where that is a large part of them.
    """
    climbs = {climb.id: climb for climb in results.climbs}
    cpu = {id_: cpu_utilization(final_rungs(climb)) for id_, climb in climbs.items()}
    return {
        "noise": {id_: own_floor(climb) for id_, climb in climbs.items()},
        "drift": {
            of.id: {"share": moved.share, "users": moved.users, "noise": moved.noise}
            for of, moved in drifts(results.climbs)
        },
        "climb_at_knee": {
            id_: found for id_, climb in climbs.items() if (found := _at_knee(climb))
        },
        "best_rung": {id_: found for id_, climb in climbs.items() if (found := _at_best(climb))},
        "confirmed": {
            id_: sure._asdict() for id_, climb in climbs.items() if (sure := confirmed_knee(climb))
        },
        "weights": [
            {**one._asdict(), "times": one.times, "matters": one.matters}
            for one in order_weights(results)
        ],
        "without_wait": dict(_without_wait(climbs, compared)),
        "cpu": {
            id_: {"mean": one.mean.value, "least_busy": one.least_busy.value}
            for id_, one in cpu.items()
            if one
        },
    }


def _without_wait(
    climbs: Mapping[str, Climb], compared: Sequence[Comparison]
) -> Iterator[tuple[str, float]]:
    for one in compared:
        if one.quantity == MEAN.name and (
            ratio := ratio_without_wait(climbs[one.configuration], climbs[one.baseline])
        ):
            yield one.configuration, ratio


def _at_knee(climb: Climb) -> dict[str, float]:
    found, searched = knee(climb), knee_rung(climb)
    if not found or not searched or not searched.tally.nopm:
        return {}
    nopm = searched.tally.nopm
    return {"users": searched.users, "nopm": nopm, "final_over_climb": found.nopm.value / nopm}


def _at_best(climb: Climb) -> dict[str, float]:
    if not (found := below_best(climb)):
        return {}
    return {"users": found.users, "nopm": found.nopm, "final_over_best": found.share}


def caveats(results: Results, kinds: Container[str] = ()) -> tuple[Remark, ...]:
    """Those of these kinds, or all of them: what disturbed it from outside comes first."""
    found = (
        Remark(kind=kind, severity="caveat", words=as_sentence(words))
        for kind, of in _CAVEATS.items()
        if not kinds or kind in kinds
        for words in of(results)
    )
    return (*disturbances(results), *found)


def beside(results: Results) -> Iterator[str]:
    """The sentences that are said beside an answer."""
    return (one.words for one in caveats(results, BESIDE))


def drifts(climbs: Iterable[Climb]) -> tuple[tuple[Configuration, Drift], ...]:
    """The configurations that have a drift check, and its result."""
    found = ((climb.configuration, drift(climb, own_floor(climb))) for climb in climbs)
    return tuple((of, moved) for of, moved in found if moved)


def _unprofiled(results: Results) -> Iterator[str]:
    """Storages whose raw profile is missing: a bottleneck of theirs is known to less."""
    campaign = results.campaign
    for climb in results.climbs:
        why = campaign.unprofiled.get(climb.id)
        if why is not None and climb.id not in campaign.raw_profiles:
            yield (
                f"{capital(climb.configuration.name)}: not measured without its database, so what"
                " its drives can do is not known; its bottleneck is inferred from waits alone"
                f" ({why})."
            )


def _not_steady(results: Results) -> Iterator[str]:
    """Final runs whose warm-up reached its limit, by why."""
    drifting, cold = list[tuple[Configuration, str]](), list[tuple[Configuration, str]]()
    for climb in results.climbs:
        runs = [rung for rung in climb.of("final_run") if not rung.invalid]
        unsteady = [rung for rung in runs if not rung.steady]
        unfilled = sum(any(one.kind == "not_filled" for one in rung.remarks) for rung in unsteady)
        for found, late in ((cold, unfilled), (drifting, len(unsteady) - unfilled)):
            if late:
                found.append((climb.configuration, f"{late} of {len(runs)}"))
    if drifting:
        yield (
            "The warm-up reached its limit before the load was seen to be steady in these final"
            f" runs: {by_finding(drifting, len(results.climbs))}."
        )
    if cold:
        yield (
            "The warm-up reached its limit before as much was read as the memory holds, so that it"
            " may not have been full, in these final runs:"
            f" {by_finding(cold, len(results.climbs))}."
        )


def _of_climbs(results: Results) -> Iterator[str]:
    """Limits that were exceeded without ending a climb, doubts of a knee, and knees beyond which
    the climb measured nothing.
    """
    flags = (
        f"{climb.configuration.name}: {one.sentence}"
        for climb in results.climbs
        for one in climb.flags
    )
    names = [climb.configuration.name for climb in results.climbs]
    yield from said_once(flags, names)
    found = [(climb.configuration, knee(climb)) for climb in results.climbs]
    if ended := [of for of, one in found if one and one.open_ended]:
        yield f"{capital(some_of(ended, len(results.climbs)))}: {lower(MAY_BE_HIGHER)}"
    yield from _not_located(results)


def _not_located(results: Results) -> Iterator[str]:
    """Knees whose interval covers every rung of their climb."""
    unknown = []
    for climb in results.climbs:
        found, searched = knee(climb), climb.of("search", "bisection")
        users = [rung.users for rung in searched]
        if found and len(set(users)) > 2 and _covers(found.users, users):
            unknown.append(climb.configuration)
    if unknown:
        yield (
            "The number of users at the knee is barely known on"
            f" {some_of(unknown, len(results.climbs))}: its interval covers every rung of the"
            " climb."
        )


def _covers(knee: Estimate, users: Sequence[int]) -> bool:
    return knee.low < knee.high and knee.low <= min(users) and knee.high >= max(users)


def _drives(results: Results) -> Iterator[str]:
    """What was seen of the drives before the first volume was made."""
    campaign = results.campaign
    if unsteady := [one.device for one in campaign.preconditioned if one.steady is False]:
        yield f"NOT in the steady state after preconditioning: {listed(unsteady)}."
    seen: dict[tuple[str, str], Counter[str]] = {}
    for load in campaign.drive_loads:
        counts = {"media errors": load.media_errors or 0, "throttled": load.throttled or 0}
        seen.setdefault((load.device, load.kind), Counter()).update(counts)
    for (device, kind), total in seen.items():
        if told := [f"{name}: {count}" for name, count in total.items() if count]:
            yield f"{device} during its {kind}: {listed(told)}."
    yield from _not_drained(drains(campaign.drive_loads))


def _not_drained(every: Sequence[Drains]) -> Iterator[str]:
    """The drives that did not fall to a lower level in each of their drains."""
    alike: dict[tuple[int, int], list[str]] = {}
    for one in every:
        if one.fell < len(one.loads):
            alike.setdefault((one.fell, len(one.loads)), []).append(one.device)
    for (fell, count), devices in alike.items():
        during = f"{count - fell} of {count} drains" if count > 1 else "the drain"
        none = "" if fell else ", or there are none"
        yield (
            f"IOPS did not fall during {during} of {listed(devices)}: burst credits may have been"
            f" left{none}."
        )


def _no_longer_steady(results: Results) -> Iterator[str]:
    found = still_steady(results)
    yield from (one.sentence for one in found if one.answer == "no longer steady")


def _measured_again(results: Results) -> Iterator[str]:
    """Runs that no figure counts; the table of all rungs has them, with why."""
    again = [
        (climb.configuration, f"{len(climb.superseded)} of {len(climb.superseded) + len(kept)}")
        for climb in results.climbs
        if climb.superseded
        for kept in [climb.of(*REPEATED)]
    ]
    if again:
        yield (
            "Some final runs were measured again, and count in no figure:"
            f" {by_finding(again, len(results.climbs))}."
        )


def _below_best(results: Results) -> Iterator[str]:
    """Knees whose final runs gave less than a knee promises of the best rung that was seen."""
    found = [(climb, of) for climb in results.climbs if (of := below_best(climb))]
    if not found:
        return
    [(first, least), *others] = found
    many, best = len(found) > FEW_NAMES, sorted({of.of for _, of in found})
    each = [
        (climb.configuration, percent(of.share) if many else f"{percent(of.share)} ({of.seen})")
        for climb, of in found
    ]
    said = (
        f"The final runs gave less than the best {' or '.join(best)}:"
        f" {by_finding(each, len(results.climbs))}"
        if others
        else f"{first.configuration.name}: the final runs gave {percent(least.share)} of the best"
        f" {least.of} ({least.seen})"
    )
    same = all(of.users == climb.knee_users for climb, of in found)
    why = (
        "Both had the same number of users: short windows at two times differ by that much."
        if same
        else "The best of several short windows is partly luck, but another number of users may be"
        " better."
    )
    yield f"{said}. {why}"


def _elsewhere(results: Results) -> Iterator[str]:
    """Where the final runs did not find again what the climbs had seen at their knees."""
    each = [(climb.configuration, _moved(climb)) for climb in results.climbs]
    found = [(of, moved) for of, moved in each if moved]
    if not found:
        return
    [(first, (share, there)), *others] = found
    shares = [(of, percent(one, signed=True)) for of, (one, _) in found]
    said = (
        f"Final runs and climb disagree at the knee: {by_finding(shares, len(results.climbs))}"
        if others
        else f"{first.name}: the final runs had {more_or_less(1 + share)} NOPM than the climb"
        f" ({there})"
    )
    yield (
        f"{said}. The quoted figures are from the final runs; the choice of"
        f" {point(results.campaign)} is from the climb."
    )


def _moved(climb: Climb) -> tuple[float, str] | None:
    """How far the final runs of a climb are from what it had seen, and that; None within the
    noise.
    """
    found, searched = knee(climb), knee_rung(climb)
    if not found or not searched or not climb.of("search"):
        return None
    below = below_best(climb)
    if below and below.users == searched.users:  # another caveat says so
        return None
    share = found.nopm.value / searched.tally.nopm - 1
    within = searched.tally.nopm in found.nopm
    if abs(share) <= (FAR if within else own_floor(climb)):
        return None
    there = f"{units.significant(searched.tally.nopm)} at {number_of_users(searched.users)}"
    return share, there


def _climb_ratios(results: Results) -> Iterator[str]:
    """The ratio of the climbs at the quoted numbers of users that the final runs confirm least; a
    sweep's answer rests on all of its sizes.
    """
    if sweeps(results):
        return
    climbs = {climb.id: climb for climb in results.climbs}
    found = [
        (abs(log(seen / one.ratio.value)), climbs[one.configuration].configuration.name, seen, one)
        for one in compare(results)
        if one.quantity == NOPM.name
        and (seen := _unconfirmed(climbs[one.configuration], climbs[one.baseline], one.ratio))
    ]
    if found:
        _, name, seen, one = max(found, key=lambda each: each[0])
        yield (
            f"{name}: the climbs gave {units.times(seen)} at the knees, the final runs {one.ratio}:"
            " they differ by more than the interval says."
        )


def _unconfirmed(climb: Climb, base: Climb, final: Estimate) -> float | None:
    """NOPM of the climb's knee over that of the baseline's, in the climbs; None where the final
    runs' ratio agrees within its interval and the noise of both.
    """
    ours, theirs = knee_rung(climb), knee_rung(base)
    if not ours or not theirs or not climb.of("search") or not theirs.tally.nopm:
        return None
    seen, noise = ours.tally.nopm / theirs.tally.nopm, 1 + max(own_floor(climb), own_floor(base))
    return None if final.low / noise <= seen <= final.high * noise else seen


def _background(results: Results) -> Iterator[str]:
    unequal = [
        work.sentence
        for part in by_database(results).values()
        for work in unequal_in(part)
        if work.apart < APART
    ]
    if unequal:
        said = "Background work was spread unevenly over the windows and affects these comparisons"
        yield f"{said}: {'; '.join(unequal)}."


def _weights(results: Results) -> Iterator[str]:
    """Differences in weight that fail no check."""
    if found := [one.sentence for one in order_weights(results) if not one.matters]:
        yield f"Transactions were not equally heavy: {'; '.join(found)}."


def _of_cpu_time(results: Results) -> Iterator[str]:
    """Differences of two databases that both kept their cores busy, and that are mostly of the CPU
    time of a transaction.
    """
    of = {climb.id: (climb, final_rungs(climb)) for climb in results.climbs}
    for one in compare(results):
        if one.quantity != NOPM.name or not one.differs:
            continue
        pair = [of[id_] for id_ in (one.baseline, one.configuration)]
        busy = [used.mean.value if (used := cpu_utilization(rungs)) else 0.0 for _, rungs in pair]
        took = [cpu_per_transaction_s(rungs) for _, rungs in pair]
        if min(busy) < BUSY or not took[0] or not took[1]:
            continue
        if log(took[0] / took[1]) / log(one.ratio.value) > MOSTLY:
            each = [
                f"{units.time(time_s)} on {climb.configuration.name} with"
                f" {number_of_users(climb.knee_users or 0)} ({percent(round(share, 2))} busy)"
                for (climb, _), time_s, share in zip(pair, took, busy, strict=True)
            ]
            yield (
                "Both kept the database's cores busy, and most of the difference in NOPM is CPU"
                f" time per transaction: {listed(each)}. With more cores the ratio may be another."
            )


def _drifted(results: Results) -> Iterator[str]:
    yield from filter(None, (drift_caveat(drifts(results.climbs), len(results.climbs)),))


_CAVEATS: dict[str, Callable[[Results], Iterable[str]]] = {
    "power_doubt": lambda results: doubts(results.climbs, results.campaign.power),
    "orders_lost": lost_caveats,
    "less_safe": less_safe_caveats,
    "unprofiled": _unprofiled,
    "still_warming": never_steady_caveats,
    "not_steady": _not_steady,
    "rising_reads": rising_reads,
    "climb": _of_climbs,
    "drives": _drives,
    "no_longer_steady": _no_longer_steady,
    "log_write_limit": limit_caveats,
    "measured_again": _measured_again,
    "rate": lambda results: rate_caveats(results.climbs),
    "wait": wait_caveats,
    "control": control_caveats,
    "below_best": _below_best,
    "course": course_caveats,
    "knee_not_found_again": _elsewhere,
    "climb_ratio": _climb_ratios,
    "drift": _drifted,
    "background": _background,
    "order_weights": _weights,
    "cpu_time": _of_cpu_time,
}
"""What finds the sentences of each kind."""
