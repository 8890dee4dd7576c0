"""Headline of a campaign: the title of its brief, and the subtitle with its intervals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import log
from typing import NamedTuple

from kneebench.analysis.comparison import called, compare
from kneebench.analysis.databases import by_database, database_rows
from kneebench.analysis.final_estimates import rounds_of
from kneebench.analysis.fixed_rate import without_wait
from kneebench.analysis.knee import below_best, best_rung, final_rungs, knee, place
from kneebench.analysis.levelling import Levelling, levelling
from kneebench.analysis.levelling_words import answer, finding
from kneebench.analysis.levelling_words import sentence as behind
from kneebench.analysis.power import PER_NOPM, doubts
from kneebench.analysis.quantity_ratio import NOPM
from kneebench.analysis.rounds import half_width
from kneebench.analysis.still_warming import first_warming
from kneebench.analysis.sweep import sweeps
from kneebench.analysis.undecided import VAGUE, not_shown, undecided, undecided_between
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

    Of compared configurations it is the ratio of NOPM at the knee that is farthest from 1 (a third
    as much is farther than twice as much); where no NOPM differs, a mean latency at the fixed rate
    that does. Of several databases it gives each one's ratio, or where there is only one storage
    that of the databases themselves. One storage alone gives where its sweep levels off, or its
    knee; a campaign without final runs says so. What limits the finding is in the title too
    ("simulated", "data cached").
    """
    label = results.campaign.label
    return behind_label(label, _fitting(results, LONGEST - len(behind_label(label, ""))))


def subtitle(results: Results) -> str:
    """Intervals of the title's figures, and the other comparisons; empty without a measurement."""
    sentence = ""
    if mains := _mains(results):
        behinds = {
            name: intervals_at_every_size(results, main.configuration, main.base) or _behind(main)
            for name, main in mains.items()
        }
        said = [f"{name}: {one}" if name else one for name, one in behinds.items()]
        sentence = ". ".join([*said, *where_sweeps_level_off(results)])
    elif between := _between_databases(results):
        sentence = between.sentence
    elif swept := first_sweep(results):
        sentence = behind(swept).rstrip(".")
    elif not first_warming(results.climbs):
        knees = (found for climb in results.climbs if (found := knee(climb)))
        measured = (f"NOPM: {_counts(one.nopm)}" for one in knees)
        sentence = next(measured, "") or _so_far(results)
    cached = (
        "Data cached: this tests the log and write-back, not reads"
        if data_cached(results.climbs)
        else ""
    )
    rounds = rounds_of(results)
    ended = capital(rounds.sentence) if rounds else ""
    return ". ".join(filter(None, (sentence, _below_best(results), ended, cached)))


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
    shares = [found.share for climb in results.climbs if (found := below_best(climb))]
    if not shares:
        return ""
    least = percent(min(shares))
    alone = len(shares) == 1
    return (
        f"Final runs gave {'' if alone else 'as little as '}{least} of the best search rung"
        f"{'' if alone else 's'}"
    )


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


class _Main(NamedTuple):
    """The foremost comparison with its latency at the fixed rate, its two climbs, and its power per
    NOPM where its meter is not doubted; `without_wait`: what the ratio of latencies is without the
    wait for a user, where that matters.
    """

    best: Comparison
    latency: Comparison | None
    configuration: Climb
    base: Climb
    without_wait: str
    power: Comparison | None


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
    power = None if doubted else own.get(PER_NOPM.name)
    return _Main(best, own.get("latency.mean"), *pair, without, power)


def _mains(results: Results) -> dict[str, _Main]:
    """That of each database, by name; of one database by ""."""
    parts = by_database(results)
    return {name: found for name, part in parts.items() if (found := _main(part))}


def _several(mains: Mapping[str, _Main]) -> Iterator[str]:
    """What the storages' difference is on each database."""
    each = {name: _ratio(main) for name, main in mains.items()}
    pairs = {
        (_without_database(main.configuration), _without_database(main.base))
        for main in mains.values()
    }
    on = listed([f"{ratio} on {name}" for name, ratio in each.items()])
    if len(pairs) == 1:
        [(name, base)] = pairs
        what = NOPM.called.format(place(next(iter(mains.values())).configuration))
        yield f"{capital(name)} vs. {base}, {what}: {on}"
        yield f"{capital(name)} vs. {base}, NOPM: {on}"
    first = next(iter(mains))
    name = _without_database(mains[first].configuration)
    yield f"{capital(name)}: {each[first]} on {first}, others below"


def _ratio(main: _Main) -> str:
    return times(main.best.ratio.value) if main.best.differs else not_shown(main.best.ratio).lower()


def _without_database(climb: Climb) -> str:
    return configuration_name(climb.configuration.storage, climb.configuration.constraint)


def _between_databases(results: Results) -> Comparison | None:
    """The foremost comparison of databases by NOPM; None for one database, or for a sweep."""
    rows = () if sweeps(results) else database_rows(results)
    return foremost([one for row in rows for one in row.against.values()])


def _fitting(results: Results, longest: int) -> str:
    """The first wording that is short enough, else the shortest: each contains less than the one
    before.
    """
    cached = f" ({CACHED})" if data_cached(results.climbs) else ""
    wordings = [f"{title}{cached}" for title in _titles(results)]
    return next((one for one in wordings if len(one) <= longest), min(wordings, key=len))


def _titles(results: Results) -> Iterator[str]:
    mains = _mains(results)
    if len(mains) > 1:
        yield from _several(mains)
    elif mains:
        [main] = mains.values()
        yield from at_every_size(results, main.configuration, main.base)
        yield from _of_storages(main, imprecise=_is_imprecise(main.best, results))
    elif between := _between_databases(results):
        yield from _of_databases(results, between)
    elif swept := first_sweep(results):
        yield finding(swept)
    elif warming := first_warming(results.climbs):
        yield f"Nothing is compared: {called(warming)} never became steady"
    else:
        knees = [(climb, found) for climb in results.climbs if (found := knee(climb))]
        yield _alone(*knees[0]) if knees else "No final runs yet"


def _of_databases(results: Results, best: Comparison) -> Iterator[str]:
    """What one database with its settings did in comparison with another on the same storage."""
    climbs = {climb.id: climb for climb in results.climbs}
    climb, base = climbs[best.configuration], climbs[best.baseline].configuration.database
    if best.differs:
        ratio, name = times(best.ratio.value), capital(called(climb))
        yield f"{name}: {times_another(ratio, base, NOPM.called.format(place(climb)))}"
        yield f"{name}: {times_another(ratio, base, 'NOPM')}"
    else:
        unshown = undecided_between(best.ratio, climb.configuration.database, base)
        yield f"{unshown} on {_without_database(climb)}"


def _is_imprecise(best: Comparison, results: Results) -> bool:
    """Whether rounds ended before this ratio was as precise as the plan wants."""
    rounds = rounds_of(results)
    if not rounds or not rounds.missed:
        return False
    return half_width(best.ratio) > rounds.wanted.half_width


def _of_storages(main: _Main, *, imprecise: bool) -> Iterator[str]:
    configuration, base = capital(called(main.configuration)), called(main.base)
    latency = main.latency if main.latency and main.latency.differs else None
    if main.without_wait and main.best.differs:  # a large part is the users': the subtitle says it
        latency = None
    if main.best.differs and imprecise:
        low, high = times(main.best.ratio.low), times(main.best.ratio.high)
        ratio = times_another(f"{low} to {high}", base, "NOPM")
        yield f"{configuration}: {ratio}, not precise enough"
    elif main.best.differs:
        ratio, at_knee = times(main.best.ratio.value), NOPM.called.format(place(main.configuration))
        nopm, short = (times_another(ratio, base, what) for what in (at_knee, "NOPM"))
        if latency:
            beside = f"{times(latency.ratio.value)} its mean latency at a fixed rate"
            yield f"{configuration}: {nopm}, {beside}"
            yield f"{configuration}: {short}, {beside}"
        yield f"{configuration}: {nopm}"
    elif latency:
        does = "cuts" if latency.ratio.value < 1 else "raises"
        changed = f"{configuration} {does} mean latency to {times(latency.ratio.value)}"
        yield f"{changed} {_of(base)}"
        yield changed
    else:
        yield undecided_between(main.best.ratio, called(main.configuration), base)


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
    if main.power:
        found.append((main.power.differs, _part(main.power, "power per NOPM", "")))
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
    if has_interval(found.nopm) and found.nopm.high > VAGUE * found.nopm.low:
        low, high = significant(found.nopm.low), significant(found.nopm.high)
        return f"{name}: {low} to {high} NOPM at {users}, not precise enough"
    return f"{name}: {significant(found.nopm.value)} NOPM at {users}"


def _counts(nopm: Estimate) -> str:
    said = value_and_ends(nopm)[1]
    return f"{CI} {said}, n={nopm.n}" if has_interval(nopm) else said


# The finding of a campaign in a line, with its interval: what a list of campaigns shows.


def finding_line(results: Results) -> str:
    """The comparison of the title with its interval, of each database; of a campaign without
    comparisons its title, with the interval of the only knee.
    """
    compared = [
        f"{f'{name}: ' if name else ''}{_compared(best, part)}"
        for name, part in by_database(results).items()
        if (best := foremost(compare(part)))
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


# What a title says of sweeps: where more stops paying, and what one storage has of another's
# throughput at every size.


def first_sweep(results: Results) -> Levelling | None:
    """Where the first sweep levels off; None without a sweep, or before its first final run."""
    if not any(knee(climb) for climb in results.climbs):
        return None
    return next((levelling(sweep) for sweep in sweeps(results)), None)


def where_sweeps_level_off(results: Results) -> list[str]:
    """The answer of each sweep of several storages, with its confidence."""
    return [answer(levelling(sweep)) for sweep in sweeps(results)]


def at_every_size(results: Results, climb: Climb, base: Climb) -> Iterator[str]:
    """What the climb's storage has of the base's NOPM at each size of a sweep, where all differ:
    one size alone would be the one that noise has made the largest.
    """
    if every := _at_every_size(results, climb):
        of, to = climb.configuration.storage, base.configuration.storage
        low, high = (times(end(one.value for one in every), 2) for end in (min, max))
        ratio = times_another(f"{low} to {high}", to, "NOPM")
        yield f"{capital(of)}: {ratio} at each of {len(every)} {_steps(results)}"


def intervals_at_every_size(results: Results, climb: Climb, base: Climb) -> str:
    """How far the intervals of these ratios reach; empty where the title is none of them."""
    if not (every := _at_every_size(results, climb)):
        return ""
    low, high = (times(end, 2) for end in (min(e.low for e in every), max(e.high for e in every)))
    of, to = climb.configuration.storage, base.configuration.storage
    return f"NOPM of {of} over {to}: 95% CIs within {low} to {high}, n={min(e.n for e in every)}"


def _at_every_size(results: Results, climb: Climb) -> list[Estimate]:
    swept = [one for one in sweeps(results) if one.storage == climb.configuration.storage]
    if len(swept) != 1:
        return []
    sizes = {one.configuration.id for one in swept[0].configurations}
    ratios = [
        one.ratio
        for one in compare(results)
        if one.quantity == NOPM.name and one.differs and one.configuration in sizes
    ]
    return ratios if len(ratios) == len(sizes) > 1 else []


def _steps(results: Results) -> str:
    """What the configurations of a sweep differ in."""
    cores = sweeps(results)[0].resource == "cores"
    return "numbers of cores" if cores else "sizes"
