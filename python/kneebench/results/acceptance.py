"""Acceptance of a campaign by a baseline: which storages are judged, and the answer for all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pydantic import ValidationError

from kneebench.analysis.acceptance import Margins, judged, nothing_judged, overall, ratio_text
from kneebench.analysis.accepted_limits import AcceptedLimits, against_limits
from kneebench.analysis.comparison import called
from kneebench.analysis.equivalence import Judgement
from kneebench.analysis.fixed_rate import fixed_rate_latency, same_rate
from kneebench.analysis.judged import LIMITS, Judged, shown, shown_margin, without_judgement
from kneebench.analysis.knee import knee
from kneebench.analysis.outcome import failed_checks
from kneebench.analysis.power import doubts, meters_differ
from kneebench.analysis.query_rates import timed
from kneebench.analysis.wording import capital, listed, percent, plural
from kneebench.errors import (
    CANNOT_SAY,
    WORSE,
    CheckFailed,
    InvalidMeasurement,
    KneebenchError,
    PlanError,
    require_kind,
)
from kneebench.plan.acceptance import Accept
from kneebench.plan.ladder import Ladder
from kneebench.plan.study import Study
from kneebench.records import Climb, Record, Results, label_of
from kneebench.results.campaign_differences import comparable, differences
from kneebench.results.compare_plans import comparable_plans
from kneebench.results.cross_campaign import DRIFT
from kneebench.results.head import study_of
from kneebench.results.logo import logo_file
from kneebench.units import NOTHING, count


class Acceptance(Record):
    """The answer for a campaign, and the figures that it comes from.

    `label`: "Simulated" or "Emulated drives", which a reader must know first.
    `itself`: whether the campaign is the baseline, and only limits were judged.
    `matching`: sentences on storages that the other campaign lacks, or has by another name.
    `differences`: sentences on kneebench, machine and settings. `drift`: what no interval contains.
    """

    baseline: str
    campaign: str
    simulated: bool
    label: str = ""
    judgement: Judgement
    sentence: str
    itself: bool = False
    figures: tuple[Judged, ...]
    matching: tuple[str, ...]
    differences: tuple[str, ...]
    drift: str = DRIFT

    @property
    def exit_code(self) -> int:
        """0, WORSE or CANNOT_SAY."""
        return {"worse": WORSE, "cannot say": CANNOT_SAY}.get(self.judgement, 0)


def worst(found: Sequence[Acceptance]) -> Acceptance:
    """The worst of several answers; "worse" is worse than "cannot say"."""
    return min(found, key=severity)


def severity(one: Acceptance) -> int:
    """The place of an answer among several, the worst first."""
    return {WORSE: 0, CANNOT_SAY: 1}.get(one.exit_code, 2)


class _Matched(NamedTuple):
    """Pairs of (name in the campaign, name in the baseline), and sentences on the others."""

    pairs: tuple[tuple[str, str], ...]
    sentences: tuple[str, ...]


def accept(*, baseline: Results, campaign: Results, margins: Margins | None = None) -> Acceptance:
    """Judge a campaign against a baseline, within the margins of its plan if none are given.

    By keyword only, so that neither is taken for the other. Of a campaign that is the baseline
    itself, only the limits are judged: its runs are no second measurement.

    Raises PlanError where they cannot be compared, either is unfinished, or no storage is in both;
    InvalidMeasurement without figures to judge; CheckFailed if a self-check of either failed;
    TypeError for what is no campaign.
    """
    for one in (baseline, campaign):
        require_kind(one, Results, "kneebench.load(folder) reads a campaign")
        usable(one)
    comparable(baseline, campaign)
    ours, theirs = ({called(one): one for one in side.climbs} for side in (campaign, baseline))
    names = _matched(tuple(ours), tuple(theirs), campaign.campaign.id, baseline.campaign.id)
    allowed = margins or planned_margins(campaign)
    itself = is_itself(campaign, baseline)
    figures = tuple(
        figure
        for own, base in names.pairs
        for figure in _figures(campaign, baseline, ours[own], theirs[base], allowed)
    )
    if not itself and nothing_judged(figures):
        what = f"cannot use {campaign.campaign.id} for acceptance"
        raise InvalidMeasurement(what, seen=figures[0].sentence, do="measure it again")
    answer = overall(figures)
    return Acceptance(
        baseline=baseline.campaign.id,
        campaign=campaign.campaign.id,
        simulated=campaign.campaign.simulated or baseline.campaign.simulated,
        label=label_of([campaign.campaign, baseline.campaign]),
        judgement=answer,
        sentence=answer_sentence(answer, figures, itself=itself),
        itself=itself,
        figures=figures,
        matching=names.sentences,
        differences=tuple(differences(baseline, campaign)),
    )


def is_itself(campaign: Results, baseline: Results) -> bool:
    """Whether both are one campaign, wherever it was read from: a folder, or an archive of it. Two
    machines may begin a campaign of one id in the same second: then their figures differ.
    """
    one, other = (
        (
            side.kept_id or side.campaign.id,
            side.campaign.started_at,
            [rung.tally.throughput_per_s for climb in side.climbs for rung in climb.rungs],
        )
        for side in (campaign, baseline)
    )
    return one == other


def _figures(
    campaign: Results, baseline: Results, climb: Climb, against: Climb, margins: Margins
) -> Iterator[Judged]:
    """The figures of one storage against the baseline's, then those that have a limit."""
    meters = meters_differ(campaign.campaign.power, baseline.campaign.power)
    itself = is_itself(campaign, baseline)
    unsure = _power_doubt(campaign) or _power_doubt(baseline)
    for figure in judged(climb, against, margins, meters, unsure):
        yield without_judgement(figure, ITSELF) if itself else figure
    yield from against_limits(climb, _limits(campaign))


def planned_margins(campaign: Results) -> Margins:
    """The margins of a campaign's plan; the defaults if another version of kneebench wrote it."""
    table = _table(campaign)
    return Margins(table.margin, table.latency_margin, table.p999_margin, table.power_margin)


def _limits(campaign: Results) -> AcceptedLimits:
    table = _table(campaign)
    return AcceptedLimits(
        nopm=table.nopm_limit,
        latency_s=table.latency_limit,
        p999_s=table.p999_limit,
        log_write_s=table.log_write_limit,
        mw_per_nopm=table.power_limit,
        power_doubt=_power_doubt(campaign),
    )


def _power_doubt(campaign: Results) -> str:
    found = doubts(campaign.climbs, campaign.campaign.power)
    return f"of {campaign.campaign.id}, {found[0]}" if found else ""


def _table(campaign: Results) -> Accept:
    try:
        return Accept.model_validate(campaign.campaign.plan.get("accept") or {})
    except ValidationError:
        return Accept()


def usable(results: Results) -> None:
    """Raise the error of a campaign whose figures may not be judged: PlanError if it is unfinished,
    InvalidMeasurement without valid final runs, CheckFailed after a failed self-check.
    """
    what = f"cannot use {results.campaign.id} for acceptance"
    if not results.finished:
        do = "resume it with `kneebench run` and its plan"
        raise PlanError(what, seen="the campaign is unfinished", do=do)
    if not any(knee(climb) or timed(climb) for climb in results.climbs):
        do = "measure it again, with `repeats` of at least 3"
        raise InvalidMeasurement(what, seen="it has no valid final runs", do=do)
    if failed := next(failed_checks(results), ""):
        seen = f"a self-check failed ({failed.rstrip('.')})"
        raise CheckFailed(what, seen=seen, do=_next_time(results))


def _next_time(results: Results) -> str:
    """What to do about failed checks: a rate that no storage can do is as wrong the next time."""
    rungs = [rung for climb in results.climbs for rung in climb.rungs]
    checks = [check for rung in rungs for check in rung.checks if check.name == "unstarted"]
    beyond = sum(not check.passed for check in checks)
    knees = [found.tpm.value / 60 for climb in results.climbs if (found := knee(climb))]
    again = "measure it again"
    if beyond < len([*failed_checks(results)]) or not knees:
        return again
    share = Ladder.model_fields["fixed_rate_share"].default
    rate = f"{count(share * min(knees))}/s is {percent(share)} of it"
    return f"set ladder.latency_rate below the lowest knee ({rate}), then {again}"


def plan_of(baseline: Results) -> Study:
    """The baseline's own plan, to be measured again; raises PlanError if it cannot be."""
    name = baseline.campaign.id
    try:
        study = study_of(baseline.campaign)
    except KneebenchError:
        raise PlanError(
            f"cannot run the plan of {name}", seen="another version wrote it", do="name a plan file"
        ) from None
    words = study.brief.model_copy(update={"logo": logo_file(baseline.folder)})
    study = study.changed(brief=words)
    if study.kept_commands:
        key = ".".join(study.kept_commands[0])
        raise PlanError(
            f"cannot run the plan of {name}",
            seen=f"results do not keep the command in {key}",
            do="name a plan file that has it",
        )
    return study


def rate_warning(study: Study, baseline: Results) -> str:
    """A sentence if the plan's own rate is not the baseline's: no latency will be judged."""
    own, rate = study.ladder.latency_per_s, _rate_per_s(baseline)
    if not own or not rate or same_rate((own, rate)):
        return ""
    return (
        f"latencies will not be judged: ladder.latency_rate is {count(own)}/s, the baseline's rate"
        f" is {count(rate)}/s; without the key the plan gets the baseline's rate"
    )


def at_the_same_rate(study: Study, baseline: Results) -> Study:
    """The plan with the baseline's fixed rate, so that latencies can be compared.

    A plan with its own `latency_rate` keeps it; so does one for a baseline without a fixed rate.
    """
    rate_per_s = _rate_per_s(baseline)
    if study.ladder.latency_rate or not rate_per_s:
        return study
    rate = f"{rate_per_s:.3f}".rstrip("0").rstrip(".")
    share = type(study.ladder).model_fields["fixed_rate_share"].default
    changed = {"latency_rate": f"{rate}/s", "fixed_rate_share": share}
    return study.changed(ladder=study.ladder.model_copy(update=changed))


def _rate_per_s(baseline: Results) -> float:
    found = (fixed_rate_latency(climb) for climb in baseline.climbs)
    return next((one.rate_per_s for one in found if one), 0.0)


def judgeable(study: Study, baseline: Results) -> None:
    """Raise PlanError, before anything is measured, if a campaign of this plan could not be
    judged.
    """
    usable(baseline)
    what = f"cannot compare {baseline.campaign.id} with this plan"
    comparable_plans(baseline.campaign.plan, study.document, what)
    ours, theirs = (
        tuple(called(Climb(configuration=configuration, rungs=())) for configuration in side)
        for side in (study.configurations, [climb.configuration for climb in baseline.climbs])
    )
    _matched(ours, theirs, "this plan", baseline.campaign.id)


def _matched(ours: Sequence[str], theirs: Sequence[str], campaign: str, baseline: str) -> _Matched:
    """Storages by name; the only one of either matches whatever its name is."""
    if len(ours) == len(theirs) == 1:
        (own,), (base,) = ours, theirs
        named = f"{capital(own)} is judged against {base}: each campaign has only one storage"
        return _Matched(((own, base),), () if own == base else (named,))
    pairs = tuple((name, name) for name in ours if name in theirs)
    if not pairs:
        raise PlanError(
            f"cannot compare {baseline} with {campaign}",
            seen=f"no storage is in both ({', '.join(theirs)} vs. {', '.join(ours)})",
            do="give a storage the same name in both plans",
        )
    return _Matched(pairs, tuple(_alone(ours, theirs, campaign, baseline)))


def _alone(
    ours: Sequence[str], theirs: Sequence[str], campaign: str, baseline: str
) -> Iterator[str]:
    for side, other, where in ((ours, theirs, baseline), (theirs, ours, campaign)):
        yield from (
            f"{capital(name)} is not judged: {where} has no storage of this name"
            for name in side
            if name not in other
        )


# Acceptances of several campaigns by one baseline, side by side: a row for each figure.


class AcceptedRow(NamedTuple):
    """One figure of one storage: the baseline's, and what each campaign has, in their order. None
    where a campaign lacks the storage.
    """

    storage: str
    called: str
    baseline: str
    answers: tuple[Judged | None, ...]
    margins: str


def answers_sentence(found: Sequence[Acceptance]) -> str:
    """The answer of the only campaign; of several, how many of them have which, the worst first."""
    if len(found) == 1:
        return found[0].sentence
    answers = [one.judgement for one in sorted(found, key=severity)]
    counted = (f"{answers.count(one)} {one}" for one in dict.fromkeys(answers))
    return f"{len(found)} campaigns: {listed([*counted])}"


def accepted_rows(found: Sequence[Acceptance]) -> Iterator[AcceptedRow]:
    """The figures of all campaigns, in the order of the first that has each."""
    by_name = [{(one.storage, one.called): one for one in each.figures} for each in found]
    for storage, name in dict.fromkeys(key for figures in by_name for key in figures):
        answers = tuple(figures.get((storage, name)) for figures in by_name)
        there = [one for one in answers if one]
        base = next((one.baseline for one in there if one.baseline), None)
        margins = " or ".join(dict.fromkeys(map(shown_margin, there)))
        yield AcceptedRow(storage, name, shown(there[0], base), answers, margins)


def answer_lines(one: Judged | None) -> tuple[str, ...]:
    """What a campaign has of a figure, line by line: its answer, its value, and the ratio with its
    interval.
    """
    if not one:
        return (NOTHING,)
    lines = (one.judgement, shown(one, one.campaign))
    return (*lines, ratio_text(one.ratio)) if one.ratio else lines


ITSELF = "this campaign is the baseline itself"
_OTHERWISE: dict[Judgement, str] = {
    "better": "better than the baseline",
    "same": "same as the baseline",
    "same or better": "same as the baseline or better",
    "cannot say": "nothing can be said",
}


def answer_sentence(answer: Judgement, figures: Sequence[Judged], *, itself: bool) -> str:
    """The answer for these figures; `itself`: only their limits were judged."""
    found = [one for one in figures if one.judgement != "not judged"]
    if itself:
        return _of_itself(answer, found)
    if answer == "worse":
        return _worse(found)
    if answer == "cannot say":
        return _undecided(found)
    if answer == "same or better":
        return f"Same as the baseline or better: none of {len(found)} figures is worse"
    if answer == "better":
        return f"Better than the baseline: all {len(found)} figures"
    return f"Same as the baseline within the margins: all {len(found)} figures"


def _of_itself(answer: Judgement, limits: Sequence[Judged]) -> str:
    """The answer by limits alone."""
    if not limits:
        return f"Cannot say: no figure is judged; {ITSELF}, and its plan has no limits"
    if answer == "worse":
        return f"{_not_met(limits)} ({ITSELF})"
    if answer == "cannot say":
        return f"{_undecided(limits)} ({ITSELF})"
    return f"Limits met: all {len(limits)} figures ({ITSELF})"


def _worse(found: Sequence[Judged]) -> str:
    """A figure may be the baseline's and beyond its limit, so both are counted apart."""
    limits = [one for one in found if one.quantity in LIMITS]
    against = [one for one in found if one.quantity not in LIMITS]
    worse = _count(against, "worse")
    beyond = _not_met(limits) if _count(limits, "worse") else ""
    if worse:
        sentence = f"Worse than the baseline: {worse} of {len(against)} figures"
        return f"{sentence}; {beyond[0].lower()}{beyond[1:]}" if beyond else sentence
    return f"{beyond} (otherwise {_OTHERWISE[overall(against)]})" if against else beyond


def _not_met(limits: Sequence[Judged]) -> str:
    return f"Limits not met: {_count(limits, 'worse')} of {len(limits)} figures"


def _undecided(found: Sequence[Judged]) -> str:
    some = _count(found, "cannot say")
    return f"Cannot say: {some} of {len(found)} figures undecided; {_needs(found)}"


def _needs(figures: Sequence[Judged]) -> str:
    """What all undecided figures together need."""
    rounds = [one.more_rounds for one in figures if one.judgement == "cannot say"]
    if hopeless := rounds.count(None):
        return f"more rounds alone would not decide {hopeless} of them"
    return f"it needs about {plural(max(number or 0 for number in rounds), 'more round')}"


def _count(figures: Sequence[Judged], answer: Judgement) -> int:
    return sum(one.judgement == answer for one in figures)
