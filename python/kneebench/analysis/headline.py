"""Headline of a campaign: the title of its brief, and the subtitle with its intervals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import log
from typing import NamedTuple

from kneebench.analysis.comparison import baseline, called, compare, step_up
from kneebench.analysis.databases import by_database, database_rows
from kneebench.analysis.final_estimates import rounds_of
from kneebench.analysis.fixed_rate import without_wait
from kneebench.analysis.knee import below_best, best_rung, final_rungs, knee, place
from kneebench.analysis.levelling import Levelling, levelling
from kneebench.analysis.levelling_words import answer, finding, titles
from kneebench.analysis.power import PER_NOPM, doubts
from kneebench.analysis.price import PER_WORK
from kneebench.analysis.quantity_ratio import NOPM
from kneebench.analysis.query_streams import streams_said
from kneebench.analysis.query_times import query_line, query_subtitle, query_title
from kneebench.analysis.rounds import half_width
from kneebench.analysis.still_warming import first_warming
from kneebench.analysis.sweep import COUNTED, Sweep, sweeps
from kneebench.analysis.undecided import (
    is_wide,
    not_shown,
    times_or_range,
    undecided,
    undecided_between,
)
from kneebench.analysis.wording import (
    behind_label,
    capital,
    has_interval,
    known,
    listed,
    lower,
    more_or_less,
    number_of_users,
    percent,
    possessive,
    times,
    times_and_interval,
    times_another,
    times_with_interval,
    value_and_ends,
)
from kneebench.records import Climb, Comparison, Estimate, Knee, Results, configuration_name
from kneebench.units import count, significant

HARDLY_ANY_READS = 0.1
"""Device reads per transaction below which the storage's reads were not tested: a log and
write-back test (methods: distrust)."""
LONGEST = 90
"""Characters of a title: it fits on one line of a page and in the subject of a mail."""
CI = "95% CI"
CACHED = "data cached"


def headline(results: Results) -> str:
    """The title: the significant finding first, in at most `LONGEST` characters where the storages'
    names allow it.

    It answers for what is varied. A sweep: what the plan's target needs, or where more stops paying
    and what it bought, on the storage with the most NOPM. Several databases: their ratio, and that
    of the storages beside it. Storages: the ratio of NOPM at the knee that is farthest from 1 (a
    third as much is farther than twice as much), and of three or more the step between the two
    best; where no NOPM differs, a mean latency at the fixed rate that does. One storage alone gives
    its knee; a campaign without final runs says so. What limits the finding is in the title too
    ("simulated", "data cached").
    """
    label = results.campaign.label
    if results.campaign.resolved.workload == "tproc-h":
        return behind_label(label, query_title(results))
    return behind_label(label, _fitting(results, LONGEST - len(behind_label(label, ""))))


def subtitle(results: Results) -> str:
    """Intervals of the title's figures, and the other comparisons; empty without a measurement."""
    if results.campaign.resolved.workload == "tproc-h":
        streams = (capital(one) for one in streams_said(results))
        return ". ".join(filter(None, (query_subtitle(results), *streams)))
    sentence = ""
    best, swept = best_sweep(results), list[str]()
    if best:
        every = ((levelling(one), one.name == best.sweep.name) for one in sweeps(results))
        swept = [answer(one, titled=titled) for one, titled in every]
    between, mains = between_databases(results), _mains(results)
    if swept or between or mains:
        behinds = {
            name: at_every_size(results, main) if swept else _behind(main)
            for name, main in mains.items()
        }
        said = [f"{name}: {one}" if name else one for name, one in behinds.items() if one]
        sentence = ". ".join([*swept, *([between.sentence] if between else []), *said])
    elif not first_warming(results.climbs):
        knees = (found for climb in results.climbs if (found := knee(climb)))
        measured = (f"NOPM: {_counts(one.nopm)}" for one in knees)
        sentence = next(measured, "") or _so_far(results)
    cached = (
        "Data cached: this tests the log and write-back, not reads"
        if _quoted(results) and data_cached(results.climbs)
        else ""
    )
    rounds = rounds_of(results)
    ended = capital(rounds.sentence) if rounds else ""
    return ". ".join(filter(None, (sentence, _below_best(results), ended, cached)))


def _quoted(results: Results) -> bool:
    """Whether there are final runs of any climb."""
    return any(knee(climb) for climb in results.climbs)


def _so_far(results: Results) -> str:
    """The best search rung of each climb, where there are no final runs yet."""
    best = {one.configuration.name: rung for one in results.climbs if (rung := best_rung(one))}
    found = [
        f"{name} {significant(rung.tally.nopm)} NOPM at {number_of_users(rung.users)}"
        for name, rung in best.items()
    ]
    return f"Best search rung{'s' if found[1:] else ''} so far: {listed(found)}" if found else ""


def _below_best(results: Results) -> str:
    """The least share of the best rung that the final runs gave, where that is too little."""
    found = [one for climb in results.climbs if (one := below_best(climb))]
    if not found:
        return ""
    least = min(found)
    some = "as little as " if len(found) > 1 else ""
    return f"Final runs gave {some}{percent(least.share)} of the best {least.of}"


def data_cached(climbs: Sequence[Climb]) -> bool:
    """True if device reads at the knee were measured and were nowhere above 0.1 per transaction."""
    seen = [
        r.quantity("device.reads_per_transaction") for climb in climbs for r in final_rungs(climb)
    ]
    measured = [reads for reads in seen if reads is not None]
    return bool(measured) and max(measured) < HARDLY_ANY_READS


def foremost(compared: Sequence[Comparison]) -> Comparison | None:
    """The main comparison of NOPM: among those that differ, the one farthest from 1; None without
    comparisons.
    """
    return max(
        (c for c in compared if c.quantity == "nopm"),
        key=lambda c: (c.differs, abs(log(c.ratio.value))),
        default=None,
    )


def least_per_nopm(
    compared: Sequence[Comparison], best: Comparison, quantity: str
) -> Comparison | None:
    """Of a quantity per NOPM, the comparison with the foremost one's baseline whose storage takes
    the least.
    """
    some = (one for one in compared if one.quantity == quantity and one.baseline == best.baseline)
    return min(some, key=lambda one: one.ratio.value, default=None)


class _Main(NamedTuple):
    """The foremost comparison with its latency at the fixed rate, its two climbs, and the least
    power and price per NOPM, power where its meter is not doubted; `without_wait`: what the ratio
    of latencies is without the wait for a user, where that matters. `step`: that of the same
    storage over the next best one, which is called `over`; `others`: what the storages of power and
    price are called that are not the foremost.
    """

    best: Comparison
    latency: Comparison | None
    configuration: Climb
    base: Climb
    without_wait: str
    power: Comparison | None
    price: Comparison | None
    step: Comparison | None
    over: str
    others: dict[str, str]


def _main(results: Results) -> _Main | None:
    compared = compare(results)
    best = foremost(compared)
    if best is None:
        return None
    climbs = {climb.id: climb for climb in results.climbs}
    own = {c.quantity: c for c in compared if c.configuration == best.configuration}
    pair = climbs[best.configuration], climbs[best.baseline]
    without = without_wait(*pair, results.campaign.resolved.connections)
    doubted = doubts(results.climbs, results.campaign.power)
    power = None if doubted else least_per_nopm(compared, best, PER_NOPM.name)
    price = least_per_nopm(compared, best, PER_WORK.name)
    step = step_up(results, best, compared)
    if step and (step.configuration != best.configuration or step.baseline == best.baseline):
        step = None
    over = called(climbs[step.baseline]) if step else ""
    others = {one.configuration: called(climbs[one.configuration]) for one in (power, price) if one}
    others.pop(best.configuration, None)
    return _Main(best, own.get("latency.mean"), *pair, without, power, price, step, over, others)


def _mains(results: Results) -> dict[str, _Main]:
    """That of each database, by name; of one database by ""."""
    parts = by_database(results)
    return {name: found for name, part in parts.items() if (found := _main(part))}


def _several(results: Results, mains: Mapping[str, _Main]) -> Iterator[str]:
    """What the databases' difference is on the baseline, and the storages' on each database."""
    each = {name: _ratio(main) for name, main in mains.items()}
    pairs = {
        (_without_database(main.configuration), _without_database(main.base))
        for main in mains.values()
    }
    on = listed([f"{ratio} on {name}" for name, ratio in each.items()])
    if len(pairs) == 1:
        [(name, base)] = pairs
        if between := between_databases(results):
            databases = _databases_on(results, between)
            yield f"{databases}; {name} vs. {base} {on}"
            yield f"{databases}; {name} vs. {base} {listed([*each.values()])}"
        yield f"{capital(name)} vs. {base}, NOPM: {on}"
    first = next(iter(mains))
    name = _without_database(mains[first].configuration)
    yield f"{capital(name)}: {each[first]} on {first}, others below"


def _ratio(main: _Main) -> str:
    ratio = main.best.ratio
    return times_or_range(ratio) if main.best.differs else not_shown(ratio).lower()


def _without_database(climb: Climb) -> str:
    return configuration_name(climb.configuration.storage, climb.configuration.constraint)


def between_databases(results: Results) -> Comparison | None:
    """The foremost comparison of databases by NOPM, on the baseline; None for one database, or for
    a sweep.
    """
    rows = () if sweeps(results) else database_rows(results)
    on = [row for row in rows if row.storage == baseline(results)]
    return foremost([one for row in on for one in row.against.values()])


def _fitting(results: Results, longest: int) -> str:
    """The first wording that is short enough, else the shortest: each contains less than the one
    before.
    """
    cached = f" ({CACHED})" if _quoted(results) and data_cached(results.climbs) else ""
    wordings = [f"{title}{cached}" for title in _titles(results)]
    return next((one for one in wordings if len(one) <= longest), min(wordings, key=len))


def _titles(results: Results) -> Iterator[str]:
    mains, swept = _mains(results), best_sweep(results)
    if swept and (said := [*titles(swept)]):
        yield from said
    elif len(mains) > 1:
        yield from _several(results, mains)
    elif mains:
        [main] = mains.values()
        yield from _of_storages(main, *_said(main.best, results))
    elif between := between_databases(results):
        yield _databases_on(results, between)
    elif swept:
        yield finding(swept)
    elif warming := first_warming(results.climbs):
        yield f"Nothing is compared: {called(warming)} never became steady"
    else:
        knees = [(climb, found) for climb in results.climbs if (found := knee(climb))]
        yield _alone(*knees[0]) if knees else "No final runs yet"


def best_sweep(results: Results) -> Levelling | None:
    """Where the sweep with the most NOPM levels off, of those over the first resource; None without
    a sweep, or before its first final run.
    """
    every = sweeps(results) if _quoted(results) else ()

    def most(sweep: Sweep) -> float:
        return max((one.nopm.value for one in sweep.configurations if one.nopm), default=0.0)

    alike = [one for one in every if one.resource == every[0].resource]
    return levelling(max(alike, key=most)) if alike else None


def _databases_on(results: Results, best: Comparison) -> str:
    """What one database with its settings did in comparison with another on the same storage."""
    climbs = {climb.id: climb for climb in results.climbs}
    climb, base = climbs[best.configuration], climbs[best.baseline].configuration.database
    name, where = climb.configuration.database, _without_database(climb)
    if not best.differs:
        return f"{undecided_between(best.ratio, name, base)} on {where}"
    ratio, vague = _said(best, results)
    return f"{capital(name)}: {times_another(ratio, base, 'NOPM')} on {where}{vague}"


def _said(best: Comparison, results: Results) -> tuple[str, str]:
    """A ratio as a title has it: "about" where rounds ended before it was as precise as the plan
    wants; its interval where that is wide, with the words for the end of the title.
    """
    rounds = rounds_of(results)
    missed = bool(rounds and rounds.missed and half_width(best.ratio) > rounds.wanted.half_width)
    vague = ", not precise enough" if is_wide(best.ratio) else ""
    return times_or_range(best.ratio, about=missed), vague


def _of_storages(main: _Main, ratio: str, vague: str) -> Iterator[str]:
    configuration, base = capital(called(main.configuration)), called(main.base)
    latency = main.latency if main.latency and main.latency.differs else None
    if main.without_wait and main.best.differs:  # a large part is the users': the subtitle says it
        latency = None
    if main.best.differs:
        at_knee = NOPM.called.format(place(main.configuration))
        nopm, short = (times_another(ratio, base, what) for what in (at_knee, "NOPM"))
        if main.step and not vague:
            yield f"{configuration}: {short}, {_over(main.step, main.over)}"
        elif latency and not vague:
            beside = f"{times(latency.ratio.value)} its mean latency at a fixed rate"
            yield f"{configuration}: {nopm}, {beside}"
            yield f"{configuration}: {short}, {beside}"
        yield f"{configuration}: {short if vague else nopm}{vague}"
    elif latency:
        does = "cuts" if latency.ratio.value < 1 else "raises"
        changed = f"{configuration} {does} mean latency to {times(latency.ratio.value)}"
        yield f"{changed} {_of(base)}"
        yield changed
    else:
        yield undecided_between(main.best.ratio, called(main.configuration), base)


def _over(step: Comparison, over: str) -> str:
    """What the best storage has of the next best one's NOPM."""
    if step.differs:
        return f"{times_or_range(step.ratio)} that of {over}"
    return f"{not_shown(step.ratio).lower()} to {over}"


def _of(base: str) -> str:
    return f"that of {base}" if base[:1].isdigit() else f"of {possessive(base)}"


def _behind(main: _Main) -> str:
    """Intervals of the subtitle; quantities that differ come first."""
    at = f" at {count(rate)} transactions/s" if (rate := _rate_per_s(main.configuration)) else ""
    what = NOPM.called.format(place(main.configuration))
    found = [(main.best.differs, _part(main.best, what, ""))]
    if main.latency:
        without = f", {main.without_wait}" if main.without_wait else ""
        latency = _part(main.latency, "mean latency", at) + without
        found.append((main.latency.differs, latency))
    if main.step:
        found.append((main.step.differs, _part(main.step, f"NOPM vs. {main.over}", "")))
    for one, name in ((main.power, "power per NOPM"), (main.price, "price of work")):
        if one:
            other = main.others.get(one.configuration)
            found.append((one.differs, _part(one, f"{name} on {other}" if other else name, "")))
    found.sort(key=lambda one: not one[0])
    return capital("; ".join(part for _, part in found))


def _part(one: Comparison, what: str, at: str) -> str:
    value, sure = times_and_interval(one.ratio)
    interval = sure if not known(one.ratio) else f"{CI} {sure}"
    return (
        f"{what} {value}{at}, {more_or_less(one.ratio.value)} ({interval})"
        if one.differs
        else f"{lower(undecided(one.ratio, f'{what}{at}'))} ({value}, {interval})"
    )


def _rate_per_s(climb: Climb) -> float | None:
    return next((r.order.rate_per_s for r in climb.of("fixed_rate") if r.order.rate_per_s), None)


def _alone(climb: Climb, found: Knee) -> str:
    name, users = capital(called(climb)), number_of_users(found.users.value)
    if has_interval(found.nopm) and is_wide(found.nopm):
        low, high = significant(found.nopm.low), significant(found.nopm.high)
        return f"{name}: {low} to {high} NOPM at {users}, not precise enough"
    return f"{name}: {significant(found.nopm.value)} NOPM at {users}"


def _counts(nopm: Estimate) -> str:
    said = value_and_ends(nopm)[1]
    return f"{CI} {said}, n={nopm.n}" if has_interval(nopm) else said


# The finding of a campaign in a line, with its interval: what a list of campaigns shows.


def finding_line(results: Results) -> str:
    """The comparison of the title with its interval, of each database; of a sweep, and of a
    campaign without comparisons, its title, with the interval of the only knee.
    """
    if results.campaign.resolved.workload == "tproc-h":
        return behind_label(results.campaign.label, query_line(results))
    compared = [
        f"{f'{name}: ' if name else ''}{_compared(best, part)}"
        for name, part in by_database(results).items()
        if not sweeps(results) and (best := foremost(compare(part)))
    ]
    if compared:
        return behind_label(results.campaign.label, "; ".join(compared))
    return headline(results) + "".join(_interval(results))


def _compared(best: Comparison, results: Results) -> str:
    """The foremost of NOPM; where it does not differ, a mean latency that does."""
    if not best.differs:
        latencies = (one for one in compare(results) if one.quantity == "latency.mean")
        best = next((one for one in latencies if one.differs), best)
    names = {climb.id: climb.configuration.name for climb in results.climbs}
    pair = f"{names[best.configuration]} vs. {names[best.baseline]}"
    unshown = "" if best.differs else f"{not_shown(best.ratio).lower()}, "
    what = "NOPM" if best.quantity == "nopm" else "mean latency"
    return f"{pair}: {unshown}{what} {times_with_interval(best.ratio)}"


def _interval(results: Results) -> Iterator[str]:
    knees = [found for climb in results.climbs if (found := knee(climb))]
    if len(knees) == 1 and knees[0].nopm.n > 1:
        nopm = knees[0].nopm
        yield f" ({nopm.low:,.0f} to {nopm.high:,.0f}, n={nopm.n})"


# What the storages of a sweep are to each other.


def at_every_size(results: Results, main: _Main) -> str:
    """What the storage has of the other's NOPM over all sizes of a sweep, with how far the
    intervals reach: one size alone would be the one that noise made the largest.
    """
    of, to = (one.configuration.storage for one in (main.configuration, main.base))
    swept = [one for one in sweeps(results) if one.storage == of]
    sizes = {one.configuration.id for one in swept[0].configurations} if len(swept) == 1 else set()
    found = [c for c in compare(results) if c.quantity == NOPM.name and c.configuration in sizes]
    if not found:
        return ""
    every = [one.ratio for one in found]
    values, lows, highs = ([getattr(r, end) for r in every] for end in ("value", "low", "high"))
    least, most, low, high = (
        times(end, 2) for end in (min(values), max(values), min(lows), max(highs))
    )
    shown = sum(one.differs for one in found)
    doubt = "" if shown == len(found) else f"; a difference shown at {shown} of them"
    counted = COUNTED.get(swept[0].resource)
    steps = f"numbers of {counted}s" if counted else "sizes"
    return (
        f"{capital(of)}: {times_another(f'{least} to {most}', to, 'NOPM')} at each of {len(found)}"
        f" {steps} (95% CIs within {low} to {high}, n={min(one.n for one in every)}{doubt})"
    )
