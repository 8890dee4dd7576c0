"""Acceptance: the figures of a campaign, each judged against the same figure of a baseline.

The figures are NOPM at the knee (or fixed load), mean and P99.9 latency at a fixed rate that both
had, and the mean log write latency at that rate, else at the knee; of TPROC-H queries per hour in a
pass, and of all streams at their knee. A figure that one of them lacks is not judged, and its
sentence gives the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from kneebench.analysis.accepted_limits import (
    log_at_knee,
    log_at_rate,
    mean_latency,
    nopm,
    p999_latency,
)
from kneebench.analysis.comparison import (
    called,
    carried_nopm,
    compared_users,
    is_beyond,
    machine_floor,
    measured_ratio,
)
from kneebench.analysis.equivalence import (
    MOST_ROUNDS,
    Judgement,
    MoreRounds,
    at_the_edge,
    judgement,
    more_rounds,
    narrowed,
    ratio_to_baseline,
)
from kneebench.analysis.fixed_rate import fixed_rate_latency, same_rate
from kneebench.analysis.judged import AT_KNEE, AT_RATE, PER_NOPM, USERS, Judged, shown
from kneebench.analysis.knee import place, quoted_rungs
from kneebench.analysis.knee_fit import users_interval
from kneebench.analysis.power import power_per_nopm
from kneebench.analysis.query_rates import OF_QUERIES, QUERIES, timed
from kneebench.analysis.query_times import of_queries
from kneebench.analysis.wording import (
    WIDEST,
    capital,
    known,
    number_of_users,
    percent,
    plural,
    times,
    times_and_interval,
)
from kneebench.records import Climb, Estimate, Phase
from kneebench.units import count

SURE: tuple[Judgement, ...] = ("same", "same or better")
"""Answers of one-sided tests at 5%: their sentences quote the 90% interval."""


class Margins(NamedTuple):
    """Differences that do not matter, as fractions of the baseline's figure."""

    throughput: float
    latency: float
    p999: float
    power: float = 0.05


class _Figure(NamedTuple):
    """A figure to judge; `of` gives its estimate, None where a campaign did not measure it.

    `doubt` is why it is not judged although both measured it; `over`: its ratio, if that is not
    the one of the two estimates.
    """

    quantity: str
    called: str
    margin: float
    more_is_better: bool
    of: Callable[[Climb], Estimate | None]
    doubt: str = ""
    phase: Phase = AT_KNEE
    over: Callable[[Climb, Climb], Estimate | None] | None = None


def judged(
    climb: Climb, against: Climb, margins: Margins, meters: str = "", unsure: str = ""
) -> Iterator[Judged]:
    """The figures of one storage against those of its baseline, in the order of a brief; `meters`:
    why their power is not compared; `unsure`: why nothing can be said of it.
    """
    if queries := [*_of_queries(climb, against, margins)]:
        yield from (_judged(climb, against, figure) for figure in queries)
        return
    nopm_figure, *figures = _figures(climb, against, margins)
    at_knee = _judged(climb, against, nopm_figure)
    yield at_knee
    if not climb.of("fixed_load"):
        yield _users(climb, against, at_knee)
    for figure in figures:
        yield _judged(climb, against, figure)
    if power_per_nopm(climb) or power_per_nopm(against):
        called_ = f"power per NOPM at {place(climb)}"
        power = _Figure(PER_NOPM, called_, margins.power, False, power_per_nopm, meters)
        found = _judged(climb, against, power)
        yield _unsure(found, unsure) if unsure and found.judgement != "not judged" else found


def _unsure(found: Judged, why: str) -> Judged:
    sentence = f"{capital(found.storage)}: cannot say for {found.called}; {why}"
    changed = {"judgement": "cannot say", "sentence": sentence, "more_rounds": None}
    return found.model_copy(update=changed)


def nothing_judged(found: Sequence[Judged]) -> bool:
    """Whether no figure was judged, so that nothing was shown."""
    return all(one.judgement == "not judged" for one in found)


def overall(found: Sequence[Judged]) -> Judgement:
    """The answer for several figures: the worst one.

    "worse" is worse than "cannot say", which is also the answer where no figure was judged; without
    either all are at least the same.
    """
    if nothing_judged(found):
        return "cannot say"
    answers = {one.judgement for one in found} - {"not judged"}
    for worst in ("worse", "cannot say"):
        if worst in answers:
            return worst
    return "same" if answers == {"same"} else "better" if answers == {"better"} else SURE[1]


def fixed_rates(climb: Climb, against: Climb) -> tuple[float, float]:
    """The fixed rate of each; 0 where it was not measured."""
    of, to = (
        found.rate_per_s if (found := fixed_rate_latency(one)) else 0.0 for one in (climb, against)
    )
    return of, to


def ratio_texts(ratio: Estimate) -> tuple[str, str]:
    """A ratio and its interval; one that is too wide to mean anything is not printed in digits.

    >>> ratio_texts(Estimate(value=0.5, low=0.0004, high=1200.0, n=6))
    ('0.50x', 'wider than 10x either way, n=6')
    """
    if ratio.n > 1 and ratio.high > WIDEST * ratio.value:
        return times(ratio.value), f"wider than {WIDEST}x either way, n={ratio.n}"
    return times_and_interval(ratio)


def ratio_text(ratio: Estimate) -> str:
    """Both in one text."""
    return "{} ({})".format(*ratio_texts(ratio))


def _figures(climb: Climb, against: Climb, margins: Margins) -> Iterator[_Figure]:
    of, to = fixed_rates(climb, against)
    same = of > 0 and same_rate((of, to))
    at, doubt = f"{count(to or of)}/s", ""
    if not same and bool(of) == bool(to):
        at = "the fixed rate"
    if of and to and not same:
        doubt = f"the rates differ ({count(to)}/s in the baseline, {count(of)}/s now)"
    yield _Figure("nopm", f"NOPM at {place(climb)}", margins.throughput, True, nopm)
    mean, p999 = f"mean latency at {at}", f"P99.9 latency at {at}"
    few = doubt or _few(climb, against)
    yield _Figure("latency.mean", mean, margins.latency, False, mean_latency, doubt, AT_RATE)
    yield _Figure("latency.p999", p999, margins.p999, False, p999_latency, few, AT_RATE)
    where, of_, phase = (at, log_at_rate, AT_RATE) if same else (place(climb), log_at_knee, AT_KNEE)
    log = f"mean log write at {where}"
    yield _Figure("log.write_latency", log, margins.latency, False, of_, phase=phase)


def _of_queries(climb: Climb, against: Climb, margins: Margins) -> Iterator[_Figure]:
    """Those of TPROC-H that either has; none of TPROC-C."""
    sides = timed(climb), timed(against)
    lacking, every = sides[0] ^ sides[1], sides[0] | sides[1]
    doubt = f"only one of them has a time for {of_queries(sorted(lacking))}" if lacking else ""
    for quantity, rate_of in OF_QUERIES if every else ():
        rate = partial(rate_of, sides[0] & sides[1])
        if quantity is QUERIES or rate(climb) or rate(against):
            what = quantity.called.format(place(climb))
            yield _Figure(
                quantity.name,
                what,
                margins.throughput,
                True,
                rate,
                doubt,
                quantity.phase,
                partial(measured_ratio, quantity=quantity, interleaved=False),
            )


def _few(*climbs: Climb) -> str:
    found = [latency for climb in climbs if (latency := fixed_rate_latency(climb))]
    if all(one.p999_certain for one in found):
        return ""
    return f"of {min(one.n for one in found):,} transactions fewer than 100 exceed it"


def _judged(climb: Climb, against: Climb, figure: _Figure) -> Judged:
    of, to = figure.of(climb), figure.of(against)
    head = Judged(
        storage=called(climb),
        quantity=figure.quantity,
        called=figure.called,
        judgement="not judged",
        margin=figure.margin,
        phase=figure.phase,
        baseline=to,
        campaign=of,
        sentence=f"{capital(called(climb))}: {figure.called} is not judged",
    )
    if of is None or to is None or figure.doubt or min(of.value, to.value) <= 0:
        lacking = " and ".join(
            name for name, one in (("the baseline", to), ("the campaign", of)) if one is None
        )
        why = f"{lacking} did not measure it" if lacking else figure.doubt or "a figure is 0"
        return head.model_copy(update={"sentence": f"{head.sentence}; {why}"})
    ratio = figure.over(climb, against) if figure.over else None
    return _answered((climb, against), head, of, to, ratio, more_is_better=figure.more_is_better)


def _users(climb: Climb, against: Climb, at_knee: Judged) -> Judged:
    """The users at both knees, with a sentence where they differ."""
    found = Judged(
        storage=called(climb),
        quantity=USERS,
        called="users at the knee",
        judgement="not judged",
        margin=0.0,
        baseline=users_interval(against),
        campaign=users_interval(climb),
        sentence="",
    )
    if not found.baseline or not found.campaign or found.baseline.value == found.campaign.value:
        return found
    now, base = (shown(found, one) for one in (found.campaign, found.baseline))
    if at_knee.at_users:
        at = f"these do not contradict each other, so NOPM is compared at {at_knee.at_users}"
    else:
        at = "so NOPM is compared at different numbers of users"
    sentence = (
        f"{capital(found.storage)}: the knee is at {now} users, the baseline's at {base}; {at}"
    )
    return found.model_copy(update={"sentence": sentence})


def _answered(
    climbs: tuple[Climb, Climb],
    head: Judged,
    of: Estimate,
    to: Estimate,
    own_ratio: Estimate | None,
    *,
    more_is_better: bool,
) -> Judged:
    users = compared_users(*climbs) if head.quantity == "nopm" else None
    if carried := users and carried_nopm(climbs[0], of, users):
        of, head = carried, head.model_copy(update={"at_users": users})
    ratio = own_ratio or ratio_to_baseline(of, to)
    answer = judgement(ratio, head.margin, more_is_better=more_is_better)
    floor = machine_floor(climbs, head.quantity)
    hidden = answer in ("worse", "better") and not is_beyond(ratio, floor)
    answer = "cannot say" if hidden else answer
    inner = narrowed(ratio)
    value, interval = ratio_texts(inner if answer in SURE else ratio)
    level = "" if not known(ratio) else "90% CI " if answer in SURE else "95% CI "
    at = f" at its {number_of_users(users)}" if users and head.at_users else ""
    figures = f"{value} the baseline's{at} ({level}{interval}; margin {percent(head.margin)})"
    name = f"{capital(head.storage)}: "
    found = head.model_copy(
        update={
            "judgement": answer,
            "ratio": ratio,
            "low_90": inner.low,
            "high_90": inner.high,
            "sentence": f"{name}{head.called} is {_is(answer)}, {figures}",
        }
    )
    if answer != "cannot say":
        return found
    doubt = f"{name}cannot say for {head.called}, {figures}"
    if hidden or own_ratio:
        beyond = f"it is within the machine's noise floor of {percent(floor)}"
        why = beyond if hidden else "more passes of both narrow it"
        return found.model_copy(update={"sentence": f"{doubt}; {why}"})
    return _with_rounds_needed(found, of, len(quoted_rungs(climbs[0])), doubt, more_is_better)


def _with_rounds_needed(
    found: Judged, of: Estimate, rungs: int, doubt: str, more_is_better: bool
) -> Judged:
    """A figure of which nothing can be said, with what would decide it."""
    ratio, to = found.ratio, found.baseline
    assert ratio and to
    more = more_rounds(of, to, found.margin, rungs, more_is_better=more_is_better)
    edge = at_the_edge(ratio, found.margin, more_is_better=more_is_better)
    decide = _would_decide(more, alone=max(of.n, to.n) < 2, at_edge=edge)
    return found.model_copy(
        update={
            "more_rounds": more.rounds if more else None,
            "of_both": bool(more and more.of_both),
            "sentence": f"{doubt}; {decide}",
        }
    )


def _is(answer: Judgement) -> str:
    return f"the {answer}" if answer in SURE else answer


def _would_decide(more: MoreRounds | None, *, alone: bool, at_edge: bool) -> str:
    """What a figure of which nothing can be said needs."""
    if more:
        where = " of each campaign, the baseline too" if more.of_both else ""
        return f"it needs about {plural(more.rounds, 'more round')}{where}"
    if alone:
        return "one run has no interval: measure at least 3 in each campaign"
    if at_edge:
        return "it is at the edge of the margin, where more rounds hardly help"
    return f"{MOST_ROUNDS} rounds of each campaign would not be enough"
